//! Rules as they are written in configuration, checked against their own examples.

use std::path::{Path, PathBuf};

use contract::policy::Decision;
use serde_json::{Map, Value};

use super::{CommandPattern, HostPattern, Match, Matcher, PathPattern, Rule, Scope, Target, Touch};
use crate::glob::{Reading, meet};
use crate::paths::Places;
use crate::shell;

/// The rules of one file.
#[derive(Debug, Default)]
pub struct Parsed {
    /// Those that hold.
    pub rules: Vec<Rule>,
    /// Those that may not stand where they stand, each as a message for people.
    pub refused: Vec<String>,
}

/// Why the rules of a file cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RuleError {
    /// The rule is not written as rules are.
    #[error("{origin}: cannot read rule {text}: {cause}")]
    Unreadable {
        /// Where it stands.
        origin: String,
        /// The rule as it is written.
        text: String,
        /// The reason.
        cause: String,
    },
    /// The rule does not do what its example says.
    #[error("{origin}: rule {text} {fault} its example `{example}`")]
    Example {
        /// Where it stands.
        origin: String,
        /// The rule as it is written.
        text: String,
        /// The example.
        example: String,
        /// `does not match`, or `must not match`.
        fault: &'static str,
    },
}

/// Reads `{allow: [..], ask: [..], deny: [..]}`. `origin` turns a place such as `deny[2]` into
/// where it stands, with its file and line.
pub fn parse(
    value: &Value,
    scope: Scope,
    origin: impl Fn(&str) -> String,
) -> Result<Parsed, RuleError> {
    let mut parsed = Parsed::default();
    if value.is_null() {
        return Ok(parsed);
    }
    let unreadable = |place: &str, text: &Value, cause: &str| RuleError::Unreadable {
        origin: origin(place),
        text: text.to_string(),
        cause: cause.to_owned(),
    };
    let lists = value
        .as_object()
        .ok_or_else(|| unreadable("", value, "expected lists `allow`, `ask` and `deny`"))?;
    for (key, list) in lists {
        let decision = match key.as_str() {
            "allow" => Decision::Allow,
            "ask" => Decision::Ask,
            "deny" => Decision::Deny,
            _ => return Err(unreadable(key, list, "expected `allow`, `ask` or `deny`")),
        };
        let entries =
            list.as_array().ok_or_else(|| unreadable(key, list, "expected a list of rules"))?;
        for (index, entry) in entries.iter().enumerate() {
            let place = format!("{key}[{index}]");
            let rule = rule(entry, decision)
                .map(|(matcher, text, reason)| Rule {
                    decision,
                    scope,
                    origin: origin(&place),
                    text,
                    reason,
                    matcher,
                })
                .map_err(|cause| unreadable(&place, entry, &cause))?;
            check_examples(&rule, entry)?;
            if decision == Decision::Allow
                && let Target::Command(pattern) = &rule.matcher.target
                && let Some(word) = pattern.globbed_word()
            {
                parsed.refused.push(format!(
                    "{}: allow rule `{}` takes `{word}` literally; write the words in full, and \
                     `:*` at the end for any further arguments",
                    rule.origin, rule.text
                ));
            }
            if scope == Scope::Project && decision == Decision::Allow {
                parsed.refused.push(format!(
                    "{}: a project may only tighten, so allow rule `{}` is ignored; put it into \
                     your own configuration to use it",
                    rule.origin, rule.text
                ));
            } else {
                parsed.rules.push(rule);
            }
        }
    }
    Ok(parsed)
}

/// Tools of which rules say more between parentheses.
const WITH_PARENTHESES: &[&str] =
    &["Bash", "Read", "Grep", "Glob", "Inspect", "Write", "Edit", "Host", "WebFetch", "Outside"];
/// Tools that read files.
pub(crate) const READING: &[&str] = &["Read", "Grep", "Glob", "Inspect"];
/// Tools that write them.
const WRITING: &[&str] = &["Write", "Edit"];

type Read = (Matcher, String, Option<String>);

fn rule(entry: &Value, decision: Decision) -> Result<Read, String> {
    match entry {
        Value::String(text) => Ok((short(text, decision)?, text.clone(), None)),
        Value::Object(fields) => long(fields, decision),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Err(String::from("expected text or a map"))
        }
    }
}

/// Reads `Tool` and `Tool(what)`.
pub(super) fn short(text: &str, decision: Decision) -> Result<Matcher, String> {
    let text = text.trim();
    let Some((name, inside)) = text.split_once('(') else {
        if let Some((name, what)) = text.split_once(':')
            && WITH_PARENTHESES.contains(&name)
        {
            return Err(format!("`{text}` names no tool; write `{name}({what})`"));
        }
        return tool_name(text).map(|name| Matcher {
            tool: Some(name),
            source: None,
            target: Target::Anything,
        });
    };
    let inside = inside.strip_suffix(')').ok_or("the closing parenthesis is missing")?;
    // A plugin can claim any action; an allow rule trusts the actions of built-in tools only.
    let source = (decision == Decision::Allow).then(|| String::from("builtin"));
    let name = name.trim();
    let target = match name {
        "Bash" if inside.trim() == "*" => Target::AnyCommand,
        "Bash" => Target::Command(command(inside, decision)?),
        _ if READING.contains(&name) => path(Touch::Read, inside)?,
        _ if WRITING.contains(&name) => path(Touch::Write, inside)?,
        "Host" => host(inside)?,
        "Outside" => Target::Outside(command(inside, decision)?),
        "WebFetch" => host(inside.trim().strip_prefix("domain:").unwrap_or(inside))?,
        other => {
            return tool_name(other).map(|tool| Matcher {
                tool: Some(tool),
                source: None,
                target: Target::What(inside.to_owned()),
            });
        }
    };
    // To search may be allowed where to read is not.
    let only = decision == Decision::Allow && READING[1..].contains(&name);
    Ok(Matcher { tool: only.then(|| name.to_owned()), source, target })
}

/// Reads `{tool, command | path | host, reason, match, not_match}`.
fn long(fields: &Map<String, Value>, decision: Decision) -> Result<Read, String> {
    const KNOWN: &[&str] = &["tool", "command", "path", "host", "reason", "match", "not_match"];
    if let Some(key) = fields.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(format!("unknown key `{key}`; expected one of {}", KNOWN.join(", ")));
    }
    let text = |key: &str| match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(format!("`{key}` must be text")),
    };
    let tool = text("tool")?.map(tool_name).transpose()?;
    let means = |names: &[&str]| tool.as_deref().is_some_and(|tool| is_any_of(tool, names));
    let touch = match (means(READING), means(WRITING)) {
        (true, false) => Touch::Read,
        (false, true) => Touch::Write,
        (true, true) | (false, false) => Touch::Any,
    };
    let target = match (text("command")?, text("path")?, text("host")?) {
        (Some("*"), None, None) => Target::AnyCommand,
        (Some(pattern), None, None) => Target::Command(command(pattern, decision)?),
        (None, Some(pattern), None) => path(touch, pattern)?,
        (None, None, Some(pattern)) => host(pattern)?,
        (None, None, None) if tool.is_some() => Target::Anything,
        (None, None, None) => return Err(String::from("it names no tool, command, path or host")),
        _ => return Err(String::from("it may have one of command, path and host")),
    };
    let source = (decision == Decision::Allow && tool.is_none()).then(|| String::from("builtin"));
    // A deny or ask rule applies to every tool, as in the short form.
    let tool = tool.filter(|tool| decision == Decision::Allow || !says_what(tool, &target));
    let written = Value::Object(
        fields
            .iter()
            .filter(|(key, _)| ["tool", "command", "path", "host"].contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    );
    let reason = text("reason")?.map(str::to_owned);
    let matcher = Matcher { tool, source, target };
    Ok((matcher, written.to_string(), reason))
}

/// Returns true if a tool's name only repeats the action of the target.
fn says_what(tool: &str, target: &Target) -> bool {
    match target {
        Target::AnyCommand | Target::Command(_) => is_any_of(tool, &["Bash"]),
        Target::Path(..) => is_any_of(tool, READING) || is_any_of(tool, WRITING),
        Target::Host(_) => is_any_of(tool, &["Host", "WebFetch"]),
        Target::Anything | Target::Outside(_) | Target::What(_) => false,
    }
}

/// Returns true if a pattern for names of tools matches one of these.
fn is_any_of(tool: &str, names: &[&str]) -> bool {
    names.iter().any(|name| meet((tool, Reading::Rule), (name, Reading::Literal)))
}

fn tool_name(name: &str) -> Result<String, String> {
    let name = name.trim();
    let plain = |c: char| c.is_alphanumeric() || "_-.:*/".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        return Err(format!("`{name}` is not a tool's name"));
    }
    Ok(name.to_owned())
}

fn command(text: &str, decision: Decision) -> Result<CommandPattern, String> {
    let is_join = |word: &str| ["|", "||", "&&", ";", "&"].contains(&word);
    if decision != Decision::Allow && text.split_whitespace().any(is_join) {
        return Err(format!("`{text}` is more than one command; write a rule for each"));
    }
    CommandPattern::parse(text).map_err(|problem| format!("`{text}` is not a command: {problem}"))
}

fn path(touch: Touch, text: &str) -> Result<Target, String> {
    PathPattern::parse(text).map(|pattern| Target::Path(touch, pattern)).ok_or_else(|| {
        format!(
            "`{text}` is not a path; it may not be empty, have `..` or an open bracket, or begin \
                 with a variable other than `$HOME`, with `file:` or with the home of another user"
        )
    })
}

fn host(text: &str) -> Result<Target, String> {
    HostPattern::parse(text).map(Target::Host).ok_or_else(|| format!("`{text}` is not a host"))
}

fn check_examples(rule: &Rule, entry: &Value) -> Result<(), RuleError> {
    for (key, wanted, fault) in
        [("match", true, "does not match"), ("not_match", false, "must not match")]
    {
        let examples = match entry.get(key) {
            None | Some(Value::Null) => continue,
            Some(Value::String(example)) => vec![Value::String(example.clone())],
            Some(Value::Array(examples)) => examples.clone(),
            Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => vec![Value::Null],
        };
        for example in examples {
            let Value::String(example) = example else {
                return Err(RuleError::Unreadable {
                    origin: rule.origin.clone(),
                    text: rule.text.clone(),
                    cause: format!("`{key}` must be a list of texts"),
                });
            };
            if rule.speaks_of(&example) != wanted {
                return Err(RuleError::Example {
                    origin: rule.origin.clone(),
                    text: rule.text.clone(),
                    example,
                    fault,
                });
            }
        }
    }
    Ok(())
}

impl Rule {
    /// Returns true if it matches an example.
    fn speaks_of(&self, example: &str) -> bool {
        let places = Places {
            workspace: PathBuf::from("/workspace"),
            home: Some(PathBuf::from("/home/user")),
            readable: Vec::new(),
            allowed: Vec::new(),
            protected: Vec::new(),
        };
        let tool = self.matcher.tool.as_deref().unwrap_or("*");
        match &self.matcher.target {
            Target::Anything => meet((tool, Reading::Rule), (example, Reading::Literal)),
            Target::AnyCommand => true,
            Target::What(what) => what == example,
            Target::Host(pattern) => pattern.matches(example, self.decision),
            Target::Path(_, pattern) => {
                let path = match example.strip_prefix("~/") {
                    Some(rest) => Path::new("/home/user").join(rest),
                    None => places.workspace.join(example),
                };
                pattern.matches((&path, Reading::Literal), &places, self.decision)
            }
            Target::Command(pattern) | Target::Outside(pattern) => {
                let script = shell::read(example, &places.workspace, places.home.as_deref());
                let mut commands = script.commands.iter();
                match self.decision {
                    Decision::Allow => {
                        let is_plain = script.odd.is_none() && !script.is_broken;
                        let mut direct = commands.filter(|it| !it.is_nested).peekable();
                        is_plain
                            && direct.peek().is_some()
                            && direct.all(|it| pattern.covers(it.argv()))
                    }
                    Decision::Ask | Decision::Deny => {
                        commands.any(|it| pattern.matches(it.argv()) == Match::Yes)
                    }
                }
            }
        }
    }
}
