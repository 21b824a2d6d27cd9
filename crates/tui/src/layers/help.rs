//! Text to read: keys, commands, whatever else is a page.

use std::fmt::Write as _;
use std::time::Instant;

use ratatui_core::layout::{Position, Rect};

use super::{Deed, Flow, Layer};
use crate::canvas::{Canvas, centered, share};
use crate::key::{Code, Key};
use crate::keymap::{ACTIONS, Action, Keymap};
use crate::markdown::Markdown;
use crate::text::counted;

pub(crate) struct Page {
    markdown: Markdown,
    scroll: usize,
    step: usize,
}

impl Page {
    /// The page about keys.
    pub(crate) fn help(keymap: &Keymap) -> Self {
        Self { markdown: Markdown::complete(help(keymap)), scroll: 0, step: 1 }
    }
}

impl Layer for Page {
    fn key(&mut self, key: Key, _at: Instant, _deeds: &mut Vec<Deed>) -> Flow {
        match key.code {
            Code::Char('c' | 'g') if key.ctrl => return Flow::Close,
            Code::Up | Code::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            Code::Down | Code::Char('j') => self.scroll += 1,
            Code::PageUp => self.scroll = self.scroll.saturating_sub(self.step),
            Code::PageDown | Code::Char(' ') => self.scroll += self.step,
            Code::Home | Code::Char('g') => self.scroll = 0,
            Code::End | Code::Char('G') => self.scroll = usize::MAX / 2,
            Code::Esc | Code::Enter | Code::F(1) | Code::Char('q' | '?') => return Flow::Close,
            // A letter must not land in the text behind the page.
            _ if key.typed().is_some() => {}
            _ => return Flow::Pass,
        }
        Flow::Stay
    }

    fn scroll(&mut self, is_down: bool) {
        self.scroll = if is_down { self.scroll + 3 } else { self.scroll.saturating_sub(3) };
    }

    fn draw(&mut self, area: Rect, canvas: &mut Canvas<'_>) -> Option<Position> {
        let place = centered(area, 90, share(area.height, 90).max(5));
        let closes = canvas.keys.hint(Action::Cancel);
        let inner = canvas.frame(place, &format!("Help ({closes} to close)"));
        self.markdown.lay_out(usize::from(inner.width), 0, canvas.theme);
        let page = usize::from(inner.height);
        self.step = page.saturating_sub(1).max(1);
        self.scroll = self.scroll.min(self.markdown.height().saturating_sub(page));
        for (number, y) in (inner.y..inner.bottom()).enumerate() {
            if let Some(row) = self.markdown.row(self.scroll + number) {
                canvas.buffer.set_line(inner.x, y, &row.line, inner.width);
            }
        }
        let hidden = self.markdown.height().saturating_sub(self.scroll + page);
        if hidden > 0 {
            let [page, end] = [Action::PageDown, Action::Bottom].map(|it| canvas.keys.hint(it));
            let more = counted(hidden, "more line", "more lines");
            canvas.foot(place, &format!("{more} ({page}, {end})"));
        }
        None
    }
}

/// The page about keys, made of the table of actions.
pub(crate) fn help(keymap: &Keymap) -> String {
    let send = keymap.keys_of(Action::Send);
    let send = if send.is_empty() { "Enter".to_owned() } else { send.join(", ") };
    let mut text = format!(
        "Type a message and press {send}. `@` adds a file, `/` runs a command. Messages that you \
         send while the model works are queued; Up edits the last one.\n\n## Keys\n\n\
         | Key | Action |\n|---|---|\n",
    );
    for described in ACTIONS {
        let keys = keymap.keys_of(described.action);
        let keys = if keys.is_empty() {
            match described.action {
                Action::Send => "Enter".to_owned(),
                Action::Newline => "Alt+Enter".to_owned(),
                _ => format!("(ui.keys.{})", described.name),
            }
        } else {
            keys.join(", ").replace('|', "\\|")
        };
        let _ = writeln!(text, "| {keys} | {} |", described.about);
    }
    text.push_str(include_str!("help.md"));
    text
}
