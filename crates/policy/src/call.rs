//! One call under judgment: the tool, the mode, and the rules that speak of it.

use std::path::{Path, PathBuf};

use contract::policy::{Decision, Mode};
use contract::tool::ToolSpec;

use crate::findings::{Finding, Lift, ask, deny};
use crate::glob::Reading;
use crate::ground::Ground;
use crate::paths::{Place, Places, is_secret};
use crate::rules::{PathPattern, Rule, Scope, Target, Touch};
use crate::{Search, ToolSettings};

/// What the steps of a judgment share.
pub(crate) struct Call<'a> {
    pub(crate) tool: &'a ToolSpec,
    pub(crate) settings: &'a ToolSettings,
    pub(crate) mode: Mode,
    /// The places that commands know.
    pub(crate) places: &'a Places,
    /// The places that tools for files know.
    pub(crate) file_places: &'a Places,
    /// Where commands find their programs.
    pub(crate) search: &'a Search,
    /// The search path that its commands are taken to get in place of that.
    pub(crate) sure: Option<&'a str>,
    /// Answers about the disk.
    pub(crate) ground: &'a Ground,
    /// All rules that concern the tool, by scope.
    pub(crate) rules: Vec<&'a Rule>,
    /// Rules for built-in tools, which may mean the work of others too.
    pub(crate) work_rules: Vec<&'a Rule>,
    /// What the settings say of commands, for a tool that is not the one for commands.
    pub(crate) shell: Option<&'a ToolSettings>,
}

/// Whether a file may be touched.
pub(crate) enum Verdict {
    /// A rule or setting says so.
    Granted {
        /// In words.
        why: String,
        /// Where it stands.
        origin: String,
    },
    /// Nothing speaks against it.
    Usual(String),
    /// Something does.
    Doubtful(String, Lift),
}

impl<'a> Call<'a> {
    /// The same call with the places that tools for files know.
    pub(crate) fn on_files(&self) -> Self {
        Self {
            places: self.file_places,
            rules: self.rules.clone(),
            work_rules: self.work_rules.clone(),
            ..*self
        }
    }

    /// The same call with a search path that has no doubtful place, where its own has one.
    pub(crate) fn surely(&self) -> Option<Self> {
        let sure = Some(self.search.sure.as_deref()?);
        Some(Self { sure, rules: self.rules.clone(), work_rules: self.work_rules.clone(), ..*self })
    }

    /// The rules of one decision.
    pub(crate) fn rules_that(&self, decision: Decision) -> impl Iterator<Item = &'a Rule> {
        let rules = self.rules.clone();
        rules.into_iter().filter(move |rule| rule.decision == decision)
    }

    /// The step that a deny or ask rule makes.
    pub(crate) fn step(rule: &Rule, subject: &str) -> Finding {
        let lift = match rule.scope {
            Scope::Managed => Lift::Never,
            Scope::User | Scope::Project | Scope::Session => Lift::ByMode,
        };
        match rule.decision {
            Decision::Deny => deny(subject, &rule.why(), &rule.origin),
            Decision::Ask | Decision::Allow => {
                ask(subject, &rule.why(), &rule.origin).lifted_by(lift)
            }
        }
    }

    /// The steps that deny and ask rules make of touching a file.
    pub(crate) fn file_rules(
        &self,
        touch: Touch,
        path: (&Path, Reading),
        decision: Decision,
    ) -> Vec<Finding> {
        self.rules_that(decision)
            .filter(|rule| {
                self.speaks_of_file(rule, touch, path) || self.leads_to(rule, touch, path)
            })
            .map(|rule| Self::step(rule, &path.0.display().to_string()))
            .collect()
    }

    fn speaks_of_file(&self, rule: &Rule, touch: Touch, path: (&Path, Reading)) -> bool {
        match &rule.matcher.target {
            Target::Path(about, pattern) => {
                about.includes(touch) && pattern.matches(path, self.places, rule.decision)
            }
            Target::Anything
            | Target::AnyCommand
            | Target::Command(_)
            | Target::Host(_)
            | Target::What(_) => false,
        }
    }

    /// Whether a rule names a link that leads to a file, or to a folder that it lies in.
    fn leads_to(&self, rule: &Rule, touch: Touch, (path, reading): (&Path, Reading)) -> bool {
        let Target::Path(about, pattern) = &rule.matcher.target else { return false };
        about.includes(touch)
            && led(pattern, self.ground, self.places).iter().any(|(link, end)| {
                let rest = path.strip_prefix(end).ok();
                let named = rest.map(|rest| link.join(rest));
                named.is_some_and(|it| pattern.matches((&it, reading), self.places, rule.decision))
            })
    }

    /// Whether a file may be read, as far as allow rules and places say.
    pub(crate) fn may_read(&self, path: &Path, reading: Reading) -> Verdict {
        if let Some(granted) = self.granted(Touch::Read, path, reading) {
            return granted;
        }
        let text = path.to_string_lossy();
        let outside = self.places.place(path) == Place::Outside;
        match (outside, is_secret(&text, reading)) {
            (true, true) => Verdict::Doubtful(
                String::from("it lies outside the workspace and may hold a secret"),
                Lift::Never,
            ),
            (true, false) => {
                Verdict::Doubtful(String::from("it lies outside the workspace"), Lift::Freely)
            }
            (false, true) => Verdict::Doubtful(
                String::from("its name says that it holds a secret"),
                Lift::Freely,
            ),
            (false, false) => Verdict::Usual(String::from("it may be read")),
        }
    }

    /// Whether the names and properties of a file may be read.
    pub(crate) fn may_list(&self, path: &Path, reading: Reading) -> Verdict {
        match self.places.place(path) {
            Place::Inside | Place::Readable => Verdict::Usual(String::from("it may be listed")),
            Place::Outside => self.may_read(path, reading),
        }
    }

    /// Whether a file may be written, as far as allow rules and places say.
    pub(crate) fn may_write(&self, path: &Path) -> Verdict {
        if let Some(granted) = self.granted(Touch::Write, path, Reading::Literal) {
            return granted;
        }
        match self.places.place(path) {
            Place::Inside => {
                Verdict::Doubtful(String::from("no rule allows writing it"), Lift::Freely)
            }
            Place::Readable | Place::Outside => {
                Verdict::Doubtful(String::from("it lies outside the workspace"), Lift::Never)
            }
        }
    }

    fn granted(&self, touch: Touch, path: &Path, reading: Reading) -> Option<Verdict> {
        let rule = self
            .rules_that(Decision::Allow)
            .find(|rule| self.speaks_of_file(rule, touch, (path, reading)));
        if let Some(rule) = rule {
            return Some(Verdict::Granted { why: rule.why(), origin: rule.origin.clone() });
        }
        let normal = crate::paths::normalize(path);
        let root = self.settings.allowed_paths.iter().find(|root| normal.starts_with(root))?;
        Some(Verdict::Granted {
            why: format!("`{}` is allowed to this tool", root.display()),
            origin: format!("tools.{}.allowed_paths", self.tool.name),
        })
    }

    /// The allow rule for all that this tool does, or for all of its commands.
    pub(crate) fn tool_rule(&self, commands: bool) -> Option<&'a Rule> {
        self.rules_that(Decision::Allow).find(|rule| match rule.matcher.target {
            Target::Anything => true,
            Target::AnyCommand => commands,
            Target::Command(_) | Target::Path(..) | Target::Host(_) | Target::What(_) => false,
        })
    }
}

/// The links that a rule names, each with where it leads.
pub(crate) fn led(
    pattern: &PathPattern,
    ground: &Ground,
    places: &Places,
) -> Vec<(PathBuf, PathBuf)> {
    if ground.look().is_none() {
        return Vec::new();
    }
    let ends = pattern.anchors(places).into_iter().map(|link| {
        let end = ground.leads(&link);
        (link, end)
    });
    // One that leads to all of the project would mean every file in it.
    ends.filter(|(link, end)| end != link && !places.workspace.starts_with(end)).collect()
}
