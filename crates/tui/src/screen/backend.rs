//! Cells into bytes, one write for each frame, which the terminal shows at once where it can.

use std::fs::File;
use std::io::{self, Write};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::{
    Attribute, Color as Shade, Colors, Print, ResetColor, SetAttribute, SetColors,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType as Part, EndSynchronizedUpdate,
};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Rect, Size};
use ratatui_core::style::{Color, Modifier, Style};

/// What letters can look like, and how that is said.
const LOOKS: &[(Modifier, Attribute)] = &[
    (Modifier::BOLD, Attribute::Bold),
    (Modifier::DIM, Attribute::Dim),
    (Modifier::ITALIC, Attribute::Italic),
    (Modifier::UNDERLINED, Attribute::Underlined),
    (Modifier::REVERSED, Attribute::Reverse),
    (Modifier::CROSSED_OUT, Attribute::CrossedOut),
];

/// A terminal that understands ANSI sequences.
pub(crate) struct Ansi {
    tty: File,
    bytes: Vec<u8>,
    size: Rect,
}

impl Ansi {
    pub(super) fn new(tty: File, size: Rect) -> Self {
        Self { tty, bytes: Vec::with_capacity(1 << 16), size }
    }

    pub(super) fn tty(&mut self) -> &mut File {
        &mut self.tty
    }

    pub(super) fn set_size(&mut self, size: Rect) {
        self.size = size;
    }
}

impl Backend for Ansi {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut last: Option<(u16, u16)> = None;
        let mut look = (Color::Reset, Color::Reset, Modifier::empty());
        for (x, y, cell) in content {
            if last.is_none_or(|(before, row)| before + 1 != x || row != y) {
                queue!(self.bytes, MoveTo(x, y))?;
            }
            last = Some((x, y));
            let wanted = (cell.fg, cell.bg, cell.modifier);
            if wanted != look {
                queue!(self.bytes, SetAttribute(Attribute::Reset))?;
                put_look(&mut self.bytes, wanted)?;
                look = wanted;
            }
            queue!(self.bytes, Print(cell.symbol()))?;
        }
        queue!(self.bytes, ResetColor, SetAttribute(Attribute::Reset))
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        queue!(self.bytes, Hide)
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        queue!(self.bytes, Show)
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        queue!(self.bytes, MoveTo(x, y))
    }

    fn clear(&mut self) -> io::Result<()> {
        queue!(self.bytes, Clear(Part::All))
    }

    fn clear_region(&mut self, part: ClearType) -> io::Result<()> {
        let part = match part {
            ClearType::All => Part::All,
            ClearType::AfterCursor => Part::FromCursorDown,
            ClearType::BeforeCursor => Part::FromCursorUp,
            ClearType::CurrentLine => Part::CurrentLine,
            ClearType::UntilNewLine => Part::UntilNewLine,
        };
        queue!(self.bytes, Clear(part))
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size.as_size())
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size.as_size(), pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let mut frame = Vec::with_capacity(self.bytes.len() + 16);
        queue!(frame, BeginSynchronizedUpdate)?;
        frame.append(&mut self.bytes);
        queue!(frame, EndSynchronizedUpdate)?;
        self.tty.write_all(&frame)
    }
}

/// What follows looks like this; whatever was set before must be reset.
fn put_look(
    bytes: &mut impl Write,
    (front, back, modifier): (Color, Color, Modifier),
) -> io::Result<()> {
    for (_, attribute) in LOOKS.iter().filter(|(it, _)| modifier.contains(*it)) {
        queue!(bytes, SetAttribute(*attribute))?;
    }
    if (front, back) != (Color::Reset, Color::Reset) {
        queue!(bytes, SetColors(Colors::new(shade(front), shade(back))))?;
    }
    Ok(())
}

/// A text in a style, for a terminal, in the codes that every terminal knows.
pub(crate) fn styled(style: Style, text: &str) -> String {
    const LOOKS: [(Modifier, &str); 6] = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    let looks = LOOKS.iter().filter(|(it, _)| style.add_modifier.contains(*it));
    let mut codes: Vec<String> = looks.map(|(_, code)| (*code).to_owned()).collect();
    codes.extend(style.fg.and_then(|color| code(color, 0)));
    codes.extend(style.bg.and_then(|color| code(color, 10)));
    if codes.is_empty() {
        text.to_owned()
    } else {
        format!("\x1b[{}m{text}\x1b[0m", codes.join(";"))
    }
}

/// The code of a color; that of a background is so much more.
fn code(color: Color, more: u8) -> Option<String> {
    let number = match color {
        Color::Reset => return None,
        Color::Black => 30,
        Color::Red => 31,
        Color::Green => 32,
        Color::Yellow => 33,
        Color::Blue => 34,
        Color::Magenta => 35,
        Color::Cyan => 36,
        Color::Gray => 37,
        Color::DarkGray => 90,
        Color::LightRed => 91,
        Color::LightGreen => 92,
        Color::LightYellow => 93,
        Color::LightBlue => 94,
        Color::LightMagenta => 95,
        Color::LightCyan => 96,
        Color::White => 97,
        Color::Indexed(index) => return Some(format!("{};5;{index}", 38 + more)),
        Color::Rgb(red, green, blue) => {
            return Some(format!("{};2;{red};{green};{blue}", 38 + more));
        }
    };
    Some((number + more).to_string())
}

fn shade(color: Color) -> Shade {
    match color {
        Color::Reset => Shade::Reset,
        Color::Black => Shade::Black,
        Color::Red => Shade::DarkRed,
        Color::Green => Shade::DarkGreen,
        Color::Yellow => Shade::DarkYellow,
        Color::Blue => Shade::DarkBlue,
        Color::Magenta => Shade::DarkMagenta,
        Color::Cyan => Shade::DarkCyan,
        Color::Gray => Shade::Grey,
        Color::DarkGray => Shade::DarkGrey,
        Color::LightRed => Shade::Red,
        Color::LightGreen => Shade::Green,
        Color::LightBlue => Shade::Blue,
        Color::LightYellow => Shade::Yellow,
        Color::LightMagenta => Shade::Magenta,
        Color::LightCyan => Shade::Cyan,
        Color::White => Shade::White,
        Color::Indexed(number) => Shade::AnsiValue(number),
        Color::Rgb(r, g, b) => Shade::Rgb { r, g, b },
    }
}
