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
use ratatui_core::style::{Color, Modifier};

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
                for (modifier, attribute) in LOOKS {
                    if cell.modifier.contains(*modifier) {
                        queue!(self.bytes, SetAttribute(*attribute))?;
                    }
                }
                if (cell.fg, cell.bg) != (Color::Reset, Color::Reset) {
                    let colors = Colors::new(shade(cell.fg), shade(cell.bg));
                    queue!(self.bytes, SetColors(colors))?;
                }
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
