//! Cells into bytes, one write for each frame, which the terminal shows at once where it can.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType as Part, EndSynchronizedUpdate,
};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::{Position, Rect, Size};
use ratatui_core::style::{Color, Modifier};

use rustix::event::Timespec;

use super::raw::offer;
use crate::ansi::sgr_codes;
use crate::link::Links;
use crate::text::{columns, narrow};

/// The time to wait for a terminal that takes nothing, within a frame.
const FRAME_WRITE_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 8_000_000 };

pub(crate) struct Ansi {
    tty: File,
    bytes: Vec<u8>,
    /// Bytes that the terminal has not taken yet.
    unsent: Vec<u8>,
    /// The cells on the screen.
    shown: Buffer,
    /// Where links lead, by the numbers that cells have.
    links: Arc<Mutex<Links>>,
}

type Look = (Color, Color, Modifier);

const USUAL: Look = (Color::Reset, Color::Reset, Modifier::empty());

impl Ansi {
    pub(super) fn new(tty: File, size: Rect, links: Arc<Mutex<Links>>) -> Self {
        let bytes = Vec::with_capacity(1 << 16);
        Self { tty, bytes, unsent: Vec::new(), shown: Buffer::empty(size), links }
    }

    pub(super) fn tty(&mut self) -> &mut File {
        &mut self.tty
    }

    pub(super) fn is_behind(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Writes as much of what waits as the terminal takes.
    pub(super) fn send(&mut self) -> io::Result<()> {
        let count = offer(&self.tty, &self.unsent, FRAME_WRITE_TIMEOUT)?;
        self.unsent.drain(..count);
        Ok(())
    }

    /// Forgets what the terminal has not taken.
    pub(super) fn discard(&mut self) {
        self.unsent.clear();
    }

    /// Writes something beside frames.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        self.unsent.extend_from_slice(text.as_bytes());
        self.send()
    }

    pub(super) fn set_size(&mut self, size: Rect) {
        self.shown = Buffer::empty(size);
    }

    /// Writes cells of one row, in order.
    fn put<'a>(
        &mut self,
        cells: impl Iterator<Item = (Position, &'a Cell)>,
        look: &mut Look,
    ) -> io::Result<()> {
        let bytes = &mut self.bytes;
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let mut link = None;
        let mut next: Option<Position> = None;
        for (at, cell) in cells {
            if next != Some(at) {
                queue!(bytes, MoveTo(at.x, at.y))?;
            }
            // Terminals disagree on how wide some are: the cursor is where we put it.
            next = is_sure(cell).then_some(Position { x: at.x + 1, ..at });
            let wanted = (cell.fg, cell.bg, cell.modifier);
            if wanted != *look {
                queue!(bytes, SetAttribute(Attribute::Reset))?;
                let (front, back, modifier) = wanted;
                for code in sgr_codes(Some(front), Some(back), modifier) {
                    write!(bytes, "\x1b[{code}m")?;
                }
                *look = wanted;
            }
            let number = &cell.underline_color;
            let leads = (*number != Color::Reset).then(|| links.get_key_value(number)).flatten();
            if leads != link {
                put_link(bytes, leads)?;
                link = leads;
            }
            queue!(bytes, Print(cell.symbol()))?;
        }
        if link.is_some() {
            put_link(bytes, None)?;
        }
        Ok(())
    }

    /// Writes a whole row anew, and nothing of what was there before stays.
    fn put_row(&mut self, y: u16, look: &mut Look) -> io::Result<()> {
        queue!(self.bytes, SetAttribute(Attribute::Reset), MoveTo(0, y), Clear(Part::CurrentLine))?;
        *look = USUAL;
        let row: Vec<Cell> = row(&self.shown, y).to_vec();
        let mut free = 0;
        let whole = row.iter().zip(0_u16..).filter(|(cell, x)| {
            let is_free = *x >= free;
            if is_free {
                free = x.saturating_add(narrow(columns(cell.symbol()).max(1)));
            }
            is_free
        });
        self.put(whole.map(|(cell, x)| (Position { x, y }, cell)), look)
    }
}

fn row(buffer: &Buffer, y: u16) -> &[Cell] {
    let width = usize::from(buffer.area.width);
    let from = usize::from(y) * width;
    buffer.content.get(from..from + width).unwrap_or_default()
}

/// Returns true if all terminals agree that a cell takes one column.
fn is_sure(cell: &Cell) -> bool {
    !is_cluster(cell) && columns(cell.symbol()) == 1
}

/// Returns true if a cell holds several characters that are to be one: a flag, a family, a letter
/// with signs. Terminals disagree on how wide they are, and what one draws elsewhere stays there.
fn is_cluster(cell: &Cell) -> bool {
    let symbol = cell.symbol();
    symbol.len() > 1 && symbol.chars().nth(1).is_some()
}

impl Backend for Ansi {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut look = USUAL;
        let all: Vec<(u16, u16, &Cell)> = content.collect();
        // From below: what somebody types stands there, and is not to wait for the rest.
        for changed in all.chunk_by(|(_, before, _), (_, after, _)| before == after).rev() {
            let Some((_, y, _)) = changed.first() else { continue };
            let was_odd = row(&self.shown, *y).iter().any(is_cluster);
            let is_odd = changed.iter().any(|(_, _, cell)| is_cluster(cell));
            for (x, y, cell) in changed {
                if let Some(shown) = self.shown.cell_mut(Position { x: *x, y: *y }) {
                    shown.clone_from(cell);
                }
                // Cells under a wide letter are not passed, and must not come back when it goes.
                for covered in 1..narrow(columns(cell.symbol())) {
                    let at = Position { x: x.saturating_add(covered), y: *y };
                    if let Some(shown) = self.shown.cell_mut(at) {
                        shown.reset();
                    }
                }
            }
            if was_odd || is_odd {
                self.put_row(*y, &mut look)?;
            } else {
                let cells = changed.iter().map(|(x, y, cell)| (Position { x: *x, y: *y }, *cell));
                self.put(cells, &mut look)?;
            }
        }
        queue!(self.bytes, SetAttribute(Attribute::Reset))
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
        self.shown.reset();
        queue!(self.bytes, Clear(Part::All))
    }

    /// Clears everything: whoever clears a part draws everything anew.
    fn clear_region(&mut self, _part: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.shown.area.as_size())
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.shown.area.as_size(), pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        queue!(self.unsent, BeginSynchronizedUpdate)?;
        self.unsent.append(&mut self.bytes);
        queue!(self.unsent, EndSynchronizedUpdate)?;
        self.send()
    }
}

/// Begins or ends a link. Rows of the same link are one by its number.
fn put_link(bytes: &mut impl Write, link: Option<(&Color, &Arc<str>)>) -> io::Result<()> {
    match link {
        Some((Color::Rgb(red, green, blue), address)) => {
            write!(bytes, "\x1b]8;id={red:02x}{green:02x}{blue:02x};{address}\x1b\\")
        }
        Some(_) | None => write!(bytes, "\x1b]8;;\x1b\\"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use ratatui_core::style::Style;
    use ratatui_core::terminal::{Terminal, TerminalOptions, Viewport};

    use super::*;
    use crate::link::Link;

    /// The bytes for each of these screens of one row, after the one before.
    fn written(rows: &[&str]) -> Vec<String> {
        let all: Vec<Vec<(Style, &str)>> =
            rows.iter().map(|it| vec![(Style::new(), *it)]).collect();
        written_with(&all, Links::default())
    }

    /// The bytes for screens of pieces in styles, which may be links.
    fn written_with(rows: &[Vec<(Style, &str)>], links: Links) -> Vec<String> {
        let (mut out, tty) = std::io::pipe().unwrap();
        let tty = File::from(std::os::fd::OwnedFd::from(tty));
        let area = Rect::new(0, 0, 12, 1);
        let options = TerminalOptions { viewport: Viewport::Fixed(area) };
        let mut terminal =
            Terminal::with_options(Ansi::new(tty, area, Arc::new(Mutex::new(links))), options)
                .unwrap();
        let frame = |pieces: &Vec<(Style, &str)>| {
            let paint = |frame: &mut ratatui_core::terminal::Frame<'_>| {
                let mut x = 0;
                for (style, text) in pieces {
                    frame.buffer_mut().set_string(x, 0, text, *style);
                    x += narrow(columns(text));
                }
            };
            terminal.draw(paint).unwrap();
            let mut bytes = [0; 4096];
            let count = out.read(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes[..count]).into_owned()
        };
        rows.iter().map(frame).collect()
    }

    #[test]
    fn rows_with_odd_clusters_are_written_whole() {
        let frames = written(&["🇩🇪 ab", "🇩🇪 ac", "x", "y"]);
        for frame in &frames[..3] {
            assert!(frame.contains("\x1b[2K"), "{frame:?}");
        }
        assert!(frames[1].contains("🇩🇪\x1b[1;3H ac"), "{:?}", frames[1]);
        assert!(!frames[3].contains("\x1b[2K"), "a usual row is not: {:?}", frames[3]);
    }

    #[test]
    fn cells_under_a_wide_letter_do_not_come_back() {
        let frames = written(&["qrstuvwxyzäö", "漢字 🇩🇪 漢", "p 🇩🇪", "p"]);
        for frame in &frames[1..] {
            assert!(!frame.contains(['r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z']), "{frame:?}");
        }
    }

    #[test]
    fn hyperlink_sequences_surround_their_letters() {
        let to = |address: &str| Link::to(address).unwrap();
        let (one, other, unknown) = (to("http://a"), to("http://b"), to("http://c"));
        let links = [&one, &other].map(|link| (link.number, Arc::clone(&link.address)));
        let plain = Style::new();
        let frames = written_with(
            &[
                vec![(plain, "see "), (one.mark(plain), "it"), (plain, ".")],
                vec![(plain, "see "), (other.mark(plain), "it"), (plain, ".")],
                vec![(plain, "see "), (unknown.mark(plain), "it"), (plain, ".")],
            ],
            Links::from(links),
        );
        let opened = |frame: &str| frame.split(";http").nth(1).map(str::to_owned);
        assert!(frames[0].contains(";http://a\x1b\\it\x1b]8;;\x1b\\."), "{:?}", frames[0]);
        assert!(frames[1].contains(";http://b\x1b\\it\x1b]8;;\x1b\\"), "{:?}", frames[1]);
        assert!(frames[2].contains("it") && opened(&frames[2]).is_none(), "{:?}", frames[2]);
        assert!(!frames[0].contains("58;"), "no line gets a color: {:?}", frames[0]);
    }

    #[test]
    fn only_changed_cells_are_written() {
        let frames = written(&["hello", "hallo"]);
        assert!(frames[1].contains("\x1b[1;2Ha") && !frames[1].contains("llo"), "{:?}", frames[1]);
    }
}
