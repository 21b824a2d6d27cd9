//! Approvals that outlive a session, stored in the configuration directory and never in the
//! workspace. A file that cannot be parsed is left as it is and grants nothing.

use std::path::{Path, PathBuf};

use contract::id::Timestamp;
use contract::policy::{Approvals, Reach};
use files::private;
use serde::{Deserialize, Serialize};

/// A rule as an approval gives it.
pub struct Memory {
    pub rule: String,
    pub tool: String,
    pub source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    pub rule: String,
    /// The real path of the only project it applies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    pub tool: String,
    pub source: String,
    pub at: Timestamp,
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

    /// The projects that it applies to.
    pub fn scope(&self) -> String {
        let project = self.project.as_ref();
        project.map_or_else(|| "every project".to_owned(), |project| project.display().to_string())
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

/// Revokes a rule for this session and in the file. Returns a report; none if nothing was revoked.
pub fn revoke(
    rules: Option<&RememberedRules>,
    policy: Option<&dyn Approvals>,
    rule: &str,
) -> Result<Option<String>, String> {
    let held = policy.is_some_and(|policy| policy.forget(rule));
    let gone = |all: &mut Vec<Remembered>| all.extract_if(.., |entry| entry.rule == rule).count();
    let count = rules.map_or(Ok(0), |rules| rules.change(gone))?;
    Ok(match (held, count) {
        (false, 0) => None,
        (true, 0) => Some(format!("Taken back for this session: {rule}\n")),
        (_, count) => {
            let noun = if count == 1 { "permission" } else { "permissions" };
            Some(format!("{count} {noun} taken back: {rule}\n"))
        }
    })
}

/// Removes the rule of a number, counted from one, or all rules of that text.
pub fn take(all: &mut Vec<Remembered>, rule: &str) -> Vec<Remembered> {
    let position = rule.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match position {
        Some(position) if position < all.len() => vec![all.remove(position)],
        Some(_) => Vec::new(),
        None => all.extract_if(.., |entry| entry.rule == rule).collect(),
    }
}

/// Records a change: the configuration directory, the kind of change, the rule and its project.
pub type Note = fn(&Path, &str, &str, Option<&Path>) -> Result<(), String>;

#[derive(Clone, Debug)]
pub struct RememberedRules {
    path: PathBuf,
    note: Note,
}

impl RememberedRules {
    pub fn new(config_dir: &Path, note: Note) -> Self {
        Self { path: config_dir.join("permissions.jsonl"), note }
    }

    /// All rules, oldest first. Errors are messages for the user.
    pub fn read(&self) -> Result<Vec<Remembered>, String> {
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

    /// The rules that apply in a project, as `parse` reads them with their origin, and problems with
    /// the others.
    pub fn rules<R>(
        &self,
        root: &Path,
        parse: impl Fn(&Memory, String) -> Result<R, String>,
    ) -> (Vec<R>, Vec<String>) {
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
            match parse(&memory, self.path.display().to_string()) {
                Ok(rule) => rules.push(rule),
                Err(cause) => {
                    let (path, rule) = (self.path.display(), memory.rule);
                    problems.push(format!("{path}: `{rule}` is ignored: {cause}"));
                }
            }
        }
        (rules, problems)
    }

    pub fn add(&self, memories: Vec<Memory>, root: &Path, reach: Reach) -> Result<(), String> {
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
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Remembered>) -> T) -> Result<T, String> {
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
        let directory = self.path.parent().unwrap_or(&self.path);
        let apart = |these: &[Remembered], those: &[Remembered]| -> Vec<Remembered> {
            these.iter().filter(|entry| !those.contains(entry)).cloned().collect()
        };
        let added = apart(&all, &before).into_iter().map(|entry| ("remembered", entry));
        let removed = apart(&before, &all).into_iter().map(|entry| ("revoked", entry));
        for (word, entry) in added.chain(removed) {
            (self.note)(directory, word, &entry.rule, entry.project.as_deref())?;
        }
        Ok(result)
    }
}
