use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 4] = [
    ("sse", sse),
    ("openai_reply", openai_reply),
    ("anthropic_reply", anthropic_reply),
    ("ollama_reply", ollama_reply),
];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn parser_passes_the_oracle_on_the_corpus() {
    for (name, check) in TARGETS {
        let corpus = corpus(name);
        assert!(corpus.len() >= 4, "{name}");
        for bytes in corpus {
            // The first byte chooses the sizes of pieces; each of them must do.
            for size in [0, 1, 7, 63, 255] {
                check(&[&[size], bytes.as_slice()].concat());
            }
        }
    }
}

/// Changes bytes: overwritten, removed, doubled.
fn changed(mut bytes: Vec<u8>, edits: &[(usize, u8, u8)]) -> Vec<u8> {
    for (at, kind, byte) in edits {
        if bytes.is_empty() {
            break;
        }
        let at = at % bytes.len();
        match kind % 4 {
            0 => bytes[at] = *byte,
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, *byte),
            _ => {
                let end = bytes.len().min(at + usize::from(*byte));
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parser_passes_the_oracle_on_random_bytes(bytes: Vec<u8>) {
        for (_, check) in TARGETS {
            check(&bytes);
        }
    }

    #[test]
    fn parser_passes_the_oracle_on_mutated_recordings(
        target in 0..TARGETS.len(),
        which: prop::sample::Index,
        size: u8,
        edits in prop::collection::vec((any::<usize>(), any::<u8>(), any::<u8>()), 1..8),
    ) {
        let (name, check) = TARGETS[target];
        let corpus = corpus(name);
        let bytes = changed(which.get(&corpus).clone(), &edits);
        check(&[&[size], bytes.as_slice()].concat());
    }
}
