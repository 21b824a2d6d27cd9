//! What the interface wants of the program around it, and what comes back. The binary implements
//! [`Host`]; nothing here touches a disk, a process or the network.

use std::path::PathBuf;

use async_trait::async_trait;
use contract::event::{Event, Input, Level};
use contract::sandbox::Network;

use crate::keymap::Action;
use crate::theme::Theme;

/// The program around the interface.
#[async_trait(?Send)]
pub trait Host {
    /// Does what is asked for. Takes its time; the interface goes on meanwhile.
    async fn answer(&self, request: Request) -> Answer;

    /// Has the user edit a text with their editor. The terminal is theirs until this returns.
    async fn edit(&self, text: &str) -> Result<String, String>;

    /// Sees every event before it is shown.
    fn witness(&self, event: &Event);

    /// Waits until a part of the program wants to ask the user something.
    async fn inquiry(&self) -> Inquiry;
}

/// Something that a part of the program, such as a server, wants to know from the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inquiry {
    /// By what the answer is known.
    pub id: u64,
    /// Who asks.
    pub title: String,
    /// What it is about.
    pub body: String,
    /// What is wanted.
    pub wanted: Wanted,
}

/// What is wanted of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Agreement, with what it means.
    Agreement(String),
    /// One of a few.
    One {
        /// Each with what it is called.
        choices: Vec<(String, String)>,
        /// The one that Enter gives.
        usual: Option<usize>,
    },
    /// Words of their own, with what they are called.
    Words(String),
}

/// Something that the host can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Do what a line means that begins with `/`.
    Command(String),
    /// List what can be typed after `/`.
    Commands,
    /// List what a command takes after its name.
    Arguments(String),
    /// List the files of the project, for `@`.
    Files,
    /// List models.
    Models,
    /// List sessions.
    Sessions,
    /// Show the beginning of a session.
    Preview(String),
    /// List plugins.
    Plugins,
    /// Switch a plugin on or off.
    Switch {
        /// The plugin.
        plugin: String,
        /// On, or off.
        on: bool,
    },
    /// List what is allowed, asked about and denied.
    Permissions,
    /// Take a remembered permission back.
    Forget(String),
    /// List themes of the user and of plugins.
    Themes,
    /// Use a theme from here on, in later runs too.
    Keep {
        /// The theme's name.
        theme: String,
    },
    /// Load what was sent before.
    History,
    /// Keep what was sent.
    Remember(String),
    /// Load what was being written when the program ended.
    Draft,
    /// Keep what is being written, to the letter; nothing takes it away.
    SaveDraft(String),
    /// Put this on the clipboards that a terminal does not reach.
    Copy(String),
    /// Tell how things stand.
    Facts,
    /// Pass on what the user said to an inquiry.
    Reply {
        /// The inquiry.
        id: u64,
        /// What they said; none where they would not.
        words: Option<String>,
    },
}

/// What a request came to.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It is done, and there is nothing to say.
    Done,
    /// This is shown in the conversation.
    Show(String),
    /// These changes of files are shown.
    Changes(Vec<Changed>),
    /// This is told.
    Tell {
        /// How much it matters.
        level: Level,
        /// What happened.
        text: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// This goes into the conversation.
    Send(Box<Input>),
    /// This action of the interface is started.
    Start(Action),
    /// A theme is used from here on, by its name.
    Theme(String),
    /// All of these, in order.
    Several(Vec<Answer>),
    /// This run of the interface ends.
    Leave(Leave),
    /// What can be typed after `/`.
    Commands(Vec<Item>),
    /// What a command takes after its name.
    Arguments {
        /// The command.
        command: String,
        /// What it takes, by `value`.
        items: Vec<Item>,
    },
    /// The files of the project.
    Files {
        /// Relative to it.
        files: Vec<String>,
        /// Whether there are more.
        is_cut: bool,
    },
    /// Things to pick from.
    Items(Picks, Vec<Item>),
    /// The beginning of a session.
    Preview {
        /// The session.
        id: String,
        /// Its words.
        text: String,
    },
    /// Further themes, and what is wrong with others.
    Themes(Vec<Theme>, Vec<String>),
    /// What was sent before, the newest last.
    History(Vec<String>),
    /// What was being written.
    Draft(String),
    /// How things stand.
    Facts(Facts),
}

impl Answer {
    /// Something that goes into the conversation.
    pub fn send(input: Input) -> Self {
        Self::Send(Box::new(input))
    }
}

/// Words about a change of a file, and the change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Whose change it is, or which file it is about.
    pub words: String,
    /// The file.
    pub path: String,
    /// What changed in it, line by line; empty where that is not wanted or cannot be told.
    pub unified: String,
}

/// What can be picked from a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picks {
    /// A model, to answer from here on.
    Models,
    /// A session, to go on with.
    Sessions,
    /// A plugin, to switch on or off.
    Plugins,
    /// A permission, to take back.
    Permissions,
}

/// One thing to pick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// What is picked: an id or a name.
    pub value: String,
    /// What is shown first.
    pub label: String,
    /// What is shown beside it.
    pub detail: String,
    /// Where it comes from or how it stands.
    pub note: String,
}

/// How a run of the interface ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// The program ends.
    Quit,
    /// A signal or the end of the terminal ends the program.
    Stopped(Stop),
    /// Another model answers.
    Model(String),
    /// Another session goes on.
    Session(String),
    /// A session begins.
    Fresh,
    /// The conversation has ended by itself.
    Ended,
}

/// What stopped the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Somebody else's interrupt.
    Interrupted,
    /// Somebody wanted it gone.
    Quit,
    /// It was told to end.
    Terminated,
    /// The terminal is gone.
    HungUp,
}

/// How things stand around the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The root of the project.
    pub project: Option<PathBuf>,
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
