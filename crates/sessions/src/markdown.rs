//! A conversation as a Markdown document. Text from outside cannot break out of its block.

use std::fmt::Write as _;

use contract::message::Usage;
use serde_json::Value;

use crate::summary::typed;

/// How much of a tool's input or output is shown, in characters.
const SHOWN: usize = 2_000;

/// The part of the model's reasoning that a document shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinking {
    /// All of it, folded away.
    #[default]
    Collapsible,
    /// All of it.
    Full,
    /// How long it is.
    Summary,
    /// Nothing.
    Hidden,
}

/// A piece of a conversation.
pub(crate) enum Entry {
    /// The user speaks, in Markdown.
    User(String),
    /// The user speaks, with files or input that are not Markdown.
    UserVerbatim(String),
    /// The program speaks in the user's place.
    System(String),
    /// The model speaks.
    Assistant {
        /// Its reasoning; may be empty.
        thinking: String,
        /// Its words; may be empty.
        text: String,
    },
    Tool {
        name: String,
        input: Option<Value>,
        /// How it ended, in a word or two.
        ending: String,
        output: String,
    },
    Error(String),
}

/// The part before the conversation.
pub(crate) fn head(title: &str, facts: &[(&'static str, String)]) -> String {
    let mut out = format!("# {}\n\n", one_line(title));
    for (name, value) in facts {
        push_line(&mut out, &format!("> **{name}:** {}  ", one_line(value)));
    }
    out.push_str("\n## Conversation\n\n");
    out
}

/// The part after it.
pub(crate) fn tail(figures: &[(&'static str, String)]) -> String {
    let mut out = String::from("## Summary\n\n| | |\n|---|---|\n");
    for (name, value) in figures {
        let value = one_line(value).replace('|', "\\|");
        push_line(&mut out, &format!("| {name} | {value} |"));
    }
    out
}

/// The figures of a usage that are shown.
pub(crate) fn usage_figures(usage: &Usage) -> Vec<(&'static str, String)> {
    let mut figures = vec![
        ("Input tokens", usage.input_tokens.to_string()),
        ("Output tokens", usage.output_tokens.to_string()),
    ];
    figures.extend(usage.cost_usd.map(|cost| ("Cost", format!("${cost:.4}"))));
    figures
}

impl Entry {
    pub(crate) fn user(content: &str) -> Self {
        match typed(content) {
            Some(text) => Self::User(text.to_owned()),
            None => Self::UserVerbatim(content.to_owned()),
        }
    }

    /// Adds it to a document.
    pub(crate) fn render(&self, style: Thinking, out: &mut String) {
        match self {
            Self::User(text) => push_section(out, "### User", &closed(text)),
            Self::UserVerbatim(text) => push_section(out, "### User", &fenced(text, "text")),
            Self::System(text) => push_section(out, "### System", &fenced(text, "text")),
            Self::Error(text) => push_section(out, "### Error", &fenced(text, "text")),
            Self::Assistant { thinking, text } => {
                let mut body = render_thinking(thinking, style);
                body.push_str(&closed(text));
                if !body.is_empty() {
                    push_section(out, "### Assistant", &body);
                }
            }
            Self::Tool { name, input, ending, output } => {
                let mut body = String::new();
                if let Some(input) = input {
                    let pretty = format!("{input:#}");
                    push_line(&mut body, &fenced(&shortened(&pretty), "json"));
                    body.push('\n');
                }
                push_line(&mut body, &format!("Result: {}\n", one_line(ending)));
                if !output.is_empty() {
                    body.push_str(&fenced(&shortened(output), "text"));
                }
                push_section(out, &format!("#### Tool: {}", one_line(name)), &body);
            }
        }
    }
}

fn render_thinking(thinking: &str, style: Thinking) -> String {
    if thinking.is_empty() {
        return String::new();
    }
    let words = thinking.split_whitespace().count();
    let block = fenced(thinking, "text");
    match style {
        Thinking::Hidden => String::new(),
        Thinking::Summary => format!("*Thinking: {words} words*\n\n"),
        Thinking::Full => format!("**Thinking**\n\n{block}\n\n"),
        Thinking::Collapsible => format!(
            "<details>\n<summary>Thinking ({words} words)</summary>\n\n{block}\n\n</details>\n\n"
        ),
    }
}

fn push_section(out: &mut String, heading: &str, body: &str) {
    push_line(out, heading);
    out.push('\n');
    push_line(out, body.trim_end());
    out.push('\n');
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// A code block whose fence is longer than any run of backticks inside.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    let text = text.strip_suffix('\n').unwrap_or(text);
    format!("{fence}{language}\n{text}\n{fence}")
}

/// Markdown that leaves no code block open behind it, as a reply that broke off does.
fn closed(text: &str) -> String {
    let mut open: Option<&str> = None;
    for line in text.lines() {
        let indented = line.trim_start_matches(' ');
        let mark = if indented.starts_with('~') { '~' } else { '`' };
        let rest = indented.trim_start_matches(mark);
        let fence = &indented[..indented.len() - rest.len()];
        if fence.len() < 3 || line.len() - indented.len() > 3 {
            continue;
        }
        open = match open {
            None if mark == '`' && rest.contains('`') => None,
            None => Some(fence),
            Some(start) if fence.starts_with(start) && rest.trim().is_empty() => None,
            still => still,
        };
    }
    match open {
        Some(fence) => format!("{}\n{fence}", text.trim_end_matches('\n')),
        None => text.to_owned(),
    }
}

fn shortened(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(SHOWN) else {
        return text.to_owned();
    };
    let rest = text[end..].chars().count();
    let mut short = text[..end].to_owned();
    let _ = write!(short, "\n... ({rest} more characters)");
    short
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        assert_eq!(fenced("a", "text"), "```text\na\n```");
        assert_eq!(fenced("```\n````x`````\n", "text"), "``````text\n```\n````x`````\n``````");
    }

    #[test]
    fn open_code_block_is_closed() {
        assert_eq!(closed("a\n```rust\nlet x"), "a\n```rust\nlet x\n```");
        assert_eq!(closed("~~~~\n~~~\n```\n"), "~~~~\n~~~\n```\n~~~~");
        for whole in ["```\nx\n```", "```\n```x\n````", "    ```\nx", "``` `x`", "a"] {
            assert_eq!(closed(whole), whole);
        }
    }

    #[test]
    fn long_output_is_cut_between_characters_with_a_note() {
        let text = "é".repeat(SHOWN + 3);
        let short = shortened(&text);
        assert!(short.ends_with("é\n... (3 more characters)"), "{short}");
        assert_eq!(shortened("short"), "short");
    }

    #[test]
    fn thinking_cannot_close_its_own_box() {
        let shown = render_thinking("```\n</details>", Thinking::Collapsible);
        assert!(shown.contains("````text\n```\n</details>\n````\n\n</details>"), "{shown}");
    }
}
