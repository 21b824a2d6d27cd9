//! Rules in, ruling out. This crate decides whether a tool call may run, must be asked about, or
//! must not run, and says why, step by step. It is a pure function of its settings and the call:
//! it reads no file, no clock and no environment. Where links lead, its settings can answer.
//!
//! Three principles carry it. To *allow* is a proof: a shell command runs unasked only if every
//! byte of it is understood, by a scanner and a Bash parser that agree, and every program in it is
//! known to only look or is spelled out by a rule. To *deny* is to over-approximate: deny rules
//! and the dangerous-path floor see through quotes, wrappers, nesting and text that does not
//! parse, at any length. Everything else asks. Confinement does not depend on any of it.

#![deny(clippy::wildcard_enum_match_arm)]

mod actions;
mod call;
mod command_line;
mod commands;
mod file_rules;
mod findings;
mod floor;
mod glob;
pub mod ground;
mod host_rules;
mod modes;
mod paths;
mod programs;
mod remember;
pub mod rules;
pub mod script;
mod shell;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use contract::policy::{Action, Decision, Granted, Mode, Policy, Ruling, View};
use contract::tool::ToolSpec;
use serde::Deserialize;

use call::Call;
pub use command_line::{Command, CommandLine, Program, UNKNOWN, command_line};
pub use file_rules::FileRules;
use findings::Lift;
use ground::Ground;
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
    /// Places that tools for files write like the workspace and commands do not: they have a
    /// scratch space of their own there. To read there is to read outside the workspace.
    pub scratch_paths: Vec<PathBuf>,
    /// Places outside the workspace that may be read.
    pub readable_paths: Vec<PathBuf>,
    /// Places that are never written: the program's own configuration and state.
    pub protected_paths: Vec<PathBuf>,
    /// The rules of every scope.
    pub rules: Vec<Rule>,
    /// Settings of single tools, by name.
    pub tools: BTreeMap<String, ToolSettings>,
    /// Where commands find their programs.
    pub search: Search,
    /// Answers about the disk.
    pub ground: Ground,
    /// Whether the user approved everything beforehand.
    pub approve_all: bool,
}

/// Where commands find their programs, as far as their names can be relied on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The first place on the search path that is not the system's or the user's alone: one in
    /// the workspace, or relative. A program that is not found before it may be anybody's.
    pub doubtful: Option<PathBuf>,
    /// The names of all programs found before that place.
    pub certain: BTreeSet<String>,
    /// The search path without its doubtful places, as a variable holds it, where it has any.
    pub sure: Option<String>,
}

/// Settings of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ToolSettings {
    /// Whether its calls are asked about.
    pub require_approval: RequireApproval,
    /// Commands it may run: their first words.
    pub allowed_commands: Vec<String>,
    /// Commands it must not run: their first words.
    pub blocked_commands: Vec<String>,
    /// Places it may read and write unasked.
    pub allowed_paths: Vec<PathBuf>,
}

/// Whether a tool's calls are asked about.
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

/// The programs that `command`, run in `cwd`, is proven to run, each with its arguments and in
/// order; none where that is not proven, or where the shell does more than run them: fills in names of
/// files, sets variables for one, which may choose another program, or writes what it prints.
pub fn proven_programs(command: &str, cwd: &Path) -> Option<Vec<Vec<String>>> {
    let parts = shell::prove(command, cwd).parts.ok()?;
    let is_written =
        |it: &shell::Redirect| it.flow == shell::Flow::Write && it.target.text != "/dev/null";
    let words = |part: shell::Simple| -> Option<Vec<String>> {
        let is_set = !part.assignments.is_empty() && !part.argv.is_empty();
        if is_set || part.redirects.iter().any(is_written) {
            return None;
        }
        part.argv.into_iter().map(|word| (!word.glob).then_some(word.text)).collect()
    };
    let programs: Option<Vec<Vec<String>>> = parts.into_iter().map(words).collect();
    programs.map(|programs| programs.into_iter().filter(|argv| !argv.is_empty()).collect())
}

/// Judges calls by its settings and by what was approved in the session.
#[derive(Debug)]
pub struct Judge {
    settings: Settings,
    places: Places,
    /// The same for tools that work on files.
    file_places: Places,
    session: RwLock<Vec<Rule>>,
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
    let scratch: Vec<PathBuf> = clean(&settings.scratch_paths);
    let file_places =
        Places { allowed: [places.allowed.clone(), scratch].concat(), ..places.clone() };
    Judge { settings, places, file_places, session: RwLock::default() }
}

impl Judge {
    /// What in the settings has no effect, each as a message for people.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for rule in &self.settings.rules {
            if rule.decision == Decision::Allow
                && let Target::Command(pattern) = &rule.matcher.target
                && pattern.allows_nothing()
            {
                warnings.push(format!(
                    "{}: rule `{}` allows nothing: `{}` runs another program, and a rule must say which",
                    rule.origin,
                    rule.text,
                    pattern.program()
                ));
            }
        }
        for (name, tool) in &self.settings.tools {
            let lists = [
                ("allowed_commands", &tool.allowed_commands),
                ("blocked_commands", &tool.blocked_commands),
            ];
            for (key, commands) in lists {
                for text in commands {
                    if let Err(obstacle) = CommandPattern::parse_prefix(text) {
                        warnings.push(format!(
                            "tools.{name}.{key}: `{text}` is ignored: {}",
                            obstacle.0
                        ));
                    }
                }
            }
        }
        warnings
    }

    /// What [`Policy::remember`] would add, in the form that can be kept in a file.
    pub fn memories(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<Memory> {
        let session = self.session.read().unwrap_or_else(PoisonError::into_inner);
        self.added(tool, actions, &session).iter().filter_map(Memory::of).collect()
    }

    /// The rules that cover a call from here on; none where it must be asked about every time.
    fn added(&self, tool: &ToolSpec, actions: &[Action], session: &[Rule]) -> Vec<Rule> {
        let call = self.call(tool, Mode::Normal, session);
        let judged = actions::judge(&call, actions);
        let settled = judged.findings.iter().all(|finding| {
            finding.reason.decision == Decision::Allow
                || (finding.reason.decision == Decision::Ask && finding.lift == Lift::Freely)
        });
        if settled { remember::rules(&call, actions) } else { Vec::new() }
    }

    fn call<'a>(&'a self, tool: &'a ToolSpec, mode: Mode, session: &'a [Rule]) -> Call<'a> {
        static USUAL: ToolSettings = ToolSettings {
            require_approval: RequireApproval::Once,
            allowed_commands: Vec::new(),
            blocked_commands: Vec::new(),
            allowed_paths: Vec::new(),
        };
        let rules = || self.settings.rules.iter().chain(session);
        let is_shell = tool.name == "Bash";
        Call {
            tool,
            settings: self.settings.tools.get(&tool.name).unwrap_or(&USUAL),
            mode,
            places: &self.places,
            file_places: &self.file_places,
            search: &self.settings.search,
            sure: None,
            ground: &self.settings.ground,
            rules: rules().filter(|rule| rule.concerns(tool)).collect(),
            work_rules: rules().filter(|rule| !rule.concerns(tool)).collect(),
            shell: self.settings.tools.get("Bash").filter(|_| !is_shell),
        }
    }
}

impl Policy for Judge {
    fn judge(&self, tool: &ToolSpec, actions: &[Action], mode: Mode) -> Ruling {
        let session = self.session.read().unwrap_or_else(PoisonError::into_inner);
        let call = self.call(tool, mode, &session);
        let judged = actions::judge(&call, actions);
        let reasons = modes::settle(&call, judged.findings, &self.settings);
        let strictest = reasons.iter().map(|reason| reason.decision).max();
        Ruling {
            // A chain without a step proves nothing.
            decision: strictest.unwrap_or(Decision::Ask),
            reasons,
            access: judged.access,
            search_path: judged.search_path,
        }
    }

    fn remember(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String> {
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        let added = self.added(tool, actions, &session);
        let words = words(&added);
        session.extend(added);
        words
    }

    fn grant(&self, rules: &[String], origin: &str) -> Granted {
        let mut granted = Granted::default();
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        for text in rules {
            let value = serde_json::json!({ "allow": [text] });
            let Ok(parsed) = rules::parse(&value, Scope::Session, |_| origin.to_owned()) else {
                granted.refused.push(text.clone());
                continue;
            };
            if parsed.rules.iter().any(Rule::is_boundless) {
                granted.refused.push(text.clone());
                continue;
            }
            let is_held = |rule: &Rule| rule.text == *text && rule.origin == origin;
            if !session.iter().any(is_held) {
                session.extend(parsed.rules);
            }
            granted.rules.push(text.clone());
        }
        granted
    }

    fn view(&self, tool: &ToolSpec) -> View {
        let session = self.session.read().unwrap_or_else(PoisonError::into_inner);
        view::view(&self.call(tool, Mode::Normal, &session).on_files())
    }

    fn rememberable(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String> {
        let session = self.session.read().unwrap_or_else(PoisonError::into_inner);
        words(&self.added(tool, actions, &session))
    }

    fn asked_again(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String> {
        let session = self.session.read().unwrap_or_else(PoisonError::into_inner);
        let later = [session.clone(), self.added(tool, actions, &session)].concat();
        let judged = actions::judge(&self.call(tool, Mode::Normal, &later), actions);
        let mut parts: Vec<String> = Vec::new();
        for finding in judged.findings {
            let reason = finding.reason;
            if reason.decision != Decision::Allow && !parts.contains(&reason.subject) {
                parts.push(reason.subject);
            }
        }
        parts
    }

    fn session(&self) -> Vec<String> {
        words(&self.session.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn forget(&self, rule: &str) -> bool {
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        let count = session.len();
        session.retain(|held| held.text != rule);
        session.len() < count
    }
}

/// Rules in words, each once.
fn words(rules: &[Rule]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for rule in rules {
        if !words.contains(&rule.text) {
            words.push(rule.text.clone());
        }
    }
    words
}
