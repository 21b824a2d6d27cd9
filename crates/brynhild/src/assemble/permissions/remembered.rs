//! Approvals that outlive a session, stored in the configuration directory and never in the
//! workspace. A file that cannot be parsed is left as it is and grants nothing.

use std::path::{Path, PathBuf};

use contract::id::Timestamp;
use contract::policy::{Approvals, Reach};
use files::private;
use policy::rules::{Memory, Rule, Scope};
use serde::{Deserialize, Serialize};

use crate::assemble::audit;
use crate::assemble::run_context::RunContext;
use crate::exit::Problem;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    pub(crate) rule: String,
    /// The real path of the only project it applies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<PathBuf>,
    pub(crate) tool: String,
    pub(crate) source: String,
    pub(crate) at: Timestamp,
}

impl Remembered {
    fn of(memory: Memory, root: &Path, reach: Reach) -> Self {
        Self {
            project: (reach == Reach::Project || is_local(&memory.source, root))
                .then(|| root.to_owned()),
            rule: memory.rule,
            tool: memory.tool,
            source: memory.source,
            at: Timestamp::now(),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        let is_near = self.project.is_none() || self.project == other.project;
        let is_same = self.rule == other.rule && self.tool == other.tool;
        is_near && is_same && self.source == other.source
    }
}

/// Returns true if the project may define the plugin, server or role of this name: rules about it
/// apply only there.
fn is_local(source: &str, root: &Path) -> bool {
    let own = source.strip_prefix("mcp:").is_some_and(|server| !server.contains(':'));
    let is_brought = ["mcp:project:", "role:"].iter().any(|start| source.starts_with(start));
    is_brought || (source != "builtin" && !own && root.join(".brynhild/plugins").is_dir())
}

/// Revokes a rule for this session and in the file. Returns a report.
pub(crate) fn revoke(
    run: &RunContext,
    policy: Option<&dyn Approvals>,
    rule: &str,
) -> Result<String, Problem> {
    let held = policy.is_some_and(|policy| policy.forget(rule));
    let gone = |all: &mut Vec<Remembered>| {
        let count = all.len();
        all.retain(|entry| entry.rule != rule);
        count - all.len()
    };
    let count = match run.loaded.config_dir.as_deref().map(RememberedRules::new) {
        Some(memories) => memories.change(gone).map_err(Problem::misuse)?,
        None => 0,
    };
    match (held, count) {
        (false, 0) => Err(Problem::misuse(format!("nothing that was allowed is `{rule}`"))
            .hint("`/permissions` lists the permissions that can be removed")),
        (true, 0) => Ok(format!("Taken back for this session: {rule}\n")),
        (_, count) => {
            let noun = if count == 1 { "permission" } else { "permissions" };
            Ok(format!("{count} {noun} taken back: {rule}\n"))
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct RememberedRules {
    path: PathBuf,
}

impl RememberedRules {
    pub(crate) fn new(config_dir: &Path) -> Self {
        Self { path: config_dir.join("permissions.jsonl") }
    }

    /// All rules, oldest first. Errors are messages for the user.
    pub(crate) fn read(&self) -> Result<Vec<Remembered>, String> {
        let shown = self.path.display();
        let bytes = private::read(&self.path)
            .map_err(|error| format!("cannot read {shown}: {error}"))?
            .unwrap_or_default();
        let text = String::from_utf8(bytes).map_err(|_| format!("{shown} is not UTF-8 text"))?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let entry = |(index, line)| {
            serde_json::from_str(line).map_err(|error| {
                format!("{shown}:{}: this is not a remembered permission: {error}", index + 1)
            })
        };
        lines.map(entry).collect()
    }

    /// The rules that apply in a project, and problems with the others.
    pub(crate) fn rules(&self, root: &Path) -> (Vec<Rule>, Vec<String>) {
        let mut problems = Vec::new();
        let mut rules = Vec::new();
        let remembered = self.read().unwrap_or_else(|problem| {
            problems.push(format!(
                "{problem}; nothing that was remembered holds until the file is repaired or removed"
            ));
            Vec::new()
        });
        for entry in remembered {
            let is_here = match &entry.project {
                Some(project) => project == root,
                None => !is_local(&entry.source, root),
            };
            if !is_here {
                continue;
            }
            let memory = Memory { rule: entry.rule, tool: entry.tool, source: entry.source };
            match memory.recall(Scope::User, self.path.display().to_string()) {
                Ok(rule) => rules.push(rule),
                Err(cause) => {
                    let (path, rule) = (self.path.display(), memory.rule);
                    problems.push(format!("{path}: `{rule}` is ignored: {cause}"));
                }
            }
        }
        (rules, problems)
    }

    pub(crate) fn add(
        &self,
        memories: Vec<Memory>,
        root: &Path,
        reach: Reach,
    ) -> Result<(), String> {
        let added = memories.into_iter().map(|memory| Remembered::of(memory, root, reach));
        self.change(|all| {
            for entry in added {
                if !all.iter().any(|other| other.covers(&entry)) {
                    all.push(entry);
                }
            }
        })
    }

    /// Rewrites the file, unless it cannot be read.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Remembered>) -> T,
    ) -> Result<T, String> {
        let cannot =
            |error: std::io::Error| format!("cannot write {}: {error}", self.path.display());
        let _lock = private::lock(&self.path).map_err(cannot)?;
        let before = self.read()?;
        let mut all = before.clone();
        let result = change(&mut all);
        if all == before {
            return Ok(result);
        }
        let mut text = String::new();
        for entry in &all {
            let line = serde_json::to_string(entry)
                .map_err(|error| format!("cannot write `{}` down: {error}", entry.rule))?;
            text.push_str(&line);
            text.push('\n');
        }
        private::replace(&self.path, text.as_bytes(), private::Durability::Synced)
            .map_err(cannot)?;
        let audit = audit::open(self.path.parent().unwrap_or(&self.path));
        let apart = |these: &[Remembered], those: &[Remembered]| -> Vec<Remembered> {
            these.iter().filter(|entry| !those.contains(entry)).cloned().collect()
        };
        let added = apart(&all, &before).into_iter().map(|entry| ("remembered", entry));
        let removed = apart(&before, &all).into_iter().map(|entry| ("revoked", entry));
        for (word, entry) in added.chain(removed) {
            audit.note(word, &entry.rule, entry.project.as_deref())?;
        }
        Ok(result)
    }
}
