//! Which files guard calls: one that did when it was last loaded, and does not load any more, has not
//! agreed to anything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ::files::cache;
use contract::hook::Moment;

use super::facts::Facts;
use crate::problem::Problem;

/// The moment at which a hook can stop a call, as workers call it.
const BEFORE_TOOL: &str = "before_tool";

/// The files that guarded calls when they were last loaded, kept between runs.
pub(super) struct Guards {
    file: PathBuf,
}

impl Guards {
    pub(super) fn new(state: &Path) -> Self {
        Self { file: state.join("guards.json") }
    }

    /// Takes note of which of some files guard calls, and has those among them asked that did and
    /// could not be loaded. A problem is that it could not be kept.
    pub(super) fn hold(&self, files: &[String], facts: &mut Facts) -> Result<(), Problem> {
        let kept: BTreeSet<String> = cache::read(&self.file).unwrap_or_default();
        let mut guards = kept.clone();
        for file in files {
            let moments = facts.guards.get(file);
            let unloaded = facts.unloaded.as_ref();
            if moments.is_some_and(|moments| moments.iter().any(|it| it == BEFORE_TOOL)) {
                guards.insert(file.clone());
            } else if unloaded.is_some_and(|unloaded| !unloaded.contains(file)) {
                guards.remove(file);
            } else if guards.contains(file) {
                facts.guards.entry(file.clone()).or_default().push(BEFORE_TOOL.to_owned());
                if !facts.moments.contains(&Moment::BeforeTool) {
                    facts.moments.push(Moment::BeforeTool);
                }
            }
        }
        if guards == kept {
            return Ok(());
        }
        guards.retain(|file| Path::new(file).exists());
        cache::write(&self.file, &guards).map_err(|error| {
            let what = format!("which plugins guard calls could not be saved: {error}");
            Problem::new(&self.file, what, "see to the directory, so that it can be written")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts(guards: &serde_json::Value, unloaded: &[&str]) -> Facts {
        let said = json!({"guards": guards, "moments": [], "unloaded": unloaded});
        Facts::read(&json!({"lmao": said}))
    }

    #[test]
    fn guard_is_remembered_until_loaded_without_hooks() {
        let directory = tempfile::tempdir().unwrap();
        let (state, file) = (directory.path().join("state"), directory.path().join("tool.py"));
        std::fs::write(&file, "").unwrap();
        let file = file.display().to_string();
        let hold = |mut facts: Facts| {
            Guards::new(&state).hold(std::slice::from_ref(&file), &mut facts).unwrap();
            (facts.moments.contains(&Moment::BeforeTool), facts.guards.contains_key(&file))
        };
        let none = json!({});
        assert_eq!(hold(facts(&none, &[&file])), (false, false), "it never was one");
        hold(facts(&json!({&file: ["occasion"]}), &[]));
        assert_eq!(hold(facts(&none, &[&file])), (false, false), "it only listened");
        hold(facts(&json!({&file: ["before_tool"]}), &[]));
        assert_eq!(hold(facts(&none, &[&file])), (true, true));
        assert_eq!(hold(Facts::default()), (true, true), "nothing is known of any file");
        assert_eq!(hold(facts(&none, &[])), (false, false), "it was loaded, and has no hooks");
        assert_eq!(hold(facts(&none, &[&file])), (false, false));
    }
}
