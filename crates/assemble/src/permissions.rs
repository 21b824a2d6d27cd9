//! The policy that judges calls, from configured and remembered rules.

mod file_rules;
pub mod remembered;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::mcp::resource_tools::{LIST_RESOURCES, READ_RESOURCE};
use approvals::RuleStore;
use approvals::names::{KnownNames, meant};
use approvals::remembered::Memory;
use config::origin::Layer;
use config::schema::TOOLS;
use config::settings::Approval;
use contract::policy::Approvals;
use policy::rules::{self, Rule, Scope};
use policy::{Judge, RequireApproval, Settings, ToolSettings};
use serde_json::{Value, json};

use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::output;
use crate::run_context::RunContext;
pub(crate) use file_rules::{file_rules, host_rules};

/// Rule words that are no tools, and our tools that come with servers and plugins.
const WORDS: [&str; 5] = ["Host", "WebFetch", LIST_RESOURCES, READ_RESOURCE, "ToolSearch"];

/// Creates the policy from the configured and the remembered rules.
pub fn policy(assembly: &Assembly, root: &Path) -> Result<Arc<dyn Approvals>, Problem> {
    let remembered = assembly.loaded.config_dir.as_deref().map(remembered::open);
    let mut rules = configured(assembly)?;
    if let Some(remembered) = &remembered {
        let (more, problems) = remembered.rules(root, |memory, origin| {
            let Memory { rule, tool, source } = memory;
            let [rule, tool, source] = [rule, tool, source].map(String::clone);
            rules::Memory { rule, tool, source }.recall(Scope::User, origin)
        });
        rules.extend(more);
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
    let memories: fn(&Judge, &_, &_) -> _ = |judge, tool, actions| {
        let memory = |it: rules::Memory| Memory { rule: it.rule, tool: it.tool, source: it.source };
        judge.memories(tool, actions).into_iter().map(memory).collect()
    };
    let (root, bound) = (root.to_owned(), assembly.loaded.max_mode);
    Ok(Arc::new(RuleStore { judge, memories, remembered, root, bound }))
}

fn file_rules_enforced(assembly: &Assembly) -> bool {
    assembly.sandbox().is_ok_and(|sandbox| sandbox.enforces().file_rules)
}

/// Paths outside the workspace that may be read: opened by the user, long output, skills.
pub(crate) fn readable(assembly: &Assembly) -> Vec<PathBuf> {
    let mut paths = assembly.config().sandbox.read_paths.clone();
    paths.push(assembly.spill_dir());
    paths.extend(crate::skills::directories(assembly));
    paths
}

fn configured(assembly: &Assembly) -> Result<Vec<Rule>, Problem> {
    let permissions = &assembly.config().permissions;
    let lists =
        [("allow", &permissions.allow), ("ask", &permissions.ask), ("deny", &permissions.deny)];
    let mut rules = Vec::new();
    let of_flag = assembly.global.allowed_tools.iter().filter(|_| !assembly.global.safe);
    for tool in of_flag.flat_map(|tools| plugins::skills::split_tools(tools)) {
        rules.extend(rule(assembly, "allow", usize::MAX, &json!(tool))?);
    }
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
    let place = origin.map_or_else(|| "--allowed-tools".to_owned(), ToString::to_string);
    let known = KnownNames {
        tools: TOOLS,
        words: &WORDS,
        unmasked: tui::masks::unmasked,
        is_open: &|| assembly.role.is_some() || !assembly.named_plugins().is_empty(),
    };
    let entries = meant(&known, (list, entry), &place, &|text| assembly.warn_once(text));
    let parsed =
        rules::parse(&json!({ list: entries }), scope, |_| place.clone()).map_err(|error| {
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
