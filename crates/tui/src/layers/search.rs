//! The line in which words to look for are written.

use std::time::Instant;

use ratatui_core::layout::{Position, Rect};

use super::{Deed, Flow, Layer};
use crate::canvas::Canvas;
use crate::composer::{Buffer, Edit};
use crate::key::{Code, Key};
use crate::keymap::Action;
use crate::text::{columns, narrow};
use crate::theme::Role;
use crate::transcript::Direction;

#[derive(Default)]
pub(crate) struct Search {
    needle: Buffer,
}

impl Search {
    fn find(&self, direction: Direction) -> Deed {
        Deed::Find { needle: self.needle.raw().to_owned(), direction }
    }
}

impl Layer for Search {
    fn key(&mut self, key: Key, _at: Instant, deeds: &mut Vec<Deed>) -> Flow {
        let is_end = match key.code {
            Code::Esc => true,
            Code::Char('c' | 'g') => key.ctrl,
            Code::Enter => self.needle.is_empty(),
            _ => false,
        };
        if is_end || key.code == Code::Enter {
            deeds.push(if is_end { Deed::EndSearch } else { Deed::Walk });
            return Flow::Close;
        }
        let direction = match key.code {
            Code::Up => Direction::Up,
            Code::Down => Direction::Down,
            Code::Char('p' | 'r') if key.ctrl => Direction::Up,
            Code::Char('n' | 's') if key.ctrl => Direction::Down,
            _ => match self.needle.key(key) {
                Some(Edit::Changed) => Direction::Up,
                Some(Edit::Moved) => return Flow::Stay,
                None => return Flow::Pass,
            },
        };
        deeds.push(self.find(direction));
        Flow::Stay
    }

    fn paste(&mut self, text: &str, _at: Instant) -> Flow {
        self.needle.insert_in_line(text);
        Flow::Stay
    }

    fn draw(&mut self, area: Rect, canvas: &mut Canvas<'_>) -> Option<Position> {
        let line = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
        canvas.clear(line);
        let [goes, ends] = [Action::Send, Action::Cancel].map(|it| canvas.keys.hint(it));
        let label = format!("Search (↑ previous · ↓ next · {goes} to browse · {ends} to close): ");
        let label = if usize::from(area.width) > columns(&label) + 10 { &label } else { "/" };
        let at = line.as_position();
        let used = canvas.text(at, label, Role::Accent, area.width);
        let at = Position { x: at.x + used, ..at };
        canvas.text(at, self.needle.raw(), Role::Text, area.width.saturating_sub(used));
        let x = at.x.saturating_add(narrow(self.needle.cursor_column()));
        Some(Position { x: x.min(area.right().saturating_sub(1)), ..at })
    }
}
