//! Where links lead. A style carries a link's number as the color of a line that is never drawn, so
//! that breaking, selecting and drawing text need not know of it; rows hold the addresses. Only what
//! is safe to hand to a terminal gets a number.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use ratatui_core::style::{Color, Style};

const MAX_ADDRESS_BYTES: usize = 2000;
/// Schemes of addresses that may be passed to a terminal.
const SCHEMES: [&str; 4] = ["https://", "http://", "mailto:", "file://"];
/// Terminals that would print the sequences of links.
const TERMINALS_WITHOUT_LINKS: [&str; 7] =
    ["linux", "dumb", "eterm", "cons25", "vt52", "vt100", "vt220"];

/// Nobody outside can have two addresses get the same number.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

pub(crate) type Links = HashMap<Color, Arc<str>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) number: Color,
    pub(crate) address: Arc<str>,
}

impl Link {
    /// A link to an address; none if it must not be passed to a terminal.
    pub(crate) fn to(address: &str) -> Option<Self> {
        let is_known = |scheme: &&str| {
            let head = address.get(..scheme.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(scheme))
        };
        let scheme = SCHEMES.into_iter().find(is_known)?;
        if address.len() > MAX_ADDRESS_BYTES || address.len() == scheme.len() {
            return None;
        }
        let mut safe = String::with_capacity(address.len());
        for byte in address.bytes() {
            if byte.is_ascii_graphic() {
                safe.push(char::from(byte));
            } else {
                write!(safe, "%{byte:02X}").ok()?;
            }
        }
        let [red, green, blue, ..] = HASHER.hash_one(&safe).to_le_bytes();
        Some(Self { number: Color::Rgb(red, green, blue), address: safe.into() })
    }

    /// A style for words that lead there.
    pub(crate) fn mark(&self, style: Style) -> Style {
        style.underline_color(self.number)
    }
}

/// Returns true if a terminal with this name takes links, or at least prints nothing of them.
pub fn takes_links(term: &str) -> bool {
    let name = term.split('-').next().unwrap_or_default();
    !TERMINALS_WITHOUT_LINKS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyperlinks_have_only_safe_addresses() {
        let address = |text: &str| Link::to(text).map(|link| link.address.to_string());
        for text in
            ["javascript:alert(1)", "https://", "", "é", "//a", "ssh://a", "data:text/html,a"]
        {
            assert_eq!(address(text), None, "{text}");
        }
        assert_eq!(address("HTTPS://a.b/c?d=e#f").as_deref(), Some("HTTPS://a.b/c?d=e#f"));
        assert_eq!(address("mailto:a@b").as_deref(), Some("mailto:a@b"));
        assert_eq!(
            address("file:///a b\x1b\\\x07\u{9c}é").as_deref(),
            Some("file:///a%20b%1B\\%07%C2%9C%C3%A9")
        );
        assert_eq!(address(&format!("http://{}", "a".repeat(MAX_ADDRESS_BYTES))), None);
    }

    #[test]
    fn simple_terminals_get_no_hyperlinks() {
        for (term, wanted) in
            [("xterm-256color", true), ("linux", false), ("eterm-color", false), ("foot", true)]
        {
            assert_eq!(takes_links(term), wanted, "{term}");
        }
    }
}
