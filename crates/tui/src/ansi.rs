//! Styles as the SGR sequences of a terminal.

use ratatui_core::style::{Color, Modifier, Style};

use crate::text::prose;

/// Modifiers with their SGR codes.
const MODIFIER_CODES: [(Modifier, &str); 6] = [
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::REVERSED, "7"),
    (Modifier::CROSSED_OUT, "9"),
];

/// The SGR codes of a foreground, a background and modifiers.
pub(crate) fn sgr_codes(
    front: Option<Color>,
    back: Option<Color>,
    modifier: Modifier,
) -> Vec<String> {
    let modifiers = MODIFIER_CODES.iter().filter(|(it, _)| modifier.contains(*it));
    let colors = [front.and_then(|it| color_code(it, 0)), back.and_then(|it| color_code(it, 10))];
    modifiers.map(|(_, code)| (*code).to_owned()).chain(colors.into_iter().flatten()).collect()
}

/// A text in a style, in the codes that every terminal knows. Escapes what could be a sequence of
/// the text's own.
pub(crate) fn styled(style: Style, text: &str) -> String {
    let codes = sgr_codes(style.fg, style.bg, style.add_modifier);
    let text = prose(text);
    if codes.is_empty() { text } else { format!("\x1b[{}m{text}\x1b[0m", codes.join(";")) }
}

/// The SGR code of a foreground color; `offset` is 10 for a background.
fn color_code(color: Color, offset: u8) -> Option<String> {
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
        Color::Indexed(index) => return Some(format!("{};5;{index}", 38 + offset)),
        Color::Rgb(red, green, blue) => {
            return Some(format!("{};2;{red};{green};{blue}", 38 + offset));
        }
    };
    Some((number + offset).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sgr_codes_of_named_colors_are_the_sixteen() {
        let codes = sgr_codes(Some(Color::Red), Some(Color::LightBlue), Modifier::empty());
        assert_eq!(codes, ["31", "104"]);
    }
}
