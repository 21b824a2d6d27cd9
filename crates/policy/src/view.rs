//! What tools that go through folders leave out: what rules deny or ask about, and what looks like
//! a secret, as they would for each file by itself.

use std::path::{Path, PathBuf};

use contract::policy::{Decision, Hidden, View};

use crate::RequireApproval;
use crate::call::{Call, led};
use crate::glob::Reading;
use crate::paths::{Places, is_secret};
use crate::rules::{PathPattern, Target, Touch};

/// All that decides about a file, apart from the call that it was taken from.
struct Sight {
    places: Places,
    /// Rules that deny or ask.
    strict: Vec<Strict>,
    /// Rules that allow.
    open: Vec<PathPattern>,
    /// Places where the tool may read anything.
    allowed: Vec<PathBuf>,
    /// Whether the tool may read secrets unasked.
    shows_secrets: bool,
}

/// A rule that denies or asks.
struct Strict {
    decision: Decision,
    pattern: PathPattern,
    /// The links that it names, each with where it leads.
    led: Vec<(PathBuf, PathBuf)>,
}

impl Strict {
    fn means(&self, path: &Path, places: &Places) -> bool {
        let fits =
            |path: &Path| self.pattern.matches((path, Reading::Literal), places, self.decision);
        let named =
            |(link, end): &(PathBuf, PathBuf)| Some(link.join(path.strip_prefix(end).ok()?));
        (self.pattern.could_be(&path.to_string_lossy()) && fits(path))
            || self.led.iter().filter_map(named).any(|it| fits(&it))
    }
}

/// What a call leaves out.
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
            | Target::Host(_)
            | Target::What(_) => None,
        })
    };
    let sight = Sight {
        places: call.places.clone(),
        strict: patterns(Decision::Deny)
            .chain(patterns(Decision::Ask))
            .map(|(decision, pattern)| {
                let led = led(&pattern, call.ground, call.places);
                Strict { decision, pattern, led }
            })
            .collect(),
        open: patterns(Decision::Allow).map(|(_, pattern)| pattern).collect(),
        allowed: call.settings.allowed_paths.clone(),
        shows_secrets: call.settings.require_approval == RequireApproval::Never
            || call.tool_rule(false).is_some(),
    };
    View::new(move |path| sight.hidden(path))
}

impl Sight {
    fn hidden(&self, path: &Path) -> Option<Hidden> {
        if self.strict.iter().any(|rule| rule.means(path, &self.places)) {
            return Some(Hidden::Ruled);
        }
        let text = path.to_string_lossy();
        let opens = |pattern: &PathPattern| {
            pattern.could_be(&text)
                && pattern.matches((path, Reading::Literal), &self.places, Decision::Allow)
        };
        let below = path.strip_prefix(&self.places.workspace).unwrap_or(path);
        let may_be_read = self.shows_secrets
            || !is_secret(&below.to_string_lossy(), Reading::Literal)
            || self.allowed.iter().any(|root| path.starts_with(root))
            || self.open.iter().any(opens);
        (!may_be_read).then_some(Hidden::Secret)
    }
}
