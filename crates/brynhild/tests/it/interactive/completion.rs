//! Completion and output of slash commands, and input typed before the start.

use super::terminal_restore::in_shell_after;
use super::*;

fn last_prompt(server: &ModelServer) -> String {
    let chats = server.chats();
    let messages = chats.last().unwrap().body["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn command_arguments_are_completed() {
    let server = ModelServer::start([Reply::text("The sea is deep."), Reply::text("Again.")]);
    let project = project_with(&server);
    project.config_more("models:\n  favorites:\n    quick-model: {}\n");
    project.file(
        ".claude/skills/tide/SKILL.md",
        "---\nname: tide\ndescription: Knows the tides\n---\nText.\n",
    );
    project.brynhild(&["chat", "about the sea"]).success();
    let terminal = project.terminal::<&str>(&[], SIZE);
    terminal.wait_until("a prompt or the question about the directory", |screen| {
        let text = screen.contents();
        text.contains("Ask anything") || text.contains("Text only")
    });
    if terminal.screen().contains("Text only") {
        terminal.send("y");
        terminal.wait_for("Ask anything");
    }
    terminal.send("/resume ");
    let screen = terminal.wait_for("session-");
    assert!(screen.contains("about the sea"), "{screen}");
    terminal.send("\x15/skill ");
    terminal.wait_for("Knows the tides");
    terminal.send("\x15/model ");
    terminal.wait_for("quick-model");
    terminal.send("\x15/theme ");
    terminal.wait_for("16-color");
    terminal.send("li\t\r");
    terminal.wait_until("another theme and no text", |screen| {
        !screen.contents().contains("/theme") && screen.contents().contains("Ask anything")
    });
    let panels = [
        ("/resume", "2 messages"),
        ("/model", "in use"),
        ("/permissions", "to revoke"),
        ("/plugins", "to enable or disable"),
    ];
    for (command, shown) in panels {
        terminal.send(&format!("{command}\r"));
        terminal.wait_for(shown);
        terminal.send("\x1b");
        terminal.wait_until("the list closed", |screen| !screen.contents().contains(shown));
    }
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
}

#[test]
fn diff_of_turns_is_colored() {
    let edit = json!({"file_path": "a.txt", "content": "new line\n"});
    let server = ModelServer::start([Reply::calls([("Write", edit)]), Reply::text("Done.")]);
    let project = project_with(&server);
    let terminal = start_asking(&project);
    terminal.send("write it\r");
    terminal.wait_for("Yes, once");
    terminal.send("y");
    terminal.wait_for("Done.");
    wait_for_end_of_turn(&terminal);
    terminal.send("/diff\r");
    terminal.wait_for("  created   a.txt (+1 -0)");
    terminal.wait_until("a line in another color", |screen| {
        let (rows, columns) = screen.size();
        let row = |row: u16| screen.rows(0, columns.get()).nth(usize::from(row));
        let is_line = |at: &u16| row(*at).is_some_and(|text| text.contains("┊ 1 +new line"));
        let Some(at) = (0..rows.get()).find(is_line) else { return false };
        (0..columns.get()).any(|column| {
            let cell = screen.cell(at, column);
            cell.is_some_and(|cell| {
                cell.contents() == "+" && format!("{:?}", cell.fgcolor()) != "Default"
            })
        })
    });
}

#[test]
fn input_typed_before_the_start_is_read() {
    let server = ModelServer::start([Reply::text("heard at once")]);
    let project = project_with(&server);
    // The input is typed before the program starts.
    let terminal = in_shell_after(&project, "printf ready; read -r _;");
    terminal.wait_for("ready");
    terminal.send("go\rearly message\r");
    terminal.wait_for("heard at once");
    assert_eq!(last_prompt(&server), "early message");
}

#[test]
fn copied_text_reaches_tmux() {
    let server = ModelServer::start([Reply::text("words to copy")]);
    let project = project_with(&server);
    project.file(
        "bin/tmux",
        "#!/bin/sh\necho \"$@\" > args\ncat > copied.part\nmv copied.part copied\n",
    );
    let tmux = project.path().join("bin/tmux");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(tmux, mode).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", project.path().join("bin").display());
    let project = project.env("TMUX", "/tmp/tmux-0/default,1,0").env("PATH", path);
    let terminal = start(&project);
    terminal.send("say it\r");
    terminal.wait_for("words to copy");
    wait_for_end_of_turn(&terminal);
    terminal.send("\x14y");
    terminal.wait_for("Copied");
    let deadline = Instant::now() + Duration::from_mins(1);
    while !project.path().join("copied").exists() {
        assert!(Instant::now() < deadline, "tmux is not given it");
        std::thread::yield_now();
    }
    assert_eq!(project.read("copied"), "words to copy");
    assert_eq!(project.read("args"), "load-buffer -w -\n");
    assert!(terminal.output().contains("\x1b]52;c;"), "the terminal is told too");
}
