//! What is seen on a real terminal: colors and themes, pictures, sub-agents, calls to the user,
//! names that want to be more than names.

use super::*;

/// The header of a picture of 400 by 200 pixels.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAZAAAADICAYAAAA=";
/// A red picture of 20 by 10 pixels.
const RED: &str = "iVBORw0KGgoAAAANSUhEUgAAABQAAAAKCAIAAAA7N+mxAAAAFUlEQVR42mP4z8BA\
    NmIY1TyqmRACADFExzlExWpRAAAAAElFTkSuQmCC";
const SERVER: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/server.py"));

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Says something and waits for a heading in the answer.
fn with_heading(project: &Project) -> Terminal {
    let terminal = start(project);
    terminal.send("talk\r");
    terminal.wait_for("A heading");
    terminal
}

fn heading() -> ModelServer {
    ModelServer::start([Reply::text("# A heading\n")]).repeat_last()
}

#[test]
fn color_depth_follows_the_terminal() {
    let server = heading();
    for (variables, wanted) in [
        (&[("COLORTERM", "truecolor")][..], "\x1b[38;2;127;200;248"),
        (&[("TERM", "xterm-256color"), ("COLORTERM", "")], "\x1b[38;5;"),
    ] {
        let mut project = project_with(&server);
        for (name, value) in variables {
            project = project.env(name, value);
        }
        let output = with_heading(&project).output();
        assert!(output.contains(wanted), "{variables:?}: {output:?}");
    }
}

#[test]
fn light_background_selects_a_light_theme() {
    let server = heading();
    let project = project_with(&server).env("COLORTERM", "truecolor");
    let terminal = start(&project);
    terminal.wait_for_output("\x1b]11;?");
    terminal.send("\x1b]11;rgb:ffff/ffff/f0f0\x07talk\r");
    terminal.wait_for("A heading");
    terminal.wait_for_output("\x1b[38;2;11;83;148");
}

#[test]
fn user_theme_is_used_and_a_broken_one_reported() {
    let server = heading();
    let project = project_with(&server).env("COLORTERM", "truecolor");
    project.config_more("ui:\n  theme: mine\n");
    let themes = project.config_directory().join("themes");
    write(&themes.join("mine.yaml"), "base: dark\nstyles:\n  heading: \"#ff0102\"\n");
    write(&themes.join("broken.yaml"), "styles:\n  headline: red\n");
    let terminal = with_heading(&project);
    terminal.wait_for_output("38;2;255;1;2");
    assert!(!terminal.output().contains("broken.yaml"), "it is told to whoever chooses");
    terminal.send("\x14d");
    terminal.wait_for("Themes");
    terminal.send("\x1b");
    terminal.wait_for("broken.yaml");
}

#[test]
fn user_theme_replaces_a_built_in_one() {
    let server = heading();
    let project = project_with(&server).env("COLORTERM", "truecolor");
    project.config_more("ui:\n  theme: dark\n");
    let themes = project.config_directory().join("themes");
    write(&themes.join("dark.yaml"), "base: dark\nstyles:\n  heading: \"#ff0102\"\n");
    write(&themes.join("light.yaml"), "styles:\n  headline: red\n");
    let root = project.config_directory().join("plugins/painter");
    write(&root.join("plugin.yaml"), "name: painter\nversion: '1.0'\ndescription: Paints\n");
    write(&root.join("themes/none.yaml"), "base: light\nstyles: {}\n");
    let terminal = with_heading(&project);
    terminal.wait_for_output("38;2;255;1;2");
    terminal.send("\x14d");
    let screen = terminal.wait_for("Themes (16)");
    assert_eq!(screen.matches("in use").count(), 1, "{screen}");
    terminal.send("\x1b");
    let screen = terminal.wait_for("there is another theme `none`");
    assert_eq!(screen.matches("light.yaml").count(), 1, "{screen}");
}

#[test]
fn plugin_theme_can_be_chosen_and_saved() {
    let server = heading();
    let project = project_with(&server).env("COLORTERM", "truecolor");
    let root = project.config_directory().join("plugins/painter");
    write(&root.join("plugin.yaml"), "name: painter\nversion: '1.0'\ndescription: Paints\n");
    write(&root.join("themes/painted.yaml"), "base: light\nstyles:\n  heading: \"#030201\"\n");
    let terminal = with_heading(&project);
    terminal.send("\x14dpainted");
    terminal.wait_for("Themes (1)");
    terminal.send("\r");
    terminal.wait_until("the list closed", |screen| !screen.contents().contains("Themes"));
    terminal.wait_for_output("38;2;3;2;1");
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
    with_heading(&project).wait_for_output("38;2;3;2;1");
}

#[test]
fn missing_theme_is_reported() {
    let server = heading();
    let project = project_with(&server);
    project.config_more("ui:\n  theme: nowhere\n");
    let terminal = project.terminal::<&str>(&[], SIZE);
    terminal.wait_for("there is no theme `nowhere`");
}

#[test]
fn broken_theme_is_reported_without_delay() {
    let server = heading();
    let project = project_with(&server);
    project.config_more("ui:\n  theme: pipe\n");
    let themes = project.config_directory().join("themes");
    write(&themes.join("endless.yaml"), "");
    std::fs::remove_file(themes.join("endless.yaml")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", themes.join("endless.yaml")).unwrap();
    let (here, mode) = (rustix::fs::CWD, rustix::fs::Mode::RWXU);
    rustix::fs::mkfifoat(here, themes.join("pipe.yaml"), mode).unwrap();
    let terminal = project.terminal::<&str>(&[], SIZE);
    terminal.wait_for("pipe.yaml: it is no");
    terminal.send("go\r");
    terminal.wait_for("┃ go");
}

#[test]
fn notification_is_sent_for_an_unseen_question() {
    let asks = || {
        let call = Reply::calls([("Bash", json!({"command": "echo x > y"}))]);
        ModelServer::start([call, Reply::text("done")])
    };
    for (keys, config, is_called) in
        [("", "", true), ("\x1b[I", "", false), ("", "ui:\n  notify: false\n", false)]
    {
        let server = asks();
        let project = project_with(&server);
        project.config_more(config);
        let terminal = start_asking(&project);
        terminal.send(keys);
        terminal.send("go\r");
        terminal.wait_for("Yes, once");
        let told = ["\x07\x1b]9;Run this command?", "\x1b]777;notify;Brynhild;Run this"];
        for word in told {
            if is_called {
                terminal.wait_for_output(word);
            }
            assert_eq!(terminal.output().contains(word), is_called, "{keys:?} {config:?}");
        }
    }
}

#[test]
fn subagent_is_nested_in_its_call() {
    let task = json!({"description": "look", "prompt": "look around", "subagent_type": "scout"});
    let server = ModelServer::start([
        Reply::calls([("Task", task)]),
        Reply::calls([("Glob", json!({"pattern": "*"}))]),
        Reply::text("The scout has seen it."),
        Reply::text("All is well."),
    ]);
    let project = project_with(&server);
    let agent = project.config_directory().join("agents/scout.md");
    write(&agent, "---\nname: scout\ndescription: Looks.\n---\nYou are a scout.\n");
    let terminal = project.terminal(&["--mode", "yolo"], SIZE);
    terminal.wait_for("Ask anything");
    terminal.send("explore\r");
    let screen = terminal.wait_for("All is well.");
    assert!(screen.contains("┆ scout:"), "{screen}");
    assert!(!screen.contains("✓ Glob"), "it is closed:\n{screen}");
    terminal.send("\x14o");
    let screen = terminal.wait_for("✓ Glob");
    assert!(screen.contains("┆ "), "{screen}");
}

/// A conversation on a terminal, with a server whose tool returns a picture.
fn with_picture(project: &Project, picture: &str) -> Terminal {
    project.file("server.py", SERVER.replace("AAAAAAAA", picture));
    project.brynhild(&["mcp", "add", "test", "--", "python3", "server.py"]).success();
    project.brynhild(&["mcp", "test", "test"]).success();
    let terminal = project.terminal(&["--mode", "yolo"], (100, 40));
    terminal.wait_for("Ask anything");
    terminal
}

fn picture_server() -> ModelServer {
    ModelServer::start([
        Reply::calls([("mcp__test__picture", json!({}))]),
        Reply::text("There it is."),
    ])
}

#[test]
fn sixel_terminal_gets_scaled_pictures() {
    const PIXELS: &str = "\x1bP0;1;0q\"1;1;20;10#0;2;100;0;0#0!20~-#0!20N-\x1b\\";
    let server = picture_server();
    let project = project_with(&server);
    let terminal = with_picture(&project, RED);
    terminal.wait_for_output("\x1b[c");
    terminal.send("\x1b[?62;4;6cshow me\r");
    terminal.wait_for("There it is.");
    terminal.wait_for_output(PIXELS);
    let before = terminal.output().matches(PIXELS).count();
    terminal.resize((90, 12));
    let deadline = Instant::now() + Duration::from_mins(1);
    while terminal.output().matches(PIXELS).count() <= before {
        assert!(Instant::now() < deadline, "the picture is not drawn anew");
        std::thread::yield_now();
    }
}

#[test]
fn hyperlinks_are_sent_to_capable_terminals() {
    let text = "See [the *docs*](https://example.org/a?b=c), <javascript:alert(1)>, \
                [x](file:///etc/\u{7}evil) and http://example.com.";
    let server = ModelServer::start([Reply::text(text)]).repeat_last();
    let variants = [
        ("xterm-256color", "", true),
        ("linux", "", false),
        ("xterm-256color", "ui:\n  links: false\n", false),
    ];
    for (term, config, is_told) in variants {
        let project = project_with(&server).env("TERM", term);
        project.config_more(config);
        let terminal = start(&project);
        terminal.send("talk\r");
        terminal.wait_for("See the docs (https://example.org/a?b=c)");
        let output = terminal.output();
        assert_eq!(output.contains(";https://example.org/a?b=c\x1b\\"), is_told, "{output:?}");
        assert_eq!(output.contains(";http://example.com\x1b\\"), is_told, "{output:?}");
        assert_eq!(output.contains("\x1b]8;"), is_told, "{output:?}");
        assert!(!output.contains(";javascript") && !output.contains("\x07evil"), "{output:?}");
        if is_told {
            assert_eq!(output.rfind("\x1b]8;"), output.rfind("\x1b]8;;"), "none is left open");
            wait_for_end_of_turn(&terminal);
            // The text is copied.
            terminal.send("\x1b[19~y");
            terminal.wait_for("Copied");
            assert!(
                terminal.output().contains("\x1b]52;c;U2VlIFt0aGUg"),
                "{:?}",
                terminal.output()
            );
        }
    }
}

#[test]
fn pictures_are_shown_and_jobs_counted() {
    let variants = [
        (("KITTY_WINDOW_ID", "1"), "\x1b_Ga=T,U=1,q=2,f=100,"),
        (("TERM_PROGRAM", "WezTerm"), "\x1b]1337;File=inline=1;width=40;height=10;"),
        (("TERM_PROGRAM", "other"), "This terminal cannot show images"),
    ];
    for ((name, value), wanted) in variants {
        let server = picture_server();
        let project = project_with(&server).env(name, value);
        let terminal = with_picture(&project, PNG);
        terminal.send("show me\r");
        terminal.wait_for("There it is.");
        terminal.wait_for("1 server");
        terminal.wait_for_output(wanted);
    }
}

#[test]
fn file_names_are_escaped() {
    let server = ModelServer::start([Reply::text("fine")]);
    let project = project_with(&server);
    project.file("evil\x1b]0;owned\x07\x1b[2J.txt", "x");
    let terminal = start(&project);
    terminal.send("see @ev");
    terminal.wait_for("evil\\u{1b}]0;owned");
    terminal.send("\t");
    terminal.wait_for("> see @evil\\u{1b}");
    let output = terminal.output();
    assert!(!output.contains("\x1b]0;") && !output.contains("owned\x07"), "{output:?}");
}

#[test]
fn copies_and_notifications_are_escaped() {
    let evil = "end\x07\x1b]0;owned\x07";
    let server = ModelServer::start([Reply::text(format!("A reply {evil}"))]);
    let project = project_with(&server);
    let terminal = start(&project);
    terminal.send("talk\r");
    terminal.wait_for("A reply end");
    wait_for_end_of_turn(&terminal);
    terminal.send("\x1b[19~v\x1b[C\x1b[C\x1b[C\x1b[C\x1b[C\x1b[Cy");
    terminal.wait_for("Copied");
    terminal.wait_for_output("\x1b]52;c;QSByZXBseQ==\x07");
    let output = terminal.output();
    assert!(!output.contains("\x1b]0;"), "{output:?}");
}

#[test]
fn server_question_opens_a_dialog() {
    let server = ModelServer::start([
        Reply::calls([("mcp__test__ask", json!({}))]),
        Reply::text("It knows."),
    ]);
    let project = project_with(&server);
    let limited = r#"{"type": "string", "title": "Your name", "minLength": 2}"#;
    let plain = r#"{"name": {"type": "string"}}"#;
    assert!(SERVER.contains(plain));
    project.file("server.py", SERVER.replace(plain, &format!(r#"{{"name": {limited}}}"#)));
    project.brynhild(&["mcp", "add", "test", "--", "python3", "server.py"]).success();
    project.brynhild(&["mcp", "test", "test"]).success();
    let terminal = project.terminal(&["--mode", "yolo"], SIZE);
    terminal.wait_for("Ask anything");
    terminal.send("go\r");
    let screen = terminal.wait_for("[y] Answer it");
    assert!(screen.contains("MCP server `test` asks"), "{screen}");
    assert!(screen.contains("Who are you?"), "{screen}");
    terminal.send("y");
    let screen = terminal.wait_for("Enter to answer");
    let wanted = "Your name (1 of 1, may be left empty): at least 2 characters";
    assert!(screen.contains(wanted) && screen.contains("waiting for your answer"), "{screen}");
    terminal.send("x\r");
    terminal.wait_for("`x` does not fit");
    terminal.wait_for("Enter to answer");
    terminal.send("somebody\r");
    terminal.wait_for("It knows.");
    let result = server.chats()[1].body["messages"].as_array().unwrap().last().unwrap().clone();
    let said = result["content"].as_str().unwrap();
    assert!(said.contains("accept") && said.contains("somebody"), "{said}");
}

#[test]
fn plugin_list_toggles_a_plugin() {
    let server = heading();
    let project = project_with(&server);
    let root = project.config_directory().join("plugins/painter");
    write(&root.join("plugin.yaml"), "name: painter\nversion: '1.0'\ndescription: Paints\n");
    let terminal = start(&project);
    terminal.send("\x14g");
    for (key, state) in [("", " enabled"), ("\r", " disabled"), ("\r", " enabled")] {
        terminal.send(key);
        terminal.wait_until(state, |screen| {
            screen.rows(0, SIZE.0).any(|row| row.contains("painter") && row.contains(state))
        });
    }
}
