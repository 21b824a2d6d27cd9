//! Pictures among the text, where the terminal can show them: how large they are, the cells that
//! stand for them, and what is written to have them shown. Decodes no more than a header, but for
//! terminals that take nothing but pixels.

mod sixel;

use std::fmt::Write as _;

use base64::engine::{DecodePaddingMode, Engine as _, GeneralPurpose, GeneralPurposeConfig};
use ratatui_core::style::{Color, Style};

use crate::text::{Joint, Piece, Row};

/// A protocol for pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pictures {
    #[default]
    None,
    /// Kitty's protocol: sent once, then characters stand for their parts.
    Kitty,
    /// iTerm2's protocol: drawn at the cursor, again wherever they move.
    Iterm,
    /// Sixel: like iTerm2's, in pixels.
    Sixel,
}

impl Pictures {
    /// The protocol that the environment variables of a terminal name.
    pub fn of<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Self {
        let is =
            |name: &str, values: &[&str]| variable(name).is_some_and(|it| values.contains(&it));
        // A multiplexer in between does not pass it on.
        if variable("TMUX").is_some() || variable("STY").is_some() {
            return Self::None;
        }
        let is_kitty = variable("KITTY_WINDOW_ID").is_some()
            || is("TERM", &["xterm-kitty", "xterm-ghostty"])
            || is("TERM_PROGRAM", &["ghostty"]);
        if is_kitty {
            Self::Kitty
        } else if is("TERM_PROGRAM", &["iTerm.app", "WezTerm"]) || is("LC_TERMINAL", &["iTerm2"]) {
            Self::Iterm
        } else {
            Self::None
        }
    }

    /// The protocol that a report of attributes names; none for any other report.
    pub(crate) fn of_report(report: &str) -> Option<Self> {
        let attributes = report.strip_prefix('?')?.strip_suffix('c')?;
        attributes.split(';').skip(1).any(|attribute| attribute == "4").then_some(Self::Sixel)
    }
}

const MAX_COLUMNS: u16 = 48;
const MAX_ROWS: u16 = 16;
const MAX_BASE64_LETTERS: usize = 6 << 20;
/// Letters of base64 in one sequence of Kitty's.
const CHUNK: usize = 4096;

/// The character that stands for a part of a picture.
const PART: char = '\u{10eeee}';
/// Marks on it that count rows and columns from 0, as Kitty's protocol lists them.
const COUNTS: [u32; 48] = [
    0x305, 0x30d, 0x30e, 0x310, 0x312, 0x33d, 0x33e, 0x33f, 0x346, 0x34a, 0x34b, 0x34c, 0x350,
    0x351, 0x352, 0x357, 0x35b, 0x363, 0x364, 0x365, 0x366, 0x367, 0x368, 0x369, 0x36a, 0x36b,
    0x36c, 0x36d, 0x36e, 0x36f, 0x483, 0x484, 0x485, 0x486, 0x487, 0x592, 0x593, 0x594, 0x595,
    0x597, 0x598, 0x599, 0x59c, 0x59d, 0x59e, 0x59f, 0x5a0, 0x5a1,
];

/// Takes base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A picture from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    is_png: bool,
    data: String,
    /// How many it has; 0 where that is not known.
    pixels: u64,
    pub(crate) size: (u16, u16),
}

impl Picture {
    /// A picture in base64; none where that is not what it is, or where it is too large.
    pub(crate) fn new(media_type: &str, data: &str) -> Option<Self> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        let is_picture = media_type.starts_with("image/") && !media_type.contains("svg");
        if !is_picture
            || data.is_empty()
            || data.len() > MAX_BASE64_LETTERS
            || !data.bytes().all(is_letter)
        {
            return None;
        }
        // Eight groups of four letters are 24 bytes: all of the headers that are read.
        let head = BASE64.decode(data.get(..32).unwrap_or(data)).unwrap_or_default();
        let is_png = head.starts_with(b"\x89PNG\r\n\x1a\n");
        let number = |at: usize, count: usize| {
            let bytes = head.get(at..at + count)?;
            Some(bytes.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)))
        };
        let pixels = if is_png {
            number(16, 4).zip(number(20, 4))
        } else if head.starts_with(b"GIF8") {
            let little = |at: usize| number(at, 2).map(|it| (it & 0xff) << 8 | it >> 8);
            little(6).zip(little(8))
        } else {
            None
        };
        let size = pixels.map_or((MAX_COLUMNS, MAX_ROWS), |(width, height)| cells(width, height));
        let pixels = pixels.map_or(0, |(width, height)| u64::from(width) * u64::from(height));
        Some(Self { is_png, data: data.to_owned(), pixels, size })
    }

    pub(crate) fn is_shown(&self, by: Pictures, width: usize) -> bool {
        let fits = usize::from(self.size.0) <= width;
        match by {
            Pictures::None => false,
            Pictures::Kitty => self.is_png && fits,
            Pictures::Sixel => self.is_png && self.pixels <= sixel::MAX_PIXELS && fits,
            Pictures::Iterm => fits,
        }
    }

    /// The rows that stand for it, behind decoration. Their style says which picture it is.
    pub(crate) fn rows(&self, by: Pictures, id: u8, lead: &[Piece]) -> Vec<Row> {
        let mark = |at: u16| COUNTS.get(usize::from(at)).copied().and_then(char::from_u32);
        let (columns, rows) = self.size;
        let row = |row: u16| {
            let cell = |column: u16| match (by, mark(row), mark(column)) {
                (Pictures::Kitty, Some(row), Some(column)) => format!("{PART}{row}{column}"),
                _ => " ".to_owned(),
            };
            let text: String = (0..columns).map(cell).collect();
            let style = Style::new().fg(Color::Indexed(id));
            Row::new(lead, vec![(style, text)], Joint::Decoration)
        };
        (0..rows).map(row).collect()
    }

    /// The sequences that show it: once for Kitty, at its place for others, in cells of so many
    /// pixels.
    pub(crate) fn sequences(
        &self,
        by: Pictures,
        id: u8,
        cell: (u16, u16),
    ) -> Result<String, String> {
        let (columns, rows) = self.size;
        Ok(match by {
            Pictures::None => String::new(),
            Pictures::Sixel => {
                let (wide, high) = (columns.saturating_mul(cell.0), rows.saturating_mul(cell.1));
                let png = BASE64.decode(&self.data).map_err(|error| error.to_string())?;
                sixel::encode_png(&png, (wide, high))?
            }
            Pictures::Iterm => format!(
                "\x1b]1337;File=inline=1;width={columns};height={rows};preserveAspectRatio=1:{}\x07",
                self.data
            ),
            Pictures::Kitty => {
                let chunks: Vec<&[u8]> = self.data.as_bytes().chunks(CHUNK).collect();
                let mut text = String::with_capacity(self.data.len() + 64 * chunks.len());
                for (number, chunk) in chunks.iter().enumerate() {
                    let more = u8::from(number + 1 < chunks.len());
                    let head = if number == 0 {
                        format!("a=T,U=1,q=2,f=100,i={id},c={columns},r={rows},m={more}")
                    } else {
                        format!("m={more},q=2")
                    };
                    let chunk = String::from_utf8_lossy(chunk);
                    let _ = write!(text, "\x1b_G{head};{chunk}\x1b\\");
                }
                text
            }
        })
    }
}

/// The cells of a picture, each twice as high as wide, within what is shown at most.
fn cells(width: u32, height: u32) -> (u16, u16) {
    let (width, height) = (u64::from(width.max(1)), u64::from(height.max(1)));
    let (widest, highest) = (u64::from(MAX_COLUMNS), u64::from(MAX_ROWS));
    // About ten pixels make a column where it is small.
    let columns = width.div_ceil(10).min(widest).min((highest * 2 * width).div_ceil(height)).max(1);
    let rows = (columns * height).div_ceil(width * 2).clamp(1, highest);
    (u16::try_from(columns).unwrap_or(MAX_COLUMNS), u16::try_from(rows).unwrap_or(MAX_ROWS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a picture of 400 by 200 pixels.
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAZAAAADICAYAAAA=";

    #[test]
    fn picture_terminals_are_recognized_by_environment() {
        for (variables, wanted) in [
            (&[("TERM", "xterm-256color")][..], Pictures::None),
            (&[("TERM", "xterm-kitty")], Pictures::Kitty),
            (&[("TERM_PROGRAM", "ghostty")], Pictures::Kitty),
            (&[("TERM_PROGRAM", "iTerm.app")], Pictures::Iterm),
            (&[("TERM_PROGRAM", "WezTerm"), ("TMUX", "/tmp/x")], Pictures::None),
        ] {
            let variable =
                |name: &str| variables.iter().find(|(it, _)| *it == name).map(|(_, value)| *value);
            assert_eq!(Pictures::of(variable), wanted, "{variables:?}");
        }
    }

    #[test]
    fn attribute_report_names_sixel() {
        for (report, wanted) in [
            ("?62;4;6;22c", Some(Pictures::Sixel)),
            ("?63;1;2;4c", Some(Pictures::Sixel)),
            ("?62;22c", None),
            ("?4c", None),
            ("?1;4u", None),
            ("]11;rgb:0/0/0", None),
        ] {
            assert_eq!(Pictures::of_report(report), wanted, "{report}");
        }
    }

    #[test]
    fn picture_keeps_its_aspect_ratio() {
        let picture = Picture::new("image/png", PNG).unwrap();
        assert_eq!(picture.size, (40, 10));
        assert_eq!(cells(4000, 1000), (48, 6));
        assert_eq!(cells(100, 10_000), (1, 16));
        assert_eq!(cells(0, 0), (1, 1));
        let rows = picture.rows(Pictures::Kitty, 7, &[]);
        assert_eq!(rows.len(), 10);
        assert_eq!(rows[0].line.width(), 40);
    }

    #[test]
    fn only_base64_is_a_picture() {
        for data in ["", "abc\x1b\\", "a b", "abc;\x07"] {
            assert_eq!(Picture::new("image/png", data), None, "{data:?}");
        }
        assert_eq!(Picture::new("text/html", PNG), None);
    }

    #[test]
    fn a_long_picture_is_sent_in_parts() {
        let data = format!("{}{}", &PNG[..36], "A".repeat(10_000));
        let text = Picture::new("image/png", &data).unwrap();
        let text = text.sequences(Pictures::Kitty, 3, (10, 20)).unwrap();
        assert_eq!(text.matches("\x1b_G").count(), 3);
        assert!(text.starts_with("\x1b_Ga=T,U=1,q=2,f=100,i=3,c=40,r=10,m=1;"), "{}", &text[..60]);
        assert!(text.contains("\x1b_Gm=0,q=2;"));
    }
}
