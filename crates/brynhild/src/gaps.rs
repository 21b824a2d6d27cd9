//! Whether a text has the form of a pattern that leaves something open: stars, or blanks to fill.

/// What stands where a pattern leaves something open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// Anything, or nothing.
    Any,
    /// Something.
    Filled,
}

/// Whether a text consists of the parts of a pattern, in order, with a gap between each two.
pub(crate) fn meets<'a>(mut parts: impl Iterator<Item = &'a str>, text: &str, gap: Gap) -> bool {
    let least = match gap {
        Gap::Any => 0,
        Gap::Filled => 1,
    };
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.len() >= part.len() + least && rest.ends_with(part);
        }
        let mut places = rest.char_indices().map(|(at, _)| at).chain([rest.len()]).skip(least);
        let Some(at) = places.find(|at| rest[*at..].starts_with(part)) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_anything_or_something() {
        let any = |pattern: &str, text: &str| meets(pattern.split('*'), text, Gap::Any);
        let filled = |pattern: &str, text: &str| meets(pattern.split('*'), text, Gap::Filled);
        assert!(any("a*", "a") && any("a*", "ab") && any("*", "") && any("a*b*c", "abc"));
        assert!(!any("a*a", "a") && any("a*b*c", "axxbyyc") && !any("a*b*c", "acb"));
        assert!(any("a", "a") && !any("a", "ab") && any("**", "") && any("é*ü", "éüü"));
        assert!(filled("a*", "ab") && !filled("a*", "a") && !filled("a*b*c", "abc"));
        assert!(filled("a*b*c", "axbyc") && !filled("a*b", "ab") && filled("*é*", "aéa"));
        assert!(!filled("*", "") && !filled("a*b*", "aéb"));
    }
}
