//! Patterns for the names and texts of events. Hook files write a regular expression where the text has the special
//! characters of one and is one, else a glob where it has `*` or `?`, else the text itself.

use fancy_regex::Regex;
use formats::pattern;

/// The characters that make a pattern a regular expression.
const SPECIAL: [char; 9] = ['^', '$', '+', '(', ')', '|', '\\', '[', ']'];

#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// Found anywhere in the text.
    Expression(Regex),
    Glob(Regex),
    Exact(String),
}

impl Pattern {
    /// Understands a pattern. Where it looks like a regular expression and is none, says why.
    pub(crate) fn new(text: &str) -> (Self, Option<String>) {
        let mut complaint = None;
        if text.contains(SPECIAL) {
            match Regex::new(&pattern::translate(text)) {
                Ok(expression) => return (Self::Expression(expression), None),
                Err(error) => complaint = Some(reason(&error)),
            }
        }
        if text.contains(['*', '?'])
            && let Some(glob) = Self::glob(text, &['*', '?'], r"\z")
        {
            return (glob, complaint);
        }
        (Self::Exact(text.to_owned()), complaint)
    }

    /// A pattern for whole texts in which `*` stands for any characters, and `?` for any one if it is
    /// among the wildcards; `end` is the expression that follows it.
    pub(crate) fn glob(text: &str, wildcards: &[char], end: &str) -> Option<Self> {
        let part = |c: char| match c {
            '*' if wildcards.contains(&c) => ".*".to_owned(),
            '?' if wildcards.contains(&c) => ".".to_owned(),
            c => fancy_regex::escape(c.encode_utf8(&mut [0; 4])).into_owned(),
        };
        let parts: String = text.chars().map(part).collect();
        Regex::new(&format!(r"(?s)\A{parts}{end}")).ok().map(Self::Glob)
    }

    pub(crate) fn fits(&self, text: &str) -> bool {
        match self {
            // `$` also stands before a final line feed.
            Self::Expression(expression) => {
                is_match(expression, text)
                    || text.strip_suffix('\n').is_some_and(|text| is_match(expression, text))
            }
            Self::Glob(glob) => is_match(glob, text),
            Self::Exact(exact) => exact == text,
        }
    }
}

/// Returns true if an expression is found. One that takes too many steps counts as found: a guard is asked
/// rather once too often.
fn is_match(expression: &Regex, text: &str) -> bool {
    expression.is_match(text).unwrap_or(true)
}

fn reason(error: &fancy_regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[derive(Clone, Debug, Default)]
pub(crate) struct NameMatcher {
    text: String,
    /// One of them must fit; none if everything does.
    patterns: Option<Vec<Pattern>>,
}

impl NameMatcher {
    /// Reads a matcher of Claude Code: nothing, names between `|` or `,`, or a regular expression.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "*" {
            return Ok(Self::default());
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_- ,|".contains(c);
        if text.chars().all(is_plain) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            let names: Vec<&str> = names.collect();
            let patterns = names.iter().map(|name| Pattern::Exact((*name).to_owned())).collect();
            return Ok(Self { text: names.join("|"), patterns: Some(patterns) });
        }
        let expression = Regex::new(text)
            .map_err(|_| format!("the matcher `{text}` is not a regular expression"))?;
        Ok(Self { text: text.to_owned(), patterns: Some(vec![Pattern::Expression(expression)]) })
    }

    pub(crate) fn text(&self) -> &str {
        if self.patterns.is_none() { "*" } else { &self.text }
    }

    pub(crate) fn fits(&self, names: &[String]) -> bool {
        let fits = |pattern: &Pattern| names.iter().any(|name| pattern.fits(name));
        self.patterns.as_ref().is_none_or(|patterns| patterns.iter().any(fits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern).0.fits(text)
    }

    #[test]
    fn plain_text_is_case_sensitive() {
        assert!(fits("Bash", "Bash"));
        assert!(!fits("Bash", "bash") && !fits("Bash", "Bash2"));
        assert!(fits("a.b", "a.b") && !fits("a.b", "axb"));
    }

    #[test]
    fn glob_matches_the_whole_text_across_lines() {
        assert!(fits("*rm*", "x\nrm -rf\ny") && !fits("*rm*", "RM"));
        assert!(fits("?ash", "Bash") && !fits("?ash", "Bashh"));
        assert!(fits("*.p{y}", "a.p{y}"));
    }

    #[test]
    fn special_characters_make_a_regular_expression() {
        assert!(fits("^rm\\s+-rf", "rm  -rf x") && !fits("^rm\\s+-rf", "xrm -rf"));
        assert!(fits("Write|Edit", "Edit"));
        assert!(fits("rm -rf /$", "rm -rf /\n"));
        assert!(fits("\\.py\\Z", "a.py") && !fits("\\.py\\Z", "a.pyc"));
    }

    #[test]
    fn plain_characters_match_those_of_python() {
        assert!(fits("[[]x", "[x") && fits("[]a]$", "]"));
        assert!(fits("^{\"a\"", "{\"a\": 1}"));
    }

    #[test]
    fn invalid_expression_is_a_glob_or_text_with_a_reason() {
        let (pattern, complaint) = Pattern::new("rm (*");
        assert!(pattern.fits("rm (x"));
        assert!(complaint.is_some());
        let (pattern, complaint) = Pattern::new("(ab");
        assert!(pattern.fits("(ab") && !pattern.fits("ab"));
        assert!(complaint.is_some());
    }

    #[test]
    fn look_around_and_back_references_work() {
        assert!(fits("^(?!git )", "ls") && !fits("^(?!git )", "git log"));
        assert!(fits("(a|b)\\1", "xbb") && !fits("(a|b)\\1", "ab"));
        assert!(fits("(?P<q>['\"])x(?P=q)", "'x'"));
    }

    #[test]
    fn expression_that_times_out_matches() {
        assert!(fits("(?:(a|b|ab)\\1?)*(?=c)", &"ab".repeat(40)));
    }

    fn names(matcher: &str, name: &str) -> bool {
        NameMatcher::new(matcher).unwrap().fits(&[name.to_owned()])
    }

    #[test]
    fn plain_names_are_names_and_others_expressions() {
        assert!(names("", "Bash") && names("*", "Bash"));
        assert!(names("Edit|Write", "Write") && names("Edit, Write", "Write"));
        assert!(!names("Edit", "MultiEdit") && !names("Edit|Write", "Wri"));
        assert!(names("mcp__.*__write", "mcp__files__write_file"));
        assert!(names("^Not(?!ebook)", "Nothing") && !names("^Not(?!ebook)", "NotebookEdit"));
        assert!(NameMatcher::new("(").is_err());
    }
}
