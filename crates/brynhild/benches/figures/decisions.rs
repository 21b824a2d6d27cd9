//! How long the policy takes to decide on a long command, for the slowest of many kinds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use contract::action::Action;
use contract::policy::{Mode, Policy};
use contract::tool::{Recovery, Risk, ToolSpec, Traits};
use policy::rules::{Scope, parse};
use policy::{Judge, Settings};
use serde_json::json;

use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const RUNS: usize = 9;
/// Sizes in bytes, with the milliseconds that are aimed at.
const SIZES: [(&str, usize, f64); 2] = [("10 kB", 10_000, 5.0), ("1 MB", 1_000_000, 100.0)];
/// Kinds of commands: a piece that is repeated, in which `#` counts, and what ends it.
const KINDS: [(&str, &str, &str); 21] = [
    ("short commands", "git status --short && cargo test | head -40; ", ""),
    ("a chain", "true && ", "curl x"),
    ("one long command", "echo abc ", ""),
    ("lines", "git status -s\n", "curl x"),
    ("wrappers", "nice -n 5 ", "curl x"),
    ("nested shells", "bash -c 'ls x; cat y'; ", "curl x"),
    ("substitutions", "echo $(ls \"$(pwd)\"); ", "curl x"),
    ("deletions", "rm -rf a; rm -rf b; ", "rm -rf /"),
    ("open parentheses", "(", "curl x"),
    ("open substitutions", "$(", "curl x"),
    ("broken text", ")}]fi;;&& ' ", "curl x"),
    ("here-documents", "cat <<'EOF'\na b c\nEOF\n", "curl x"),
    ("interpreters", "python3 -c 'a(b, c)'; ", "curl x"),
    ("changes of directory", "cd d#; cat a#; ", "curl x"),
    ("additions to a file", "echo # >> log; ", "curl x"),
    ("patterns", "cat d#/*.txt; ", "curl x"),
    ("elements", "let a#=b[#]; ", "curl x"),
    ("variables", "a#=b#; cat $a#; ", "curl x"),
    ("directories that are entered", "cd src && cat a#; ", "curl x"),
    ("groups", "(cd d# && make); ", "curl x"),
    ("one variable", "X=$X#; ", "cat $X"),
];

/// Measures decisions.
pub(crate) fn measure(report: &mut Report) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let workspace = directory.path().canonicalize().expect("it is there");
    for name in ["secrets", "src", "tests"] {
        fs::create_dir(workspace.join(name)).expect("a directory can be made");
    }
    for name in [".env", "README.md", "secrets/key", "src/main.rs", "tests/one.rs"] {
        fs::write(workspace.join(name), "x").expect("a file can be written");
    }
    let (judge, tool) = (judge(&workspace), bash());
    for (name, size, aim) in SIZES {
        let mut slowest = (0.0, "");
        for (kind, piece, end) in KINDS {
            let pieces = (0..size / piece.len()).map(|at| piece.replace('#', &at.to_string()));
            let command = pieces.collect::<String>() + end;
            let action = [Action::Run { command, cwd: workspace.clone() }];
            let times = (0..RUNS).map(|_| {
                let start = Instant::now();
                let _ = std::hint::black_box(judge.judge(&tool, &action, Mode::Normal));
                start.elapsed()
            });
            let time = milliseconds(median(times.collect()));
            if time > slowest.0 {
                slowest = (time, kind);
            }
        }
        report.add(Row {
            what: format!("a decision on {name} of the slowest kind, {}", slowest.1),
            unit: Unit::Milliseconds,
            figure: slowest.0,
            limit: None,
            aim: Aim::Figure(aim),
        });
    }
}

fn judge(workspace: &Path) -> Judge {
    let rules = json!({
        "allow": ["Bash(cargo test:*)"],
        "deny": [
            "Bash(curl:*)", "Bash(git push:*)", "Bash(sudo:*)", "Read(secrets/**)", "Read(.env)",
            "Read(**/*.pem)", "Write(tests/**)",
        ],
    });
    let rules = parse(&rules, Scope::User, str::to_owned).expect("the rules are well-formed");
    policy::policy(Settings {
        workspace: workspace.to_owned(),
        home: Some(PathBuf::from("/home/u")),
        rules: rules.rules,
        file_rules_enforced: true,
        ..Settings::default()
    })
}

fn bash() -> ToolSpec {
    ToolSpec {
        name: String::from("Bash"),
        description: String::new(),
        input_schema: json!({"type": "object"}).into(),
        version: String::from("1.0.0"),
        categories: Vec::new(),
        requires_permission: true,
        risk_level: Risk::HighImpact,
        recovery_policy: Recovery::Allow,
        parallel: false,
        source: String::from("builtin"),
        traits: Traits::default(),
    }
}
