//! Rules in, ruling out. This crate decides whether a tool call may run, must be asked about, or
//! must not run, and gives the reasons. It is a pure function of its settings and the call: it reads
//! no file, no clock and no environment.
//!
//! The sandbox bounds what a command can do, and undo restores what it did, so a command runs in
//! mode `normal` unless its text names something that a rule denies, or it is on a short list of
//! destructive commands. Text is parsed for three purposes: to prove that a command is read-only, to
//! match rules, and to recognize that list. It never predicts which files a program opens.

#![deny(clippy::wildcard_enum_match_arm)]

mod actions;
mod braces;
mod call;
mod commands;
mod destructive;
mod file_rules;
mod findings;
mod glob;
mod grant;
mod host_rules;
mod modes;
mod paths;
mod read_only;
mod remember;
pub mod rules;
pub mod shell;
mod view;
mod word_list;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use contract::action::{Action, View};
use contract::policy::{
    Approvals, Decision, Granted, Mode, Policy, Reach, Reason, Ruling, StoredApproval,
};
use contract::tool::ToolSpec;
use serde::Deserialize;

use call::Call;
pub use file_rules::FileRules;
use findings::{Finding, Kind};
pub use host_rules::HostRules;
use paths::{Places, normalize};
use rules::{CommandPattern, Memory, Rule, Scope, Target};

/// All that judging depends on.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The project; absolute, symbolic links resolved.
    pub workspace: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Places outside the workspace that are treated like it.
    pub allowed_paths: Vec<PathBuf>,
    /// Places outside the workspace that may be read.
    pub readable_paths: Vec<PathBuf>,
    /// Places that are never written: the program's own configuration and state.
    pub protected_paths: Vec<PathBuf>,
    /// The rules of every scope.
    pub rules: Vec<Rule>,
    /// Settings of single tools, by name.
    pub tools: BTreeMap<String, ToolSettings>,
    /// True if the sandbox enforces the deny rules for files.
    pub file_rules_enforced: bool,
    /// True if questions are answered with yes (`--yes`).
    pub approve_all: bool,
}

/// Settings of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ToolSettings {
    pub require_approval: RequireApproval,
    /// Commands it may run: their first words.
    pub allowed_commands: Vec<String>,
    /// Commands it must not run: their first words.
    pub blocked_commands: Vec<String>,
    /// Places it may read and write unasked.
    pub allowed_paths: Vec<PathBuf>,
}

/// Says if the user is asked about a tool's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequireApproval {
    /// Every time, whatever any rule allows.
    Always,
    /// Where no rule allows; the answer may be remembered.
    #[default]
    Once,
    /// Never, as far as no rule and not the floor asks.
    Never,
}

/// Judges calls by its settings and by what was approved in the session.
#[derive(Debug)]
pub struct Judge {
    settings: Settings,
    places: Places,
    /// The places of tools that work on files.
    session: RwLock<Session>,
}

/// The state of a session.
#[derive(Clone, Debug, Default)]
struct Session {
    /// Rules that were approved.
    rules: Vec<Rule>,
    /// The mode of the last judgment, whose questions an approval answers.
    mode: Mode,
}

/// Makes the policy of a session.
pub fn policy(mut settings: Settings) -> Judge {
    settings.rules.retain(|rule| rule.scope != Scope::Project || rule.decision != Decision::Allow);
    settings.rules.sort_by_key(|rule| rule.scope);
    let clean = |paths: &[PathBuf]| paths.iter().map(|path| normalize(path)).collect();
    let places = Places {
        workspace: normalize(&settings.workspace),
        home: settings.home.as_deref().map(normalize),
        readable: clean(&settings.readable_paths),
        allowed: clean(&settings.allowed_paths),
        protected: clean(&settings.protected_paths),
    };
    Judge { settings, places, session: RwLock::default() }
}

impl Judge {
    /// Warnings about settings that have no effect.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (name, tool) in &self.settings.tools {
            let lists = [
                ("allowed_commands", &tool.allowed_commands),
                ("blocked_commands", &tool.blocked_commands),
            ];
            for (key, commands) in lists {
                for text in commands {
                    if let Err(problem) = CommandPattern::parse_prefix(text) {
                        warnings
                            .push(format!("tools.{name}.{key}: `{text}` is ignored: {problem}"));
                    }
                }
            }
        }
        warnings
    }

    /// The rules that [`Policy::remember`] would add, in the form for a file.
    pub fn memories(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<Memory> {
        let rules = self.added(tool, actions, &self.state());
        rules.iter().filter_map(|rule| Memory::of(rule, &tool.name)).collect()
    }

    fn state(&self) -> Session {
        self.session.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The rules that answer the questions about a call; none if it is asked about every time.
    fn added(&self, tool: &ToolSpec, actions: &[Action], session: &Session) -> Vec<Rule> {
        let findings = self.findings(tool, actions, session).0;
        let is_final = |finding: &Finding| match finding.reason.decision {
            Decision::Allow => false,
            Decision::Deny => true,
            Decision::Ask => {
                matches!(finding.kind, Kind::Rule | Kind::Managed | Kind::Destructive)
            }
        };
        if findings.iter().any(is_final) {
            return Vec::new();
        }
        let asked = findings.into_iter().filter(|it| it.reason.decision == Decision::Ask);
        let mut targets: Vec<Target> = Vec::new();
        for target in asked.flat_map(|finding| finding.remedies) {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        targets.into_iter().map(|target| remember::rule(tool, target)).collect()
    }

    /// The steps of a judgment in the session's mode.
    fn findings(
        &self,
        tool: &ToolSpec,
        actions: &[Action],
        session: &Session,
    ) -> (Vec<Finding>, contract::sandbox::Access) {
        let call = self.call(tool, actions, session);
        let judged = actions::judge(&call, actions);
        (modes::settle(&call, judged.findings, &self.settings), judged.access)
    }

    fn call<'a>(
        &'a self,
        tool: &'a ToolSpec,
        actions: &[Action],
        session: &'a Session,
    ) -> Call<'a> {
        static USUAL: ToolSettings = ToolSettings {
            require_approval: RequireApproval::Once,
            allowed_commands: Vec::new(),
            blocked_commands: Vec::new(),
            allowed_paths: Vec::new(),
        };
        let rules = || self.settings.rules.iter().chain(&session.rules);
        let is_shell = tool.name == "Bash";
        let leaves = actions.iter().any(|it| matches!(it, Action::LeaveSandbox { .. }));
        Call {
            tool,
            settings: self.settings.tools.get(&tool.name).unwrap_or(&USUAL),
            mode: session.mode,
            places: &self.places,
            rules: rules().filter(|rule| rule.concerns(tool)).collect(),
            other_rules: rules().filter(|rule| !rule.concerns(tool)).collect(),
            shell: self.settings.tools.get("Bash").filter(|_| !is_shell),
            file_rules_enforced: self.settings.file_rules_enforced && !leaves,
        }
    }
}

impl Policy for Judge {
    fn judge(&self, tool: &ToolSpec, actions: &[Action], mode: Mode) -> Ruling {
        self.session.write().unwrap_or_else(PoisonError::into_inner).mode = mode;
        let (findings, access) = self.findings(tool, actions, &self.state());
        let destructive = findings.iter().any(|finding| {
            finding.kind == Kind::Destructive && finding.reason.decision != Decision::Allow
        });
        let mut reasons: Vec<Reason> = Vec::new();
        for finding in findings {
            if !reasons.contains(&finding.reason) {
                reasons.push(finding.reason);
            }
        }
        let strictest = reasons.iter().map(|reason| reason.decision).max();
        // A call without a step proves nothing.
        let decision = strictest.unwrap_or(Decision::Ask);
        Ruling { decision, reasons, access, destructive }
    }

    fn view(&self, tool: &ToolSpec) -> View {
        view::view(&self.call(tool, &[], &self.state()))
    }
}

impl Approvals for Judge {
    fn store(&self, tool: &ToolSpec, actions: &[Action], _: Reach) -> StoredApproval {
        let problem = Some(String::from("nothing is stored beyond this session"));
        StoredApproval { rules: self.remember(tool, actions), problem }
    }

    fn remember(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String> {
        let added = self.added(tool, actions, &self.state());
        let words = words(&added);
        self.session.write().unwrap_or_else(PoisonError::into_inner).rules.extend(added);
        words
    }

    fn grant(&self, rules: &[String], origin: &str) -> Granted {
        let mut granted = Granted::default();
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        for text in rules {
            let value = serde_json::json!({ "allow": [text] });
            let parsed = rules::parse(&value, Scope::Session, |_| origin.to_owned());
            let Some(parsed) = parsed.ok().filter(|it| !it.rules.iter().any(Rule::is_boundless))
            else {
                granted.refused.push(text.clone());
                continue;
            };
            let is_known = |rule: &Rule| rule.text == *text && rule.origin == origin;
            if !session.rules.iter().any(is_known) {
                session.rules.extend(parsed.rules);
            }
            granted.rules.push(text.clone());
        }
        granted
    }

    fn rememberable(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String> {
        words(&self.added(tool, actions, &self.state()))
    }

    fn session(&self) -> Vec<String> {
        words(&self.state().rules)
    }

    fn forget(&self, rule: &str) -> bool {
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        let count = session.rules.len();
        session.rules.retain(|known| known.text != rule);
        session.rules.len() < count
    }
}

/// The texts of rules, each once.
fn words(rules: &[Rule]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for rule in rules {
        if !words.contains(&rule.text) {
            words.push(rule.text.clone());
        }
    }
    words
}
