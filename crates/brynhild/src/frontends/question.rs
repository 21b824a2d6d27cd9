//! The question whether a call may run, asked on a terminal. It shows all of what would run, every
//! hidden character made visible, and what each answer would remember.

use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::Duration;

use contract::event::{Answer, Event, What};
use contract::policy::Action;
use contract::text::visible;
use rustix::termios::isatty;
use tui::masks::{cautions, unmasked};

use super::style::{Palette, paint};

/// A key pressed sooner after a question appears was not meant for it.
const A_LOOK: Duration = Duration::from_millis(300);
/// Asks on the terminal and waits for the answer. Whoever drops this has answered otherwise.
pub(crate) async fn ask(event: &Event, palette: Palette) -> io::Result<Answer> {
    let can_remember = matches!(&event.what, What::Asked { remember, .. } if !remember.is_empty());
    let choices = if can_remember {
        "Run it? [y]es, for this [s]ession, always in this [p]roject, [a]lways, [n]o, [c]ancel \
         the turn: "
    } else {
        "Run it? [y]es, [n]o, [c]ancel the turn: "
    };
    show(&words(event, palette))?;
    loop {
        // Whoever ends the input at a question was there, and would not.
        let Some(line) = line(choices).await? else {
            return Ok(Answer::Deny { reason: None });
        };
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let reason = Some(rest.trim().to_owned()).filter(|reason| !reason.is_empty());
        match word.to_ascii_lowercase().as_str() {
            // What has more words was not typed to agree.
            "y" | "yes" if reason.is_none() => return Ok(Answer::Once),
            "s" | "session" if can_remember && reason.is_none() => return Ok(Answer::Session),
            "p" | "project" if can_remember && reason.is_none() => return Ok(Answer::Project),
            "a" | "always" if can_remember && reason.is_none() => return Ok(Answer::Always),
            "n" | "no" | "" => return Ok(Answer::Deny { reason }),
            "c" | "cancel" => return Ok(Answer::Cancel),
            _ => {
                let more = if can_remember { "s, p, a, " } else { "" };
                writeln!(io::stderr(), "Type y, {more}n (a reason may follow) or c.")?;
            }
        }
    }
}

/// Shows what a question is about.
pub(crate) fn show(text: &str) -> io::Result<()> {
    io::stderr().write_all(text.as_bytes())
}

/// Waits until whoever types has had time to see what is asked about, and drops what was typed
/// until then.
async fn ready() {
    let drop_keys = || {
        // Fails where nothing is typed because there is no terminal.
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    };
    after_a_look(drop_keys, tokio::time::sleep).await;
}

async fn after_a_look<W: Future>(drop_keys: impl Fn(), wait: impl FnOnce(Duration) -> W) {
    drop_keys();
    wait(A_LOOK).await;
    drop_keys();
}

/// Asks for a line; none where nobody will ever type one. What was typed before the question is
/// shown, be it shown again, is no answer to it.
pub(crate) async fn line(choices: &str) -> io::Result<Option<String>> {
    let _aloud = ::tui::line::Aloud::new();
    if isatty(io::stdin()) && isatty(io::stderr()) {
        return typed(choices.to_owned()).await;
    }
    ready().await;
    let mut out = io::stderr();
    write!(out, "{choices}")?;
    out.flush()?;
    // A signal must get through while nobody answers, so the wait is on another thread.
    let read = || io::stdin().lock().lines().next().transpose();
    let line = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??;
    if line.is_none() {
        writeln!(out)?;
    }
    Ok(line)
}

/// The same on a terminal, where keys count: Escape leaves the question open.
async fn typed(choices: String) -> io::Result<Option<String>> {
    let (question, answer) = ::tui::line::question()?;
    ready().await;
    // A signal must get through while nobody answers, so the wait is on another thread.
    let read = tokio::task::spawn_blocking(move || answer.read(&choices)).await;
    question.close();
    read.map_err(io::Error::other)?
}

/// What would run and what each answer would remember.
fn words(event: &Event, palette: Palette) -> String {
    let mut text = about(event, palette);
    let What::Asked { remember, asked_again, .. } = &event.what else { return text };
    let memory = if remember.is_empty() {
        String::from("nothing can be remembered: calls like this are asked about every time")
    } else {
        format!("s, p and a remember: {}", one_line(&unmasked(&remember.join("; "))))
    };
    let _ = writeln!(text, "  {}", paint(palette.soft, &memory));
    for part in asked_again.iter().filter(|_| !remember.is_empty()) {
        let told = format!("`{}` is asked about every time", one_line(&unmasked(part)));
        let _ = writeln!(text, "  {}", paint(palette.caution, &told));
    }
    text
}

/// All of what would run, nothing cut, every hidden character shown.
pub(crate) fn about(event: &Event, palette: Palette) -> String {
    let What::Asked { tool, args, actions, why, .. } = &event.what else {
        return String::new();
    };
    let agent = event.within.as_ref().map_or_else(String::new, |within| {
        format!(" (asked for by the agent {})", one_line(&within.agent))
    });
    let mut text = format!(
        "\n{} {}{agent}\n",
        paint(palette.caution, "Permission needed:"),
        paint(palette.strong, &one_line(tool))
    );
    // Where an action does not say all of itself, the arguments do, once.
    let mut args = Some(args);
    let mut whole = || args.take().map(|args| one_line(&unmasked(&args.to_string())));
    let with = |head: String, args: Option<String>| match args {
        Some(args) => format!("{head} with {args}"),
        None => head,
    };
    for action in actions {
        let (head, body) = match action {
            Action::Read { path } => (format!("read {}", shown(path)), None),
            Action::Write { path, diff: None } => {
                (with(format!("write {}", shown(path)), whole()), None)
            }
            Action::Write { path, diff } => (format!("write {}", shown(path)), diff.clone()),
            Action::Run { command, cwd } => {
                (format!("run in {}:", shown(cwd)), Some(command.clone()))
            }
            Action::LeaveSandbox { .. } => ("outside the sandbox".to_owned(), None),
            Action::Connect { host } => (format!("connect to {}", one_line(host)), None),
            Action::Opaque { what } => (with(one_line(what), whole()), None),
        };
        let _ = writeln!(text, "  {head}");
        let Some(body) = body else { continue };
        // Behind a bar, so that no line of it looks like one of ours; not `lines`, which would
        // swallow a carriage return.
        for line in body.strip_suffix('\n').unwrap_or(&body).split('\n') {
            let _ = writeln!(text, "  │ {}", unmasked(line));
        }
        for caution in cautions(&body) {
            let _ = writeln!(text, "  {}", paint(palette.caution, &format!("note: {caution}")));
        }
    }
    let _ =
        writeln!(text, "  {}", paint(palette.soft, &format!("why: {}", one_line(&unmasked(why)))));
    text
}

fn shown(path: &Path) -> String {
    one_line(&unmasked(&path.display().to_string()))
}

/// Text that may not pretend to be several lines of ours.
pub(crate) fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\u{a}").replace('\t', "\\u{9}")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_path_cannot_pretend_to_be_another_line() {
        assert_eq!(shown(Path::new("/w/a\n  read /w/b\u{202e}")), "/w/a\\u{a}  read /w/b\\u{202e}");
    }

    #[tokio::test]
    async fn keys_are_dropped_before_and_after_the_time_for_a_look() {
        let steps = RefCell::new(Vec::new());
        let wait = |time: Duration| {
            steps.borrow_mut().push(format!("waits {} ms", time.as_millis()));
            std::future::ready(())
        };
        after_a_look(|| steps.borrow_mut().push(String::from("drops keys")), wait).await;
        assert_eq!(*steps.borrow(), ["drops keys", "waits 300 ms", "drops keys"]);
    }

    #[test]
    fn gaps_and_hidden_characters_are_pointed_out() {
        assert!(cautions("    indented\n\tline").is_empty());
        let padded = format!("ls{}; rm x", " ".repeat(300));
        assert_eq!(cautions(&padded), ["something follows after 300 spaces in a row"]);
        assert_eq!(cautions("ls\r\x1b[2K").len(), 1);
        assert_eq!(cautions("rm\u{a0}-rf\u{3000}x").len(), 1);
    }
}
