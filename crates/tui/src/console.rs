//! The terminal of this program, as other programs talk with the user through it: in the full screen
//! by dialogs.

use std::fs::OpenOptions;
use std::io::{self, Cursor};
use std::os::unix::fs::OpenOptionsExt as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use contract::sandbox::ChannelEnds;
use futures::stream;
use rustix::fs::OFlags;
use tokio::io::{AsyncReadExt as _, AsyncWrite, DuplexStream};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::timeout;
use tokio_util::io::StreamReader;

use crate::host::ReplyKind;
use crate::inquiries::{ask_on_screen, is_full_screen};
use crate::line::Echo;

/// A prompt is complete when nothing follows for so long.
const PROMPT_PAUSE: Duration = Duration::from_millis(50);
const PROMPT_ENDS: &[u8] = b"?:])>";
/// Ends the input of a process that reads from a terminal.
const END_OF_INPUT: &str = "\x04";

/// Stops what is redrawn on the terminal until its result is dropped.
pub type Pause = fn() -> Box<dyn Send>;

/// Opens the terminal. In the full screen, dialogs with a title are opened instead.
pub fn open(title: String, pause: Pause) -> io::Result<ChannelEnds> {
    if is_full_screen() {
        return Ok(dialogs(title));
    }
    // It does not block, so that nobody waits in vain for input.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty")?;
    let reader = Receiver::from_file_unchecked(file.try_clone()?)?;
    let writer = QuietWriter { writer: Sender::from_file_unchecked(file)?, pause, asking: None };
    Ok(ChannelEnds { reader: Box::new(reader), writer: Box::new(writer) })
}

/// Asks about each prompt in a dialog; one that is dismissed ends the input.
fn dialogs(title: String) -> ChannelEnds {
    let (prompts, writer) = tokio::io::duplex(8 << 10);
    let answers = stream::unfold((prompts, title), |(mut prompts, title)| async move {
        let prompt = next_prompt(&mut prompts).await?;
        let wanted = ReplyKind::Text("Answer".to_owned());
        let answer = ask_on_screen(&title, &prompt, wanted).await;
        let typed = answer.map_or(END_OF_INPUT.to_owned(), |line| line + "\n");
        Some((Ok::<_, io::Error>(Cursor::new(typed.into_bytes())), (prompts, title)))
    });
    let reader = StreamReader::new(Box::pin(answers));
    ChannelEnds { reader: Box::new(reader), writer: Box::new(writer) }
}

/// The text up to a pause after which a question is likely: progress such as `Loading ...` is none.
async fn next_prompt(prompts: &mut DuplexStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.trim_ascii_end().last().is_some_and(|end| PROMPT_ENDS.contains(end)) {
        prompts.read_buf(&mut bytes).await.ok().filter(|count| *count > 0)?;
        while let Ok(Ok(1..)) = timeout(PROMPT_PAUSE, prompts.read_buf(&mut bytes)).await {}
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes to the terminal. From the first byte on nothing else moves there, and typed text is shown.
struct QuietWriter {
    writer: Sender,
    pause: Pause,
    asking: Option<(Box<dyn Send>, Echo)>,
}

impl AsyncWrite for QuietWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let pause = self.pause;
        self.asking.get_or_insert_with(|| (pause(), Echo::on()));
        Pin::new(&mut self.writer).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}
