//! A question of its own, before there is a conversation. What is typed before it counts, or pasted,
//! goes into the text of the interface.

use std::io;
use std::time::Instant;

use ratatui_core::layout::Rect;

use crate::app::App;
use crate::input::Input;
use crate::key::{Code, Key};
use crate::keymap::{Keymap, Remapped};
use crate::layers::question::{Choice, Decided, Grants, Part, Question};
use crate::layers::{Canvas, Flow};
use crate::message::Effect;
use crate::screen::{Screen, Told};
use crate::text::clean;
use crate::theme::Role;

/// What came of a question.
#[derive(Debug)]
pub struct Asked {
    /// The choice; none where the person wants no answer to be given, or cannot give one.
    pub choice: Option<usize>,
    /// What is to be done for what was typed meanwhile.
    pub effects: Vec<Effect>,
}

/// Asks, and waits for one of the choices, each with the letters that give it and whether it grants
/// something; Enter and Esc give the first that does not.
pub async fn ask(
    screen: &mut Screen,
    app: &mut App,
    (title, body): (&str, &str),
    choices: &[(&'static str, &str, bool)],
) -> io::Result<Asked> {
    let choice = |(letters, label, grants): &(&'static str, &str, bool)| Choice {
        letters,
        word: "",
        label: (*label).to_owned(),
        takes_words: false,
        grants: Grants::this(*grants),
    };
    let parts = vec![Part::Words(Role::Text, clean(body.trim_matches('\n')))];
    let refusal = choices.iter().position(|(_, _, grants)| !grants);
    let choices = choices.iter().map(choice).collect();
    let mut question = Question::new(clean(title), parts, choices, Instant::now());
    let mut effects = Vec::new();
    // What the person has set holds from the conversation on.
    let (keys, _) = Keymap::new(&Remapped::new());
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
                    suspend(screen)?;
                    continue;
                }
                Some((Input::Key(key), at)) => match question.key(key, at) {
                    Decided::Choice(at, _) => Some(at),
                    Decided::Other if key == Key::plain(Code::Esc) => refusal,
                    Decided::Other if key == Key::ctrl('c') => None,
                    Decided::Early => {
                        effects.extend(app.type_ahead(Input::Key(key), at));
                        continue;
                    }
                    Decided::Nothing | Decided::Other => continue,
                },
                Some((Input::Paste(text), at)) => {
                    if question.paste(&text, at) == Flow::Pass {
                        effects.extend(app.type_ahead(Input::Paste(text), at));
                    }
                    continue;
                }
                Some(_) => continue,
            },
            told = screen.signals.next() => match told {
                Told::Stop(_) => None,
                Told::Resized | Told::Continued => {
                    screen.refit()?;
                    continue;
                }
                Told::Suspend => {
                    suspend(screen)?;
                    continue;
                }
            },
            () = tokio::time::sleep_until(armed_at.into()), if now < armed_at => continue,
        };
        return Ok(Asked { choice, effects });
    }
}

/// Goes back to the shell until the program is continued.
fn suspend(screen: &mut Screen) -> io::Result<()> {
    screen.pause();
    crate::screen::stop_here();
    screen.resume()
}
