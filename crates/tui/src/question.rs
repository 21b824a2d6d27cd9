//! Asks on a terminal, line by line, whether a call may run. Shows all of what would run, with
//! hidden characters made visible.

use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use contract::event::{Answer, Event};
use rustix::termios::isatty;

use crate::line::{Echo, question};
use crate::permission::{self, ONE_BY_ONE, Offer, Part, Permission, offers};
use crate::theme::Role;

/// Gives a text the style of its role.
pub type Paint<'a> = &'a (dyn Fn(Role, &str) -> String + Send + Sync);

/// A key pressed sooner after a question appears was not meant for it.
const A_LOOK: Duration = Duration::from_millis(300);

/// Asks about the calls of one reply, all at once or one by one. Dropping this gives no answer.
pub async fn ask(
    asked: &[Arc<Event>],
    project: Option<&Path>,
    paint: Paint<'_>,
) -> io::Result<Vec<Answer>> {
    let permissions: Vec<Permission> =
        asked.iter().filter_map(|event| Permission::of(event, project)).collect();
    if let Some(answer) = decide(&permissions, paint).await? {
        return Ok(vec![answer; asked.len()]);
    }
    let mut answers = Vec::new();
    for permission in &permissions {
        let answer = match answers.last() {
            Some(Answer::Cancel) => None,
            _ => decide(std::slice::from_ref(permission), paint).await?,
        };
        answers.push(answer.unwrap_or(Answer::Cancel));
    }
    Ok(answers)
}

/// Asks about these calls at once; none if the user wants to decide one by one.
async fn decide(asked: &[Permission], paint: Paint<'_>) -> io::Result<Option<Answer>> {
    let (offers, default) = offers(asked);
    let mut text = words(asked, paint);
    for offer in &offers {
        let number = offer.keys.chars().next().unwrap_or('?');
        let _ = writeln!(text, "  {number}  {}", offer.label);
    }
    let each = (asked.len() > 1).then(|| (offers.len() + 1).to_string());
    if let Some(number) = &each {
        let _ = writeln!(text, "  {number}  {ONE_BY_ONE}");
    }
    show(&text)?;
    let mark = format!("Answer [{}]: ", default + 1);
    loop {
        // Esc or the end of the input stops the turn.
        let Some(line) = line(&mark).await? else { return Ok(Some(Answer::Cancel)) };
        if each.as_ref().is_some_and(|number| [number, "o", "each"].contains(&line.trim())) {
            return Ok(None);
        }
        if let Some(answer) = answer(&line, &offers, default) {
            return Ok(Some(answer));
        }
        let last = offers.len() + usize::from(each.is_some());
        show(&format!("Type a number up to {last} (a reason may follow no), or c to stop.\n"))?;
    }
}

/// The answer that a line gives; none if it is not one. A reason may follow a no, nothing a yes.
fn answer(line: &str, offers: &[Offer], default: usize) -> Option<Answer> {
    let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let word = word.to_ascii_lowercase();
    let reason = Some(rest.trim().to_owned()).filter(|reason| !reason.is_empty());
    if matches!(word.as_str(), "c" | "cancel") && reason.is_none() {
        return Some(Answer::Cancel);
    }
    let is_key = |offer: &Offer| word.len() == 1 && offer.keys.contains(word.as_str());
    let offer = match word.as_str() {
        "" => offers.get(default),
        word => offers.iter().find(|offer| offer.word == word || is_key(offer)),
    };
    match &offer?.answer {
        Answer::Deny { .. } => Some(Answer::Deny { reason }),
        answer => reason.is_none().then(|| answer.clone()),
    }
}

pub fn show(text: &str) -> io::Result<()> {
    io::stderr().write_all(text.as_bytes())
}

/// Gives the user time to see the question, and drops what was typed before.
async fn ready() {
    let drop_keys = || {
        // Fails if there is no terminal.
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    };
    after_a_look(drop_keys, tokio::time::sleep).await;
}

async fn after_a_look<W: Future>(drop_keys: impl Fn(), wait: impl FnOnce(Duration) -> W) {
    drop_keys();
    wait(A_LOOK).await;
    drop_keys();
}

/// Asks for a line; none at the end of the input. What was typed before the question is dropped.
pub async fn line(choices: &str) -> io::Result<Option<String>> {
    let _echo = Echo::on();
    if isatty(io::stdin()) && isatty(io::stderr()) {
        return typed(choices.to_owned()).await;
    }
    ready().await;
    let mut out = io::stderr();
    write!(out, "{choices}")?;
    out.flush()?;
    // A signal must get through while waiting, so this reads on another thread.
    let read = || io::stdin().lock().lines().next().transpose();
    let line = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??;
    if line.is_none() {
        writeln!(out)?;
    }
    Ok(line)
}

/// Asks for a line on a terminal, where Escape leaves the question open.
async fn typed(choices: String) -> io::Result<Option<String>> {
    let (question, answer) = question()?;
    ready().await;
    // A signal must get through while waiting, so this reads on another thread.
    let read = tokio::task::spawn_blocking(move || answer.read(&choices)).await;
    question.close();
    read.map_err(io::Error::other)?
}

pub fn about(event: &Event, project: Option<&Path>, paint: Paint<'_>) -> String {
    Permission::of(event, project).map(|it| words(&[it], paint)).unwrap_or_default()
}

/// The title and all of what would run.
fn words(asked: &[Permission], paint: Paint<'_>) -> String {
    let agent = |permission: &Permission| {
        let agent = permission.agent.as_ref();
        agent.map_or_else(String::new, |agent| format!(" (agent {agent})"))
    };
    let title = paint(Role::Heading, &permission::title(asked));
    match asked {
        [one] => format!("\n{title}{}\n{}", agent(one), body(&one.parts, paint)),
        several => {
            let numbered = (1..).zip(several).flat_map(|(at, it)| it.numbered(at, &agent(it)));
            format!("\n{title}\n{}", body(&numbered.collect::<Vec<_>>(), paint))
        }
    }
}

fn body(parts: &[Part], paint: Paint<'_>) -> String {
    let mut text = String::new();
    for part in parts {
        let (body, role) = match part {
            Part::Prose(role, line) => {
                let _ = writeln!(text, "  {}", paint(*role, line));
                continue;
            }
            Part::Verbatim(body) => (body, Role::Code),
            Part::Change { unified, .. } => (unified, Role::Text),
        };
        // Behind a bar, so that no line of it looks like one of ours; not `lines`, which drops a
        // carriage return.
        for line in body.strip_suffix('\n').unwrap_or(body).split('\n') {
            let _ = writeln!(text, "  │ {}", paint(role, line));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test]
    async fn early_keys_are_dropped() {
        let steps = RefCell::new(Vec::new());
        let wait = |time: Duration| {
            steps.borrow_mut().push(format!("waits {} ms", time.as_millis()));
            std::future::ready(())
        };
        after_a_look(|| steps.borrow_mut().push(String::from("drops keys")), wait).await;
        assert_eq!(*steps.borrow(), ["drops keys", "waits 300 ms", "drops keys"]);
    }

    #[test]
    fn lines_give_the_answers_of_the_dialog() {
        let what = contract::event::EventKind::Asked {
            call: contract::id::CallId("1".into()),
            tool: "Bash".into(),
            args: serde_json::Value::Null,
            actions: Vec::new(),
            why: String::new(),
            destructive: false,
            remember: vec!["Bash(cargo test:*)".into()],
        };
        let event = Event {
            seq: contract::id::Seq(1),
            session: contract::id::SessionId::parse("s").unwrap(),
            at: contract::id::Timestamp(jiff::Timestamp::UNIX_EPOCH),
            within: None,
            kind: what,
        };
        let permission = Permission::of(&event, None).unwrap();
        let (offers, default) = offers(&[permission]);
        let deny = |reason: Option<&str>| Answer::Deny { reason: reason.map(str::to_owned) };
        for (line, expected) in [
            ("", Some(Answer::Once)),
            ("1", Some(Answer::Once)),
            ("Y", Some(Answer::Once)),
            ("yes", Some(Answer::Once)),
            ("2", Some(Answer::Project)),
            ("always", Some(Answer::Project)),
            ("s", Some(Answer::Session)),
            ("n", Some(deny(None))),
            ("4 use make", Some(deny(Some("use make")))),
            ("c", Some(Answer::Cancel)),
            ("yes please", None),
            ("what?", None),
        ] {
            assert_eq!(answer(line, &offers, default), expected, "{line}");
        }
    }
}
