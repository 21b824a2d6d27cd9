//! The names of tools and prompts of servers: `mcp__SERVER__NAME`.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// The longest name that every provider takes.
const MAX_LENGTH: usize = 64;

/// The part of a name that identifies a server. None if no character of the server's name is usable.
/// It never holds `__` and never ends in `_`, so that no two servers can share a tool's name.
pub fn prefix(server: &str) -> Option<String> {
    let mut prefix = String::new();
    for c in usable(server).chars() {
        if !(c == '_' && prefix.ends_with('_')) {
            prefix.push(c);
        }
    }
    let prefix = prefix.trim_matches('_').to_owned();
    let is_named = prefix.chars().any(|c| c.is_ascii_alphanumeric());
    is_named.then(|| if prefix.len() > 32 { shortened(&prefix, 32) } else { prefix })
}

/// The name of a thing of a server: `mcp__SERVER__THING`. Names that are taken get a suffix.
pub(crate) fn joined(prefix: &str, thing: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = format!("mcp__{prefix}__{}", usable(thing));
    let name = if plain.len() > MAX_LENGTH || taken.contains(&plain) {
        let digest = &blake3::hash(thing.as_bytes()).to_hex()[..8];
        format!("{}_{digest}", &plain[..plain.len().min(MAX_LENGTH - 9)])
    } else {
        plain
    };
    taken.insert(name.clone());
    name
}

/// Returns true if a name needs no change.
pub(crate) fn is_plain(thing: &str) -> bool {
    thing.chars().all(is_fine)
}

fn is_fine(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn usable(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return text.into();
    }
    text.chars().map(|c| if is_fine(c) { c } else { '_' }).collect()
}

fn shortened(text: &str, length: usize) -> String {
    let digest = &blake3::hash(text.as_bytes()).to_hex()[..8];
    format!("{}-{digest}", text[..length - 9].trim_end_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_short_and_unique() {
        let mut taken = BTreeSet::new();
        let git = prefix("git").unwrap();
        assert_eq!(joined(&git, "status", &mut taken), "mcp__git__status");
        assert_eq!(joined(&git, "a.b", &mut taken), "mcp__git__a_b");
        let other = joined(&git, "a_b", &mut taken);
        assert!(other.starts_with("mcp__git__a_b_") && other.len() == 22, "{other}");
        let long = joined(&git, &"x".repeat(200), &mut taken);
        assert_eq!(long.len(), MAX_LENGTH);
        assert!(taken.iter().all(|name| name.len() <= MAX_LENGTH));
    }

    #[test]
    fn prefixes_of_servers_do_not_clash() {
        assert_eq!(prefix("a__b").as_deref(), Some("a_b"));
        assert_eq!(prefix("a_").as_deref(), Some("a"));
        assert_eq!(prefix("my server/1").as_deref(), Some("my_server_1"));
        assert_eq!(prefix("é/"), None);
        let long = prefix(&"s".repeat(100)).unwrap();
        assert_eq!(long.len(), 32);
    }
}
