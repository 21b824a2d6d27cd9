//! One call under judgment: the tool, the mode, and the rules for it.

use std::path::{Path, PathBuf};

use contract::policy::{Decision, Mode};
use contract::tool::ToolSpec;
use files::protected::protected;

use crate::ToolSettings;
use crate::findings::{Finding, Kind, ask, deny};
use crate::glob::Reading;
use crate::paths::{Place, Places, is_secret, normalize};
use crate::rules::{PathPattern, Rule, Scope, Target, Touch};

/// The data that all steps of a judgment share.
pub(crate) struct Call<'a> {
    pub(crate) tool: &'a ToolSpec,
    pub(crate) settings: &'a ToolSettings,
    pub(crate) mode: Mode,
    /// The places of files.
    pub(crate) places: &'a Places,
    /// All rules for the tool, by scope.
    pub(crate) rules: Vec<&'a Rule>,
    /// Rules for other tools, some of which forbid the work of this one too.
    pub(crate) other_rules: Vec<&'a Rule>,
    /// The settings of the tool `Bash`, for other tools that run commands.
    pub(crate) shell: Option<&'a ToolSettings>,
    /// True if the sandbox enforces the deny rules for files.
    pub(crate) file_rules_enforced: bool,
}

/// The answer to a file access.
pub(crate) enum Access {
    /// A rule or setting allows it.
    Granted {
        /// The reason.
        why: String,
        /// The place of the rule.
        origin: String,
    },
    /// Nothing speaks against it.
    Usual,
    /// It is asked about.
    Doubtful(Kind, &'static str),
}

impl<'a> Call<'a> {
    /// The rules of one decision.
    pub(crate) fn rules_that(&self, decision: Decision) -> impl Iterator<Item = &'a Rule> {
        let rules = self.rules.clone();
        rules.into_iter().filter(move |rule| rule.decision == decision)
    }

    /// The step of a deny or ask rule.
    pub(crate) fn step(rule: &Rule, subject: &str) -> Finding {
        let kind = match rule.scope {
            Scope::Managed => Kind::Managed,
            Scope::User | Scope::Project | Scope::Session => Kind::Rule,
        };
        match rule.decision {
            Decision::Deny => deny(subject, &rule.why(), &rule.origin),
            Decision::Ask | Decision::Allow => ask(kind, subject, &rule.why()).from(&rule.origin),
        }
    }

    /// The steps of the deny and ask rules for a file.
    pub(crate) fn file_rules(&self, touch: Touch, path: &Path) -> Vec<Finding> {
        let subject = path.display().to_string();
        let strict = [Decision::Deny, Decision::Ask];
        let rules = strict.into_iter().flat_map(|decision| self.rules_that(decision));
        rules
            .filter(|rule| self.is_about_file(rule, touch, path))
            .map(|rule| Self::step(rule, &subject))
            .collect()
    }

    fn is_about_file(&self, rule: &Rule, touch: Touch, path: &Path) -> bool {
        let Target::Path(about, pattern) = &rule.matcher.target else { return false };
        let path = (path, Reading::Literal);
        about.includes(touch) && pattern.matches(path, self.places, rule.decision)
    }

    /// Answers whether a file may be read, by allow rules and its place.
    pub(crate) fn may_read(&self, path: &Path, reading: Reading) -> Access {
        if let Some(granted) = self.granted(Touch::Read, path, |_| true) {
            return granted;
        }
        let text = path.to_string_lossy();
        let is_outside = self.places.place(path) == Place::Outside;
        match (is_outside, is_secret(&text, reading)) {
            (true, true) => {
                Access::Doubtful(Kind::Leave, "outside the workspace, and may hold a secret")
            }
            // The home directory is hidden from commands in every mode.
            (true, false) if self.places.is_hidden(path) => {
                Access::Doubtful(Kind::Leave, "in your home directory, outside the workspace")
            }
            (true, false) => Access::Doubtful(Kind::ReadOutside, "outside the workspace"),
            (false, true) => Access::Doubtful(Kind::Secret, "it looks like a secret file"),
            (false, false) => Access::Usual,
        }
    }

    /// Answers whether a file may be written, by allow rules and its place.
    pub(crate) fn may_write(&self, path: &Path) -> Access {
        let is_protected = self.places.protected_name(path).is_some();
        // A rule for all files does not mean the protected ones.
        let names = |pattern: &PathPattern| !is_protected || protected(pattern.as_str()).is_some();
        if let Some(granted) = self.granted(Touch::Write, path, names) {
            return granted;
        }
        match self.places.place(path) {
            _ if is_protected => {
                Access::Doubtful(Kind::Leave, "protected: other programs run or obey it")
            }
            Place::Inside => Access::Doubtful(Kind::Edit, "changes a file in the workspace"),
            Place::Readable | Place::Outside => {
                Access::Doubtful(Kind::Leave, "outside the workspace")
            }
        }
    }

    fn granted(
        &self,
        touch: Touch,
        path: &Path,
        names: impl Fn(&PathPattern) -> bool,
    ) -> Option<Access> {
        let rule = self.rules_that(Decision::Allow).find(|rule| {
            let fits = matches!(&rule.matcher.target, Target::Path(_, it) if names(it));
            fits && self.is_about_file(rule, touch, path)
        });
        if let Some(rule) = rule {
            return Some(Access::Granted { why: rule.why(), origin: rule.origin.clone() });
        }
        let normal = normalize(path);
        let allowed = self.settings.allowed_paths.iter();
        let root = allowed.filter(|root| normal.starts_with(root)).max()?;
        let is_named = self.places.protected_name(path).is_none() || protected(root).is_some();
        is_named.then(|| Access::Granted {
            why: format!("`{}` is allowed for this tool", root.display()),
            origin: format!("tools.{}.allowed_paths", self.tool.name),
        })
    }

    /// The allow rule for all that this tool does, or for all of its commands.
    pub(crate) fn tool_rule(&self, kind: Kind) -> Option<&'a Rule> {
        self.rules_that(Decision::Allow).find(|rule| match rule.matcher.target {
            Target::Anything => true,
            Target::AnyCommand => kind == Kind::Run,
            Target::Command(_)
            | Target::Outside(_)
            | Target::Path(..)
            | Target::Host(_)
            | Target::What(_) => false,
        })
    }

    /// Returns true if some rule denies files to this tool.
    pub(crate) fn denies_files(&self) -> bool {
        let is_path = |rule: &Rule| matches!(rule.matcher.target, Target::Path(..));
        self.rules_that(Decision::Deny).any(is_path)
    }

    /// The root of the place that a file lies in, if it is the workspace or allowed like it.
    pub(crate) fn root_of(&self, path: &Path) -> Option<&'a PathBuf> {
        let places = self.places;
        let mut roots = std::iter::once(&places.workspace).chain(&places.allowed);
        roots.find(|root| path.starts_with(root))
    }
}
