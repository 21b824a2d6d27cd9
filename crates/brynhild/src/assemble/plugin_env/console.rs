//! The terminal of this program, as plugins talk with the user through it.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use contract::sandbox::ChannelEnds;
use plugins::chibi::Console;
use rustix::fs::OFlags;
use tokio::io::AsyncWrite;
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::args::OutputFormat;
use crate::assemble::assembly::Assembly;
use crate::output::status_line::{self, StatusLinePause};

/// The terminal, if a user sits at it and reads it.
pub(super) fn console(assembly: &Assembly) -> Option<Console> {
    let terminal = assembly.environment.terminal;
    let is_text = assembly.format() == OutputFormat::Text;
    let has_user = terminal.stdin && terminal.stderr && is_text && !status_line::is_full_screen();
    has_user.then(|| Arc::new(open) as Console)
}

/// Opens it without blocking, so that nobody waits in vain for input.
fn open() -> io::Result<ChannelEnds> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty")?;
    let reader = Receiver::from_file_unchecked(file.try_clone()?)?;
    let writer = QuietWriter { writer: Sender::from_file_unchecked(file)?, status_line: None };
    Ok(ChannelEnds { reader: Box::new(reader), writer: Box::new(writer) })
}

/// Writes to the terminal. From the first byte on nothing else moves there.
struct QuietWriter {
    writer: Sender,
    status_line: Option<StatusLinePause>,
}

impl AsyncWrite for QuietWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.status_line.get_or_insert_with(StatusLinePause::new);
        Pin::new(&mut self.writer).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}
