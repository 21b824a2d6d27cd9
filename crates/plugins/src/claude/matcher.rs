//! Which tools, sources or reasons a hook is for, and the rule that narrows it further.

use fancy_regex::Regex;
use serde_json::Value;

/// What a hook's event must be about.
#[derive(Clone, Debug)]
pub(crate) enum Matcher {
    /// Anything.
    All,
    /// One of these names.
    Names(Vec<String>),
    /// Something in which this is found.
    Expression(Box<Regex>),
}

impl Matcher {
    /// Understands a matcher: nothing, names with `|` or `,` between them, or an expression.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "*" {
            return Ok(Self::All);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_- ,|".contains(c);
        if text.chars().all(is_plain) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            return Ok(Self::Names(names.map(str::to_owned).collect()));
        }
        match Regex::new(text) {
            Ok(expression) => Ok(Self::Expression(Box::new(expression))),
            Err(_) => Err(format!("the matcher `{text}` is no regular expression")),
        }
    }

    /// The matcher as it is written.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::All => String::from("*"),
            Self::Names(names) => names.join("|"),
            Self::Expression(expression) => expression.as_str().to_owned(),
        }
    }

    /// Whether one of these names of a thing fits. An expression that takes too many steps counts
    /// as found: a guard is asked rather once too often.
    pub(crate) fn fits(&self, names: &[String]) -> bool {
        match self {
            Self::All => true,
            Self::Names(wanted) => names.iter().any(|name| wanted.iter().any(|it| it == name)),
            Self::Expression(expression) => {
                names.iter().any(|name| expression.is_match(name).unwrap_or(true))
            }
        }
    }
}

/// The one permission rule of `if`. Where it cannot be told whether it fits, it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    tool: String,
    within: Option<String>,
}

impl Condition {
    /// Reads a rule such as `Bash(git *)`.
    pub(crate) fn new(text: &str) -> Self {
        match text.trim().split_once('(') {
            Some((tool, rest)) => Self {
                tool: tool.trim().to_owned(),
                within: Some(rest.trim_end().trim_end_matches(')').to_owned()),
            },
            None => Self { tool: text.trim().to_owned(), within: None },
        }
    }

    /// Whether a call is meant.
    pub(crate) fn fits(&self, names: &[String], input: &Value) -> bool {
        if !names.contains(&self.tool) {
            return false;
        }
        let (Some(within), "Bash") = (&self.within, self.tool.as_str()) else { return true };
        let Some(command) = input.get("command").and_then(Value::as_str) else { return true };
        let Some(pattern) = pattern(within) else { return true };
        // A command that hides another one cannot be told apart by its words.
        if command.contains(['`', '(']) {
            return true;
        }
        let parts = command.split(['&', '|', ';', '\n']).map(str::trim);
        parts.filter(|part| !part.is_empty()).any(|part| pattern.is_match(part).unwrap_or(true))
    }
}

/// The pattern of a rule for commands: `*` is anything, `:*` and a last ` *` begin with a word.
fn pattern(rule: &str) -> Option<Regex> {
    let prefix = rule.strip_suffix(":*").or_else(|| rule.strip_suffix(" *"));
    let (rule, end) = prefix.map_or((rule, "$"), |prefix| (prefix, r"(\s|$)"));
    let parts: Vec<String> =
        rule.split('*').map(|part| fancy_regex::escape(part).into_owned()).collect();
    Regex::new(&format!("(?s)^{}{end}", parts.join(".*"))).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fits(matcher: &str, name: &str) -> bool {
        Matcher::new(matcher).unwrap().fits(&[name.to_owned()])
    }

    #[test]
    fn plain_words_are_names_and_everything_else_an_expression() {
        assert!(fits("", "Bash") && fits("*", "Bash"));
        assert!(fits("Edit|Write", "Write") && fits("Edit, Write", "Write"));
        assert!(!fits("Edit", "MultiEdit") && !fits("Edit|Write", "Wri"));
        assert!(fits("mcp__.*__write", "mcp__files__write_file"));
        assert!(fits("^Not(?!ebook)", "Nothing") && !fits("^Not(?!ebook)", "NotebookEdit"));
        assert!(Matcher::new("(").is_err());
    }

    #[test]
    fn a_condition_narrows_and_fails_open() {
        let fits = |rule: &str, command: &str| {
            Condition::new(rule).fits(&["Bash".to_owned()], &json!({"command": command}))
        };
        assert!(fits("Bash(git *)", "git push") && !fits("Bash(git *)", "gitk"));
        assert!(fits("Bash(git push:*)", "cd x && git push -f"));
        assert!(!fits("Bash(git push:*)", "git pull") && !fits("Edit(*.ts)", "git pull"));
        assert!(fits("Bash(rm *)", "echo $(rm x)"));
        assert!(fits("Bash", "anything"));
    }
}
