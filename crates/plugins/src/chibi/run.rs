//! Runs a plugin's process to its end: it is fed and heard at the same time, and everything it
//! started is killed when it ends, is late, or is not wanted any more.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use contract::sandbox::{ChannelEnds, Child, Exit};
use contract::text;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::hooks::process::{GRACE, Kept, Printed, feed};
use crate::python::Listener;
use crate::python::output::{Tail, drain};

/// Bytes of standard output that are kept.
const KEPT: usize = 10 << 20;

/// How long a process may take, and who hears it.
pub(crate) struct Watch<'a> {
    pub(crate) deadline: Instant,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) plugin: &'a str,
    pub(crate) listener: &'a Listener,
    /// The user's terminal, where there is one and the process has its own.
    pub(crate) console: Option<ChannelEnds>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With this code; 128 and the signal's number where a signal ended it.
    Exited(i32),
    /// It was killed at its deadline.
    Late,
    /// It was killed because nobody wants it any more.
    Cancelled,
}

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) end: End,
    pub(crate) stdout: Printed,
    /// The last lines of standard error, safe to show.
    pub(crate) stderr: String,
}

/// Gives a process its input and waits for its end. Whether it reads the input is its own affair.
pub(crate) async fn run(child: Child, input: &[u8], watch: Watch<'_>) -> io::Result<Ran> {
    let Child { stdin, mut stdout, stderr, channel, mut process } = child;
    let tail = Arc::new(Tail::default());
    let listener = Arc::clone(watch.listener);
    let mut feeding = pin!(feed(stdin, input));
    let mut hearing = pin!(drain(stderr, watch.plugin.to_owned(), Arc::clone(&tail), listener));
    let mut out = Kept::up_to(KEPT);
    let mut talking = pin!(talk(channel, watch.console));
    let (mut is_fed, mut is_heard, mut has_talked) = (false, false, false);
    let end = loop {
        tokio::select! {
            () = &mut feeding, if !is_fed => is_fed = true,
            () = &mut hearing, if !is_heard => is_heard = true,
            () = &mut talking, if !has_talked => has_talked = true,
            () = out.read(&mut *stdout), if !out.ended => {}
            exit = process.wait() => break End::Exited(match exit? {
                Exit::Code(code) => code,
                Exit::Signal(signal) => 128 + signal,
            }),
            () = sleep_until(watch.deadline) => break End::Late,
            () = watch.cancel.cancelled() => break End::Cancelled,
        }
    };
    if !matches!(end, End::Exited(_)) {
        process.kill();
    }
    let patience = Instant::now() + GRACE;
    while !(out.ended && is_heard) {
        tokio::select! {
            () = &mut hearing, if !is_heard => is_heard = true,
            () = out.read(&mut *stdout), if !out.ended => {}
            () = sleep_until(patience) => break,
        }
    }
    process.kill();
    Ok(Ran { end, stdout: out.printed(), stderr: tail.text() })
}

/// Lets a process talk with the user: what it writes to its terminal is shown, and from then on
/// it gets what the user types.
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
