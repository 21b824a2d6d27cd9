//! The results of the tests of a plugin, as text, JSON and JUnit XML.

use std::fmt::Write as _;
use std::time::Duration;

use contract::text::is_hidden;
use serde_json::{Value, json};

/// The result of one test.
pub struct TestResult {
    pub name: String,
    /// The failed expectation; none if the test passed.
    pub failures: Vec<String>,
    /// Warnings, which do not fail a test.
    pub warnings: Vec<String>,
    pub duration: Duration,
}

impl TestResult {
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// The result for people.
    pub fn text(&self) -> String {
        let word = if self.passed() { "ok" } else { "FAILED" };
        let mut text = format!("{word:<8}{}", self.name);
        let warnings = self.warnings.iter().map(|it| format!("warning: {it}"));
        for line in self.failures.iter().cloned().chain(warnings) {
            for line in line.lines() {
                let _ = write!(text, "\n        {line}");
            }
        }
        text
    }
}

/// The last line for people.
pub fn summary(results: &[TestResult]) -> String {
    let passed = results.iter().filter(|it| it.passed()).count();
    format!("{passed} passed, {} failed", results.len() - passed)
}

/// The results for programs.
pub fn to_json(plugin: &str, results: &[TestResult]) -> Value {
    let test = |it: &TestResult| {
        json!({
            "name": it.name,
            "passed": it.passed(),
            "failures": it.failures,
            "warnings": it.warnings,
            "seconds": it.duration.as_secs_f64(),
        })
    };
    let failed = results.iter().filter(|it| !it.passed()).count();
    json!({
        "path": plugin,
        "passed": results.len() - failed,
        "failed": failed,
        "tests": results.iter().map(test).collect::<Vec<_>>(),
    })
}

/// The results as JUnit XML, which CI systems read.
pub fn to_junit(plugin: &str, results: &[TestResult]) -> String {
    let failed = results.iter().filter(|it| !it.passed()).count();
    let seconds: f64 = results.iter().map(|it| it.duration.as_secs_f64()).sum();
    let suite = escaped(plugin);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{suite}\" tests=\"{}\" failures=\"{failed}\" time=\"{seconds:.3}\">",
        results.len()
    );
    for result in results {
        let (name, time) = (escaped(&result.name), result.duration.as_secs_f64());
        let _ =
            write!(xml, "    <testcase classname=\"{suite}\" name=\"{name}\" time=\"{time:.3}\"");
        if result.passed() {
            xml.push_str("/>\n");
            continue;
        }
        let text = result.failures.join("\n");
        let message = escaped(text.lines().next().unwrap_or_default());
        let _ = write!(xml, ">\n      <failure message=\"{message}\">{}</failure>", escaped(&text));
        xml.push_str("\n    </testcase>\n");
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// Text for XML. Control characters are not allowed there in any form.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if is_hidden(c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Vec<TestResult> {
        let result = |name: &str, failures: &[&str]| TestResult {
            name: name.to_owned(),
            failures: failures.iter().map(|it| (*it).to_owned()).collect(),
            warnings: Vec::new(),
            duration: Duration::from_millis(1500),
        };
        vec![result("a", &[]), result("b", &["<x> & \"y\"\u{1b}[31m\nmore", "z"])]
    }

    #[test]
    fn junit_escapes_markup_and_control_characters() {
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites>
  <testsuite name=\"p\" tests=\"2\" failures=\"1\" time=\"3.000\">
    <testcase classname=\"p\" name=\"a\" time=\"1.500\"/>
    <testcase classname=\"p\" name=\"b\" time=\"1.500\">
      <failure message=\"&lt;x&gt; &amp; &quot;y&quot;\u{fffd}[31m\">&lt;x&gt; &amp; &quot;y&quot;\u{fffd}[31m
more
z</failure>
    </testcase>
  </testsuite>
</testsuites>
";
        assert_eq!(to_junit("p", &results()), expected);
    }

    #[test]
    fn text_indents_every_line_of_a_failure() {
        let results = results();
        assert_eq!(results[0].text(), "ok      a");
        assert!(results[1].text().starts_with("FAILED  b\n        <x>"));
        assert!(results[1].text().ends_with("\n        more\n        z"));
        assert_eq!(summary(&results), "1 passed, 1 failed");
    }
}
