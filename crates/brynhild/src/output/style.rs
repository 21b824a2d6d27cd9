//! Colors: named styles of each theme.

use anstyle::{Ansi256Color, AnsiColor, Color, Style};

#[derive(Clone, Copy)]
pub(crate) struct Palette {
    pub(crate) strong: Style,
    pub(crate) soft: Style,
    pub(crate) code: Style,
    pub(crate) good: Style,
    pub(crate) bad: Style,
    pub(crate) caution: Style,
}

impl Palette {
    pub(crate) fn plain() -> Self {
        let none = Style::new();
        Self { strong: none, soft: none, code: none, good: none, bad: none, caution: none }
    }

    /// The styles of a theme by its name; the terminal's own colors for any other.
    pub(crate) fn themed(theme: &str) -> Self {
        let own = |color: AnsiColor| Style::new().fg_color(Some(Color::Ansi(color)));
        let shade = |number: u8| Style::new().fg_color(Some(Ansi256Color(number).into()));
        let letters = Self { strong: Style::new().bold(), ..Self::plain() };
        match theme {
            "none" => Self::plain(),
            "dark" => Self {
                soft: shade(245),
                code: shade(117),
                good: shade(114),
                bad: shade(210),
                caution: shade(221),
                ..letters
            },
            "light" => Self {
                soft: shade(243),
                code: shade(24),
                good: shade(28),
                bad: shade(124),
                caution: shade(130),
                ..letters
            },
            _ => Self {
                soft: Style::new().dimmed(),
                code: own(AnsiColor::Cyan),
                good: own(AnsiColor::Green),
                bad: own(AnsiColor::Red),
                caution: own(AnsiColor::Yellow),
                ..letters
            },
        }
    }
}

pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
