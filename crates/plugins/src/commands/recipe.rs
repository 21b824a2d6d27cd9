//! How the text of a command is filled in that is written for Claude Code.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::pieces::{self, Piece, Placeholders};

/// The placeholder for the session's id in a text that is made before the session is known.
pub const SESSION: &str = "${CLAUDE_SESSION_ID}";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Here<'a> {
    pub session: Option<&'a str>,
    pub effort: Option<&'a str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    pub allowed_tools: Vec<String>,
    pub model: Option<String>,
    pub root: PathBuf,
    pub env: BTreeMap<String, String>,
    pub(crate) names: Vec<String>,
    pub(crate) directory: PathBuf,
    pub(crate) values: BTreeMap<String, String>,
}

impl Recipe {
    pub fn pieces(&self, body: &str, typed: &str, here: Here<'_>) -> Vec<Piece> {
        let mut variables = self.values.clone();
        let known = [("CLAUDE_SESSION_ID", here.session), ("CLAUDE_EFFORT", here.effort)];
        for (name, value) in known.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
            variables.insert((*name).to_owned(), value.to_owned());
        }
        let directory = self.directory.display().to_string();
        variables.insert("CLAUDE_SKILL_DIR".to_owned(), directory);
        pieces::fill(body, &Placeholders { typed, names: &self.names, variables: &variables })
    }
}
