//! Compares a request with the expectation of a turn, and describes every difference.

use contract::provider::Request;

use super::difference::{closest_line, difference, excerpt};
use super::scenario::{Expect, ResultMatch, TextMatch, ToolsMatch};
use super::sent::{Sent, ToolResult};

/// The differences of a request from the expectation.
pub(super) fn check(expect: &Expect, sent: &Sent<'_>, request: &Request) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(count) = expect.messages
        && count != sent.messages
    {
        let sent = sent.messages;
        problems.push(format!("the number of messages: expected {count}, sent {sent}"));
    }
    if let Some(text) = &expect.system {
        check_text("the system prompt", text, &request.system, &mut problems);
    }
    if let Some(text) = &expect.last_user {
        let last_user = sent.last_user.unwrap_or_default();
        check_text("the last user message", text, last_user, &mut problems);
    }
    if let Some(tools) = &expect.tools {
        let offered: Vec<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
        check_tools(tools, &offered, &mut problems);
    }
    if let Some(results) = &expect.tool_results {
        check_results(results, &sent.results, &mut problems);
    }
    problems
}

fn check_text(what: &str, expected: &TextMatch, sent: &str, problems: &mut Vec<String>) {
    if let Some(equals) = &expected.equals
        && equals != sent
    {
        let shown = difference(equals, sent);
        problems.push(format!("{what} is not equal to what was expected:\n{shown}"));
    }
    for needle in &expected.contains.0 {
        if !sent.contains(needle.as_str()) {
            problems.push(format!(
                "{what} does not contain what was expected:\n{}\n{}",
                excerpt(needle, "- "),
                searched(needle, sent),
            ));
        }
    }
    if let Some(pattern) = &expected.matches
        && !pattern.0.is_match(sent)
    {
        problems.push(format!(
            "{what} does not match the expected pattern:\n- {}\n{}",
            pattern.0,
            excerpt(sent, "+ "),
        ));
    }
    for needle in &expected.not_contains.0 {
        if sent.contains(needle.as_str()) {
            problems.push(format!("{what} contains what it must not:\n{}", excerpt(needle, "+ ")));
        }
    }
}

fn searched(needle: &str, sent: &str) -> String {
    match closest_line(needle, sent) {
        Some(line) if sent.lines().count() > 1 => format!(
            "the closest line that was sent:\n{}\nof:\n{}",
            excerpt(line, "+ "),
            excerpt(sent, "  "),
        ),
        _ => excerpt(sent, "+ "),
    }
}

fn check_tools(expected: &ToolsMatch, offered: &[&str], problems: &mut Vec<String>) {
    let list = |names: &[&str]| match names {
        [] => String::from("none"),
        names => names.join(", "),
    };
    let is_offered = |name: &&str| offered.contains(name);
    let contains: Vec<&str> = expected.contains.iter().map(String::as_str).collect();
    let missing: Vec<&str> = contains.into_iter().filter(|name| !is_offered(name)).collect();
    if !missing.is_empty() {
        problems.push(format!(
            "tools that are not offered:\n- {}\n+ {}",
            list(&missing),
            list(offered)
        ));
    }
    let unwanted = expected.not_contains.iter().map(String::as_str);
    let unwanted: Vec<&str> = unwanted.filter(is_offered).collect();
    if !unwanted.is_empty() {
        problems.push(format!("tools that must not be offered:\n+ {}", list(&unwanted)));
    }
    if let Some(equals) = &expected.equals {
        let mut equals: Vec<&str> = equals.iter().map(String::as_str).collect();
        let mut sorted = offered.to_vec();
        equals.sort_unstable();
        sorted.sort_unstable();
        if equals != sorted {
            problems.push(format!(
                "the offered tools are not those expected:\n- {}\n+ {}",
                list(&equals),
                list(&sorted)
            ));
        }
    }
}

fn check_results(expected: &[ResultMatch], sent: &[ToolResult<'_>], problems: &mut Vec<String>) {
    if expected.len() != sent.len() {
        let names: Vec<&str> = sent.iter().map(|result| result.name).collect();
        let names = match names.as_slice() {
            [] => String::new(),
            names => format!(" ({})", names.join(", ")),
        };
        problems.push(format!(
            "the number of tool results since the last reply: expected {}, sent {}{names}",
            expected.len(),
            sent.len()
        ));
    }
    for ((expected, sent), number) in expected.iter().zip(sent).zip(1..) {
        let what = format!("tool result {number} (`{}`)", sent.name);
        if let Some(name) = &expected.name
            && name != sent.name
        {
            problems.push(format!("{what} comes from another tool:\n- {name}\n+ {}", sent.name));
        }
        if let Some(is_error) = expected.is_error
            && is_error != sent.is_error
        {
            problems.push(format!(
                "{what} {}:\n{}",
                if is_error {
                    "was expected to fail, but succeeded"
                } else {
                    "was expected to succeed, but failed"
                },
                excerpt(sent.content, "+ ")
            ));
        }
        check_text(&what, &expected.content, sent.content, problems);
    }
}
