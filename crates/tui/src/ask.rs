//! A question before there is a conversation. Keys that arrive before it is ready are dropped.

use std::io;
use std::time::Instant;

use ratatui_core::layout::Rect;

use crate::app::App;
use crate::canvas::Canvas;
use crate::input::Input;
use crate::key::{Code, Key};
use crate::keymap::{KeyOverrides, Keymap};
use crate::layers::question::{Choice, KeyOutcome, Question};
use crate::permission::Part;
use crate::screen::{Screen, TerminalSignal};
use crate::text::clean;
use crate::theme::Role;

/// Asks, and waits for one of the choices, each with the letters that give it and true if it grants
/// something; Enter and Esc give the first that grants nothing. Returns none if the user interrupts,
/// or cannot answer.
pub async fn ask(
    screen: &mut Screen,
    app: &mut App,
    (title, body): (&str, &str),
    choices: &[(&'static str, &str, bool)],
) -> io::Result<Option<usize>> {
    let choice = |(keys, label, _): &(&'static str, &str, bool)| Choice {
        keys,
        word: "",
        label: (*label).to_owned(),
        takes_text: false,
    };
    let parts = vec![Part::Prose(Role::Text, clean(body.trim_matches('\n')))];
    let refusal = choices.iter().position(|(_, _, grants)| !grants);
    let choices = choices.iter().map(choice).collect();
    let selected = refusal.unwrap_or(0);
    let mut question = Question::new(clean(title), parts, choices, selected, Instant::now());
    // The user's key bindings apply only in the conversation.
    let (keys, _) = Keymap::new(&KeyOverrides::new());
    loop {
        let now = Instant::now();
        screen.draw(|frame| {
            app.draw(frame);
            let area = frame.area();
            let above = Rect { height: area.height.saturating_sub(1), ..area };
            let theme = app.theme().clone();
            let mut canvas = Canvas { buffer: frame.buffer_mut(), theme: &theme, keys: &keys };
            question.draw(above, &mut canvas, now);
        })?;
        let armed_at = question.armed_at();
        let choice = tokio::select! {
            arrival = screen.arrivals.recv() => match arrival {
                None | Some((Input::Closed, _)) => None,
                Some((Input::Key(key), _)) if key == Key::ctrl('z') => {
                    screen.suspend()?;
                    continue;
                }
                Some((Input::Key(key), at)) => match question.key(key, at) {
                    KeyOutcome::Choice(at, _) => Some(at),
                    KeyOutcome::Other if key == Key::plain(Code::Esc) => refusal,
                    KeyOutcome::Other if key == Key::ctrl('c') => None,
                    KeyOutcome::Nothing | KeyOutcome::Other => continue,
                },
                Some((Input::Paste(text), at)) => {
                    question.paste(&text, at);
                    continue;
                }
                Some(_) => continue,
            },
            signal = screen.signals.next() => match signal {
                TerminalSignal::Stop(_) => None,
                TerminalSignal::Resized | TerminalSignal::Continued => {
                    screen.refit()?;
                    continue;
                }
                TerminalSignal::Suspend => {
                    screen.suspend()?;
                    continue;
                }
            },
            () = tokio::time::sleep_until(armed_at.into()), if now < armed_at => continue,
        };
        return Ok(choice);
    }
}
