//! The languages that the highlighter knows, read from `languages.yaml` when the first is needed.

use std::sync::LazyLock;

use formats::yaml::{self, Options};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Shape {
    /// Words, texts, comments.
    #[default]
    Code,
    /// Code with keys at the beginning of lines.
    Keys,
    /// Tags in angle brackets.
    Markup,
    /// Added and removed lines.
    Change,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Language {
    pub(super) names: Vec<String>,
    /// The language that it takes other values from.
    pub(super) like: String,
    pub(super) shape: Shape,
    pub(super) keywords: String,
    pub(super) types: String,
    pub(super) constants: String,
    /// Beginnings of comments that end with the line.
    pub(super) comments: Vec<String>,
    /// Beginnings and ends of comments and texts that may span lines.
    pub(super) blocks: Vec<(String, String)>,
    /// Characters that begin and end a text.
    pub(super) quotes: String,
    /// Characters beside letters that may begin a word.
    pub(super) marks: String,
    pub(super) has_capital_types: bool,
    pub(super) has_lone_apostrophes: bool,
    pub(super) ignores_case: bool,
}

pub(super) static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let tree = yaml::parse(include_str!("languages.yaml"), Options::default());
    let tree = tree.expect("the languages are YAML");
    let entries: Vec<Map<String, Value>> = tree.to_type().expect("the languages are mappings");
    let mut known: Vec<Map<String, Value>> = Vec::new();
    for entry in entries {
        let like = entry.get("like");
        let is_base = |it: &&Map<String, Value>| it["names"].get(0) == like;
        let mut whole = known.iter().find(is_base).cloned().unwrap_or_default();
        whole.extend(entry);
        known.push(whole);
    }
    let language = |entry| serde_json::from_value(Value::Object(entry));
    known.into_iter().map(language).collect::<Result<_, _>>().expect("the languages are valid")
});
