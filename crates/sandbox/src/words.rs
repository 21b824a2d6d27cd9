//! Words of ours among those that a process writes to its standard error, so that whoever reads
//! them learns of both in one place.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

/// `stream`, with a line for each text that comes by `heard`.
pub(crate) fn with_words(
    stream: impl AsyncRead + Send + Unpin + 'static,
    heard: Option<mpsc::Receiver<String>>,
) -> Box<dyn AsyncRead + Send + Unpin> {
    match heard {
        None => Box::new(stream),
        Some(heard) => Box::new(Mixed { stream, heard, line: Vec::new(), is_midway: false }),
    }
}

struct Mixed<S> {
    stream: S,
    heard: mpsc::Receiver<String>,
    /// What is left of a line of ours.
    line: Vec<u8>,
    /// Whether the process has begun a line.
    is_midway: bool,
}

impl<S> Mixed<S> {
    fn say(&mut self, words: &str) {
        if std::mem::take(&mut self.is_midway) {
            self.line.push(b'\n');
        }
        self.line.extend_from_slice(words.as_bytes());
        self.line.push(b'\n');
    }

    fn give(&mut self, buffer: &mut ReadBuf<'_>) {
        let count = buffer.remaining().min(self.line.len());
        buffer.put_slice(&self.line[..count]);
        self.line.drain(..count);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Mixed<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.line.is_empty() {
            let before = buffer.filled().len();
            match Pin::new(&mut this.stream).poll_read(context, buffer) {
                Poll::Ready(Ok(())) if buffer.filled().len() > before => {
                    this.is_midway = buffer.filled().last() != Some(&b'\n');
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Ok(())) => match this.heard.try_recv() {
                    Ok(words) => this.say(&words),
                    Err(_) => return Poll::Ready(Ok(())),
                },
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => match this.heard.poll_recv(context) {
                    Poll::Ready(Some(words)) => this.say(&words),
                    Poll::Ready(None) | Poll::Pending => return Poll::Pending,
                },
            }
        }
        this.give(buffer);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn words_stand_on_lines_of_their_own_and_none_is_lost() {
        let (mut process, stream) = tokio::io::duplex(64);
        let (teller, heard) = mpsc::channel(4);
        let mut mixed = with_words(stream, Some(heard));
        process.write_all(b"half").await.unwrap();
        let mut half = [0; 4];
        mixed.read_exact(&mut half).await.unwrap();
        teller.send("ours".to_owned()).await.unwrap();
        let mut line = [0; 6];
        mixed.read_exact(&mut line).await.unwrap();
        assert_eq!(&line, b"\nours\n");
        teller.send("last".to_owned()).await.unwrap();
        drop(process);
        let mut rest = String::new();
        mixed.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "last\n");
    }
}
