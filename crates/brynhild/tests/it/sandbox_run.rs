//! `sandbox run`: any command confined, with its input, its end, and nothing left behind.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;
use testkit::{ModelServer, Reply};

use crate::git::shell;
use crate::{project, project_with};

const SIZE: (u16, u16) = (100, 30);

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn read_only_mode_writes_nothing_with_any_profile() {
    let project = project();
    let touch = ["sandbox", "run", "--profile", "workspace", "--", "touch", "made"];
    for flags in
        [&["--safe"][..], &["--mode", "read-only"], &["--safe", "--dangerously-skip-sandbox"]]
    {
        let run = project.brynhild(&[flags, &touch].concat());
        assert_ne!(run.status.code(), Some(0), "{run}");
        assert!(!project.path().join("made").exists(), "{flags:?}");
    }
    project.brynhild(&touch).success();
    assert!(project.path().join("made").exists());
}

#[test]
fn read_only_mode_has_no_network_despite_grants() {
    let project = project();
    project.config("sandbox: {allow_network: true}\n");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connect = format!(
        "python3 -c 'import socket; socket.create_connection((\"{}\", {})); print(\"reached\")'",
        address.ip(),
        address.port()
    );
    let input = serde_json::json!({ "command": connect }).to_string();
    let run = ["sandbox", "run", "--", "bash", "-c", &connect];
    let look = ["sandbox", "run", "--profile", "read-only", "--", "bash", "-c", &connect];
    let exec = ["--yes", "tools", "exec", "Bash", "--input", &input];
    let mode = ["--mode", "read-only"];
    for words in [&run[..], &exec] {
        assert!(project.brynhild(words).stdout.contains("reached"), "{words:?}");
    }
    for words in [&look[..], &[&mode[..], &run].concat(), &[&["--safe"][..], &run].concat()] {
        assert!(!project.brynhild(words).stdout.contains("reached"), "{words:?}");
    }
    let run = project.brynhild(&[&mode[..], &exec].concat());
    assert!(!run.stdout.contains("reached"), "{run}");
    assert!(format!("{run}").contains("Error:"), "{run}");
}

#[test]
fn a_command_reads_our_standard_input() {
    let project = project();
    let run = project.command(&["sandbox", "run", "--", "wc", "-l"]).stdin("x\ny\n").run();
    assert_eq!(run.success().stdout.trim(), "2");
    let long = "0123456789abcdef\n".repeat(20_000);
    let run = project.command(&["sandbox", "run", "--", "cat"]).stdin(long.clone()).run();
    assert!(run.success().stdout == long, "{} bytes came back", run.stdout.len());
}

#[test]
fn command_without_input_does_not_wait() {
    let project = project();
    let mut running = project.command(&["sandbox", "run", "--", "echo", "done"]).spawn();
    running.send("never read\n");
    running.wait_for_stdout("done");
    assert_eq!(running.wait().success().stdout, "done\n");
}

#[test]
fn missing_program_exits_like_a_shell() {
    let run = project().brynhild(&["sandbox", "run", "--", "no-such-program"]);
    run.code(127);
    assert!(run.stderr.contains("cannot start no-such-program"), "{run}");
    assert!(!run.stderr.contains("read_paths"), "{run}");
}

#[test]
fn non_executable_file_is_not_reported_as_hidden() {
    let run = project().brynhild(&["sandbox", "run", "--", "/etc/passwd"]);
    run.code(126);
    assert!(!run.stderr.contains("read_paths"), "{run}");
}

#[test]
fn program_in_the_hidden_home_is_reported_as_hidden() {
    let project = project();
    let program = project.home().join("bin/mine");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, "#!/bin/sh\necho ran\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    let run = project.brynhild(&["sandbox", "run", "--", program]);
    assert!([Some(126), Some(127)].contains(&run.status.code()), "{run}");
    assert!(run.stderr.contains("`sandbox.read_paths`"), "{run}");
    let directory = project.home().join("bin");
    project.config(&format!("sandbox: {{read_paths: [{}]}}\n", directory.display()));
    let run = project.brynhild(&["sandbox", "run", "--", program]);
    assert_eq!(run.success().stdout, "ran\n");
}

#[test]
fn signal_ends_the_command_and_leaves_no_files() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let project = project();
        let before = names(&project.path());
        let script = "echo ready; exec sleep 600";
        let running = project.command(&["sandbox", "run", "--", "bash", "-c", script]).spawn();
        running.wait_for_stdout("ready");
        running.signal(signal);
        running.wait().code(code);
        assert_eq!(names(&project.path()), before, "{signal:?}");
    }
}

#[test]
fn leftovers_of_a_kill_are_removed_at_the_next_start() {
    let server = ModelServer::start([Reply::text("hello")]);
    let project = project_with(&server);
    let before = names(&project.path());
    let script = "echo ready; exec sleep 600";
    let running = project.command(&["sandbox", "run", "--", "bash", "-c", script]).spawn();
    running.wait_for_stdout("ready");
    running.kill();
    running.wait();
    project.brynhild(&["chat", "hi"]).success();
    assert_eq!(names(&project.path()), before);
}

#[test]
fn quarantined_name_adds_no_line() {
    let project = project();
    let script =
        "mkdir -p \"$(printf 'r\\nwarning: nothing else')/.vscode\"; cd r*; echo 1 > .vscode/x";
    let run = project.brynhild(&["sandbox", "run", "--", "sh", "-c", script]);
    assert!(run.success().stderr.contains("r\\u{a}warning: nothing else/.vscode"), "{run}");
    assert!(!run.stderr.lines().any(|line| line.starts_with("warning: nothing")), "{run}");
}

#[test]
fn git_has_the_identity_but_no_alias_or_key_of_the_user() {
    const LOOK: &str = "git config user.name; git config user.email; git st 2>/dev/null; git log -1 --format=%an; \
                        git config http.extraheader; git config credential.helper; echo done";
    let settings = "[user]\n\tname = Una\n[include]\n\tpath = more\n[alias]\n\tst = status -s\n\
                    [http]\n\textraHeader = X-Key: sesame\n\
                    [credential]\n\thelper = store\n[commit]\n\tgpgsign = true\n";
    for (file, variable) in [
        (".gitconfig", None),
        (".config/git/config", None),
        ("moved/git/config", Some(("XDG_CONFIG_HOME", "moved"))),
        ("else/where", Some(("GIT_CONFIG_GLOBAL", "else/where"))),
    ] {
        let project = project();
        let home = project.home();
        fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
        shell(
            &project,
            "git init -q . && git -c user.name=A -c user.email=a commit -q --allow-empty -m x",
        );
        fs::write(home.join(file), settings).unwrap();
        fs::write(home.join(file).with_file_name("more"), "[user]\n\temail = una@example.org\n")
            .unwrap();
        fs::write(home.join(".git-credentials"), "https://u:sesame@example.org\n").unwrap();
        let input = serde_json::json!({ "command": LOOK }).to_string();
        let read = "cat ~/.git-credentials ~/.gitconfig $XDG_CONFIG_HOME/git/config; cat $GIT_CONFIG_GLOBAL";
        for words in [
            &["sandbox", "run", "--", "sh", "-c", LOOK][..],
            &["--yes", "tools", "exec", "Bash", "--input", &input],
            &["sandbox", "run", "--", "sh", "-c", read],
        ] {
            let command = project.command(words);
            let run = match variable {
                Some((name, value)) => command.env(name, home.join(value)),
                None => command,
            };
            let run = run.run();
            assert!(!run.stdout.contains("sesame"), "{file}: {run}");
            if words.contains(&LOOK) || words.contains(&input.as_str()) {
                let wanted = "Una\nuna@example.org\nA\ndone\n";
                assert_eq!(run.stdout, wanted, "{file}: {run}");
            }
        }
    }
}

#[test]
fn command_writable_git_settings_are_ignored() {
    let project = project();
    project.file("global", "[user]\n\tname = Mallory\n");
    let words = ["sandbox", "run", "--", "sh", "-c", "git config user.name || echo nobody"];
    let run = project.command(&words).env("GIT_CONFIG_GLOBAL", project.path().join("global")).run();
    assert_eq!(run.stdout, "nobody\n", "{run}");
}

#[test]
fn command_output_cannot_control_the_terminal() {
    let project = project();
    let print = |stream: &str| {
        let text = r"\033[31mred\033[0m\033]52;c;ZXZpbA==\007\033[6n\033]0;title\007 done";
        format!("printf '{text}' {stream}")
    };
    for stream in ["", ">&2"] {
        let words = ["sandbox", "run", "--", "sh", "-c", &print(stream)];
        let terminal = project.terminal(&words, SIZE);
        terminal.wait_for(r"red\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[6n\u{1b}]0;title\u{7} done");
        assert_eq!(terminal.wait_for_end(), Some(0));
        // It is not shown on a terminal, so the output is unchanged.
        let run = project.brynhild(&words);
        let read = if stream.is_empty() { &run.stdout } else { &run.stderr };
        assert!(read.contains("\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[6n"), "{run}");
    }
}

#[test]
fn unwritable_home_stops_no_command() {
    let project = project();
    let home = project.home().join("file");
    fs::write(&home, "").unwrap();
    let run = project
        .command(&["sandbox", "run", "--", "sh", "-c", "echo x > made; echo fine"])
        .env("HOME", home.join("home"))
        .run();
    assert_eq!(run.success().stdout, "fine\n", "{run}");
    assert_eq!(project.read("made"), "x\n");
}

#[test]
fn sandbox_placeholders_do_not_mark_a_project() {
    let project = project();
    let (above, inner) = (project.home().join("above"), project.home().join("above/inner"));
    fs::create_dir_all(&inner).unwrap();
    fs::create_dir(above.join("other")).unwrap();
    let waiting = ["sandbox", "run", "--", "sh", "-c", "echo ready; exec tail -f /dev/null"];
    let running = project.command(&waiting).cwd(&above).spawn();
    running.wait_for_stdout("ready");
    let write = ["sandbox", "run", "--", "sh", "-c", "echo x > ../other/f; echo x > own"];
    project.command(&write).cwd(&inner).run();
    running.kill();
    running.wait();
    assert!(inner.join("own").exists() && !above.join("other/f").exists());
}

/// Only in its own namespace can a test replace the working directory of a process.
#[test]
fn swapped_working_directory_is_refused() {
    let project = project();
    project.file("sub/package.json", "{}").file("other/secret", "KEY");
    let binary = env!("CARGO_BIN_EXE_brynhild");
    let script = format!(
        "cd sub; unshare -Urm sh -c 'mount --bind ../other ../sub || exit 77; \
         {binary} sandbox run -- cat secret; echo ended with $?' 2>&1 || echo not possible"
    );
    let output = shell(&project, &script);
    if output.contains("not possible") {
        return;
    }
    assert!(output.contains("was replaced"), "{output}");
    assert!(!output.contains("KEY") && output.contains("ended with 2"), "{output}");
}
