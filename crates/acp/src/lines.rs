//! Lines of bounded length.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// The longest line that is read, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 32 << 20;

/// A line that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(Vec<u8>),
    /// It was longer than [`MAX_LINE_BYTES`] and is dropped.
    TooLong,
}

/// Reads the next line, without its end; none at the end of the input.
pub(crate) async fn next(
    input: &mut (impl AsyncBufRead + Unpin),
    longest: usize,
) -> std::io::Result<Option<Line>> {
    let mut text = Vec::new();
    let mut is_too_long = false;
    let mut has_any = false;
    loop {
        let piece = input.fill_buf().await?;
        if piece.is_empty() {
            break;
        }
        has_any = true;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let upto = end.unwrap_or(piece.len());
        if text.len() + upto > longest {
            is_too_long = true;
            text = Vec::new();
        } else if !is_too_long {
            text.extend_from_slice(&piece[..upto]);
        }
        input.consume(end.map_or(upto, |end| end + 1));
        if end.is_some() {
            break;
        }
    }
    let line = if is_too_long { Line::TooLong } else { Line::Text(text) };
    Ok(has_any.then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_bounded_and_the_next_one_is_whole() {
        let mut input = &b"ab\n0123456789\n\ncd"[..];
        let mut lines = Vec::new();
        while let Some(line) = next(&mut input, 4).await.unwrap() {
            lines.push(line);
        }
        let text = |text: &str| Line::Text(text.as_bytes().to_vec());
        assert_eq!(lines, [text("ab"), Line::TooLong, text(""), text("cd")]);
    }
}
