//! Restrictions that a role puts on the calls of a tool: rules on their arguments, approval of each
//! call, and a maximum number. They never allow more than the policy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use contract::hook::{Advised, CallView, Hook, HookContext, Moment, OnFailure, ToolVerdict};
use contract::tool::{Finish, FinishStatus, ToolOutput, ToolSpec};
use fancy_regex::Regex;
use files::path::normalize;
use formats::{pattern, python, shell};
use serde_json::Value;

/// The longest value that is read as a path.
const PATH_LIMIT: usize = 4096;

#[derive(Clone, Debug, Default)]
pub struct Guard {
    permissions: Option<Permissions>,
    asks: bool,
    allowance: Option<Arc<Allowance>>,
    root: PathBuf,
}

/// How many calls a run may make, and how many it has made.
#[derive(Debug)]
pub struct Allowance {
    most: u64,
    made: AtomicU64,
}

impl Allowance {
    pub fn new(most: u64) -> Self {
        Self { most, made: AtomicU64::new(0) }
    }

    /// The message if there was a call too many.
    pub fn exceeded(&self) -> Option<String> {
        let is_over = self.made.load(Ordering::Relaxed) > self.most;
        is_over.then(|| format!("max_tool_calls ({})", self.most))
    }

    pub fn renew(&self) {
        self.made.store(0, Ordering::Relaxed);
    }

    /// Counts a call; returns the message if it is one too many.
    pub fn take(&self) -> Option<String> {
        self.made.fetch_add(1, Ordering::Relaxed);
        self.exceeded()
    }
}

#[derive(Clone, Debug)]
struct Permissions {
    denies_by_default: bool,
    allow: Vec<Rule>,
    deny: Vec<Rule>,
}

/// `argument=glob`, or a glob that any value may fit.
#[derive(Clone, Debug)]
struct Rule {
    text: String,
    argument: Option<String>,
    glob: Regex,
    is_full: bool,
}

impl Guard {
    /// Reads `permissions` and `approval` of an entry. An error says what makes no sense.
    pub fn read(entry: &Value) -> Result<Self, String> {
        let asks = match entry.get("approval") {
            None | Some(Value::Null) => false,
            Some(Value::String(word)) if word == "auto" => false,
            // Who would judge in the user's place is not here.
            Some(Value::String(word)) if word == "required" || word == "judged" => true,
            Some(_) => {
                return Err(String::from("`approval` is none of `auto`, `required` and `judged`"));
            }
        };
        let permissions = match entry.get("permissions") {
            None | Some(Value::Null) => None,
            Some(value) => Some(Permissions::read(value)?),
        };
        Ok(Self { permissions, asks, allowance: None, root: PathBuf::new() })
    }

    /// Drops the questions that the user has approved beforehand.
    #[must_use]
    pub fn approved(self) -> Self {
        Self { asks: false, ..self }
    }

    #[must_use]
    pub fn within(self, allowance: &Arc<Allowance>) -> Self {
        Self { allowance: Some(Arc::clone(allowance)), ..self }
    }

    #[must_use]
    pub fn below(self, root: PathBuf) -> Self {
        Self { root, ..self }
    }

    fn refusal(&self, tool: &str, args: &Value) -> Option<String> {
        let permissions = self.permissions.as_ref()?;
        let denied = |by: &str| Some(format!("Permission denied: {tool} -- blocked by {by}"));
        if let Some(rule) = permissions.deny.iter().find(|rule| rule.denies(args, &self.root)) {
            return denied(&format!("rule: {}", rule.text));
        }
        let is_allowed = permissions.allow.iter().any(|rule| rule.fits(args));
        if permissions.denies_by_default && !is_allowed {
            return denied("default policy");
        }
        None
    }
}

impl Permissions {
    fn read(value: &Value) -> Result<Self, String> {
        let fields = value.as_object().ok_or("`permissions` is not a mapping")?;
        let known = ["default", "allow", "deny"];
        if let Some(key) = fields.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(format!(
                "`permissions.{key}` is not known; there are default, allow, deny"
            ));
        }
        let rules = |key: &str| -> Result<Vec<Rule>, String> {
            let wrong = || format!("`permissions.{key}` is not a list of rules");
            match fields.get(key) {
                None | Some(Value::Null) => Ok(Vec::new()),
                Some(Value::Array(rules)) => {
                    let rules = rules.iter().map(|rule| rule.as_str().and_then(Rule::parse));
                    rules.collect::<Option<_>>().ok_or_else(wrong)
                }
                Some(_) => Err(wrong()),
            }
        };
        let denies_by_default = match fields.get("default") {
            None | Some(Value::Null) => false,
            Some(Value::String(word)) if word == "allow" => false,
            Some(Value::String(word)) if word == "deny" => true,
            Some(_) => return Err(String::from("`permissions.default` is neither allow nor deny")),
        };
        Ok(Self { denies_by_default, allow: rules("allow")?, deny: rules("deny")? })
    }
}

impl Rule {
    fn parse(text: &str) -> Option<Self> {
        let is_argument = |name: &&str| {
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.".contains(c))
        };
        let named = text.split_once('=').filter(|(name, _)| is_argument(name));
        let (argument, glob) = match named {
            Some((name, glob)) => (Some(name.to_owned()), glob),
            None => (None, text),
        };
        let is_full = glob.starts_with('/');
        let glob = Regex::new(&pattern::translate_wildcards(glob)).ok()?;
        Some(Self { text: text.to_owned(), argument, glob, is_full })
    }

    /// Returns true if a value is what the rule says, as it is written.
    fn fits(&self, args: &Value) -> bool {
        self.finds(args, &|_, text| self.is_match(text))
    }

    /// Returns true if a value is what the rule says, as it is written, as a path or as the words of
    /// a command.
    fn denies(&self, args: &Value, root: &Path) -> bool {
        self.finds(args, &|name, text| {
            // Any text may look like a command; only an argument that is meant for one is read so.
            let is_command = self.argument.is_some() || ["command", "cmd"].contains(&name);
            self.is_match(text)
                || (is_command && commands(text).iter().any(|text| self.is_match(text)))
                || paths(text, root).iter().any(|path| {
                    // The names of directories above the project are no part of what a value says.
                    self.is_full == path.starts_with('/') && self.is_match(path)
                })
        })
    }

    fn is_match(&self, text: &str) -> bool {
        self.glob.is_match(text).unwrap_or(true)
    }

    /// Returns true if one of the values that the rule speaks of, each with its name, is wanted.
    fn finds(&self, args: &Value, is_wanted: &dyn Fn(&str, &str) -> bool) -> bool {
        let value = match &self.argument {
            Some(path) => path.split('.').try_fold(args, |value, name| value.get(name)),
            None => Some(args),
        };
        value.is_some_and(|value| has_leaf(("", value), is_wanted))
    }
}

fn has_leaf((name, value): (&str, &Value), is_wanted: &dyn Fn(&str, &str) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| has_leaf((name, item), is_wanted)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| has_leaf((name, value), is_wanted))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            is_wanted(name, &python::to_text(value))
        }
    }
}

/// A value as the words of a command: also without the directory of the program, and without
/// some of the options that follow it.
fn commands(value: &str) -> Vec<String> {
    let words = shell::words(value);
    let Some((program, args)) = words.split_first() else { return Vec::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    let options = args.iter().take_while(|arg| arg.starts_with('-')).count();
    let line = |program: &str, args: &[String]| [&[program.to_owned()], args].concat().join(" ");
    (0..=options).flat_map(|at| [program, name].map(|program| line(program, &args[at..]))).collect()
}

/// A value as a path from `root` and in full, by its name and by the target of symlinks.
fn paths(value: &str, root: &Path) -> Vec<String> {
    if value.is_empty() || value.len() > PATH_LIMIT || value.contains(['\0', '\n']) {
        return Vec::new();
    }
    let root = normalize(&Path::new("/").join(root));
    let named = root.join(value);
    let roots = [Some(root.clone()), root.canonicalize().ok()];
    let mut paths = Vec::new();
    for target in [Some(normalize(&named)), named.canonicalize().ok()].into_iter().flatten() {
        paths.extend(roots.iter().flatten().map(|root| relative(&target, root)));
        paths.push(target);
    }
    let texts = paths.iter().map(|path| path.display().to_string()).filter(|it| !it.is_empty());
    // `secret/*` means what is in a directory, and so the directory.
    texts.flat_map(|path| [format!("{path}/"), path]).collect()
}

/// A path from a directory, with `..` if it is not below it.
fn relative(path: &Path, directory: &Path) -> PathBuf {
    let mut up = PathBuf::new();
    for above in directory.ancestors() {
        if let Ok(rest) = path.strip_prefix(above) {
            return up.join(rest);
        }
        up.push("..");
    }
    up
}

#[derive(Clone, Debug, Default)]
pub struct RoleGuards(BTreeMap<String, Guard>);

impl RoleGuards {
    pub fn add(&mut self, tool: &ToolSpec, guard: &Guard) {
        if guard.permissions.is_some() || guard.asks || guard.allowance.is_some() {
            // Of two tools with one name the first counts.
            self.0.entry(tool.name.clone()).or_insert_with(|| guard.clone());
        }
    }

    /// Returns true if the calls of a tool need approval each time.
    pub fn asks(&self, tool: &str) -> bool {
        self.0.get(tool).is_some_and(|guard| guard.asks)
    }
}

#[async_trait]
impl Hook for RoleGuards {
    fn name(&self) -> &'static str {
        "the role"
    }

    fn wants(&self, moment: Moment) -> bool {
        moment == Moment::BeforeTool && !self.0.is_empty()
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    async fn before_tool(&self, _: &HookContext, call: CallView<'_>) -> Advised<ToolVerdict> {
        let Some(guard) = self.0.get(call.tool) else { return Ok(ToolVerdict::Proceed.into()) };
        if let Some(refusal) = guard.refusal(call.tool, call.args) {
            return Ok(ToolVerdict::Block(refusal).into());
        }
        if let Some(limit) = guard.allowance.as_ref().and_then(|allowance| allowance.take()) {
            let summary = format!("a limit was reached: {limit}");
            let output = ToolOutput::failure(summary.clone());
            let finish = Some(Finish { status: FinishStatus::Failed, summary, next_steps: None });
            return Ok(ToolVerdict::Answer(ToolOutput { finish, ..output }).into());
        }
        Ok(if guard.asks {
            ToolVerdict::Ask(String::from("its author has it asked about every time")).into()
        } else {
            ToolVerdict::Proceed.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(permissions: &Value, args: &Value) -> Option<String> {
        Guard::read(&json!({"permissions": permissions})).unwrap().refusal("run", args)
    }

    #[test]
    fn deny_wins_over_allow_and_default() {
        let rules = json!({"default": "deny", "allow": ["command=git *"], "deny": ["*secret*"]});
        assert_eq!(refusal(&rules, &json!({"command": "git log"})), None);
        let said = refusal(&rules, &json!({"command": "git show secret.txt"}));
        assert_eq!(said.unwrap(), "Permission denied: run -- blocked by rule: *secret*");
        let said = refusal(&rules, &json!({"command": "ls", "x": "git "}));
        assert_eq!(said.unwrap(), "Permission denied: run -- blocked by default policy");
    }

    #[test]
    fn rules_match_nested_values_and_sets() {
        let rules = json!({"deny": ["a.b=[!x-z]1", "v[0-9]"]});
        assert!(refusal(&rules, &json!({"a": {"b": "a1"}})).is_some());
        assert!(refusal(&rules, &json!({"a": {"b": "y1"}})).is_none());
        assert!(refusal(&rules, &json!({"l": [{"k": "v7"}]})).is_some());
        assert!(refusal(&rules, &json!({"l": ["V7", true, null]})).is_none());
    }

    #[test]
    fn denial_covers_paths_and_quoted_words() {
        let rules = json!({"deny": ["path=secret/*", "command=git push*"]});
        for args in [
            json!({"path": "./secret/k"}),
            json!({"path": "x/../secret/k"}),
            json!({"path": ["a", "/secret/k"]}),
            json!({"command": " git  'push' x"}),
        ] {
            assert!(refusal(&rules, &args).is_some(), "{args}");
        }
        assert_eq!(refusal(&rules, &json!({"path": "src/secret.rs"})), None);
        let above = Guard::read(&json!({"permissions": {"deny": ["path=../*"]}})).unwrap();
        let above = above.below("/top/sub".into());
        for path in ["./../k", "x/../../k", "/top/k", "/etc/passwd"] {
            assert!(above.refusal("run", &json!({"path": path})).is_some(), "{path}");
        }
        assert_eq!(above.refusal("run", &json!({"path": "/top/sub/k"})), None);
        let option = json!({"deny": ["command=rm -f*"]});
        assert!(refusal(&option, &json!({"command": "rm -r -f x"})).is_some());
        let allowed = json!({"default": "deny", "allow": ["path=docs/*", "command=git log*"]});
        assert_eq!(refusal(&allowed, &json!({"path": "docs/a"})), None);
        assert!(refusal(&allowed, &json!({"path": "./docs/a"})).is_some());
        assert!(refusal(&allowed, &json!({"command": "git  log"})).is_some());
        let full =
            Guard::read(&json!({"permissions": {"deny": ["/top/sub/k*", "*top*"]}})).unwrap();
        let full = full.below("/top/sub".into());
        assert!(full.refusal("run", &json!({"path": "./key"})).is_some());
        assert_eq!(full.refusal("run", &json!({"path": "./x"})), None);
        for command in ["git push", "/usr/bin/git push", "git -q --all push", "git 'push' -n"] {
            assert!(refusal(&rules, &json!({"command": command})).is_some(), "{command}");
        }
        // Only the policy knows which options take a word.
        assert_eq!(refusal(&rules, &json!({"command": "git -C . push"})), None);
        let any = json!({"deny": ["git push*"]});
        assert!(refusal(&any, &json!({"command": "git  push"})).is_some());
        assert_eq!(refusal(&any, &json!({"content": "x\ngit push\n"})), None);
    }

    #[test]
    fn symlink_is_denied_by_its_target() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("secret")).unwrap();
        std::os::unix::fs::symlink("secret", directory.path().join("s")).unwrap();
        let found = paths("s/../s", directory.path());
        assert!(found.contains(&"secret/".to_owned()), "{found:?}");
        let found = paths("x/../../k", Path::new("/p/q"));
        assert!(found.contains(&"/p/k".to_owned()) && found.contains(&"../k".to_owned()));
        assert!(paths("a\nb", directory.path()).is_empty());
    }

    #[test]
    fn invalid_guard_rules_are_reported() {
        for (entry, wanted) in [
            (json!({"approval": "maybe"}), "`approval` is none of"),
            (json!({"permissions": {"default": 1}}), "`permissions.default`"),
            (json!({"permissions": {"allow": "x"}}), "`permissions.allow`"),
            (json!({"permissions": {"denied": []}}), "`permissions.denied`"),
        ] {
            assert!(Guard::read(&entry).unwrap_err().contains(wanted), "{entry}");
        }
    }
}
