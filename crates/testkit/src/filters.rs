//! Filters for text that differs between runs.

/// Patterns and their replacements, in order.
pub fn filters() -> Vec<(&'static str, &'static str)> {
    vec![
        (r#"(?:/[^\s/"'`:]+)+/brynhild-test-[A-Za-z0-9]+/"#, "[TEMP]/"),
        (r#"(?:/[^\s/"'`:]+)+/brynhild-test-[A-Za-z0-9]+"#, "[TEMP]"),
        (r"127\.0\.0\.1:\d{2,5}", "127.0.0.1:[PORT]"),
        (r"localhost:\d{4,5}", "localhost:[PORT]"),
        (r"session-\d{8}-\d{6}(?:-[A-Za-z0-9]+)?", "[SESSION]"),
        (r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?", "[TIME]"),
        (r"brynhild_\d{8}_\d{6}", "brynhild_[TIME]"),
        (r#"("(?:duration|latency|elapsed)_ms":\s*)\d+(?:\.\d+)?"#, "${1}0"),
        (r"(?m)(^|[\s(\[,=])\d+(?:\.\d+)? ?(?:ms|µs|s)\b", "${1}[DURATION]"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(text: &str) -> String {
        filters().into_iter().fold(text.to_owned(), |text, (pattern, stand_in)| {
            let pattern = regex::Regex::new(pattern).expect("a valid pattern");
            pattern.replace_all(&text, stand_in).into_owned()
        })
    }

    #[test]
    fn volatile_text_is_replaced() {
        let project = crate::Project::new();
        let path = project.path().join("src/a.rs");
        assert_eq!(
            filtered(&format!("cannot read `{}`", path.display())),
            "cannot read `[TEMP]/project/src/a.rs`"
        );
        assert_eq!(
            filtered("saved session-20260102-030405 at 2026-01-02T03:04:05.678901Z in 1.2s"),
            "saved [SESSION] at [TIME] in [DURATION]"
        );
        assert_eq!(
            filtered(r#"{"duration_ms": 12, "url": "http://127.0.0.1:45123/v1"}"#),
            r#"{"duration_ms": 0, "url": "http://127.0.0.1:[PORT]/v1"}"#
        );
        assert_eq!(
            filtered("brynhild_20260102_030405.jsonl 2026-01-02 03:04:05+00:00 15 ms"),
            "brynhild_[TIME].jsonl [TIME] [DURATION]"
        );
    }

    #[test]
    fn stable_text_is_unchanged() {
        for text in ["12 tests", "src/main.rs:12:5", "exit code 2", "gpt-4s", "/usr/bin/env"] {
            assert_eq!(filtered(text), text);
        }
    }
}
