//! The table of keys: the kind and range of each value, and what a project may do with it. It alone
//! decides on unknown keys, wrong values, environment variables and project files.

mod table;

use serde_json::Value;

pub(crate) use table::ROOT;
pub use table::TOOLS;

/// One known key of a section.
pub(crate) struct KnownKey {
    /// Its name.
    pub(crate) name: &'static str,
    /// The kind of its value.
    pub(crate) kind: ValueKind,
    /// The rule for projects.
    pub(crate) project: ProjectRule,
}

/// The kind of a value.
pub(crate) enum ValueKind {
    /// True or false.
    Switch,
    /// A whole number, bounds included.
    Count {
        /// The smallest.
        least: i64,
        /// The greatest.
        most: i64,
    },
    /// Text.
    Text,
    /// A path; `~` and variables are expanded.
    Path,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Text with placeholders in braces, each one of these words.
    Template(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list of paths; also as JSON text or separated by colons.
    Paths,
    /// A list of anything.
    List,
    /// Anything.
    Anything,
    /// Anything without negative numbers.
    Prices,
    /// This, or null.
    Maybe(&'static ValueKind),
    /// A map with known keys.
    Section(&'static Section),
    /// A map with names of the user's choice.
    Each(NamedEntries),
    /// A plain value, or the map that spells it out.
    ShortOr(&'static ValueKind, &'static Section),
}

impl ValueKind {
    /// Returns true for mappings and lists.
    pub(crate) fn is_compound(&self) -> bool {
        match self {
            Self::Section(_) | Self::Each(_) | Self::List | Self::Texts | Self::Paths => true,
            Self::Maybe(kind) => kind.is_compound(),
            _ => false,
        }
    }
}

/// A map with known keys.
pub(crate) struct Section {
    /// The known keys.
    pub(crate) keys: &'static [KnownKey],
    /// The meaning of other names.
    pub(crate) others: OtherKeys,
}

/// The meaning of a name that is not a known key.
pub(crate) enum OtherKeys {
    /// A mistake.
    Unknown,
    /// A name of the user's choice.
    Named(NamedEntries),
    /// A setting of another program.
    Extra(ProjectRule),
}

/// The entries behind names of the user's choice.
pub(crate) struct NamedEntries {
    /// The kind of each.
    pub(crate) kind: &'static ValueKind,
    /// The rule for projects, for each.
    pub(crate) project: ProjectRule,
    /// Names whose spelling is known.
    pub(crate) spelling: &'static [&'static str],
}

/// The rule for a key in a project's file or env file: what it may do there. Once the project is trusted, it may set
/// the key as it likes, except for `Always`.
#[derive(Clone, Copy)]
pub(crate) enum ProjectRule {
    /// Anything: it gives no power and sends nothing elsewhere.
    Free,
    /// Anything, with a warning if the project is not trusted: it sends nothing elsewhere, but costs
    /// money, or changes the output that a script reads.
    Announced,
    /// Nothing.
    Nothing,
    /// Turn it on.
    TurnOn,
    /// Turn it off.
    TurnOff,
    /// Lower it.
    Lower,
    /// Move it to the right in this row; the second word is in force if nothing is set.
    Stricter(&'static [&'static str], &'static str),
    /// Add to the list.
    Add,
    /// Take away from the list.
    Narrow,
    /// Set it if nothing else does.
    IfUnset,
    /// The keys inside have rules of their own.
    Inside,
    /// This rule, also if the project is trusted: the key sends work or keys elsewhere, opens what the
    /// user closed, or decides on trust itself.
    Always(&'static ProjectRule),
}

impl Section {
    /// The known key of a name.
    pub(crate) fn key(&self, name: &str) -> Option<&'static KnownKey> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The names of the known keys.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.keys.iter().map(|key| key.name)
    }

    /// The kind and rule for a name, known or not; none for a mistake.
    pub(crate) fn entry(&self, name: &str) -> Option<(&'static ValueKind, ProjectRule)> {
        match (self.key(name), &self.others) {
            (Some(key), _) => Some((&key.kind, key.project)),
            (None, OtherKeys::Named(named)) => Some((named.kind, named.project)),
            (None, OtherKeys::Extra(project)) => Some((&ValueKind::Anything, *project)),
            (None, OtherKeys::Unknown) => None,
        }
    }
}

/// The full path of a key with this very name in another section.
pub(crate) fn key_elsewhere(name: &str) -> Option<String> {
    ROOT.keys.iter().find_map(|key| match &key.kind {
        ValueKind::Section(section) if section.key(name).is_some() => {
            Some(format!("{}.{name}", key.name))
        }
        _ => None,
    })
}

/// Reads a switch in any of its usual forms.
pub fn switch(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(is_on) => Some(*is_on),
        Value::Number(number) => match number.as_i64()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
        Value::String(text) => match text.to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" | "y" | "t" => Some(true),
            "false" | "no" | "off" | "0" | "n" | "f" => Some(false),
            _ => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_in_the_wrong_section_is_found_in_the_right_one() {
        assert_eq!(key_elsewhere("max_tokens").as_deref(), Some("behavior.max_tokens"));
        assert_eq!(key_elsewhere("nothing"), None);
    }
}
