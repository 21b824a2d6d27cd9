//! The abilities of a terminal: how many colors, on what background. Pure: the variables and the
//! terminal's own reports come in as text.

use ratatui_core::style::{Color, Style};

/// How many colors a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// None, because nobody wants them or the terminal has none.
    None,
    /// Its own sixteen.
    Sixteen,
    /// A fixed palette of 256.
    Palette,
    /// All of them.
    True,
}

/// The background of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    Dark,
    Light,
}

impl Depth {
    /// The depth that `TERM` and `COLORTERM` name.
    pub fn of(term: &str, colorterm: &str) -> Self {
        if matches!(colorterm, "truecolor" | "24bit") || term.ends_with("-direct") {
            Self::True
        } else if term.contains("256") {
            Self::Palette
        } else if term.starts_with("vt") || term.ends_with("-m") || term.ends_with("-mono") {
            Self::None
        } else {
            Self::Sixteen
        }
    }

    pub(crate) fn limit(self, mut style: Style) -> Style {
        style.fg = style.fg.and_then(|color| self.nearest(color));
        style.bg = style.bg.and_then(|color| self.nearest(color));
        style
    }

    fn nearest(self, color: Color) -> Option<Color> {
        match (self, color) {
            (Self::None, _) => None,
            (Self::Palette, Color::Rgb(red, green, blue)) => {
                Some(Color::Indexed(indexed(red, green, blue)))
            }
            (Self::Sixteen, Color::Rgb(red, green, blue)) => Some(named(red, green, blue)),
            (Self::Sixteen, Color::Indexed(16..)) => Some(Color::Reset),
            (Self::Sixteen | Self::Palette | Self::True, color) => Some(color),
        }
    }
}

/// The nearest color of the cube or the gray ramp.
fn indexed(red: u8, green: u8, blue: u8) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let wanted = [red, green, blue];
    let step = |value: u8| {
        (0..6u8).min_by_key(|index| STEPS[usize::from(*index)].abs_diff(value)).unwrap_or(0)
    };
    let places = wanted.map(step);
    let cube = places.map(|index| STEPS[usize::from(index)]);
    let mean = wanted.iter().map(|part| u16::from(*part)).sum::<u16>() / 3;
    let gray = u8::try_from(mean.saturating_sub(3) / 10).unwrap_or(23).min(23);
    let off = |color: [u8; 3]| -> u32 {
        let square = |(had, wants): (u8, u8)| u32::from(had.abs_diff(wants)).pow(2);
        color.into_iter().zip(wanted).map(square).sum()
    };
    if off([8 + 10 * gray; 3]) < off(cube) {
        return 232 + gray;
    }
    16 + 36 * places[0] + 6 * places[1] + places[2]
}

/// The nearest of the terminal's own colors by hue; their exact shades are the terminal's.
fn named(red: u8, green: u8, blue: u8) -> Color {
    let most = red.max(green).max(blue);
    let least = red.min(green).min(blue);
    if most.abs_diff(least) < 40 {
        return match most {
            0..=60 => Color::Black,
            61..=150 => Color::DarkGray,
            151..=215 => Color::Gray,
            216.. => Color::White,
        };
    }
    let middle = least + (most - least) / 2;
    match (red > middle, green > middle, blue > middle) {
        (true, true, _) => Color::Yellow,
        (true, false, true) => Color::Magenta,
        (true, false, false) => Color::Red,
        (false, true, true) => Color::Cyan,
        (false, true, false) => Color::Green,
        (false, false, _) => Color::Blue,
    }
}

/// The background that the variable `COLORFGBG` names, such as `15;0`.
pub fn background_of_variable(value: &str) -> Option<Background> {
    let number: u8 = value.rsplit(';').next()?.trim().parse().ok()?;
    match number {
        7 | 9..=15 => Some(Background::Light),
        0..=6 | 8 => Some(Background::Dark),
        16.. => None,
    }
}

/// The background that a terminal reports, such as `rgb:1e1e/1e1e/1e1e`.
pub fn background_of_report(report: &str) -> Option<Background> {
    let (_, value) = report.split_once("rgb:").or_else(|| report.split_once("rgba:"))?;
    let mut parts = value.split('/').take(3).map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_hexdigit).take(2).collect();
        u32::from_str_radix(&digits, 16).ok()
    });
    let (red, green, blue) = (parts.next()??, parts.next()??, parts.next()??);
    let brightness = (299 * red + 587 * green + 114 * blue) / 1000;
    Some(if brightness > 127 { Background::Light } else { Background::Dark })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_read_from_environment_variables() {
        assert_eq!(Depth::of("xterm-256color", ""), Depth::Palette);
        assert_eq!(Depth::of("xterm", "truecolor"), Depth::True);
        assert_eq!(Depth::of("linux", ""), Depth::Sixteen);
        assert_eq!(Depth::of("vt100", ""), Depth::None);
    }

    #[test]
    fn colors_are_limited_to_the_depth() {
        let style = Style::new().fg(Color::Rgb(255, 0, 0)).bg(Color::Rgb(128, 128, 128));
        let limited = |depth: Depth| (depth.limit(style).fg, depth.limit(style).bg);
        assert_eq!(limited(Depth::None), (None, None));
        assert_eq!(limited(Depth::Palette), (Some(Color::Indexed(196)), Some(Color::Indexed(244))));
        assert_eq!(limited(Depth::Sixteen), (Some(Color::Red), Some(Color::DarkGray)));
    }

    #[test]
    fn background_is_read_from_environment_and_report() {
        assert_eq!(background_of_variable("15;0"), Some(Background::Dark));
        assert_eq!(background_of_variable("0;default;15"), Some(Background::Light));
        assert_eq!(background_of_variable("default"), None);
        assert_eq!(background_of_report("11;rgb:fdfd/f6f6/e3e3"), Some(Background::Light));
        assert_eq!(background_of_report("11;rgb:1e/1e/1e"), Some(Background::Dark));
        assert_eq!(background_of_report("nonsense"), None);
    }
}
