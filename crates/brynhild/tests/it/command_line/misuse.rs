//! Misuse exits with 2, names the error and a suggestion; help exits with 0.

use super::{LOOKING, run};
use crate::project;

#[test]
fn missing_prompt_error_has_a_hint() {
    for line in ["", "-p", "--print --model x", "--plain"] {
        let run = run(&project(), line);
        run.code(2);
        assert_eq!(run.stdout, "");
        assert!(run.stderr.starts_with("error: No prompt provided\nhint: "), "{run}");
        assert!(run.stderr.contains("brynhild PROMPT") && run.stderr.contains("brynhild demo"));
    }
}

#[test]
fn version_is_shown() {
    for line in ["--version", "-v", "-v chat"] {
        let run = run(&project(), line);
        run.success();
        assert_eq!(run.stdout, "brynhild, version 0.1.0\n");
        assert_eq!(run.stderr, "");
    }
}

#[test]
fn misspelled_command_gets_a_suggestion() {
    for (line, meant) in [
        ("chatt hello", "'chat'"),
        ("sesion list", "'session'"),
        ("config shwo", "'show'"),
        ("tools lst", "'list'"),
        ("chat --dryrun hello", "'--dry-run'"),
        ("config show --provenence", "'--provenance'"),
        ("--provder x chat", "'--provider'"),
        ("chat --mode yollo hello", "'yolo'"),
        ("--output-format jsn chat", "'json'"),
        ("completions zshh", "'zsh'"),
    ] {
        let run = run(&project(), line);
        run.code(2);
        assert_eq!(run.stdout, "", "{line}: {run}");
        assert!(run.stderr.starts_with("error: ") && run.stderr.contains(meant), "{line}: {run}");
    }
}

#[test]
fn missing_and_conflicting_arguments_are_misuse() {
    for line in [
        "tools schema",
        "tools exec",
        "session rename a",
        "sandbox run",
        "models search",
        "chat --model",
        "--continue --resume x chat hello",
        "--session a --resume x chat hello",
        "chat --no-log --log-file x hello",
        "session list --limit many",
        "sandbox run --profile wild -- true",
        "--profile wild sandbox run -- true",
    ] {
        let run = run(&project(), line);
        run.code(2);
        assert_eq!(run.stdout, "", "{line}: {run}");
        assert!(!run.stderr.contains("panicked"), "{line}: {run}");
    }
}

#[test]
fn every_command_has_help_with_both_spellings() {
    let project = project();
    for line in LOOKING.iter().chain(&["", "chat", "demo", "session export", "sandbox run"]) {
        let words: Vec<&str> = line.split(' ').take(2).collect();
        let line = words.join(" ").replace(" bash", "");
        for flag in ["-h", "--help"] {
            let run = run(&project, &format!("{line} {flag}"));
            run.success();
            assert!(run.stdout.contains("Usage: brynhild"), "{line} {flag}: {run}");
            assert_eq!(run.stderr, "");
        }
    }
}

#[test]
fn global_flags_are_taken_before_and_after_every_command() {
    let project = project();
    let flags = [
        "--provider script",
        "--model demo",
        "--mode read-only",
        "--yes",
        "--json",
        "--output-format json",
        "--plugin-dir x",
        "--verbose",
        "--no-color",
        "--show-cost",
        "--show-thinking",
        "--session s",
        "--dangerously-skip-sandbox",
        "--dangerously-skip-permissions",
    ];
    let all = flags.join(" ");
    let commands =
        LOOKING.iter().chain(&["chat", "session show x", "tools exec Read", "tools stats"]);
    for line in commands.chain(&["models list", "skill validate .", "logs view", "demo"]) {
        // Parsing stops at `--help` and has seen everything before it.
        for line in [format!("{all} {line} --help"), format!("{line} {all} --help")] {
            let run = run(&project, &line);
            run.success();
        }
    }
}

#[test]
fn global_flag_is_equal_before_and_after_the_command() {
    let project = project();
    let before = run(&project, "--json tools list");
    let after = run(&project, "tools list --json");
    assert!(before.json().as_array().unwrap().len() > 5);
    assert_eq!(before.stdout, after.stdout);
    let resolved = |line: &str| run(&project, line).json()["model"].clone();
    for line in ["profile resolve --model opus --json", "--model opus --json profile resolve"] {
        assert_eq!(resolved(line), "anthropic/claude-opus-4.5", "{line}");
    }
    assert_eq!(resolved("profile resolve haiku --json"), "anthropic/claude-haiku-4.5");
}
