//! What somebody who made a typing error probably meant.

use super::schema::{Kind, ROOT, Section};

pub(crate) use contract::text::closest;

/// The full path of a key with this very name in another section.
pub(crate) fn elsewhere(name: &str) -> Option<String> {
    ROOT.keys.iter().find_map(|key| match &key.kind {
        Kind::Section(section) if section.key(name).is_some() => {
            Some(format!("{}.{name}", key.name))
        }
        _ => None,
    })
}

/// The known names of a section.
pub(crate) fn names(section: &'static Section) -> impl Iterator<Item = &'static str> {
    section.keys.iter().map(|key| key.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_the_wrong_section_is_found_in_the_right_one() {
        assert_eq!(elsewhere("max_tokens").as_deref(), Some("behavior.max_tokens"));
        assert_eq!(elsewhere("nothing"), None);
    }
}
