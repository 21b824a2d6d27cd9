//! Themes as YAML files: those that come with the program, and those that users write with a base and
//! the styles that differ from it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use formats::yaml::{self, Malformed, Options};
use ratatui_core::style::{Color, Modifier, Style};
use serde::Deserialize;

use super::{ROLES, Role, Theme};

/// The reason why a theme cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ThemeError(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    base: Option<String>,
    #[serde(default)]
    styles: BTreeMap<String, String>,
}

/// The themes that come with the program: dark, light, the terminal's own sixteen colors, none, and
/// well-known palettes.
pub(super) static BUILT_IN: LazyLock<[Theme; 16]> = LazyLock::new(|| {
    let files = [
        include_str!("dark.yaml"),
        include_str!("light.yaml"),
        include_str!("16-color.yaml"),
        include_str!("none.yaml"),
        include_str!("dracula.yaml"),
        include_str!("nord.yaml"),
        include_str!("gruvbox-dark.yaml"),
        include_str!("gruvbox-light.yaml"),
        include_str!("solarized-dark.yaml"),
        include_str!("solarized-light.yaml"),
        include_str!("catppuccin-mocha.yaml"),
        include_str!("catppuccin-latte.yaml"),
        include_str!("tokyo-night.yaml"),
        include_str!("one-dark.yaml"),
        include_str!("monokai.yaml"),
        include_str!("rose-pine.yaml"),
    ];
    files.map(|text| read(text, "", |_| Ok(Theme::unstyled())).expect("built-in themes are valid"))
});

/// Reads a theme; `name` counts where the file names none.
pub fn parse(text: &str, name: &str) -> Result<Theme, ThemeError> {
    read(text, name, |base| {
        let names: Vec<&str> = BUILT_IN.iter().map(|theme| theme.name.as_str()).collect();
        let listed = names.join(", ");
        let found = BUILT_IN.iter().find(|theme| theme.name == base).cloned();
        found.ok_or_else(|| {
            ThemeError(format!("`{base}` is not a base theme; the base themes are {listed}"))
        })
    })
}

fn read(
    text: &str,
    name: &str,
    base: impl FnOnce(&str) -> Result<Theme, ThemeError>,
) -> Result<Theme, ThemeError> {
    let wrong = |line: usize, message: &str| ThemeError(format!("line {line}: {message}"));
    let tree = yaml::parse(text, Options::default());
    let tree = tree.map_err(|error| wrong(error.line, &error.message))?;
    let file: File = tree.to_type().map_err(|Malformed { line, message, known, .. }| {
        let there = if known.is_empty() { "" } else { "; known keys: " };
        wrong(line, &format!("{message}{there}{}", known.join(", ")))
    })?;
    let mut theme = base(file.base.as_deref().unwrap_or("dark"))?;
    theme.name = file.name.unwrap_or_else(|| name.to_owned());
    for (key, words) in &file.styles {
        let Some(role) = ROLES.iter().find(|role| role.name() == *key) else {
            let all = ROLES.map(Role::name).join(", ");
            return Err(ThemeError(format!("`{key}` is not a style; the styles are {all}")));
        };
        let style = style(words).map_err(|word| {
            ThemeError(format!("`{word}` in `{key}` is not a color or an attribute such as `bold`"))
        })?;
        theme.set(*role, style);
    }
    Ok(theme)
}

/// A style in words: a color, `on` a color, and looks of letters.
fn style(words: &str) -> Result<Style, String> {
    let mut style = Style::new();
    let mut is_background = false;
    for word in words.split_whitespace() {
        let modifier = match word {
            "bold" => Modifier::BOLD,
            "dim" => Modifier::DIM,
            "italic" => Modifier::ITALIC,
            "underline" => Modifier::UNDERLINED,
            "reverse" => Modifier::REVERSED,
            "on" => {
                is_background = true;
                continue;
            }
            color => {
                let color: Color = color.parse().map_err(|_| color.to_owned())?;
                style = if is_background { style.bg(color) } else { style.fg(color) };
                continue;
            }
        };
        style = style.add_modifier(modifier);
    }
    Ok(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theme_file_overrides_its_base() {
        let yaml = "base: light\nstyles:\n  code: '#ff8800 bold'\n  found: black on yellow\n";
        let theme = parse(yaml, "mine").unwrap();
        assert_eq!(theme.name, "mine");
        let code = theme.style(Role::Code);
        assert_eq!(code.fg, Some(Color::Rgb(255, 136, 0)));
        assert!(code.add_modifier.contains(Modifier::BOLD));
        assert_eq!(theme.style(Role::Found).bg, Some(Color::Yellow));
        let light = &Theme::built_in()[1];
        assert_eq!(theme.style(Role::Bad), light.style(Role::Bad));
    }

    #[test]
    fn parse_names_mistakes() {
        let message = |yaml: &str| parse(yaml, "x").unwrap_err().to_string();
        assert!(message("base: pink").contains("dark, light, 16-color, none"));
        assert!(message("styles: {codes: red}").contains("`codes` is not a style"));
        assert!(message("styles: {code: redd}").contains("`redd` in `code`"));
        assert_eq!(
            message("color: red"),
            "line 1: unknown key `color`; known keys: name, base, styles"
        );
        for broken in ["color: red", "base: [", "styles:\n  code: {a: b}\n", "a: b\n  c: d"] {
            assert_eq!(message(broken).lines().count(), 1, "{}", message(broken));
        }
    }
}
