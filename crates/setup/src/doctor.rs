//! The checks of `doctor`: one line each, with what to do about a problem.

use std::fmt::Write as _;
use std::path::Path;

use contract::text::visible;
use files::surroundings::on_path;
use serde_json::{Value, json};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It works.
    Ok,
    /// Something works less well than it could.
    Note,
    /// Something does not work.
    Broken,
}

/// A part that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The part.
    pub name: &'static str,
    /// The result.
    pub state: State,
    /// The finding, in one line.
    pub text: String,
    /// The remedy, if there is one.
    pub remedy: Option<String>,
}

impl Check {
    /// A part that works.
    #[must_use]
    pub fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, state: State::Ok, text: text.into(), remedy: None }
    }

    /// A part that is missing, and what to do if it is needed.
    #[must_use]
    pub fn note(name: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        let remedy = Some(remedy.into());
        Self { name, state: State::Note, text: text.into(), remedy }
    }

    /// A part that does not work, and what to do about it.
    #[must_use]
    pub fn broken(name: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        let remedy = Some(remedy.into());
        Self { name, state: State::Broken, text: text.into(), remedy }
    }
}

/// Checks the directory of the configuration, which gave some warnings.
#[must_use]
pub fn configuration(directory: Option<&Path>, is_writable: bool, warnings: usize) -> Check {
    let name = "configuration";
    let Some(directory) = directory else {
        let remedy = "set HOME or BRYNHILD_CONFIG_DIR";
        return Check::broken(name, "there is no home directory", remedy);
    };
    let directory = directory.display();
    if !is_writable {
        let remedy = "make it writable, or set BRYNHILD_CONFIG_DIR";
        Check::broken(name, format!("{directory} cannot be written"), remedy)
    } else if warnings > 0 {
        let text = format!("{directory}, with {warnings} warnings");
        Check::note(name, text, "the warnings above name the keys")
    } else {
        Check::ok(name, directory.to_string())
    }
}

/// Checks the programs that some features need.
#[must_use]
pub fn programs(search_path: Option<&String>, workspace: &Path) -> Vec<Check> {
    let found =
        |names: &[&str]| names.iter().find_map(|name| on_path(name, search_path, workspace));
    let check = |name, names: &[&str], remedy: &str| match found(names) {
        Some(path) => Check::ok(name, path.display().to_string()),
        None => Check::note(name, format!("no `{}` in PATH", names[0]), remedy),
    };
    vec![
        check(
            "python",
            &["python3", "python"],
            "install Python 3 to use Python plugins and the demo",
        ),
        check("git", &["git"], "install git for plugins from repositories and for commits"),
    ]
}

/// Checks the terminal by its variables.
#[must_use]
pub fn terminal(term: Option<&str>, color_term: Option<&str>, is_terminal: bool) -> Check {
    let name = "terminal";
    match term {
        _ if !is_terminal => Check::ok(name, "standard output is not a terminal"),
        None | Some("" | "dumb") => {
            Check::note(name, "TERM is not set", "set TERM to use the whole screen")
        }
        Some(term) => {
            let colors = if color_term.is_some_and(|it| !it.is_empty()) { "24-bit" } else { "256" };
            Check::ok(name, format!("{term}, {colors} colors"))
        }
    }
}

/// Returns true if a check failed.
#[must_use]
pub fn is_broken(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.state == State::Broken)
}

/// The checks as text.
#[must_use]
pub fn text(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let word = match check.state {
            State::Ok => "OK",
            State::Note => "note",
            State::Broken => "PROBLEM",
        };
        let _ = writeln!(text, "{:<14} {word:<8} {}", check.name, visible(&check.text));
        if let Some(remedy) = &check.remedy {
            let _ = writeln!(text, "{:24}{}", "", visible(remedy));
        }
    }
    text
}

/// The checks for programs.
#[must_use]
pub fn json(checks: &[Check]) -> Value {
    let row = |check: &Check| {
        let state = match check.state {
            State::Ok => "ok",
            State::Note => "note",
            State::Broken => "problem",
        };
        json!({"name": check.name, "state": state, "text": check.text, "remedy": check.remedy})
    };
    json!({"ok": !is_broken(checks), "checks": checks.iter().map(row).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_program_is_a_note_with_a_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let search_path = directory.path().display().to_string();
        let checks = programs(Some(&search_path), Path::new("/nowhere"));
        assert_eq!(checks[1].state, State::Note);
        assert!(text(&checks).contains("git            note     no `git` in PATH\n"), "{checks:?}");
        assert!(!is_broken(&checks) && json(&checks)["ok"] == true);
    }

    #[test]
    fn terminal_is_described_by_its_variables() {
        let colorful = terminal(Some("xterm-256color"), Some("truecolor"), true);
        assert_eq!(colorful.text, "xterm-256color, 24-bit colors");
        assert_eq!(terminal(Some("dumb"), None, true).state, State::Note);
        assert_eq!(terminal(None, None, false).state, State::Ok);
    }

    #[test]
    fn broken_part_makes_the_report_fail() {
        let checks = [Check::ok("a", "fine"), Check::broken("b", "gone", "bring it back")];
        assert!(is_broken(&checks));
        assert_eq!(json(&checks)["checks"][1]["remedy"], "bring it back");
    }
}
