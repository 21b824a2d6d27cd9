//! A question about a call, in the words that every front end shows: a title, what would happen,
//! and the answers. Text of the call is made safe to read here. Asks nothing itself.

use std::path::Path;

use contract::action::Action;
use contract::event::{Answer, Event, EventKind};
use contract::id::CallId;
use serde_json::Value;

use crate::diff;
use crate::masks::{cautions, unmasked};
use crate::text::{counted, one_line};
use crate::theme::Role;

/// A part of what a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Prose(Role, String),
    /// Text as it is, behind a bar.
    Verbatim(String),
    /// A change of the file at `path`, as a unified diff without its header.
    Change {
        path: String,
        unified: String,
    },
}

/// An answer that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The answer.
    pub answer: Answer,
    /// Its words.
    pub label: String,
    /// One word for it, for small screens.
    pub word: &'static str,
    /// The keys that give it: its number first, then letters.
    pub keys: &'static str,
}

/// A call that needs permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    pub call: CallId,
    /// The agent that made the call; none for the session's own.
    pub agent: Option<String>,
    /// The effects: one part for each command, change or tool, and its needs.
    pub parts: Vec<Part>,
    kind: Kind,
    /// Targets of a lasting answer, in plain words; empty if nothing can be remembered.
    remember: Vec<String>,
    is_destructive: bool,
}

/// The kinds of call that have a title of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Leave,
    Command,
    Edit(String),
    Connect(String),
    Read(String),
    Tool(String),
    /// A question of the program itself, not about a tool.
    Other(String),
}

impl Permission {
    /// The question of an event in the project at `project`; none if the event asks nothing.
    pub fn of(event: &Event, project: Option<&Path>) -> Option<Self> {
        let EventKind::Asked { call, tool, args, actions, why, destructive, remember } =
            &event.kind
        else {
            return None;
        };
        let view = View { project, actions, args };
        let mut parts = view.parts();
        if !why.is_empty() {
            parts.push(Part::Prose(Role::Soft, one_line(&unmasked(why))));
        }
        let mut targets = Vec::new();
        for target in remember.iter().map(|rule| target(rule, &view)) {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        Some(Self {
            call: call.clone(),
            agent: event.within.as_ref().map(|within| one_line(&within.agent)),
            parts,
            kind: view.kind(tool),
            remember: targets,
            is_destructive: *destructive,
        })
    }

    /// The question in a few words.
    pub fn title(&self) -> String {
        format!("{}?", self.summary())
    }

    /// The call in a few words.
    pub fn summary(&self) -> String {
        match &self.kind {
            Kind::Leave => "Leave the sandbox".to_owned(),
            Kind::Command => "Run this command".to_owned(),
            Kind::Edit(path) => format!("Edit {path}"),
            Kind::Connect(host) => format!("Connect to {host}"),
            Kind::Read(path) => format!("Read {path}"),
            Kind::Tool(tool) => format!("Use the tool {tool}"),
            Kind::Other(what) => format!("Allow {what}"),
        }
    }

    /// The parts for a list of several calls, under a heading with the call's number.
    pub fn numbered(&self, number: usize, agent: &str) -> Vec<Part> {
        let (line, rest) = match (&self.kind, &self.parts[..]) {
            (Kind::Edit(_), [Part::Prose(_, line), rest @ ..]) => (format!("Edit {line}"), rest),
            (_, rest) => (self.summary(), rest),
        };
        let head = Part::Prose(Role::Heading, format!("{number}. {line}{agent}"));
        std::iter::once(head).chain(rest.iter().cloned()).collect()
    }
}

/// The answer that puts the questions again, one at a time.
pub const ONE_BY_ONE: &str = "Decide one by one";

/// The title of one question about all of these calls.
pub fn title(asked: &[Permission]) -> String {
    let [first, _, ..] = asked else {
        return asked.first().map(Permission::title).unwrap_or_default();
    };
    let count = asked.len();
    let all = |is: fn(&Kind) -> bool| asked.iter().all(|it| is(&it.kind));
    if asked.iter().any(|it| it.kind == Kind::Leave) {
        format!("Leave the sandbox? ({count} calls)")
    } else if all(|kind| *kind == Kind::Command) {
        format!("Run these {count} commands?")
    } else if asked.iter().all(|it| it.kind == first.kind && matches!(it.kind, Kind::Edit(_))) {
        format!("{} ({count} times)?", first.summary())
    } else if all(|kind| matches!(kind, Kind::Edit(_))) {
        format!("Make these {count} edits?")
    } else {
        format!("Allow these {count} calls?")
    }
}

/// The answers to one question about all of these calls, and the position of the default one.
pub fn offers(asked: &[Permission]) -> (Vec<Offer>, usize) {
    let yes = match asked {
        [_] => "Yes, once".to_owned(),
        several => format!("Yes, all {}", several.len()),
    };
    let offer = |answer, label, word, keys| Offer { answer, label, word, keys };
    let mut offers = vec![offer(Answer::Once, yes, "yes", "1y")];
    let mut targets: Vec<&str> = Vec::new();
    for target in asked.iter().flat_map(|it| &it.remember) {
        if !targets.contains(&target.as_str()) {
            targets.push(target);
        }
    }
    if !targets.is_empty() {
        let always = format!("Yes, and always allow {} in this project", listed(&targets));
        offers.push(offer(Answer::Project, always, "always", "2ap"));
        let session = "Yes, for this session".to_owned();
        offers.push(offer(Answer::Session, session, "session", "3s"));
    }
    let keys = if targets.is_empty() { "2nd" } else { "4nd" };
    let no = "No, and tell the model why".to_owned();
    offers.push(offer(Answer::Deny { reason: None }, no, "no", keys));
    let is_destructive = asked.iter().any(|it| it.is_destructive);
    let default = if is_destructive { offers.len() - 1 } else { 0 };
    (offers, default)
}

fn listed(items: &[&str]) -> String {
    const NAMED: usize = 3;
    match items {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] if items.len() <= NAMED => format!("{} and {last}", first.join(", ")),
        many => format!("{} and {} more", many[..NAMED].join(", "), many.len() - NAMED),
    }
}

/// The target of a rule in plain words: `Bash(cargo test:*)` allows `cargo test`.
fn target(rule: &str, view: &View<'_>) -> String {
    let rule = one_line(&unmasked(rule));
    let Some((tool, pattern)) = rule.strip_suffix(')').and_then(|rule| rule.split_once('(')) else {
        return match rule.as_str() {
            "Write" | "Edit" => "edits".to_owned(),
            _ => format!("the tool {rule}"),
        };
    };
    let command = pattern.trim_end_matches([':', '*', ' ']);
    match tool {
        "Bash" => format!("`{command}`"),
        "Host" => match pattern {
            "*" => "any host".to_owned(),
            host => host.to_owned(),
        },
        "Outside" => format!("`{command}` outside the sandbox"),
        "Write" | "Edit" if pattern.ends_with("**") => "edits".to_owned(),
        "Write" | "Edit" => format!("edits of {}", view.path(Path::new(pattern))),
        "Read" => format!("reading {}", view.path(Path::new(pattern))),
        _ if command.is_empty() => format!("the tool {tool}"),
        _ => format!("{tool} {pattern}"),
    }
}

/// A call as its front end sees it.
struct View<'a> {
    project: Option<&'a Path>,
    actions: &'a [Action],
    args: &'a Value,
}

impl View<'_> {
    fn command(&self) -> Option<(&str, &Path)> {
        self.actions.iter().find_map(|action| match action {
            Action::Run { command, cwd } => Some((command.as_str(), cwd.as_path())),
            _ => None,
        })
    }

    fn writes(&self) -> impl Iterator<Item = (&Path, Option<&str>)> {
        self.actions.iter().filter_map(|action| match action {
            Action::Write { path, diff } => Some((path.as_path(), diff.as_deref())),
            _ => None,
        })
    }

    /// A path as it is shown: relative to the project if it is in it.
    fn path(&self, path: &Path) -> String {
        let inside = self.project.and_then(|project| path.strip_prefix(project).ok());
        let path = inside.filter(|path| path.components().next().is_some()).unwrap_or(path);
        one_line(&unmasked(&path.display().to_string()))
    }

    fn is_outside(&self, path: &Path) -> bool {
        self.project.is_some_and(|project| !path.starts_with(project))
    }

    fn kind(&self, tool: &str) -> Kind {
        if !self.needs().is_empty() {
            return Kind::Leave;
        }
        if self.command().is_some() {
            return Kind::Command;
        }
        if let Some((path, _)) = self.writes().next() {
            return Kind::Edit(self.path(path));
        }
        match self.actions.first() {
            Some(Action::Connect { host }) => Kind::Connect(one_line(host)),
            Some(Action::Read { path }) => Kind::Read(self.path(path)),
            Some(_) => Kind::Tool(one_line(tool)),
            None => Kind::Other(one_line(tool)),
        }
    }

    fn needs(&self) -> Vec<String> {
        let mut needs = Vec::new();
        let hosts: Vec<String> = self.actions.iter().filter_map(host).collect();
        if self.command().is_some() && !hosts.is_empty() {
            needs.push(format!("needs the network: {}", hosts.join(", ")));
        }
        if self.actions.iter().any(|action| matches!(action, Action::LeaveSandbox { .. })) {
            needs.push("runs outside the sandbox".to_owned());
        }
        for (path, _) in self.writes().filter(|(path, _)| self.is_outside(path)) {
            needs.push(format!("writes outside the project: {}", self.path(path)));
        }
        needs
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        // The arguments say what an action does not, once.
        let mut args = Some(self.args);
        for action in self.actions {
            parts.extend(self.about(action, &mut args));
        }
        let needs = self.needs();
        let has_reason = !needs.is_empty() || self.command().is_some();
        parts.extend(needs.into_iter().map(|need| Part::Prose(Role::Strong, need)));
        let reason = self.args.get("reason").and_then(Value::as_str).map(str::trim);
        if let Some(reason) = reason.filter(|reason| has_reason && !reason.is_empty()) {
            let words = format!("The model's reason: {}", one_line(&unmasked(reason)));
            parts.push(Part::Prose(Role::Text, words));
        }
        parts
    }

    fn about(&self, action: &Action, args: &mut Option<&Value>) -> Vec<Part> {
        let head = |text: String| Part::Prose(Role::Strong, text);
        let has_command = self.command().is_some();
        match action {
            Action::Run { command, cwd } => {
                let mut parts = verbatim(command);
                if self.project != Some(cwd) {
                    parts.push(Part::Prose(Role::Soft, format!("in {}", self.path(cwd))));
                }
                parts
            }
            Action::Write { path, diff: Some(diff) } => {
                let (added, removed) = diff::counts(diff);
                let name = self.path(path);
                let line = format!("{name}  +{added} -{removed}");
                let unified = unmasked(diff::body(diff)).into_owned();
                [head(line), Part::Change { path: name, unified }]
                    .into_iter()
                    .chain(notes(diff))
                    .collect()
            }
            Action::Write { path, diff: None } if !has_command => {
                let whole = whole(args).map(|args| verbatim(&args)).unwrap_or_default();
                [vec![head(self.path(path))], whole].concat()
            }
            Action::Read { path } if !has_command && self.writes().all(|it| it.0 != path) => {
                vec![Part::Prose(Role::Text, format!("reads {}", self.path(path)))]
            }
            Action::Connect { host } if !has_command => {
                vec![head(format!("connects to {}", one_line(host)))]
            }
            Action::Opaque { what } => {
                let whole = whole(args).map(|args| verbatim(&args)).unwrap_or_default();
                [vec![head(one_line(what))], whole].concat()
            }
            // The command shows it, or one of the lines about needs.
            Action::Write { .. }
            | Action::Read { .. }
            | Action::Connect { .. }
            | Action::LeaveSandbox { .. } => Vec::new(),
        }
    }
}

fn host(action: &Action) -> Option<String> {
    match action {
        Action::Connect { host } if host == "*" => Some("any host".to_owned()),
        Action::Connect { host } => Some(one_line(&unmasked(host))),
        _ => None,
    }
}

/// Text as it is, every hidden character shown, with notes on what could mislead its reader.
fn verbatim(text: &str) -> Vec<Part> {
    let shown = Part::Verbatim(unmasked(text).into_owned());
    std::iter::once(shown).chain(notes(text)).collect()
}

/// All arguments, unless they were shown before.
fn whole(args: &mut Option<&Value>) -> Option<String> {
    let args = args.take()?;
    Some(serde_json::to_string_pretty(args).unwrap_or_else(|_| args.to_string()))
}

fn notes(text: &str) -> impl Iterator<Item = Part> {
    let note = |caution| Part::Prose(Role::Caution, format!("note: {caution}"));
    cautions(text).into_iter().map(note)
}

/// The line that stands for hidden rows of a folded text.
pub(crate) fn folded(hidden: usize) -> String {
    format!("… {} (e to expand)", counted(hidden, "more line", "more lines"))
}
