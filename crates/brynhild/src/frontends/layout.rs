//! The layout of answers in the line front end, by the interactive terminal.

use ::tui::prose::{Prose, Voice};
use ::tui::text;
use assemble::assembly::Assembly;
use assemble::output;
use line_ui::plain::{Layout, terminal_size};

struct ProseLayout(Prose);

/// The layout for the user's theme. A screen reader gets text without bars and rules.
pub(crate) fn of(assembly: &Assembly) -> Box<dyn Layout> {
    let voice = if assembly.global.plain { Voice::Spoken } else { Voice::Seen };
    Box::new(ProseLayout(Prose::new(terminal_size().0, assembly.theme()).with(voice)))
}

impl Layout for ProseLayout {
    fn push(&mut self, text: &str) {
        self.0.push(text);
    }

    fn redraw(&mut self, columns: usize, rows: usize) -> String {
        self.0.width = columns;
        self.0.redraw(rows)
    }

    fn settled(&mut self, columns: usize) -> String {
        self.0.width = columns;
        self.0.settled()
    }

    fn finish(&mut self) -> String {
        self.0.finish()
    }

    fn has_draft(&self) -> bool {
        self.0.has_draft()
    }

    fn erase_draft(&mut self) -> String {
        self.0.erase_draft()
    }

    fn printed(&self, text: &str) -> String {
        text::printed(text)
    }

    fn clipped(&self, text: &str, columns: usize) -> String {
        text::clipped(text, columns)
    }

    fn escaped(&self, answer: &str) -> String {
        output::answer(answer).into_owned()
    }
}
