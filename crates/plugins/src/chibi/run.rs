//! Runs a plugin's process to its end; shows its standard error, and lends it the user's terminal.

use std::io;
use std::pin::pin;

use contract::sandbox::{ChannelEnds, Child};
use contract::text;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::printed::{Listener, Tail, drain};
use crate::process::{self, End, GRACE, Limits, Printed};

pub(crate) const OUTPUT_LIMIT: usize = 10 << 20;

pub(crate) struct Watch<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) listener: &'a Listener,
    /// The user's terminal, if the process has one of its own.
    pub(crate) console: Option<ChannelEnds>,
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
    let mut hearing = pin!(drain(stderr, watch.plugin, &tail, watch.listener));
    let mut talking = pin!(talk(child.channel.take(), watch.console));
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

/// Shows the output of the process' terminal to the user, and from then on passes on the user's input.
async fn talk(process: Option<ChannelEnds>, person: Option<ChannelEnds>) {
    let (Some(mut process), Some(mut person)) = (process, person) else { return };
    let (mut said, mut typed) = (vec![0; 4096], vec![0; 4096]);
    let mut is_asking = false;
    loop {
        tokio::select! {
            count = process.reader.read(&mut said) => {
                let Ok(count @ 1..) = count else { return };
                is_asking = true;
                let words = String::from_utf8_lossy(&said[..count]).replace('\r', "");
                if person.writer.write_all(text::visible(&words).as_bytes()).await.is_err() {
                    return;
                }
            }
            count = person.reader.read(&mut typed), if is_asking => {
                let Ok(count @ 1..) = count else { return };
                if process.writer.write_all(&typed[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
