//! Runs a plugin's process to its end; shows its standard error, and lends it the user's terminal.

use std::io;
use std::pin::pin;

use contract::sandbox::{ChannelEnds, Child};
use contract::text;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::printed::{Listener, Tail, drain};
use crate::process::{self, End, GRACE, Limits, Printed};

pub(crate) const OUTPUT_LIMIT: usize = 10 << 20;

pub(crate) struct Watch<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) listener: &'a Listener,
    /// The user's terminal, if the process has one of its own.
    pub(crate) console: Option<(ChannelEnds, Keyboard)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyboard {
    Open,
    /// Opened by the first output: a hook that asks nothing takes no input of the user.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) end: End,
    pub(crate) stdout: Printed,
    pub(crate) stderr: String,
}

pub(crate) async fn run(
    mut child: Child,
    input: &[u8],
    limits: Limits<'_>,
    watch: Watch<'_>,
) -> io::Result<Ran> {
    let stderr = std::mem::replace(&mut child.stderr, Box::new(tokio::io::empty()));
    let tail = Tail::default();
    let (prompts, prompted) = mpsc::channel(1);
    let mut hearing = pin!(drain(stderr, watch.plugin, &tail, watch.listener, prompts));
    let mut talking = pin!(talk(child.channel.take(), watch.console, prompted));
    let mut running = pin!(process::run(child, input, limits));
    let (mut is_heard, mut has_talked) = (false, false);
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended?,
            () = &mut hearing, if !is_heard => is_heard = true,
            () = &mut talking, if !has_talked => has_talked = true,
        }
    };
    if !is_heard {
        // What it started may hold its standard error open.
        let _ = timeout(GRACE, hearing).await;
    }
    Ok(Ran { end: ended.end, stdout: ended.stdout, stderr: tail.text() })
}

/// Shows the user the prompts and the terminal output of the process, and passes on the user's input:
/// from the start, or from the first output on.
async fn talk(
    process: Option<ChannelEnds>,
    console: Option<(ChannelEnds, Keyboard)>,
    mut prompts: mpsc::Receiver<String>,
) {
    let (Some(mut process), Some((mut user, mut keyboard))) = (process, console) else { return };
    let (mut said, mut typed) = (vec![0; 4096], vec![0; 4096]);
    loop {
        let shown = tokio::select! {
            Some(prompt) = prompts.recv() => prompt,
            count = process.reader.read(&mut said) => {
                let Ok(count @ 1..) = count else { return };
                let words = String::from_utf8_lossy(&said[..count]).replace('\r', "");
                text::visible(&words).into_owned()
            }
            count = user.reader.read(&mut typed), if keyboard == Keyboard::Open => {
                let Ok(count @ 1..) = count else { return };
                if process.writer.write_all(&typed[..count]).await.is_err() {
                    return;
                }
                continue;
            }
        };
        keyboard = Keyboard::Open;
        if user.writer.write_all(shown.as_bytes()).await.is_err() {
            return;
        }
    }
}
