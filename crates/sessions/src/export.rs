//! Sessions in forms that other programs read.

use contract::event::CallOutcome;
use contract::id::Timestamp;
use contract::message::Usage;

use crate::markdown::{Document, Entry};
use crate::session::{Message, Role, Session};
use crate::summary::typed;

/// What a document shows of the model's reasoning.
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

/// The session as a Markdown document under its own title, or under `title` where one is given.
pub fn markdown(session: &Session, title: Option<&str>, thinking: Thinking) -> String {
    let summary = &session.summary;
    let title = title.or(summary.title.as_deref()).unwrap_or(summary.id.as_str());
    let mut facts = vec![
        ("Session", summary.id.to_string()),
        ("Folder", summary.cwd.clone()),
        ("Created", moment(summary.created_at)),
        ("Updated", moment(summary.updated_at)),
        ("Model", format!("{} ({})", summary.model, summary.provider)),
    ];
    if let Some(origin) = &session.forked_from {
        let from = format!("{}, event {}", origin.session, origin.seq.0);
        facts.push(("Forked from", from));
    }
    let tools = session.messages.iter().filter(|message| message.role == Role::Tool);
    let failed = |message: &&Message| {
        let result = message.tool_result.as_ref();
        !result.is_some_and(|result| result.success)
    };
    let mut figures = vec![
        ("Messages", summary.message_count.to_string()),
        ("Turns", summary.turns.to_string()),
        ("Tool calls", tools.clone().count().to_string()),
        ("Failed tool calls", tools.filter(failed).count().to_string()),
    ];
    figures.extend(usage_figures(&session.usage));
    let document = Document {
        title: title.to_owned(),
        facts,
        entries: session.messages.iter().map(entry).collect(),
        figures,
    };
    document.render(thinking)
}

/// The session as indented JSON.
pub fn json(session: &Session) -> String {
    serde_json::to_string_pretty(session).expect("a session has text keys only")
}

/// What is worth showing of a usage.
pub(crate) fn usage_figures(usage: &Usage) -> Vec<(&'static str, String)> {
    let mut figures = vec![
        ("Input tokens", usage.input_tokens.to_string()),
        ("Output tokens", usage.output_tokens.to_string()),
    ];
    figures.extend(usage.cost_usd.map(|cost| ("Cost", format!("${cost:.4}"))));
    figures
}

/// What the person said, as it is shown.
pub(crate) fn user(content: &str) -> Entry {
    match typed(content) {
        Some(text) => Entry::User(text.to_owned()),
        None => Entry::UserVerbatim(content.to_owned()),
    }
}

fn entry(message: &Message) -> Entry {
    match message.role {
        Role::User => user(&message.content),
        Role::System => Entry::System(message.content.clone()),
        Role::Assistant => Entry::Assistant {
            thinking: message.thinking.clone().unwrap_or_default(),
            text: message.content.clone(),
        },
        Role::Tool => Entry::Tool {
            name: message.tool_name.clone().unwrap_or_default(),
            input: message.tool_input.clone(),
            ending: ending(message),
            output: message.content.clone(),
        },
    }
}

fn ending(message: &Message) -> String {
    let Some(result) = &message.tool_result else {
        return "never ended".to_owned();
    };
    let word = match result.outcome {
        CallOutcome::Ran if result.success => "success",
        CallOutcome::Ran => "failed",
        CallOutcome::Invalid => "invalid",
        CallOutcome::Denied => "denied",
        CallOutcome::NoSandbox => "no sandbox",
        CallOutcome::Unanswered => "needed a permission",
        CallOutcome::Skipped => "not run",
        CallOutcome::Interrupted => "interrupted",
    };
    match result.outcome {
        CallOutcome::Ran => format!("{word} after {} ms", result.duration_ms),
        _ => word.to_owned(),
    }
}

fn moment(at: Timestamp) -> String {
    at.0.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn session() -> Session {
        Session::of(&samples::id(), &samples::conversation())
    }

    #[test]
    fn a_session_becomes_a_document() {
        insta::assert_snapshot!(markdown(&session(), None, Thinking::Collapsible));
    }

    #[test]
    fn a_session_becomes_json() {
        insta::assert_snapshot!(json(&session()));
    }

    #[test]
    fn thinking_is_shown_as_asked() {
        let with = |thinking| markdown(&session(), Some("Other"), thinking);
        assert!(with(Thinking::Full).contains("**Thinking**\n\n```text\nLet me look"));
        assert!(with(Thinking::Summary).contains("*Thinking: 4 words*"));
        assert!(!with(Thinking::Hidden).contains("hinking"));
        assert!(with(Thinking::Hidden).starts_with("# Other\n"));
    }
}
