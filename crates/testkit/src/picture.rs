//! A screen as an SVG picture.

use std::fmt::Write;

use vt100::{Cell, Color, Screen};

const CELL: (u32, u32) = (9, 19);
const MARGIN: u32 = 12;
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d5d9e0";
/// The sixteen colors that themes of a terminal choose.
const PALETTE: [&str; 16] = [
    "#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4",
    "#6b7280", "#f07c85", "#a8d389", "#f5d08b", "#71bfff", "#d688ed", "#66c6d2", "#ffffff",
];

/// Draws the screen. Its text is the description of the picture.
pub(crate) fn svg(screen: &Screen, replaced: &[(&str, &str)]) -> String {
    let put = |text: &str| replaced.iter().fold(text.to_owned(), |text, (a, b)| text.replace(a, b));
    let text: Vec<String> =
        screen.rows(0, screen.size().1.get()).map(|row| put(row.trim_end())).collect();
    let (rows, columns) = screen.size();
    let width = u32::from(columns.get()) * CELL.0 + 2 * MARGIN;
    let height = u32::from(rows.get()) * CELL.1 + 2 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"15\">\n\
         <desc>{}</desc>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n",
        escaped(text.join("\n").trim_end())
    );
    for row in 0..rows.get() {
        let mut column = 0;
        while column < columns.get() {
            let from = column;
            let style = style(screen.cell(row, from));
            let mut run = String::new();
            while column < columns.get() && self::style(screen.cell(row, column)) == style {
                let contents = screen.cell(row, column).map(Cell::contents).unwrap_or_default();
                let is_second_half =
                    screen.cell(row, column).is_some_and(Cell::is_wide_continuation);
                run.push_str(if contents.is_empty() && !is_second_half { " " } else { contents });
                column += 1;
            }
            draw(&mut out, &put(&run), &style, (row, from, column));
        }
    }
    out.push_str("</svg>\n");
    out
}

/// The description of a picture, without its markup.
pub fn description(svg: &str) -> String {
    let text = svg.split_once("<desc>").and_then(|(_, rest)| rest.split_once("</desc>"));
    let text = text.map_or("", |(text, _)| text);
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[derive(PartialEq)]
struct Style {
    fill: String,
    ground: Option<String>,
    attributes: &'static str,
}

fn style(cell: Option<&Cell>) -> Style {
    let Some(cell) = cell else {
        return Style { fill: FOREGROUND.to_owned(), ground: None, attributes: "" };
    };
    let (mut fill, mut ground) = (color(cell.fgcolor()), color(cell.bgcolor()));
    if cell.inverse() {
        let swapped = ground.take().unwrap_or_else(|| BACKGROUND.to_owned());
        ground = Some(fill.take().unwrap_or_else(|| FOREGROUND.to_owned()));
        fill = Some(swapped);
    }
    let attributes = match (cell.bold(), cell.italic()) {
        (true, _) => " font-weight=\"bold\"",
        (false, true) => " font-style=\"italic\"",
        (false, false) => "",
    };
    Style { fill: fill.unwrap_or_else(|| FOREGROUND.to_owned()), ground, attributes }
}

fn color(color: Color) -> Option<String> {
    match color {
        Color::Default => None,
        Color::Idx(index @ 0..16) => Some(PALETTE[usize::from(index)].to_owned()),
        Color::Idx(index @ 16..232) => {
            let level = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
            let cube = index - 16;
            let [r, g, b] = [cube / 36, cube / 6 % 6, cube % 6].map(level);
            Some(format!("#{r:02x}{g:02x}{b:02x}"))
        }
        Color::Idx(index) => {
            let gray = 8 + 10 * (index - 232);
            Some(format!("#{gray:02x}{gray:02x}{gray:02x}"))
        }
        Color::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
    }
}

fn draw(out: &mut String, run: &str, style: &Style, (row, from, to): (u16, u16, u16)) {
    let x = |column: u16| MARGIN + u32::from(column) * CELL.0;
    let y = MARGIN + u32::from(row) * CELL.1;
    let width = x(to) - x(from);
    if let Some(ground) = &style.ground {
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{y}\" width=\"{width}\" height=\"{}\" fill=\"{ground}\"/>",
            x(from),
            CELL.1
        );
    }
    let text = run.trim_end();
    if text.is_empty() {
        return;
    }
    let length = u32::try_from(text.chars().count()).unwrap_or(0) * CELL.0;
    let length = if run.is_ascii() { length } else { width.min(length) };
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" fill=\"{}\"{} textLength=\"{length}\" xml:space=\"preserve\">{}</text>",
        x(from),
        y + 14,
        style.fill,
        style.attributes,
        escaped(text)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
