//! Colors: the terminal's own sixteen, and none where they are not wanted.

use anstyle::{AnsiColor, Color, Style};

/// The styles that front ends use, or none of them.
#[derive(Clone, Copy)]
pub(crate) struct Palette {
    pub(crate) strong: Style,
    pub(crate) soft: Style,
    pub(crate) emphasis: Style,
    pub(crate) code: Style,
    pub(crate) good: Style,
    pub(crate) bad: Style,
    pub(crate) caution: Style,
    pub(crate) link: Style,
}

impl Palette {
    /// No styles at all.
    pub(crate) fn plain() -> Self {
        let none = Style::new();
        Self {
            strong: none,
            soft: none,
            emphasis: none,
            code: none,
            good: none,
            bad: none,
            caution: none,
            link: none,
        }
    }

    /// The terminal's own colors.
    pub(crate) fn colored() -> Self {
        let color = |color: AnsiColor| Style::new().fg_color(Some(Color::Ansi(color)));
        Self {
            strong: Style::new().bold(),
            soft: Style::new().dimmed(),
            emphasis: Style::new().italic(),
            code: color(AnsiColor::Cyan),
            good: color(AnsiColor::Green),
            bad: color(AnsiColor::Red),
            caution: color(AnsiColor::Yellow),
            link: Style::new().underline(),
        }
    }
}

/// `text` in `style`.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
