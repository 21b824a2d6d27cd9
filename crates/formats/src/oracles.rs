//! Properties that hold for any bytes, one function for each target: a fuzzer calls them with what
//! it invents (`fuzz/`), tests with what they generate, and all replay the corpus.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::frontmatter::{self, Reading};
use crate::yaml::{self, Options, YES_NO};

/// A file with front matter: the body is a part of the file, byte for byte; a strict reading that
/// succeeds is what a lenient one gives, without a repair.
pub fn frontmatter(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let strict = frontmatter::parse(&text, Reading::Strict);
    let lenient = frontmatter::parse(&text, Reading::Lenient);
    if let Ok(document) = &lenient {
        assert!(text.trim_end().ends_with(document.body), "the body is not the end of the file");
        assert!(size(&Value::Object(document.keys.clone())) <= 2_000_000, "a bomb");
    }
    if let Ok(strict) = strict {
        let lenient = lenient.expect("what is strictly right is right");
        assert_eq!(strict.keys, lenient.keys);
        assert!(lenient.repaired.is_none());
    }
}

/// YAML: an error names a line of the text, what was read is bounded and can be written and read
/// again.
pub fn yaml(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match yaml::parse(&text, YES_NO).map(|tree| tree.to_value()) {
        Err(error) => {
            let lines = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count();
            assert!(error.line <= lines + 1, "line {} of {lines}", error.line);
            assert!(error.message.len() < 10_000, "a message without bounds");
        }
        Ok(value) => {
            assert!(size(&value) <= 2_000_000, "a bomb of {}", size(&value));
            // JSON is YAML.
            let again = yaml::value(&value.to_string());
            assert!(again.is_err() || again == Ok(value), "written otherwise than read");
        }
    }
    let options = Options { repeated_keys: true, ..Options::default() };
    let _ = yaml::parse(&text, options).map(|tree| tree.to_type::<BTreeMap<String, Value>>());
}

/// How many bytes a value takes, about.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 8,
        Value::Array(items) => 8 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => {
            8 + fields.iter().map(|(key, value)| key.len() + size(value)).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    type Target = (&'static str, fn(&[u8]));

    const TARGETS: [Target; 2] = [("frontmatter", frontmatter), ("yaml", yaml)];

    fn corpus(target: &str) -> Vec<Vec<u8>> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        let mut files: Vec<_> =
            fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()).collect();
        files.sort();
        files.iter().map(|path| fs::read(path).unwrap()).collect()
    }

    #[test]
    fn parsers_pass_the_oracle_on_the_cut_corpus() {
        for (name, check) in TARGETS {
            let corpus = corpus(name);
            assert!(corpus.len() >= 5, "{name}");
            for bytes in corpus {
                for end in (0..bytes.len()).step_by(bytes.len() / 60 + 1).chain([bytes.len()]) {
                    check(&bytes[..end]);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn parsers_pass_the_oracle_on_random_bytes(bytes: Vec<u8>) {
            for (_, check) in TARGETS {
                check(&bytes);
            }
        }

        #[test]
        fn parsers_pass_the_oracle_on_mutated_files(
            target in 0..TARGETS.len(),
            which: prop::sample::Index,
            edits in prop::collection::vec((any::<usize>(), any::<bool>(), any::<u8>()), 1..8),
        ) {
            let (name, check) = TARGETS[target];
            let corpus = corpus(name);
            let mut bytes = which.get(&corpus).clone();
            for (at, is_added, byte) in edits {
                let at = at % (bytes.len() + 1);
                if is_added || at == bytes.len() { bytes.insert(at, byte) } else { bytes[at] = byte }
            }
            check(&bytes);
        }
    }
}
