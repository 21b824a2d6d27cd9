//! Tool calls as clients show them: by their actions, never by the names of tools.

use std::path::{Path, PathBuf};

use contract::action::Action;
use contract::text;
use contract::tool::{Display, ToolOutput};
use serde_json::Value;

use crate::wire::{Location, ToolContent, ToolKind};

const TITLE: usize = 120;
/// The longest text and the longest diff of a call, in bytes.
const TEXT: usize = 64 << 10;
const DIFF: usize = 256 << 10;

/// The title of a call before its actions are known: the tool, and its first short argument.
pub(crate) fn first_title(name: &str, args: &Value) -> String {
    let values = args.as_object().into_iter().flat_map(|args| args.values());
    match values.filter_map(Value::as_str).find(|value| !value.trim().is_empty()) {
        Some(value) => shortened(&format!("{name}: {value}")),
        None => name.to_owned(),
    }
}

/// The title of a call by what it does; none if its actions do not say.
pub(crate) fn title(actions: &[Action], cwd: &Path) -> Option<String> {
    let shown = |path: &Path| {
        path.strip_prefix(cwd)
            .ok()
            .filter(|it| *it != Path::new(""))
            .unwrap_or(path)
            .display()
            .to_string()
    };
    let title = match main_action(actions)? {
        Action::Read { path } => format!("Read {}", shown(path)),
        Action::Write { path, .. } => format!("Edit {}", shown(path)),
        Action::Run { command, .. } | Action::LeaveSandbox { command } => format!("`{command}`"),
        Action::Connect { host } => format!("Fetch from {host}"),
        Action::Opaque { .. } => return None,
    };
    Some(shortened(&title))
}

fn shortened(title: &str) -> String {
    let line = text::one_line(title);
    let head = text::head(&line, TITLE);
    if head.len() < line.len() { format!("{head}…") } else { line }
}

/// The action that matters most.
fn main_action(actions: &[Action]) -> Option<&Action> {
    let weight = |action: &&Action| match action {
        Action::Run { .. } | Action::LeaveSandbox { .. } => 4,
        Action::Write { .. } => 3,
        Action::Connect { .. } => 2,
        Action::Read { .. } => 1,
        Action::Opaque { .. } => 0,
    };
    // Of equal ones the first.
    actions.iter().rev().max_by_key(weight)
}

pub(crate) fn kind(actions: &[Action]) -> ToolKind {
    match main_action(actions) {
        Some(Action::Run { .. } | Action::LeaveSandbox { .. }) => ToolKind::Execute,
        Some(Action::Write { .. }) => ToolKind::Edit,
        Some(Action::Connect { .. }) => ToolKind::Fetch,
        Some(Action::Read { .. }) => ToolKind::Read,
        Some(Action::Opaque { .. }) | None => ToolKind::Other,
    }
}

pub(crate) fn locations(actions: &[Action], cwd: &Path) -> Vec<Location> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for action in actions {
        if let Action::Read { path } | Action::Write { path, .. } = action {
            let path = cwd.join(path);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths.into_iter().map(|path| Location { path }).collect()
}

/// The changes that a call would make.
pub(crate) fn proposed(actions: &[Action], cwd: &Path) -> Vec<ToolContent> {
    let diff = |action: &Action| match action {
        Action::Write { path, diff: Some(diff) } => diffs(&cwd.join(path), diff),
        _ => Vec::new(),
    };
    actions.iter().flat_map(diff).collect()
}

/// The content of a finished call.
pub(crate) fn content(output: &ToolOutput, told: &str, cwd: &Path) -> Vec<ToolContent> {
    if let Some(Display::Diff { path, unified }) = &output.display
        && output.success
    {
        let diffs = diffs(&cwd.join(path), unified);
        if !diffs.is_empty() {
            return diffs;
        }
    }
    let text = text::head(told, TEXT);
    let is_whole = text.len() == told.len();
    let end = if is_whole { "" } else { "\n[The rest is not shown.]" };
    vec![ToolContent::text(format!("{text}{end}"))]
}

/// The hunks of a unified diff, each with its lines before and after; none if it is too large.
fn diffs(path: &Path, unified: &str) -> Vec<ToolContent> {
    if unified.len() > DIFF {
        return Vec::new();
    }
    let mut hunks: Vec<(bool, String, String)> = Vec::new();
    for line in unified.lines() {
        if let Some(range) = line.strip_prefix("@@ ") {
            hunks.push((range.starts_with("-0,0"), String::new(), String::new()));
            continue;
        }
        let Some((_, old, new)) = hunks.last_mut() else { continue };
        let (is_old, is_new) = match line.as_bytes().first() {
            Some(b'-') => (true, false),
            Some(b'+') => (false, true),
            Some(b' ') | None => (true, true),
            Some(_) => continue,
        };
        let words = line.get(1..).unwrap_or_default();
        for (side, _) in [(old, is_old), (new, is_new)].into_iter().filter(|(_, is_on)| *is_on) {
            side.push_str(words);
            side.push('\n');
        }
    }
    let content = |(is_new, old, new): (bool, String, String)| ToolContent::Diff {
        path: path.to_owned(),
        old_text: (!is_new).then_some(old),
        new_text: new,
    };
    hunks.into_iter().map(content).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hunks_of_a_diff_become_texts_before_and_after() {
        let unified = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n\
                       @@ -9 +9 @@\n-nine\n\\ No newline at end of file\n+NINE\n";
        let found = diffs(Path::new("/p/x"), unified);
        let diff = |old: &str, new: &str| ToolContent::Diff {
            path: "/p/x".into(),
            old_text: Some(old.to_owned()),
            new_text: new.to_owned(),
        };
        assert_eq!(
            found,
            [diff("one\ntwo\nthree\n", "one\nTWO\nthree\n"), diff("nine\n", "NINE\n")]
        );
        let created = diffs(Path::new("/n"), "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n");
        let new =
            ToolContent::Diff { path: "/n".into(), old_text: None, new_text: "x\n".to_owned() };
        assert_eq!(created, [new]);
    }

    #[test]
    fn titles_and_kinds_follow_the_actions() {
        let read = Action::Read { path: "/p/src/a.rs".into() };
        let run = Action::Run { command: "cargo\ntest".into(), cwd: "/p".into() };
        let cwd = Path::new("/p");
        assert_eq!(title(std::slice::from_ref(&read), cwd).unwrap(), "Read src/a.rs");
        let both = [read, run];
        assert_eq!(kind(&both), ToolKind::Execute);
        assert!(title(&both, cwd).unwrap().starts_with("`cargo"), "{:?}", title(&both, cwd));
        assert_eq!(locations(&both, cwd).len(), 1);
        assert_eq!(title(&[], cwd), None);
        assert_eq!(first_title("Bash", &json!({"command": "ls"})), "Bash: ls");
        assert_eq!(first_title("Jobs", &json!({})), "Jobs");
    }
}
