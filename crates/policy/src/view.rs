//! Files that tools which walk directories leave out: those that rules deny or ask about, and those
//! that look like secrets.

use std::path::{Path, PathBuf};

use contract::action::{Hidden, View};
use contract::policy::Decision;

use crate::RequireApproval;
use crate::call::Call;
use crate::findings::Kind;
use crate::glob::Reading;
use crate::paths::{Places, is_secret};
use crate::rules::{PathPattern, Target, Touch};

/// The data that decides about a file.
struct Filter {
    places: Places,
    /// Rules that deny or ask.
    strict: Vec<(Decision, PathPattern)>,
    /// Rules that allow.
    open: Vec<PathPattern>,
    /// Places in which the tool may read anything.
    allowed: Vec<PathBuf>,
    /// True if the tool may read secrets without asking.
    shows_secrets: bool,
}

/// The view of a call.
pub(crate) fn view(call: &Call<'_>) -> View {
    let patterns = |decision: Decision| {
        call.rules_that(decision).filter_map(move |rule| match &rule.matcher.target {
            Target::Path(touch, pattern) if touch.includes(Touch::Read) => {
                Some((decision, pattern.clone()))
            }
            Target::Path(..)
            | Target::Anything
            | Target::AnyCommand
            | Target::Command(_)
            | Target::Outside(_)
            | Target::Host(_)
            | Target::What(_) => None,
        })
    };
    let filter = Filter {
        places: call.places.clone(),
        strict: patterns(Decision::Deny).chain(patterns(Decision::Ask)).collect(),
        open: patterns(Decision::Allow).map(|(_, pattern)| pattern).collect(),
        allowed: call.settings.allowed_paths.clone(),
        shows_secrets: call.settings.require_approval == RequireApproval::Never
            || call.tool_rule(Kind::Secret).is_some(),
    };
    View::new(move |path| filter.hidden(path))
}

impl Filter {
    fn hidden(&self, path: &Path) -> Option<Hidden> {
        let text = path.to_string_lossy();
        let matches = |pattern: &PathPattern, decision: Decision| {
            pattern.could_be(&text)
                && pattern.matches((path, Reading::Literal), &self.places, decision)
        };
        if self.strict.iter().any(|(decision, pattern)| matches(pattern, *decision)) {
            return Some(Hidden::Ruled);
        }
        let below = path.strip_prefix(&self.places.workspace).unwrap_or(path);
        let may_be_read = self.shows_secrets
            || !is_secret(&below.to_string_lossy(), Reading::Literal)
            || self.allowed.iter().any(|root| path.starts_with(root))
            || self.open.iter().any(|pattern| matches(pattern, Decision::Allow));
        (!may_be_read).then_some(Hidden::Secret)
    }
}
