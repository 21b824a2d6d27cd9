//! Sessions in forms that other programs read.

use std::io;

use contract::event::{CallOutcome, Event, Origin};
use contract::id::{SessionId, Timestamp};
use contract::message::Usage;
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::error::Error;
pub use crate::markdown::Thinking;
use crate::markdown::{self, Entry};
use crate::messages::{Fold, Message, Role};
use crate::reader::Contents;
use crate::store::Store;
use crate::summary::{Summarizer, Summary};

/// Why a session could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// A session to be exported: its events are gone through twice, one at a time, so that its size
/// does not matter.
pub struct Export<'a> {
    source: Source<'a>,
    outline: Outline,
    /// Lines of the log that could not be read, without the events.
    pub damage: Contents,
}

enum Source<'a> {
    Log(&'a Store, SessionId),
    Memory(&'a [Event]),
}

/// The facts of a session beside its messages.
struct Outline {
    summary: Summary,
    forked_from: Option<Origin>,
    usage: Usage,
    tools: u64,
    failed_tools: u64,
}

impl<'a> Export<'a> {
    /// Exports a session from its log.
    pub fn of_log(store: &'a Store, id: &SessionId) -> Result<Self, Error> {
        Self::new(Source::Log(store, id.clone()), id)
    }

    /// Exports a session that is not stored.
    pub fn of_events(id: &SessionId, events: &'a [Event]) -> Result<Self, Error> {
        Self::new(Source::Memory(events), id)
    }

    fn new(source: Source<'a>, id: &SessionId) -> Result<Self, Error> {
        let mut summarizer: Option<Summarizer> = None;
        let (mut fold, mut tools, mut failed_tools) = (Fold::default(), 0, 0);
        let damage = source.each(&mut |event| {
            let summarizer =
                summarizer.get_or_insert_with(|| Summarizer::new(id.clone(), event.at));
            summarizer.add(event);
            fold.add(event);
            for message in fold.messages.drain(..).filter(|message| message.role == Role::Tool) {
                tools += 1;
                failed_tools += u64::from(!message.tool_result.is_some_and(|it| it.success));
            }
            Ok::<_, Error>(())
        })?;
        let unfinished = fold.open.len() as u64;
        let summarizer =
            summarizer.unwrap_or_else(|| Summarizer::new(id.clone(), Timestamp::now()));
        let outline = Outline {
            summary: summarizer.summary,
            forked_from: fold.forked_from,
            usage: Usage { generation_id: None, ..fold.usage },
            tools: tools + unfinished,
            failed_tools: failed_tools + unfinished,
        };
        Ok(Self { source, outline, damage })
    }

    /// Writes a Markdown document under the session's own title, or under `title` where one is
    /// given. `put` gets it piece by piece.
    pub fn markdown(
        &self,
        title: Option<&str>,
        thinking: Thinking,
        put: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> Result<(), ExportError> {
        let summary = &self.outline.summary;
        let title = title.or(summary.title.as_deref()).unwrap_or(summary.id.as_str());
        put(&markdown::head(title, &self.outline.facts()))?;
        let mut text = String::new();
        self.messages(&mut |message| {
            text.clear();
            entry(message).render(thinking, &mut text);
            put(&text)
        })?;
        put(&markdown::tail(&self.outline.figures()))?;
        Ok(())
    }

    /// Writes indented JSON.
    pub fn json(&self, out: &mut dyn io::Write) -> Result<(), ExportError> {
        let whole = Whole {
            summary: &self.outline.summary,
            forked_from: self.outline.forked_from.as_ref(),
            messages: Messages(self),
            usage: &self.outline.usage,
        };
        serde_json::to_writer_pretty(out, &whole).map_err(io::Error::from)?;
        Ok(())
    }

    /// Goes through the messages.
    fn messages(
        &self,
        take: &mut dyn FnMut(&Message) -> io::Result<()>,
    ) -> Result<(), ExportError> {
        let mut fold = Fold::default();
        self.source.each(&mut |event| {
            fold.add(event);
            let taken = fold.messages.drain(..).try_for_each(|message| take(&message));
            taken.map_err(ExportError::from)
        })?;
        Ok(fold.open.into_iter().try_for_each(|(_, message)| take(&message))?)
    }
}

impl Source<'_> {
    fn each<E: From<Error>>(
        &self,
        take: &mut dyn FnMut(&Event) -> Result<(), E>,
    ) -> Result<Contents, E> {
        match self {
            Self::Memory(events) => {
                events.iter().try_for_each(take)?;
                Ok(Contents::default())
            }
            Self::Log(store, id) => store.each_event(id, |event| take(&event)),
        }
    }
}

impl Outline {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let summary = &self.summary;
        let mut facts = vec![
            ("Session", summary.id.to_string()),
            ("Directory", summary.cwd.clone()),
            ("Created", moment(summary.created_at)),
            ("Updated", moment(summary.updated_at)),
            ("Model", format!("{} ({})", summary.model, summary.provider)),
        ];
        if let Some(origin) = &self.forked_from {
            let from = format!("{}, event {}", origin.session, origin.seq.0);
            facts.push(("Forked from", from));
        }
        facts
    }

    fn figures(&self) -> Vec<(&'static str, String)> {
        let mut figures = vec![
            ("Messages", self.summary.message_count.to_string()),
            ("Turns", self.summary.turns.to_string()),
            ("Tool calls", self.tools.to_string()),
            ("Failed tool calls", self.failed_tools.to_string()),
        ];
        figures.extend(markdown::usage_figures(&self.usage));
        figures
    }
}

/// A session as JSON.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<&'a Origin>,
    messages: Messages<'a>,
    usage: &'a Usage,
}

/// The messages of a session, read while they are written.
struct Messages<'a>(&'a Export<'a>);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut refused = None;
        let mut take = |message: &Message| {
            list.serialize_element(message).map_err(|error| {
                refused = Some(error);
                io::Error::other("the message was not taken")
            })
        };
        let read = self.0.messages(&mut take);
        match refused {
            Some(error) => Err(error),
            None => read.map_err(S::Error::custom).and_then(|()| list.end()),
        }
    }
}

fn entry(message: &Message) -> Entry {
    match message.role {
        Role::User => Entry::user(&message.content),
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

    fn markdown(title: Option<&str>, thinking: Thinking) -> String {
        let events = samples::conversation();
        let export = Export::of_events(&samples::id(), &events).unwrap();
        let mut text = String::new();
        let mut put = |piece: &str| {
            text.push_str(piece);
            Ok(())
        };
        export.markdown(title, thinking, &mut put).unwrap();
        text
    }

    #[test]
    fn session_is_exported_as_markdown() {
        insta::assert_snapshot!(markdown(None, Thinking::Collapsible));
    }

    #[test]
    fn session_is_exported_as_json() {
        let events = samples::conversation();
        let export = Export::of_events(&samples::id(), &events).unwrap();
        let mut bytes = Vec::new();
        export.json(&mut bytes).unwrap();
        insta::assert_snapshot!(String::from_utf8(bytes).unwrap());
    }

    #[test]
    fn thinking_is_exported_as_configured() {
        let with = |thinking| markdown(Some("Other"), thinking);
        assert!(with(Thinking::Full).contains("**Thinking**\n\n```text\nLet me look"));
        assert!(with(Thinking::Summary).contains("*Thinking: 4 words*"));
        assert!(!with(Thinking::Hidden).contains("hinking"));
        assert!(with(Thinking::Hidden).starts_with("# Other\n"));
    }

    #[test]
    fn log_export_equals_its_events_and_reports_damage() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path());
        let log = contract::log::Log::append;
        log(&store.create(&samples::id()).unwrap(), &samples::conversation()).unwrap();
        let path = store.path(&samples::id());
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend(b"garbage\n");
        std::fs::write(&path, bytes).unwrap();
        let export = Export::of_log(&store, &samples::id()).unwrap();
        assert_eq!(export.damage.repair_count, 1);
        let mut text = String::new();
        let mut put = |piece: &str| {
            text.push_str(piece);
            Ok(())
        };
        export.markdown(None, Thinking::Collapsible, &mut put).unwrap();
        assert_eq!(text, markdown(None, Thinking::Collapsible));
        let full = |_: &str| Err(io::ErrorKind::StorageFull.into());
        let failed = export.markdown(None, Thinking::Hidden, &mut full.clone());
        assert!(matches!(failed, Err(ExportError::Write(_))), "{failed:?}");
    }
}
