//! Patterns with stars, matched against whole texts.

/// Returns true if `text` is the parts in order, with anything between them.
pub(crate) fn meets<'a>(mut parts: impl Iterator<Item = &'a str>, text: &str) -> bool {
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_any_text() {
        let any = |pattern: &str, text: &str| meets(pattern.split('*'), text);
        assert!(any("a*", "a") && any("a*", "ab") && any("*", "") && any("a*b*c", "abc"));
        assert!(!any("a*a", "a") && any("a*b*c", "axxbyyc") && !any("a*b*c", "acb"));
        assert!(any("a", "a") && !any("a", "ab") && any("**", "") && any("é*ü", "éüü"));
    }
}
