//! Commands after a slash, in a run that answers one prompt.

use testkit::{ModelServer, Reply};

use super::{global, plugin, write};
use crate::{project, project_with};

fn prompt(server: &ModelServer, index: usize) -> String {
    let body = &server.chats()[index].body;
    let messages = body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn template_is_sent_with_filled_placeholders() {
    let server = ModelServer::start([Reply::text("ok")]).repeat_last();
    let project = project_with(&server);
    plugin(&global(&project), "one");
    for (index, name) in ["one-command", "ONE-ALIAS", "one:one-command"].iter().enumerate() {
        project.brynhild(&["chat", &format!("/{name} a b")]).success();
        assert_eq!(prompt(&server, index), "one command: a b");
    }
    let piped = project.command(&["chat", "/one-command", "it"]).stdin("the text").run();
    piped.success();
    let wanted = "one command: it\n\n<stdin>\nthe text\n</stdin>";
    assert_eq!(prompt(&server, 3), wanted);
    project.command(&["chat"]).stdin("/one-command from a pipe\n").run().success();
    assert_eq!(prompt(&server, 4), "one command: from a pipe");
    project.brynhild(&["chat", "/one-command x", "--output-format", "stream-json"]).success();
    assert_eq!(prompt(&server, 5), "one command: x");
}

#[test]
fn render_shows_the_prompt() {
    let project = project().env("WHO", "ada").env("MY_TOKEN", "hush");
    let command =
        "---\nname: c\n---\n{{args}} {{cwd}} {{env.WHO}} {{env.NOPE}}{{env.MY_TOKEN}} {{ args }}\n";
    write(&project.config_directory().join("commands/c.md"), command);
    let run = project.brynhild(&["command", "render", "c", "a", "-b", "{{cwd}}"]);
    let cwd = project.path().canonicalize().unwrap().display().to_string();
    assert_eq!(run.success().stdout, format!("a -b {cwd} {cwd} ada  {{{{ args }}}}\n"));
    assert!(run.stderr.contains("MY_TOKEN"), "{run}");
    assert!(!run.stdout.contains("hush"));
    let json = project.brynhild(&["command", "render", "/c", "--json"]).json();
    assert_eq!(json["name"], "c");
    let none = project.brynhild(&["command", "render", "none"]);
    assert!(none.code(1).stderr.contains("Command not found: none"));
}

#[test]
fn built_in_commands_work_without_a_model() {
    let project = project();
    plugin(&global(&project), "one");
    for (line, wanted) in [
        ("/help", "/one-command [x]"),
        ("/tools", "Grep"),
        ("/plugins", "All of one"),
        ("/permissions", "The mode is normal."),
        ("/cost", "0 tokens in"),
        ("/mode", "The mode is normal."),
        ("/skill", "one-skill"),
    ] {
        let run = project.brynhild(&["chat", line]);
        assert!(run.success().stdout.contains(wanted), "{run}");
    }
    for line in
        ["/clear", "/compact all", "/model x", "/mode yolo", "/resume x", "/export", "/quit"]
    {
        let run = project.brynhild(&["chat", line]);
        assert!(run.code(2).stderr.contains("needs a conversation"), "{run}");
    }
    let json = project.brynhild(&["chat", "/help", "--json"]).json();
    assert!(json["text"].as_str().unwrap().contains("/quit"));
}

#[test]
fn unknown_slash_command_is_refused_and_a_path_is_sent() {
    let server = ModelServer::start([Reply::text("ok")]).repeat_last();
    let project = project_with(&server);
    for (index, line) in ["/usr/bin is full", "/tmp is full"].into_iter().enumerate() {
        project.brynhild(&["chat", line]).success();
        assert_eq!(prompt(&server, index), line);
    }
    let run = project.brynhild(&["chat", "/frobnicate it"]);
    assert!(run.code(2).stderr.contains("Unknown command /frobnicate"), "{run}");
    let run = project.brynhild(&["chat", "/skill nothing here"]);
    assert!(run.code(2).stderr.contains("Unknown skill nothing"), "{run}");
    assert_eq!(server.chats().len(), 2);
}

#[test]
fn a_skill_is_activated_by_name() {
    let server = ModelServer::start([Reply::text("ok")]).repeat_last();
    let project = project_with(&server);
    plugin(&global(&project), "one");
    project.brynhild(&["chat", "/SKILL One-Skill do it"]).success();
    let text = prompt(&server, 0);
    for part in [
        "[System: The following skill has been activated]",
        "<skill name=\"one-skill\">\nBody of one\n</skill>",
        "do it",
    ] {
        assert!(text.contains(part), "{text}");
    }
    project.brynhild(&["chat", "/skill one-skill"]).success();
    assert!(prompt(&server, 1).contains("wait for the task"));
}

#[test]
fn built_in_names_win_and_conflicts_are_reported() {
    let project = project();
    for name in ["one", "two"] {
        plugin(&global(&project), name);
        write(&global(&project).join(name).join("commands/h.md"), "---\nname: help\n---\nMINE\n");
        write(&global(&project).join(name).join("commands/s.md"), "---\nname: same\n---\nx\n");
    }
    let run = project.brynhild(&["command", "list", "--json"]);
    assert!(
        run.stderr.contains("`/help` means a built-in command; this command is `/one:help`"),
        "{run}"
    );
    assert!(run.stderr.contains("`/same` means plugin:two; this command is `/one:same`"), "{run}");
    let rows = run.json()["commands"].clone();
    let typed: Vec<&str> =
        rows.as_array().unwrap().iter().filter_map(|row| row["typed"].as_str()).collect();
    for name in ["/one:help", "/two:help", "/one:same", "/same", "/one-command"] {
        assert!(typed.contains(&name), "{typed:?}");
    }
    assert_eq!(project.brynhild(&["command", "render", "two:help"]).stdout, "MINE\n");
}

#[test]
fn untrusted_project_cannot_override_commands() {
    let project = project();
    write(&project.config_directory().join("commands/d.md"), "---\nname: deploy\n---\nMINE\n");
    project.file(".brynhild/commands/d.md", "---\nname: deploy\n---\nTHEIRS\n");
    project.file(".brynhild/commands/e.md", "---\nname: extra\n---\nEXTRA\n");
    let render = |name: &str| project.brynhild(&["command", "render", name]).stdout;
    assert_eq!(render("deploy"), "MINE\n");
    assert_eq!(render("project:deploy"), "THEIRS\n");
    assert_eq!(render("extra"), "EXTRA\n");
    project.brynhild(&["trust", "--yes"]).success();
    assert_eq!(render("deploy"), "THEIRS\n");
    project.brynhild(&["command", "render", "deploy", "--safe"]).code(1);
}

#[test]
fn unreadable_command_is_reported_with_its_line() {
    let project = project();
    write(&project.config_directory().join("commands/bad.md"), "---\nname: 3\n---\nx\n");
    let run = project.brynhild(&["command", "list"]);
    assert!(run.success().stderr.contains("bad.md: line 2: `name` is not text"), "{run}");
}

#[test]
fn shell_command_asks_no_model() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    let own = project.config_directory().join("commands");
    write(&own.join("mark.sh"), "echo \"marked $BRYNHILD_ARGS\" | tee made.txt\n");
    write(&own.join("mark.md"), "---\nname: mark\nrun: sh ./mark.sh; exit 3\n---\nFor readers.\n");
    let run = project.brynhild(&["chat", "/mark $(id) ; it"]);
    assert_eq!(run.success().stdout, "marked $(id) ; it\n[exit code 3]\n");
    assert_eq!(project.read("made.txt"), "marked $(id) ; it\n");
    let json = project.brynhild(&["chat", "/mark x", "--json"]);
    assert_eq!(json.json()["text"], "marked x\n[exit code 3]");
    std::fs::remove_file(project.path().join("made.txt")).unwrap();
    let run = project.brynhild(&["--mode", "read-only", "chat", "/mark y"]);
    assert!(run.success().stdout.contains("marked y"), "{run}");
    assert!(!project.path().join("made.txt").exists());
    assert!(server.chats().is_empty());
}

#[test]
fn project_shell_command_needs_trust() {
    let project = project();
    project.file(".brynhild/commands/go.md", "---\nname: go\nrun: echo went\n---\n");
    let run = project.brynhild(&["chat", "/go"]);
    assert!(run.code(2).stderr.contains("untrusted project"), "{run}");
    assert_eq!(run.stdout, "");
    project.brynhild(&["trust", "--yes"]).success();
    assert_eq!(project.brynhild(&["chat", "/go"]).success().stdout, "went\n");
}

#[test]
fn untrusted_command_gets_no_user_environment() {
    let project = project()
        .env("PGPASSWORD", "hush1")
        .env("DATABASE_URL", "postgres://u:hush2@h/db")
        .env("PLAIN", "plain");
    let text = "{{env.PGPASSWORD}} {{env.DATABASE_URL}} {{env.PLAIN}} {{env.HOME}}\n";
    let command = format!("---\nname: NAME\n---\n{text}");
    project.file(".brynhild/commands/theirs.md", command.replace("NAME", "theirs"));
    write(&project.config_directory().join("commands/mine.md"), &command.replace("NAME", "mine"));
    let home = project.home().display().to_string();
    let theirs = project.brynhild(&["command", "render", "theirs"]);
    assert_eq!(theirs.success().stdout.trim(), home);
    let mine = project.brynhild(&["command", "render", "mine"]);
    assert_eq!(mine.success().stdout.trim(), format!("plain {home}"));
}
