//! The line in which words to look for are written.

use std::time::Instant;

use ratatui_core::layout::{Position, Rect};

use super::{Canvas, Deed, Flow, Layer};
use crate::key::{Code, Key};
use crate::keymap::Action;
use crate::text::{columns, narrow};
use crate::theme::Role;
use crate::transcript::Direction;

/// The line.
#[derive(Default)]
pub(crate) struct Search {
    needle: String,
}

impl Search {
    fn find(&self, direction: Direction) -> Deed {
        Deed::Find { needle: self.needle.clone(), direction }
    }
}

impl Layer for Search {
    fn key(&mut self, key: Key, _at: Instant, deeds: &mut Vec<Deed>) -> Flow {
        match key.code {
            Code::Esc => {
                deeds.push(Deed::EndSearch);
                return Flow::Close;
            }
            Code::Char('c' | 'g') if key.ctrl => {
                deeds.push(Deed::EndSearch);
                return Flow::Close;
            }
            Code::Enter if self.needle.is_empty() => {
                deeds.push(Deed::EndSearch);
                return Flow::Close;
            }
            Code::Enter => {
                deeds.push(Deed::Walk);
                return Flow::Close;
            }
            Code::Up => deeds.push(self.find(Direction::Up)),
            Code::Down => deeds.push(self.find(Direction::Down)),
            Code::Char('p' | 'r') if key.ctrl => deeds.push(self.find(Direction::Up)),
            Code::Char('n' | 's') if key.ctrl => deeds.push(self.find(Direction::Down)),
            Code::Backspace => {
                self.needle.pop();
                deeds.push(self.find(Direction::Up));
            }
            Code::Char('u') if key.ctrl => self.needle.clear(),
            _ => match key.typed() {
                Some(letter) => {
                    self.needle.push(letter);
                    deeds.push(self.find(Direction::Up));
                }
                None => return Flow::Pass,
            },
        }
        Flow::Stay
    }

    fn paste(&mut self, text: &str, _at: Instant) -> Flow {
        self.needle.extend(text.chars().filter(|c| !c.is_control()));
        Flow::Stay
    }

    fn draw(&mut self, area: Rect, canvas: &mut Canvas<'_>) -> Option<Position> {
        let line = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
        canvas.clear(line);
        let [goes, ends] = [Action::Send, Action::Cancel].map(|it| canvas.keys.hint(it));
        let label = format!("Search (Up: before; Down: after; {goes} goes there; {ends} ends): ");
        let label = if usize::from(area.width) > label.len() + 10 { &label } else { "/" };
        let at = line.as_position();
        let used = canvas.text(at, label, Role::Accent, area.width);
        let at = Position { x: at.x + used, ..at };
        canvas.text(at, &self.needle, Role::Text, area.width.saturating_sub(used));
        let x = at.x.saturating_add(narrow(columns(&self.needle)));
        Some(Position { x: x.min(area.right().saturating_sub(1)), ..at })
    }
}
