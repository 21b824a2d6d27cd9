//! Tests of `Bash`, with real processes.

use super::*;
use crate::tests::fixture::{self, Project};

fn tool(project: &Project) -> Bash {
    Bash::new(&project.settings(Arc::default()))
}

async fn bash(command: &str) -> ToolOutput {
    let project = Project::new();
    project.run(&tool(&project), json!({"command": command})).await
}

#[tokio::test]
async fn both_streams_are_returned_right_trimmed() {
    let output = bash("echo one; echo two >&2; echo").await;
    assert_eq!(output.output, "one\n\n\n--- stderr ---\ntwo");
    assert!(output.success);
    assert_eq!(output.facts["exit_code"], 0);
    assert_eq!(bash("echo '  x  '").await.output, "  x");
    assert_eq!(bash("true").await.output, "");
}

#[tokio::test]
async fn stream_boundaries_cannot_be_forged() {
    let parts = |output: &ToolOutput| {
        let part = |stream: &str| {
            let range: (usize, usize) =
                serde_json::from_value(output.facts.get(stream).cloned()?).unwrap();
            Some(output.output[range.0..range.1].to_owned())
        };
        (part("stdout"), part("stderr"))
    };
    let output = bash("printf 'a\\n--- stderr ---\\nb\\n'").await;
    assert_eq!(output.output, "a\n--- stderr ---\nb");
    assert_eq!(parts(&output), (None, None), "all of it is standard output");
    let output = bash("echo out; printf 'x\\n--- stderr ---\\ny\\n' >&2").await;
    let wanted = (Some("out\n".to_owned()), Some("x\n--- stderr ---\ny".to_owned()));
    assert_eq!(parts(&output), wanted);
    let output = bash("echo out; printf '\\n\\n' >&2").await;
    assert_eq!(parts(&output), (Some("out\n".to_owned()), Some(String::new())));
}

#[tokio::test]
async fn failed_command_returns_output_and_exit_code() {
    let output = bash("echo X; echo why >&2; exit 3").await;
    assert!(!output.success);
    assert_eq!(output.output, "X\n\n--- stderr ---\nwhy");
    assert_eq!(output.error.as_deref(), Some("Exit code 3"));
    assert_eq!(output.facts["exit_code"], 3);
    let output = bash("kill -9 $$").await;
    assert_eq!(output.error.as_deref(), Some("Killed by signal 9"));
}

#[tokio::test]
async fn a_blocked_host_ends_the_result_with_one_hint() {
    let complain = "echo 'curl: (6) Could not resolve host: registry.example' >&2";
    let hint = "The sandbox blocked registry.example: call Bash again with \
                {\"network\":[\"registry.example\"],\"reason\":\"…\"}";
    let failed = bash(&format!("{complain}; exit 6")).await;
    assert_eq!(failed.error.unwrap(), format!("Exit code 6\n{hint}"));
    let piped = bash(complain).await;
    assert!(piped.success && piped.output.ends_with(&format!("\n{hint}")), "{}", piped.output);
    let printed = bash("echo 'Could not resolve host: registry.example'").await;
    assert_eq!(printed.output, "Could not resolve host: registry.example");
}

#[tokio::test]
async fn commands_run_in_the_project_with_empty_input() {
    let project = Project::with(&[("here", "")]);
    let output = project.output(&tool(&project), json!({"command": "pwd; ls; cat"})).await;
    assert_eq!(output, format!("{}\nhere", project.paths.root().display()));
}

#[tokio::test]
async fn no_state_passes_from_call_to_call() {
    let project = Project::new();
    let tool = tool(&project);
    project.output(&tool, json!({"command": "X=1; export X; cd /; alias l=ls"})).await;
    let output = project.output(&tool, json!({"command": "echo [$X] $PWD"})).await;
    assert_eq!(output, format!("[] {}", project.paths.root().display()));
}

#[tokio::test]
async fn invalid_utf8_output_is_accepted() {
    assert_eq!(bash(r"printf 'a\377b'").await.output, "a\u{fffd}b");
}

#[test]
fn actions_name_the_command_and_refuse_none() {
    let project = Project::new();
    let tool = tool(&project);
    let command = "ls -l | wc".to_owned();
    let actions = tool.actions(&json!({"command": command})).unwrap().actions;
    let cwd = project.paths.root().to_owned();
    assert_eq!(actions, [Action::Run { command, cwd }]);
    assert_eq!(fixture::refusal(&tool, &json!({"command": " \n"})), "No command provided");
    assert!(fixture::refusal(&tool, &json!({"command": "a\0b"})).contains("NUL"));
}

#[test]
fn network_and_outside_become_actions() {
    let project = Project::new();
    let tool = tool(&project);
    let stated = |args: Value| tool.actions(&args).unwrap().actions.split_off(1);
    let connect = |host: &str| Action::Connect { host: host.to_owned() };
    for none in [json!([]), json!(false), json!(null)] {
        assert_eq!(stated(json!({"command": "x", "network": none})), []);
    }
    let named = json!(["A.example", "https://b.example/x", "a.example", "localhost:3000"]);
    let hosts = [connect("a.example"), connect("b.example"), connect("localhost:3000")];
    assert_eq!(stated(json!({"command": "x", "network": named})), hosts);
    assert_eq!(stated(json!({"command": "x", "network": true})), [connect("*")]);
    let leave = Action::LeaveSandbox { command: "docker ps".to_owned() };
    let args = json!({"command": "docker ps", "network": ["a.example"], "outside": true});
    assert_eq!(stated(args), [connect("a.example"), leave]);
    let refusal = fixture::refusal(&tool, &json!({"command": "x", "network": ["a b"]}));
    assert_eq!(refusal, "`a b` in `network` is not the name of a host");
}

#[tokio::test]
async fn timeout_kills_the_whole_process_tree() {
    let project = Project::new();
    let command = "trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $!; echo on; wait";
    let args = json!({"command": command, "timeout": 2000});
    let output = project.run(&tool(&project), args).await;
    assert_eq!(output.error.as_deref(), Some("Command timed out after 2000ms"));
    let lines: Vec<_> = output.output.lines().collect();
    assert_eq!(lines[1], "on");
    assert!(is_gone(lines[0]), "{}", lines[0]);
}

#[tokio::test]
async fn grandchild_with_open_output_is_killed() {
    let output = bash("sleep 1000 & echo $!").await;
    assert!(output.success, "{output:?}");
    assert!(is_gone(&output.output), "{}", output.output);
}

/// Returns true if a process has ended; it may still be a zombie.
fn is_gone(id: &str) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{id}/stat")) else {
        return true;
    };
    // A killed process may take a moment to be torn down; its state is final once it is a zombie.
    let killed = status.contains(") Z ") || status.contains(") X ");
    killed || !status.contains("(sleep) S ")
}

#[tokio::test]
async fn cancelled_command_keeps_its_output() {
    let project = Project::new();
    let (context, mut lines) = project.context();
    let cancel = context.cancel.clone();
    let tool = tool(&project);
    let call = fixture::call(json!({"command": "echo begun; exec sleep 1000"}));
    let stopper = async {
        assert_eq!(lines.recv().await.as_deref(), Some("begun"));
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(tool.run(&call, &context), stopper);
    let output = output.unwrap();
    assert!(!output.success);
    assert_eq!(output.output, "begun");
    assert_eq!(output.error.as_deref(), Some("interrupted"));
}

#[tokio::test]
async fn lines_are_dropped_without_a_listener() {
    let project = Project::new();
    let (context, mut lines) = project.context();
    let call = fixture::call(json!({"command": "printf 'a\\nb\\rc'; seq 1000"}));
    tool(&project).run(&call, &context).await.unwrap();
    drop(context);
    let mut got = Vec::new();
    while let Some(line) = lines.recv().await {
        got.push(line);
    }
    assert_eq!(got[..3], ["a", "b", "c1"]);
    assert_eq!(got.len(), 64);
}

#[tokio::test]
async fn long_output_is_cut_and_saved_whole_to_a_file() {
    let project = Project::new();
    let command = "seq 100000; echo oops >&2";
    let output = project.run(&tool(&project), json!({"command": command})).await.output;
    assert!(output.chars().count() <= MAX_RETURNED);
    assert!(output.starts_with("1\n2\n3\n"));
    assert!(output.ends_with("99999\n100000\n\n--- stderr ---\noops"));
    assert!(output.contains("\n... [TRUNCATED: output exceeded 50,000 characters] ...\n"));
    let path = project.spill().join("bash-call-1-stdout.txt");
    assert!(output.contains(&format!("(All 588895 bytes of stdout are in {})", path.display())));
    let whole = std::fs::read_to_string(path).unwrap();
    assert_eq!(whole.lines().count(), 100_000);
    assert!(whole.lines().zip(1..).all(|(line, number)| line == number.to_string()));
}

#[tokio::test]
async fn two_long_streams_are_both_cut_and_saved() {
    let project = Project::new();
    let command = "head -c 40000 /dev/zero | tr '\\0' o; head -c 30000 /dev/zero | tr '\\0' e >&2";
    let output = project.run(&tool(&project), json!({"command": command})).await.output;
    assert!(output.chars().count() <= MAX_RETURNED);
    assert_eq!(output.matches("TRUNCATED").count(), 2);
    let size = |name: &str| std::fs::metadata(project.spill().join(name)).unwrap().len();
    assert_eq!(size("bash-call-1-stdout.txt"), 40_000);
    assert_eq!(size("bash-call-1-stderr.txt"), 30_000);
}

#[tokio::test]
async fn a_cut_does_not_split_a_character() {
    let output = bash("yes é漢 | head -n 100001 | tr -d '\\n'").await.output;
    assert!(output.contains("TRUNCATED"));
    assert!(!output.contains('\u{fffd}'));
}

#[tokio::test]
async fn characters_are_counted_and_not_their_bytes() {
    let print = |character: &str, count: usize| {
        format!("head -c {count} /dev/zero | sed 's/\\x0/{character}/g'")
    };
    let whole = bash(&print("漢", 50_000)).await.output;
    assert_eq!(whole, "漢".repeat(50_000));
    let cut = bash(&print("😀", 60_000)).await.output;
    assert!(cut.contains("(All 240000 bytes of stdout are in "), "{}", &cut[..200]);
    assert_eq!(cut.matches('😀').count(), BUDGET);
    let both = bash(&format!("{}; {} >&2", print("é", 30_000), print("漢", 30_000))).await.output;
    let kept = (both.matches('é').count(), both.matches('漢').count());
    assert_eq!(kept, (BUDGET - 18_000, 18_000));
}

#[tokio::test]
async fn flood_of_output_is_stopped_and_its_file_limited() {
    let project = Project::new();
    let tool = Bash { max_printed: 80 << 20, ..tool(&project) };
    let output = project.run(&tool, json!({"command": "yes 0123456789"})).await;
    let error = output.error.unwrap();
    assert_eq!(error, "Command killed: it printed more than 83886080 bytes");
    assert!(output.output.contains("The first 67108864 of "));
    let file = project.spill().join("bash-call-1-stdout.txt");
    assert_eq!(std::fs::metadata(file).unwrap().len(), 64 << 20);
}

#[tokio::test]
async fn unsavable_output_is_reported() {
    let project = Project::new();
    std::fs::create_dir_all(project.spill().parent().unwrap()).unwrap();
    std::fs::write(project.spill(), "in the way").unwrap();
    let output = project.run(&tool(&project), json!({"command": "seq 100000"})).await;
    assert!(output.success);
    assert!(output.output.contains("could not be saved: "), "{}", output.output);
}
