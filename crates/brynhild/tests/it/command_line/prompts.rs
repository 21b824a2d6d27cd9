//! Prompts without a command, the options of the program itself, and its help.

use testkit::{ModelServer, Project, Reply};

use super::run;
use crate::{project, project_with};

const SIZE: (u16, u16) = (100, 30);

fn answering() -> (ModelServer, Project) {
    let server = ModelServer::start([Reply::text("Yes.")]).repeat_last();
    let project = project_with(&server);
    (server, project)
}

fn prompts(server: &ModelServer) -> Vec<String> {
    let last = |body: &serde_json::Value| {
        body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    server.chats().iter().map(|request| last(&request.body)).collect()
}

#[test]
fn prompt_without_a_terminal_is_answered_once() {
    let (server, project) = answering();
    let diff = "-old\n+new\n";
    for (args, stdin, wanted) in [
        (&["explain this"][..], "", "explain this"),
        (&["explain", "this", "test"], "", "explain this test"),
        (&["-p", "hi"], "", "hi"),
        (&["-p"], diff, "-old\n+new"),
        (&[], diff, "-old\n+new"),
        (&["review"], diff, "review\n\n<stdin>\n-old\n+new\n</stdin>"),
        (&["-p", "review", "--no-tools"], diff, "review\n\n<stdin>\n-old\n+new\n</stdin>"),
    ] {
        let run = project.command(args).stdin(stdin).run();
        assert_eq!(run.success().stdout, "Yes.\n", "{args:?}");
        assert_eq!(prompts(&server).last().unwrap(), wanted);
    }
    let answer = project.brynhild(&["hi", "--json"]).success().json();
    assert_eq!(answer["response"], "Yes.");
}

#[test]
fn prompt_on_a_terminal_opens_the_interface() {
    let (server, project) = answering();
    let terminal = project.terminal(&["explain this"], SIZE);
    let screen = terminal.wait_for("Yes.");
    assert!(screen.contains("┃ explain this"), "{screen}");
    assert_eq!(prompts(&server), ["explain this"]);
    terminal.send("\x14q");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let once = project.terminal(&["-p", "and this"], SIZE);
    assert_eq!(once.wait_for_end(), Some(0));
    assert!(once.history().contains("Yes."), "{}", once.history());
}

#[test]
fn resume_without_a_value_lists_sessions() {
    let (server, project) = answering();
    let none = project.brynhild(&["-p", "hi", "--resume"]);
    assert!(none.code(2).stderr.contains("this directory has none"), "{none}");
    project.brynhild(&["--session", "tower", "-p", "build a tower"]).success();
    let run = project.brynhild(&["-p", "hi", "--resume"]);
    let wanted = "error: `--resume` needs the ID of a session:\n  tower  build a tower\n\
                  hint: `--resume ID` continues one of them, `-c` the newest\n";
    assert!(run.code(2).stderr.ends_with(wanted), "{run}");
    assert_eq!(server.chats().len(), 1);
    let terminal = project.terminal(&["--resume"], SIZE);
    terminal.wait_for("tower");
    terminal.send("\r");
    terminal.wait_for("┃ build a tower");
}

#[test]
fn cwd_option_changes_the_directory() {
    let (server, project) = answering();
    project.file("sub/package.json", "{}").file("sub/notes.txt", "inner\n");
    let place = project.home();
    let sub = project.path().join("sub");
    let words = ["--cwd", sub.to_str().unwrap(), "tools", "exec", "Read", "--input"];
    let words: Vec<&str> = words.into_iter().chain(["{\"file_path\": \"notes.txt\"}"]).collect();
    let run = project.command(&words).env("PWD", &place).cwd(&place).run();
    assert!(run.success().stdout.contains("inner"), "{run}");
    let run = project.brynhild(&["--cwd", "nowhere", "-p", "hi"]);
    assert!(run.code(2).stderr.starts_with("error: cannot work in nowhere: No such file"), "{run}");
    assert!(server.chats().is_empty());
}

#[test]
fn wide_directory_asks_on_a_terminal() {
    let (server, project) = answering();
    let start = format!("cd; exec {} \"$@\"", env!("CARGO_BIN_EXE_brynhild"));
    let shell = Project::with_binary("/bin/sh").env("HOME", project.home());
    let terminal = shell.terminal(&["-c", &start, "sh", "-p", "hi"], SIZE);
    terminal.wait_for("is not a project directory");
    terminal.send("n\r");
    assert_eq!(terminal.wait_for_end(), Some(2));
    assert!(server.chats().is_empty());
    let terminal = shell.terminal(&["-c", &start, "sh", "-p", "hi"], SIZE);
    // The line is wrapped anywhere.
    let question: String = terminal.wait_for("[y/N]").split_whitespace().collect();
    assert!(question.contains("butnotruncommands"), "{question}");
    terminal.send("y\r");
    assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
    assert_eq!(server.chats().len(), 1);
}

#[test]
fn help_of_a_command_has_no_shared_options() {
    let project = project();
    let all = run(&project, "--help");
    for part in ["Usage: brynhild [OPTIONS] [PROMPT]", "Session:", "Permissions:", "--max-cost"] {
        assert!(all.success().stdout.contains(part), "{part}: {all}");
    }
    for line in ["config path --help", "help config path"] {
        let own = run(&project, line);
        assert!(own.success().stdout.contains("--all"), "{own}");
        assert!(!own.stdout.contains("--model"), "{own}");
    }
}

#[test]
fn chat_option_before_another_command_is_misuse() {
    let run = run(&project(), "--no-tools config path");
    assert!(run.code(2).stderr.starts_with("error: an option of `chat` comes before"), "{run}");
}

#[test]
fn demo_on_a_terminal_shows_the_interface() {
    let project = project();
    let terminal = project.terminal(&["demo"], SIZE);
    let screen = terminal.wait_for("The tests pass.");
    assert!(screen.contains("✓ Bash") || screen.contains("✓ Edit"), "{screen}");
    terminal.send("\x14q");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(terminal.screen().contains("brynhild login"), "{}", terminal.screen());
    let sessions = project.brynhild(&["session", "list", "--json"]);
    assert_eq!(sessions.json(), serde_json::json!([]));
}
