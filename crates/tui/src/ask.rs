//! A question of its own, before there is a conversation.

use std::io;
use std::time::Instant;

use crate::input::Input;
use crate::key::{Code, Key};
use crate::layers::Canvas;
use crate::layers::question::{Choice, Decided, Part, Question};
use crate::screen::{Screen, Told};
use crate::text::clean;
use crate::theme::{Role, Theme};

/// Asks, and waits for one of the choices, each with the letters that give it and whether it grants
/// something; Enter and Esc give the first that does not. None where the person wants no answer to be
/// given, or cannot give one.
pub async fn ask(
    screen: &mut Screen,
    theme: &Theme,
    title: &str,
    body: &str,
    choices: &[(&'static str, &str, bool)],
) -> io::Result<Option<usize>> {
    let choice = |(letters, label, grants): &(&'static str, &str, bool)| Choice {
        letters,
        word: "",
        label: (*label).to_owned(),
        takes_words: false,
        grants: *grants,
    };
    let parts = vec![Part::Words(Role::Text, clean(body.trim_matches('\n')))];
    let refusal = choices.iter().position(|(_, _, grants)| !grants);
    let choices = choices.iter().map(choice).collect();
    let mut question = Question::new(clean(title), parts, choices, Instant::now());
    loop {
        let now = Instant::now();
        screen.draw(|frame| {
            let area = frame.area();
            let mut canvas = Canvas { buffer: frame.buffer_mut(), theme };
            question.draw(area, &mut canvas, now);
        })?;
        let armed_at = question.armed_at();
        tokio::select! {
            arrival = screen.arrivals.recv() => match arrival {
                None | Some((Input::Closed, _)) => return Ok(None),
                Some((Input::Key(key), at)) => {
                    let decided = question.key(key, at);
                    match decided {
                        Decided::Choice(at, _) => return Ok(Some(at)),
                        Decided::Other if key == Key::plain(Code::Esc) => return Ok(refusal),
                        Decided::Other if key == Key::ctrl('c') => return Ok(None),
                        Decided::Nothing | Decided::Early | Decided::Other => {}
                    }
                }
                Some((Input::Paste(text), at)) => drop(question.paste(&text, at)),
                Some(_) => {}
            },
            told = screen.signals.next() => match told {
                Told::Stop(_) => return Ok(None),
                Told::Resized | Told::Continued => {
                    screen.refit()?;
                }
                Told::Suspend => {
                    screen.pause();
                    crate::screen::stop_here();
                    screen.resume()?;
                }
            },
            () = tokio::time::sleep_until(armed_at.into()), if now < armed_at => {}
        }
    }
}
