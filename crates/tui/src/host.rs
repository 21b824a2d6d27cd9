//! Requests of the interface to the program around it, and their answers. The binary implements
//! [`Host`]; nothing here touches a disk, a process or the network.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use contract::event::{Event, Input, Level};
use contract::id::{SessionId, Timestamp};
use contract::policy::Mode;
use contract::provider::Model;
use contract::sandbox::Network;
use contract::text::{head, visible};

use crate::keymap::Action;
use crate::slash::sentence;
use crate::theme::Theme;

/// The program around the interface.
#[async_trait(?Send)]
pub trait Host {
    /// Answers a request. The interface goes on meanwhile, so this must not block its thread.
    async fn answer(&self, request: Request) -> Answer;

    /// Has the user edit a text with their editor. The terminal is theirs until this returns.
    async fn edit(&self, text: &str) -> Result<String, String>;

    /// Sees every event before it is shown.
    fn observe(&self, event: &Arc<Event>);

    /// Waits until a part of the program wants to ask the user something.
    async fn inquiry(&self) -> Inquiry;
}

/// Something that a part of the program, such as a server, wants to know from the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inquiry {
    /// Identifies the reply.
    pub id: u64,
    /// The question in a line.
    pub title: String,
    /// All of the question.
    pub body: String,
    /// The kind of reply that is wanted.
    pub wanted: ReplyKind,
}

/// A kind of reply to an inquiry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// Agreement, with its label.
    Agreement(String),
    /// One of a few values, each with its label; `usual` is the one that Enter gives.
    One { choices: Vec<(String, String)>, usual: Option<usize> },
    /// A text, with its name.
    Text(String),
}

/// Something that the host can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Run a line that begins with `/`.
    Command(String),
    /// List the commands that can be typed after `/`.
    Commands,
    /// List the arguments of a command.
    Arguments(String),
    /// List the files of the project, for `@`.
    Files,
    Models,
    /// List the models of a provider.
    ModelsOf(String),
    Sessions,
    /// List the user's messages in the session, for going back.
    Messages,
    /// Show the last messages of a session.
    Preview(String),
    Plugins,
    /// Switch a plugin on or off.
    Switch {
        plugin: String,
        on: bool,
    },
    /// List the permission rules.
    Permissions,
    /// Revoke a remembered permission.
    Forget(String),
    /// List the themes of the user and of plugins.
    Themes,
    /// Use a theme, in later runs too.
    SaveTheme {
        theme: String,
    },
    /// Load the prompts of earlier runs.
    History,
    /// Add a prompt to the history.
    Remember(String),
    /// Load the draft that a run left.
    Draft,
    /// Save the draft, to the letter.
    SaveDraft(String),
    /// Put a text on the clipboards that a terminal does not reach.
    Copy(String),
    /// Describe the surroundings of the conversation.
    Facts,
    /// Pass on the reply to an inquiry; none if the user dismissed it.
    Reply {
        id: u64,
        text: Option<String>,
    },
}

impl Request {
    /// Returns true if only an open conversation can answer it.
    pub(crate) fn needs_conversation(&self) -> bool {
        match self {
            Self::Commands
            | Self::Files
            | Self::Themes
            | Self::SaveTheme { .. }
            | Self::History
            | Self::Remember(_)
            | Self::Draft
            | Self::SaveDraft(_)
            | Self::Copy(_)
            | Self::Reply { .. } => false,
            Self::Command(_)
            | Self::Arguments(_)
            | Self::Models
            | Self::ModelsOf(_)
            | Self::Sessions
            | Self::Messages
            | Self::Preview(_)
            | Self::Plugins
            | Self::Switch { .. }
            | Self::Permissions
            | Self::Forget(_)
            | Self::Facts => true,
        }
    }
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Nothing to show.
    Done,
    /// A text to show in the conversation.
    Show(String),
    /// Changes of files to show.
    Changes(Vec<FileChange>),
    /// A notice.
    Tell {
        level: Level,
        text: String,
        hint: Option<String>,
    },
    /// An input for the conversation.
    Send(Box<Input>),
    /// An action of the interface to start.
    Start(Action),
    /// A theme to use, by its name.
    Theme(String),
    /// Several answers, in order.
    Several(Vec<Answer>),
    /// A text for the composer, with a note for the status line.
    Write {
        text: String,
        note: String,
    },
    /// The end of this run of the interface.
    Leave(Leave),
    Commands(Vec<Item>),
    Arguments {
        command: String,
        items: Vec<Item>,
    },
    /// The files of the project, relative to it; `is_cut` if there are more.
    Files {
        files: Vec<String>,
        is_cut: bool,
    },
    /// A list to pick from.
    Items(Picks, Vec<Item>),
    /// Models to add to the list, and providers whose models are still to be asked for.
    Models {
        items: Vec<Item>,
        more: Vec<String>,
    },
    /// The last messages of a session.
    Preview {
        id: String,
        text: String,
    },
    /// Further themes, and the problems of others.
    Themes(Vec<Theme>, Vec<String>),
    /// Prompts, the newest last.
    History(Vec<String>),
    Draft(String),
    Facts(Facts),
    /// The reasoning effort, unless it is left to the model.
    Effort(Option<String>),
}

impl Answer {
    /// An input for the conversation.
    pub fn send(input: Input) -> Self {
        Self::Send(Box::new(input))
    }
}

/// A change of a file, with a description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChange {
    /// The turn or the file that it is about.
    pub description: String,
    /// The numbers of added and removed lines, if they are known.
    pub counts: Option<(usize, usize)>,
    pub path: String,
    /// The unified diff; empty if none is wanted or possible.
    pub unified: String,
}

impl FileChange {
    /// The description with the counts, as one line.
    pub fn heading(&self) -> String {
        let counts = self.counts.map(|(added, removed)| format!(" (+{added} -{removed})"));
        format!("{}{}\n", self.description, counts.unwrap_or_default())
    }

    /// The heading and the diff.
    pub fn text(&self) -> String {
        self.heading() + &self.unified
    }
}

/// A list of the host to pick from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picks {
    Models,
    Sessions,
    Messages,
    Plugins,
    Permissions,
}

/// An item of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// An id or a name.
    pub value: String,
    /// The text that stands first.
    pub label: String,
    /// The text beside it.
    pub detail: String,
    /// Its origin or state.
    pub note: String,
    /// True if picking it switches it off.
    pub is_enabled: bool,
    /// True if it failed and `detail` is the reason.
    pub has_failed: bool,
}

impl Item {
    /// A model with its context size, its prices, and if it reasons, as far as they are known.
    pub fn of_model(provider: &str, model: Model) -> Self {
        let context = model.context.map(|tokens| match tokens {
            0..1_000_000 => format!("{}k context", tokens / 1000),
            _ => format!("{}.{}M context", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
        });
        let prices = model.input_price.zip(model.output_price);
        let prices = prices.map(|(input, output)| match (input, output) {
            (0.0, 0.0) => "free".to_owned(),
            _ => format!("${input:.2} in, ${output:.2} out per M"),
        });
        let reasons = model.reasoning.and_then(|reasons| reasons.then(|| "reasoning".to_owned()));
        let facts: Vec<String> = [context, prices, reasons].into_iter().flatten().collect();
        Self {
            detail: facts.join(" · "),
            note: provider.to_owned(),
            value: format!("{provider}/{}", model.id),
            label: model.id,
            ..Self::default()
        }
    }

    /// The model in use.
    pub fn in_use(provider: &str, model: &str) -> Self {
        Self {
            label: model.to_owned(),
            note: format!("{provider}, in use"),
            ..Self::named(format!("{provider}/{model}"))
        }
    }

    pub fn favorite(model: &str) -> Self {
        let (label, note) = (model.to_owned(), "favorite".to_owned());
        Self { label, note, ..Self::named(model.to_owned()) }
    }

    /// A provider whose models cannot be listed, and the reason.
    pub fn unlisted(provider: &str, reason: String) -> Self {
        Self {
            label: "no list of models".to_owned(),
            detail: reason,
            note: provider.to_owned(),
            has_failed: true,
            ..Self::default()
        }
    }

    /// The arguments of a command that are always the same.
    pub fn arguments(command: &str) -> Vec<Self> {
        match command {
            "effort" => {
                ["off", "low", "medium", "high"].map(|it| Self::named(it.to_owned())).into()
            }
            "undo" | "redo" => {
                let label = "overwrites your later changes".to_owned();
                vec![Self { label, ..Self::named("force".to_owned()) }]
            }
            _ => Vec::new(),
        }
    }

    pub fn named(value: String) -> Self {
        Self { value, ..Self::default() }
    }

    /// A session by its number of messages and its directory, if that is another one; the current
    /// session has no time.
    pub fn of_session(
        id: &SessionId,
        title: String,
        (count, elsewhere): (u64, Option<&str>),
        updated_at: Option<Timestamp>,
    ) -> Self {
        let unit = if count == 1 { "message" } else { "messages" };
        let elsewhere = elsewhere.map_or_else(String::new, |cwd| format!(", {cwd}"));
        Self {
            label: if title.is_empty() { id.to_string() } else { title },
            detail: format!("{count} {unit}{elsewhere}"),
            note: updated_at.map_or_else(|| "this one".to_owned(), Self::age),
            ..Self::named(id.to_string())
        }
    }

    /// The time since a moment, in its largest unit; the date of one that is long past.
    pub fn age(at: Timestamp) -> String {
        let seconds = Timestamp::now().0.duration_since(at.0).as_secs();
        let (count, unit) = match seconds {
            ..60 => return "just now".to_owned(),
            60..3600 => (seconds / 60, "minute"),
            3600..86_400 => (seconds / 3600, "hour"),
            86_400..2_592_000 => (seconds / 86_400, "day"),
            2_592_000.. => return at.0.strftime("%Y-%m-%d").to_string(),
        };
        format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
    }
}

impl Answer {
    /// Earlier messages of the user, the newest first, by their numbers.
    pub fn messages(texts: impl Iterator<Item = String>) -> Self {
        let item = |(number, text): (usize, String)| Item {
            label: sentence(&text),
            detail: text,
            note: number.to_string(),
            ..Item::named(number.to_string())
        };
        let mut items: Vec<Item> = (1..).zip(texts).map(item).collect();
        items.reverse();
        Self::Items(Picks::Messages, items)
    }

    /// The last messages of a session; each is the user's or the model's.
    pub fn preview(id: &str, mut messages: Vec<(bool, &str)>) -> Self {
        const SHOWN: usize = 12;
        messages.retain(|(_, text)| !text.trim().is_empty());
        let words = |(is_user, text): &(bool, &str)| {
            let mark = if *is_user { "┃ " } else { "" };
            let lines = head(text, 600).lines().take(6);
            lines.map(|line| format!("{mark}{line}")).collect::<Vec<_>>().join("\n")
        };
        let skipped = messages.len().saturating_sub(SHOWN);
        let text = messages.iter().skip(skipped).map(words).collect::<Vec<_>>().join("\n\n");
        Self::Preview { id: id.to_owned(), text: visible(&text).into_owned() }
    }
}

/// How a run of the interface ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// The program ends.
    Quit,
    /// A signal or the end of the terminal ends the program.
    Stopped(Stop),
    /// Another model answers.
    Model { provider: String, model: String },
    /// Another session continues.
    Session(String),
    /// A session begins.
    Fresh,
    /// A server opens the session, at an address.
    Serve(Option<String>),
    /// The conversation has ended by itself.
    Ended,
}

impl Leave {
    /// Returns true if the program shows a conversation afterwards.
    pub fn goes_on(&self) -> bool {
        match self {
            Self::Model { .. } | Self::Session(_) | Self::Fresh | Self::Serve(_) => true,
            Self::Quit | Self::Stopped(_) | Self::Ended => false,
        }
    }
}

/// The signal that stopped the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Interrupted,
    Quit,
    Terminated,
    /// The terminal is gone.
    HungUp,
}

/// The surroundings of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The root of the project.
    pub project: Option<PathBuf>,
    /// The directory as the user writes it.
    pub directory: String,
    /// The git branch, if there is one.
    pub branch: Option<String>,
    /// The last sessions in this directory.
    pub recent: Vec<RecentSession>,
    /// The sandbox that tools run in.
    pub confinement: Confinement,
    /// Tokens that the model can see.
    pub context_window: Option<u64>,
    /// Servers and plugins that work, and that do not.
    pub parts: Health,
    /// Tools that are not built in, with where they come from.
    pub sources: Vec<(String, String)>,
    /// The session's title or id.
    pub session: String,
}

/// A session that can be resumed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentSession {
    /// The title.
    pub title: String,
    /// The time since its last event, in words.
    pub age: String,
}

/// The sandbox that tools run in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// Not known yet.
    #[default]
    Unknown,
    /// There is none.
    None,
    /// There is one; commands reach this network without a question.
    Sandboxed(Network),
}

impl Confinement {
    /// The sandbox in plain words; none if it is not known yet.
    pub fn description(&self, mode: Mode) -> Option<String> {
        let network = match self {
            Self::Unknown => return None,
            Self::None => return Some("no sandbox: commands have all your rights".to_owned()),
            Self::Sandboxed(Network::Host) => "all of the network".to_owned(),
            Self::Sandboxed(_) if mode == Mode::Yolo => "network on request".to_owned(),
            Self::Sandboxed(Network::Hosts(hosts)) if !hosts.names.is_empty() => {
                format!("network {}", hosts.names.join(", "))
            }
            Self::Sandboxed(Network::None | Network::Hosts(_)) => "no network".to_owned(),
        };
        let writes = if mode == Mode::ReadOnly { "writes nothing" } else { "writes only here" };
        Some(format!("sandboxed: {network}, {writes}"))
    }
}

/// How many parts work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Plugins that are on.
    pub plugins: usize,
    /// Servers of the Model Context Protocol.
    pub servers: usize,
    /// Servers that are being started.
    pub starting: usize,
    /// Those of both that failed.
    pub failed: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_in_its_largest_unit() {
        let past = |seconds| {
            let now = Timestamp::now().0.as_second();
            Item::age(Timestamp(jiff::Timestamp::from_second(now - seconds).unwrap()))
        };
        assert_eq!([past(-9), past(5)], ["just now"; 2]);
        assert_eq!([past(65), past(7300)], ["1 minute ago", "2 hours ago"]);
        assert_eq!(past(3 * 86_400 + 5), "3 days ago");
        assert_eq!(past(90 * 86_400).len(), "2026-01-01".len());
    }
}
