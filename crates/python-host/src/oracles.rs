//! Properties of any bytes that a worker sends: a fuzzer calls it with what it invents (`fuzz/`),
//! tests with what they generate and with the corpus.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, ReadBuf};

use crate::lines::{Line, Lines};
use crate::wire::Incoming;

/// Lines of JSON-RPC: the same for every size of pieces, ended by line feeds alone, and whatever is
/// no message is told from one.
pub fn rpc_lines(bytes: &[u8]) {
    let (size, bytes) = bytes.split_first().map_or((1, bytes), |(size, rest)| (*size, rest));
    let whole = lines(bytes, usize::MAX);
    assert_eq!(lines(bytes, usize::from(size % 64) + 1), whole, "other pieces, other lines");
    let plainly: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let plainly = &plainly[..plainly.len() - 1];
    assert!(whole.iter().map(Vec::as_slice).eq(plainly.iter().copied()), "not the lines");
    for line in whole {
        if let Ok(message) = serde_json::from_slice::<Incoming>(&line) {
            let is_object = line.trim_ascii_start().starts_with(b"{");
            assert!(is_object || line.trim_ascii_start().starts_with(b"["), "a message of nothing");
            for part in [message.params, message.result].into_iter().flatten() {
                // Its meaning is determined later; here it is a part of the line.
                assert!(line.len() >= part.get().len());
            }
        }
    }
}

/// Bytes that arrive in pieces.
struct Pieces<'a> {
    bytes: &'a [u8],
    size: usize,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let count = self.size.min(self.bytes.len()).min(into.remaining());
        let (piece, rest) = self.bytes.split_at(count);
        into.put_slice(piece);
        self.bytes = rest;
        Poll::Ready(Ok(()))
    }
}

fn lines(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut lines = Lines::new(Pieces { bytes, size }, bytes.len() + 1);
    let mut found = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    loop {
        let next = std::pin::pin!(lines.next());
        match next.poll(&mut context) {
            Poll::Ready(Ok(Line::Whole(line))) => found.push(line.to_vec()),
            Poll::Ready(Ok(Line::End)) => return found,
            Poll::Ready(_) | Poll::Pending => unreachable!("bytes in memory are all there"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn corpus() -> Vec<Vec<u8>> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/rpc_lines");
        let mut files: Vec<_> =
            fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()).collect();
        files.sort();
        files.iter().map(|path| fs::read(path).unwrap()).collect()
    }

    #[test]
    fn wire_parser_passes_the_oracle_on_the_cut_corpus() {
        let corpus = corpus();
        assert!(corpus.len() >= 5);
        for bytes in corpus {
            for end in (0..bytes.len()).step_by(bytes.len() / 60 + 1).chain([bytes.len()]) {
                rpc_lines(&bytes[..end]);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn wire_parser_passes_the_oracle_on_random_bytes(bytes: Vec<u8>) {
            rpc_lines(&bytes);
        }

        #[test]
        fn wire_parser_passes_the_oracle_on_mutated_lines(
            which: prop::sample::Index,
            edits in prop::collection::vec((any::<usize>(), any::<bool>(), any::<u8>()), 1..8),
        ) {
            let mut bytes = which.get(&corpus()).clone();
            for (at, is_added, byte) in edits {
                let at = at % (bytes.len() + 1);
                if is_added || at == bytes.len() { bytes.insert(at, byte) } else { bytes[at] = byte }
            }
            rpc_lines(&bytes);
        }
    }
}
