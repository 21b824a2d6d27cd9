//! How long a decision takes: `cargo bench -p policy`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use contract::policy::{Action, Mode, Policy};
use contract::tool::{Recovery, Risk, ToolSpec};
use policy::Settings;
use policy::rules::{Scope, parse};
use serde_json::json;

#[expect(clippy::print_stdout, reason = "a bench reports to the terminal")]
fn main() {
    let rules = json!({
        "allow": ["Bash(cargo test:*)"],
        "deny": ["Bash(curl:*)", "Bash(git push:*)", "Bash(sudo:*)", "Read(secrets/**)"],
    });
    let rules = parse(&rules, Scope::User, str::to_owned).expect("the rules are well-formed");
    let judge = policy::policy(Settings {
        workspace: PathBuf::from("/w"),
        home: Some(PathBuf::from("/home/u")),
        rules: rules.rules,
        ..Settings::default()
    });
    let tool = ToolSpec {
        name: String::from("Bash"),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        version: String::from("1.0.0"),
        categories: Vec::new(),
        requires_permission: true,
        risk_level: Risk::HighImpact,
        recovery_policy: Recovery::Allow,
        parallel: false,
        source: String::from("builtin"),
    };
    let pieces = [
        ("short command", "git status --short && cargo test | head -40", ""),
        ("and-chain", "true && ", "curl x"),
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
    ];
    for (name, piece, end) in pieces {
        for size in [0, 10_000, 1_000_000] {
            let command = piece.repeat(1.max(size / piece.len())) + end;
            let length = command.len();
            let action = [Action::Run { command, cwd: PathBuf::from("/w") }];
            let mut times: Vec<Duration> = (0..9)
                .map(|_| {
                    let start = Instant::now();
                    let ruling = judge.judge(&tool, &action, Mode::Normal);
                    std::hint::black_box(&ruling);
                    start.elapsed()
                })
                .collect();
            times.sort();
            let decision = judge.judge(&tool, &action, Mode::Normal).decision;
            println!("{name:>20} {length:>9} B  median {:>10.3?}  {decision:?}", times[4]);
        }
    }
}
