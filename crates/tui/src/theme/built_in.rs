//! The themes that come with the program.

use ratatui_core::style::{Color, Modifier, Style};

use super::{Role, Theme};

/// A color written as 0xRRGGBB.
const fn rgb(value: u32) -> Color {
    let [_, red, green, blue] = value.to_be_bytes();
    Color::Rgb(red, green, blue)
}

const fn fg(value: u32) -> Style {
    Style::new().fg(rgb(value))
}

const fn ansi(color: Color) -> Style {
    Style::new().fg(color)
}

const BOLD: Modifier = Modifier::BOLD;

/// For dark backgrounds.
pub(super) fn dark() -> Theme {
    made(
        "dark",
        &[
            (Role::Soft, fg(0x8b_93a5)),
            (Role::Strong, Style::new().add_modifier(BOLD)),
            (Role::Emphasis, Style::new().add_modifier(Modifier::ITALIC)),
            (Role::Heading, fg(0x7f_c8f8).add_modifier(BOLD)),
            (Role::Code, fg(0xa3_d9c9)),
            (Role::Link, fg(0x89_b4fa).add_modifier(Modifier::UNDERLINED)),
            (Role::Accent, fg(0xc4_a7e7)),
            (Role::Person, fg(0xf0_c674)),
            (Role::Good, fg(0x8f_d18f)),
            (Role::Bad, fg(0xf2_8b82)),
            (Role::Caution, fg(0xf5_c76e)),
            (Role::Border, fg(0x5a_6478)),
            (Role::Selection, Style::new().bg(rgb(0x3b_4560))),
            (Role::Status, fg(0xa9_b1c3)),
            (Role::Found, Style::new().fg(rgb(0x1b_1b1b)).bg(rgb(0xf5_c76e))),
            (Role::Added, fg(0x8f_d18f)),
            (Role::Removed, fg(0xf2_8b82)),
            (Role::Place, fg(0x7a_a2f7)),
            (Role::Keyword, fg(0xc4_a7e7)),
            (Role::Quoted, fg(0xa5_d6a7)),
            (Role::Comment, fg(0x7d_8597).add_modifier(Modifier::ITALIC)),
            (Role::Number, fg(0xf5_b07a)),
            (Role::Function, fg(0x82_aaff)),
            (Role::Type, fg(0x7f_dbca)),
        ],
    )
}

/// For light backgrounds.
pub(super) fn light() -> Theme {
    made(
        "light",
        &[
            (Role::Soft, fg(0x5f_6875)),
            (Role::Strong, Style::new().add_modifier(BOLD)),
            (Role::Emphasis, Style::new().add_modifier(Modifier::ITALIC)),
            (Role::Heading, fg(0x0b_5394).add_modifier(BOLD)),
            (Role::Code, fg(0x0b_6e6e)),
            (Role::Link, fg(0x1a_56db).add_modifier(Modifier::UNDERLINED)),
            (Role::Accent, fg(0x6d_28d9)),
            (Role::Person, fg(0x92_5a00)),
            (Role::Good, fg(0x1b_7a34)),
            (Role::Bad, fg(0xb4_2318)),
            (Role::Caution, fg(0x96_5c00)),
            (Role::Border, fg(0xa0_a7b4)),
            (Role::Selection, Style::new().bg(rgb(0xd3_e3fd))),
            (Role::Status, fg(0x47_5063)),
            (Role::Found, Style::new().fg(rgb(0x1b_1b1b)).bg(rgb(0xff_dd80))),
            (Role::Added, fg(0x1b_7a34)),
            (Role::Removed, fg(0xb4_2318)),
            (Role::Place, fg(0x1a_56db)),
            (Role::Keyword, fg(0x6d_28d9)),
            (Role::Quoted, fg(0x1b_7a34)),
            (Role::Comment, fg(0x6b_7280).add_modifier(Modifier::ITALIC)),
            (Role::Number, fg(0xa8_4300)),
            (Role::Function, fg(0x1d_4ed8)),
            (Role::Type, fg(0x0b_6e6e)),
        ],
    )
}

/// The terminal's own colors, whatever they are.
pub(super) fn sixteen() -> Theme {
    made(
        "16-color",
        &[
            (Role::Soft, Style::new().add_modifier(Modifier::DIM)),
            (Role::Strong, Style::new().add_modifier(BOLD)),
            (Role::Emphasis, Style::new().add_modifier(Modifier::ITALIC)),
            (Role::Heading, ansi(Color::Blue).add_modifier(BOLD)),
            (Role::Code, ansi(Color::Cyan)),
            (Role::Link, ansi(Color::Blue).add_modifier(Modifier::UNDERLINED)),
            (Role::Accent, ansi(Color::Magenta)),
            (Role::Person, ansi(Color::Yellow)),
            (Role::Good, ansi(Color::Green)),
            (Role::Bad, ansi(Color::Red)),
            (Role::Caution, ansi(Color::Yellow)),
            (Role::Border, Style::new().add_modifier(Modifier::DIM)),
            (Role::Selection, Style::new().add_modifier(Modifier::REVERSED)),
            (Role::Status, Style::new().add_modifier(Modifier::DIM)),
            (Role::Found, ansi(Color::Yellow).add_modifier(Modifier::REVERSED)),
            (Role::Added, ansi(Color::Green)),
            (Role::Removed, ansi(Color::Red)),
            (Role::Place, ansi(Color::Cyan)),
            (Role::Keyword, ansi(Color::Magenta)),
            (Role::Quoted, ansi(Color::Green)),
            (Role::Comment, Style::new().add_modifier(Modifier::DIM)),
            (Role::Number, ansi(Color::Yellow)),
            (Role::Function, ansi(Color::Blue)),
            (Role::Type, ansi(Color::Cyan)),
        ],
    )
}

/// No colors: letters alone tell things apart.
pub(super) fn none() -> Theme {
    made(
        "none",
        &[
            (Role::Strong, Style::new().add_modifier(BOLD)),
            (Role::Emphasis, Style::new().add_modifier(Modifier::ITALIC)),
            (Role::Heading, Style::new().add_modifier(BOLD)),
            (Role::Link, Style::new().add_modifier(Modifier::UNDERLINED)),
            (Role::Person, Style::new().add_modifier(BOLD)),
            (Role::Caution, Style::new().add_modifier(BOLD)),
            (Role::Bad, Style::new().add_modifier(BOLD)),
            (Role::Selection, Style::new().add_modifier(Modifier::REVERSED)),
            (Role::Found, Style::new().add_modifier(Modifier::REVERSED)),
            (Role::Keyword, Style::new().add_modifier(BOLD)),
        ],
    )
}

fn made(name: &str, styles: &[(Role, Style)]) -> Theme {
    let mut theme = Theme::blank(name);
    for (role, style) in styles {
        theme.set(*role, *style);
    }
    theme
}
