//! The policy that judges calls, from configured and remembered rules.

mod file_rules;
mod names;
pub(crate) mod remembered;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::origin::Layer;
use config::settings::Approval;
use contract::action::{Action, View};
use contract::policy::{Approvals, Granted, Mode, Policy, Reach, Ruling, StoredApproval};
use contract::tool::ToolSpec;
use policy::rules::{Rule, Scope};
use policy::{Judge, RequireApproval, Settings, ToolSettings};
use serde_json::{Value, json};

use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;
use crate::exit::Problem;
use crate::{assemble, output};
pub(crate) use file_rules::{file_rules, host_rules};
use remembered::RememberedRules;

pub(crate) fn policy(assembly: &Assembly, root: &Path) -> Result<Arc<dyn Approvals>, Problem> {
    let memories = assembly.loaded.config_dir.as_deref().map(RememberedRules::new);
    let mut rules = rules(assembly)?;
    if let Some(memories) = &memories {
        let (remembered, problems) = memories.rules(root);
        rules.extend(remembered);
        for problem in problems {
            output::warning(&problem);
        }
    }
    let judge = policy::policy(Settings {
        workspace: root.to_owned(),
        home: assembly.environment.home.clone(),
        allowed_paths: assembly.config().sandbox.allowed_paths.clone(),
        readable_paths: readable(assembly),
        protected_paths: assembly.loaded.config_dir.iter().cloned().collect(),
        rules,
        tools: tools(assembly),
        file_rules_enforced: file_rules_enforced(assembly),
        approve_all: assembly.global.yes,
    });
    for warning in judge.warnings() {
        output::warning(&warning);
    }
    let bound = assembly.loaded.max_mode;
    Ok(Arc::new(RuleStore { judge, memories, root: root.to_owned(), bound }))
}

/// Judges, and stores approvals that outlive the session.
struct RuleStore {
    judge: Judge,
    memories: Option<RememberedRules>,
    root: PathBuf,
    /// The loosest mode that the site allows.
    bound: Option<Mode>,
}

impl Policy for RuleStore {
    fn judge(&self, tool: &ToolSpec, actions: &[Action], mode: Mode) -> Ruling {
        let mode = self.bound.map_or(mode, |bound| mode.min(bound));
        self.judge.judge(tool, actions, mode)
    }

    fn view(&self, tool: &ToolSpec) -> View {
        self.judge.view(tool)
    }
}

impl Approvals for RuleStore {
    fn remember(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String> {
        self.judge.remember(tool, actions)
    }

    fn rememberable(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String> {
        self.judge.rememberable(tool, actions)
    }

    fn session(&self) -> Vec<String> {
        self.judge.session()
    }

    fn forget(&self, rule: &str) -> bool {
        self.judge.forget(rule)
    }

    fn grant(&self, rules: &[String], origin: &str) -> Granted {
        self.judge.grant(rules, origin)
    }

    fn store(&self, tool: &ToolSpec, actions: &[Action], reach: Reach) -> StoredApproval {
        let memories = self.judge.memories(tool, actions);
        let rules = self.judge.remember(tool, actions);
        if rules.is_empty() {
            return StoredApproval::default();
        }
        let written = match &self.memories {
            Some(store) if !memories.is_empty() => store.add(memories, &self.root, reach),
            Some(_) => Err(String::from("this permission cannot be stored")),
            None => Err(String::from("there is no home directory to store permissions in")),
        };
        StoredApproval { rules, problem: written.err() }
    }
}

fn file_rules_enforced(assembly: &Assembly) -> bool {
    assemble::confinement::sandbox(assembly).is_ok_and(|sandbox| sandbox.enforces().file_rules)
}

/// Paths outside the workspace that may be read: opened by the user, long output, skills.
pub(crate) fn readable(assembly: &Assembly) -> Vec<PathBuf> {
    let mut paths = assembly.config().sandbox.read_paths.clone();
    paths.push(assembly.spill_dir());
    paths.extend(assemble::skill_directories(assembly));
    paths
}

fn rules(assembly: &Assembly) -> Result<Vec<Rule>, Problem> {
    let permissions = &assembly.config().permissions;
    let lists =
        [("allow", &permissions.allow), ("ask", &permissions.ask), ("deny", &permissions.deny)];
    let mut rules = Vec::new();
    for (list, entries) in lists {
        for (index, entry) in entries.iter().enumerate() {
            match rule(assembly, list, index, entry) {
                Ok(read) => rules.extend(read),
                Err(problem) if assembly.global.safe => {
                    let problem = problem.message();
                    output::warning(&format!("ignored because of `--safe`: {problem}"));
                }
                Err(problem) => return Err(problem),
            }
        }
    }
    Ok(rules)
}

fn rule(
    assembly: &Assembly,
    list: &str,
    index: usize,
    entry: &Value,
) -> Result<Vec<Rule>, Problem> {
    let position = index.to_string();
    let origin = assembly.loaded.origin(&["permissions", list, &position]);
    let scope = match origin.map(|origin| origin.layer) {
        Some(Layer::Site | Layer::Deployment) => Scope::Managed,
        // A project's allow rules are only loaded if the user trusts them.
        Some(Layer::Project) if list == "allow" && assembly.trust.trusted().is_some() => {
            Scope::User
        }
        Some(Layer::Project) => Scope::Project,
        Some(Layer::Builtin | Layer::User | Layer::EnvFile | Layer::Environment | Layer::Flag)
        | None => Scope::User,
    };
    let place = origin.map(ToString::to_string).unwrap_or_default();
    let entries = names::meant(assembly, list, entry, &place);
    let parsed = policy::rules::parse(&json!({ list: entries }), scope, |_| place.clone())
        .map_err(|error| {
            Problem::misuse(error.to_string())
                .hint("a rule is written as `Bash(git status:*)`, `Read(/etc/**)` or a tool's name")
        })?;
    for refused in parsed.refused {
        assembly.warn_once(&refused);
    }
    Ok(parsed.rules)
}

fn tools(run: &RunContext) -> BTreeMap<String, ToolSettings> {
    let settings = |tool: &config::settings::Tool| ToolSettings {
        require_approval: match tool.require_approval {
            Some(Approval::Always) => RequireApproval::Always,
            Some(Approval::Once) | None => RequireApproval::Once,
            Some(Approval::Never) => RequireApproval::Never,
        },
        allowed_commands: tool.allowed_commands.clone(),
        blocked_commands: tool.blocked_commands.clone(),
        allowed_paths: tool.allowed_paths.clone(),
    };
    run.config().tools.each.iter().map(|(name, tool)| (name.clone(), settings(tool))).collect()
}
