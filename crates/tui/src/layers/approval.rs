//! Whether a call may run: all of what would run, why it is asked, and what an answer remembers.

use std::time::Instant;

use contract::event::{Answer, Event, What};
use contract::id::CallId;
use contract::policy::Action;
use serde_json::Value;

use super::dialog::{Dialog, Purpose};
use super::question::{Choice, Decided, Grants, Part, Question, flow};
use super::{Deed, Flow};
use crate::key::{Code, Key};
use crate::masks::{cautions, unmasked};
use crate::text::{counted, one_line};
use crate::theme::Role;

/// A call that waits for an answer.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) call: CallId,
    tool: String,
    agent: Option<String>,
    /// What the agent was asked to do.
    task: Option<String>,
    parts: Vec<Part>,
    can_remember: bool,
}

impl Ask {
    /// What an event asks; none where it asks nothing.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let What::Asked { call, tool, args, actions, why, remember, asked_again } = &event.what
        else {
            return None;
        };
        let mut parts = Vec::new();
        // Once is enough.
        let mut args = Some(args);
        for action in actions {
            parts.extend(about(action, &mut args));
        }
        parts.push(Part::Words(Role::Soft, format!("why: {}", one_line(&unmasked(why)))));
        let memory = if remember.is_empty() {
            "nothing can be remembered: calls like this are asked about every time".to_owned()
        } else {
            format!("s, p and a remember: {}", one_line(&unmasked(&remember.join("; "))))
        };
        parts.push(Part::Words(Role::Soft, memory));
        if !remember.is_empty() {
            let again = asked_again.iter().map(|part| format!("`{}`", one_line(&unmasked(part))));
            parts.extend(again.map(|part| {
                Part::Words(Role::Caution, format!("{part} is asked about every time"))
            }));
        }
        Some(Self {
            call: call.clone(),
            tool: one_line(tool),
            agent: event.within.as_ref().map(|within| one_line(&within.agent)),
            task: None,
            parts,
            can_remember: !remember.is_empty(),
        })
    }

    /// The same, with what its agent was asked to do.
    pub(crate) fn within(self, task: Option<String>) -> Self {
        Self { task, ..self }
    }

    /// What to call it in a line.
    pub(crate) fn title(&self, others: usize) -> String {
        let agent = match (&self.agent, &self.task) {
            (Some(agent), Some(task)) => format!(" ({agent}: {task})"),
            (Some(agent), None) => format!(" ({agent})"),
            (None, _) => String::new(),
        };
        let more = match others {
            0 => String::new(),
            others => format!(", {}", counted(others, "more waits", "more wait")),
        };
        format!("Permission needed: {}{agent}{more}", self.tool)
    }
}

/// What an action comes to, nothing left out: where it does not say that itself, the arguments do.
fn about(action: &Action, args: &mut Option<&Value>) -> Vec<Part> {
    let head = |text: String| Part::Words(Role::Strong, text);
    let path = |path: &std::path::Path| one_line(&unmasked(&path.display().to_string()));
    let verbatim = |text: &str| {
        let mut parts = vec![Part::Verbatim(unmasked(text).into_owned())];
        parts.extend(notes(text));
        parts
    };
    match action {
        Action::Read { path: read } => vec![head(format!("read {}", path(read)))],
        Action::Write { path: written, diff: None } => {
            let name = path(written);
            whole(args).map_or_else(
                || vec![head(format!("write {name}"))],
                |args| [vec![head(format!("write {name} with"))], verbatim(&args)].concat(),
            )
        }
        Action::Write { path: written, diff: Some(diff) } => {
            let name = path(written);
            let change = Part::Change { path: name.clone(), unified: unmasked(diff).into_owned() };
            [head(format!("write {name}")), change].into_iter().chain(notes(diff)).collect()
        }
        Action::Run { command, cwd } => {
            let mut parts = vec![head(format!("run in {}:", path(cwd)))];
            parts.extend(verbatim(command));
            parts
        }
        Action::LeaveSandbox { .. } => vec![head("outside the sandbox".to_owned())],
        Action::Connect { host } => vec![head(format!("connect to {}", one_line(host)))],
        Action::Opaque { what } => {
            let what = one_line(what);
            whole(args).map_or_else(
                || vec![head(what.clone())],
                |args| [vec![head(format!("{what} with"))], verbatim(&args)].concat(),
            )
        }
    }
}

/// All arguments, where they were not shown yet.
fn whole(args: &mut Option<&Value>) -> Option<String> {
    let args = args.take()?;
    Some(serde_json::to_string_pretty(args).unwrap_or_else(|_| args.to_string()))
}

/// What in a text could deceive its reader.
fn notes(text: &str) -> impl Iterator<Item = Part> {
    let note = |caution| Part::Words(Role::Caution, format!("note: {caution}"));
    cautions(text).into_iter().map(note)
}

/// The dialog.
pub(crate) struct Approval {
    ask: Ask,
    answers: Vec<Answer>,
}

impl Approval {
    /// Asks from `now` on.
    pub(crate) fn ask(ask: Ask, others: usize, now: Instant) -> Dialog<Self> {
        let deny = || Answer::Deny { reason: None };
        let mut offered = vec![(Answer::Once, "y", "Allow once", "yes")];
        if ask.can_remember {
            offered.push((Answer::Session, "s", "Allow in this session", "session"));
            offered.push((Answer::Project, "p", "Always allow here", "here"));
            offered.push((Answer::Always, "a", "Always allow", "always"));
        }
        offered.push((deny(), "nd", "Deny, with a reason for the model", "no"));
        offered.push((Answer::Cancel, "cq", "Cancel all: stop the turn", "stop"));
        let choices = offered
            .iter()
            .map(|(answer, letters, label, word)| Choice {
                letters,
                word,
                label: (*label).to_owned(),
                takes_words: matches!(answer, Answer::Deny { .. }),
                grants: match answer {
                    Answer::Once => Grants::This,
                    Answer::Session | Answer::Project | Answer::Always => Grants::More,
                    Answer::Deny { .. } | Answer::Cancel | Answer::Nobody => Grants::Nothing,
                },
            })
            .collect();
        let question = Question::new(ask.title(others), ask.parts.clone(), choices, now);
        let answers = offered.into_iter().map(|(answer, ..)| answer).collect();
        Dialog::new(Self { ask, answers }, question, now)
    }
}

impl Purpose for Approval {
    fn decide(&mut self, decided: Decided, key: Key, deeds: &mut Vec<Deed>) -> Flow {
        let chosen = match key {
            Key { code: Code::Esc, .. } => Some(Answer::Deny { reason: None }),
            key if key == Key::ctrl('c') => Some(Answer::Cancel),
            _ => None,
        };
        let place = |wanted: &Answer| self.answers.iter().position(|answer| answer == wanted);
        let decided = match (decided, chosen.as_ref().and_then(place)) {
            (Decided::Other, Some(at)) => Decided::Choice(at, None),
            (decided, _) => decided,
        };
        if let Decided::Choice(at, words) = &decided {
            let answer = match (&self.answers[*at], words) {
                (Answer::Deny { .. }, words) => Answer::Deny { reason: words.clone() },
                (answer, _) => answer.clone(),
            };
            deeds.push(Deed::Answer(self.ask.call.clone(), answer));
        }
        flow(&decided)
    }

    fn call(&self) -> Option<&CallId> {
        Some(&self.ask.call)
    }

    fn title(&self, others: usize) -> Option<String> {
        Some(self.ask.title(others))
    }
}
