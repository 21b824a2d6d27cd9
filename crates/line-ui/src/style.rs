//! Colors: named styles of each theme.

use anstyle::{Ansi256Color, AnsiColor, Color, Style};

#[derive(Clone, Copy)]
pub struct Palette {
    pub strong: Style,
    pub soft: Style,
    pub code: Style,
    pub good: Style,
    pub bad: Style,
    pub caution: Style,
}

impl Palette {
    pub fn plain() -> Self {
        let none = Style::new();
        Self { strong: none, soft: none, code: none, good: none, bad: none, caution: none }
    }

    /// The styles of a theme by its name; the terminal's own colors for any other.
    pub fn themed(theme: &str) -> Self {
        let own = |color: AnsiColor| Style::new().fg_color(Some(Color::Ansi(color)));
        let shade = |number: u8| Style::new().fg_color(Some(Ansi256Color(number).into()));
        let [soft, code, good, bad, caution] = match theme {
            "none" => return Self::plain(),
            "dark" => [245, 117, 114, 210, 221].map(shade),
            "light" => [243, 24, 28, 124, 130].map(shade),
            _ => [
                Style::new().dimmed(),
                own(AnsiColor::Cyan),
                own(AnsiColor::Green),
                own(AnsiColor::Red),
                own(AnsiColor::Yellow),
            ],
        };
        Self { strong: Style::new().bold(), soft, code, good, bad, caution }
    }
}

pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
