//! Colors: a set of named styles for each theme, and none where they are not wanted.

use anstyle::{Ansi256Color, AnsiColor, Color, Style};

use crate::config::Theme;

/// The styles that front ends use, or none of them.
#[derive(Clone, Copy)]
pub(crate) struct Palette {
    pub(crate) heading: Style,
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
            heading: none,
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

    /// The styles of a theme.
    pub(crate) fn themed(theme: Theme) -> Self {
        let own = |color: AnsiColor| Style::new().fg_color(Some(Color::Ansi(color)));
        let shade = |number: u8| Style::new().fg_color(Some(Ansi256Color(number).into()));
        let letters = Self {
            heading: Style::new().bold(),
            strong: Style::new().bold(),
            emphasis: Style::new().italic(),
            link: Style::new().underline(),
            ..Self::plain()
        };
        match theme {
            Theme::None => Self::plain(),
            Theme::Sixteen => Self {
                soft: Style::new().dimmed(),
                code: own(AnsiColor::Cyan),
                good: own(AnsiColor::Green),
                bad: own(AnsiColor::Red),
                caution: own(AnsiColor::Yellow),
                ..letters
            },
            Theme::Dark => Self {
                heading: shade(81).bold(),
                soft: shade(245),
                code: shade(117),
                good: shade(114),
                bad: shade(210),
                caution: shade(221),
                link: shade(111).underline(),
                ..letters
            },
            Theme::Light => Self {
                heading: shade(25).bold(),
                soft: shade(243),
                code: shade(24),
                good: shade(28),
                bad: shade(124),
                caution: shade(130),
                link: shade(26).underline(),
                ..letters
            },
        }
    }
}

/// `text` in `style`.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
