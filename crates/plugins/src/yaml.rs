//! YAML from files that somebody else may have written: with tight limits, and with errors that
//! name the line.

use serde::de::DeserializeOwned;
use serde_saphyr::options::DuplicateKeyPolicy;

/// Values a file may have; files of people have some dozens.
const VALUES_LIMIT: usize = 20_000;

/// Parser events that aliases may add.
const ALIASES_LIMIT: usize = 1000;

/// What is wrong with a YAML text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Error {
    /// The line, from 1.
    pub(crate) line: u64,
    /// What is wrong there.
    pub(crate) what: String,
}

/// Reads a YAML text in which no key may stand twice.
pub(crate) fn read<T: DeserializeOwned>(yaml: &str) -> Result<T, Error> {
    read_with(yaml, DuplicateKeyPolicy::Error)
}

/// Reads a YAML text in which the last of two equal keys counts.
pub(crate) fn read_with_repeated_keys<T: DeserializeOwned>(yaml: &str) -> Result<T, Error> {
    read_with(yaml, DuplicateKeyPolicy::LastWins)
}

/// Reads a YAML text in which only `true` and `false` are truth values: `n` and `on` are text.
pub(crate) fn read_with_plain_words<T: DeserializeOwned>(yaml: &str) -> Result<T, Error> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: VALUES_LIMIT },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: ALIASES_LIMIT },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| describe(&error))
}

fn read_with<T: DeserializeOwned>(yaml: &str, keys: DuplicateKeyPolicy) -> Result<T, Error> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: VALUES_LIMIT },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: ALIASES_LIMIT },
        duplicate_keys: keys,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| describe(&error))
}

fn describe(error: &serde_saphyr::Error) -> Error {
    let line = error.location().map_or(1, |location| location.line());
    let message = error.to_string();
    // The parser's own line follows its message; its advice is for programmers, its lists are long.
    let end = [", set DuplicateKeyPolicy", ", expected one of", "; use from_", " at line "]
        .iter()
        .filter_map(|tail| message.find(tail))
        .min()
        .unwrap_or(message.len());
    let what = message[..end].to_owned();
    Error { line, what }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::Value;

    use super::*;

    fn wrong(yaml: &str) -> String {
        let error = read::<Value>(yaml).unwrap_err();
        format!("{}: {}", error.line, error.what)
    }

    #[test]
    fn errors_are_short_and_name_the_line() {
        assert_eq!(wrong("a: 1\nb: c: d"), "2: mapping values are not allowed in this context");
        assert_eq!(wrong("a: 1\na: 2"), "2: duplicate mapping key: a");
        assert_eq!(wrong("a: 1\n...\nb: 2"), "3: multiple YAML documents detected");
    }

    #[test]
    fn repeated_keys_can_be_accepted() {
        let value: Value = read_with_repeated_keys("a: 1\na: 2").unwrap();
        assert_eq!(value["a"], 2);
    }

    #[test]
    fn words_can_stay_words() {
        let value: Value = read_with_plain_words("[n, on, yes, true]").unwrap();
        assert_eq!(value, serde_json::json!(["n", "on", "yes", true]));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        assert!(read::<Value>(&"[".repeat(100_000)).is_err());
        let mut block = String::new();
        for depth in 0..1000 {
            let _ = writeln!(block, "{}a:", " ".repeat(depth));
        }
        assert!(read::<Value>(&block).is_err());
    }

    #[test]
    fn an_alias_bomb_does_not_go_off() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
            let _ = writeln!(bomb, "a{level}: &a{level} [{aliases}]");
        }
        assert!(read::<Value>(&bomb).is_err());
        let harmless: Value = read("a: &x [1, 2]\nb: *x").unwrap();
        assert_eq!(harmless["b"], serde_json::json!([1, 2]));
    }

    #[test]
    fn a_text_with_too_many_values_is_refused() {
        assert!(read::<Value>(&"- x\n".repeat(VALUES_LIMIT + 1)).is_err());
    }
}
