//! Broken homes: a conversation begins in each of them, says once what is wrong, and overwrites
//! nothing that it cannot read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use testkit::{ModelServer, Project, Reply};

use crate::safe_mode::without_files;

/// The outcome of a conversation with a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Talk {
    /// As in any other.
    Usual,
    /// It is not saved.
    Unsaved,
    /// It only looks.
    ReadOnly,
}

use Talk::{ReadOnly, Unsaved, Usual};

/// A home: what it is like, what breaks it, and the variables that lead to it.
type Home = (&'static str, Talk, fn(&Project) -> Vec<(&'static str, PathBuf)>);

fn write_file(project: &Project, path: &str, bytes: &[u8]) -> Vec<(&'static str, PathBuf)> {
    let path = project.home().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    Vec::new()
}

fn settings(project: &Project, bytes: &[u8]) -> Vec<(&'static str, PathBuf)> {
    write_file(project, ".config/brynhild/config.yaml", bytes)
}

fn make_symlink(project: &Project, path: &str, target: &str) -> PathBuf {
    let path = project.home().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, &path).unwrap();
    path
}

fn home(path: impl Into<PathBuf>) -> Vec<(&'static str, PathBuf)> {
    vec![("HOME", path.into())]
}

const HOMES: [Home; 40] = [
    ("no name of a home", Unsaved, |_| home("")),
    ("a device", Unsaved, |_| home("/dev/null")),
    ("the processes", Unsaved, |_| home("/proc")),
    ("nowhere among the processes", Unsaved, |_| home("/proc/nowhere")),
    ("the system", Unsaved, |_| home("/sys")),
    ("a file", Unsaved, |it| {
        write_file(it, "file", b"x");
        home(it.home().join("file"))
    }),
    ("a link that leads nowhere", ReadOnly, |it| home(make_symlink(it, "home", "gone"))),
    ("a link to itself", ReadOnly, |it| home(make_symlink(it, "home", "home"))),
    ("a name that is too long", ReadOnly, |it| home(it.home().join("x".repeat(300)))),
    ("a file for `.config`", Unsaved, |it| write_file(it, ".config", b"x")),
    ("a file for our directory", Unsaved, |it| write_file(it, ".config/brynhild", b"x")),
    ("a link to nowhere for our directory", ReadOnly, |it| {
        make_symlink(it, ".config/brynhild", "gone");
        Vec::new()
    }),
    ("a file for the sessions", Unsaved, |it| write_file(it, ".config/brynhild/sessions", b"x")),
    ("a link to nowhere for the sessions", Unsaved, |it| {
        make_symlink(it, ".config/brynhild/sessions", "gone");
        Vec::new()
    }),
    ("our directory on a device", Unsaved, |_| vec![("BRYNHILD_CONFIG_DIR", "/dev/null/x".into())]),
    ("all directories among the processes", Unsaved, |_| {
        vec![("XDG_CONFIG_HOME", "/proc/x".into())]
    }),
    ("nothing in it", Usual, |_| Vec::new()),
    ("settings without a byte", Usual, |it| settings(it, b"")),
    ("settings of a remark alone", Usual, |it| settings(it, b"# nothing yet\n")),
    ("settings behind a mark of their order", Usual, |it| {
        settings(it, b"\xef\xbb\xbfversion: 1\n")
    }),
    ("settings that a link does not lead to", ReadOnly, |it| {
        make_symlink(it, ".config/brynhild/config.yaml", "gone");
        Vec::new()
    }),
    ("settings with a key that nobody knows", Usual, |it| settings(it, b"colour: red\n")),
    ("settings of garbage", ReadOnly, |it| settings(it, b"\xff\xfe\0")),
    ("settings of zeros", ReadOnly, |it| settings(it, &[0; 4096])),
    ("half a mapping", ReadOnly, |it| settings(it, b"models: {default: ")),
    ("a list", ReadOnly, |it| settings(it, b"- a\n- b\n")),
    ("a word", ReadOnly, |it| settings(it, b"nonsense")),
    ("a tab", ReadOnly, |it| settings(it, b"models:\n\tdefault: x\n")),
    ("two documents", ReadOnly, |it| settings(it, b"version: 1\n---\nversion: 1\n")),
    ("a key twice", ReadOnly, |it| settings(it, b"version: 1\nversion: 1\n")),
    ("a value of the wrong kind", ReadOnly, |it| settings(it, b"behavior: {max_tokens: many}\n")),
    ("a form of later days", ReadOnly, |it| settings(it, b"version: 99\n")),
    ("a provider without a type", ReadOnly, |it| settings(it, b"providers: {x: {base_url: y}}\n")),
    ("settings that are too large", ReadOnly, |it| settings(it, &[b'#'; (1 << 20) + 1])),
    ("a directory for the settings", ReadOnly, |it| {
        fs::create_dir_all(it.config_directory().join("config.yaml")).unwrap();
        Vec::new()
    }),
    ("a pipe for the settings", ReadOnly, |it| {
        fs::create_dir_all(it.config_directory()).unwrap();
        let (path, mode) = (it.config_directory().join("config.yaml"), Mode::RUSR | Mode::WUSR);
        mknodat(CWD, &path, FileType::Fifo, mode, 0).unwrap();
        Vec::new()
    }),
    ("permissions of garbage", Usual, |it| {
        write_file(it, ".config/brynhild/permissions.jsonl", b"\xff")
    }),
    ("trust of garbage", Usual, |it| write_file(it, ".config/brynhild/trust.jsonl", b"\xff\0")),
    ("a file for the sandbox", Usual, |it| write_file(it, ".config/brynhild/sandbox", b"x")),
    ("a file for what is cached", Usual, |it| write_file(it, ".config/brynhild/cache", b"x")),
];

/// A model that wants to write a file, and then says yes.
fn writer() -> ModelServer {
    ModelServer::respond_with(|request| {
        let messages = request.body["messages"].as_array().unwrap();
        if messages.last().unwrap()["role"] == "tool" {
            Reply::text("Yes.")
        } else {
            Reply::calls([("Write", json!({"file_path": "made", "content": "x"}))])
        }
    })
}

/// The bytes of the settings, where they are a file.
fn settings_of(project: &Project) -> Option<Vec<u8>> {
    let path = project.config_directory().join("config.yaml");
    path.is_file().then(|| fs::read(path).unwrap())
}

#[test]
fn conversation_starts_with_every_broken_home() {
    let server = writer();
    for (name, talk, break_it) in HOMES {
        let project = without_files(&server);
        let variables = break_it(&project);
        let before = settings_of(&project);
        let command = project.command(&["chat", "Go", "--yes"]).stdin("");
        let run = variables.iter().fold(command, |it, (name, path)| it.env(name, path)).run();
        assert_eq!(run.success().stdout, "Yes.\n", "{name}: {run}");
        let told = |words: &str| run.stderr.matches(words).count();
        assert_eq!(
            told("this conversation is read-only"),
            usize::from(talk == ReadOnly),
            "{name}: {run}"
        );
        assert_eq!(told("repair or move the file"), usize::from(talk == ReadOnly), "{name}");
        assert!(told("the session is not saved") <= 1, "{name}: {run}");
        if talk != ReadOnly {
            assert_eq!(
                told("the session is not saved"),
                usize::from(talk == Unsaved),
                "{name}: {run}"
            );
        }
        if talk == ReadOnly {
            assert!(run.stderr.contains("config.yaml"), "{name}: {run}");
        }
        assert!(!run.stderr.contains("panicked"), "{name}: {run}");
        assert_eq!(project.path().join("made").exists(), talk != ReadOnly, "{name}: {run}");
        assert_eq!(settings_of(&project), before, "{name}");
    }
}

#[test]
fn config_commands_report_broken_files() {
    let server = writer();
    let project = without_files(&server);
    settings(&project, b"models: {default: ");
    let place = project.config_directory().join("config.yaml");
    let text = format!("Error in config file {}: invalid YAML: ", place.display());
    for command in ["config", "config show", "session list", "tools list", "models aliases"] {
        let words: Vec<&str> = command.split(' ').collect();
        let run = project.brynhild(&words);
        assert!(run.code(2).stderr.contains(&text), "{command}: {run}");
    }
}

#[test]
fn dangling_symlink_is_reported_with_a_hint() {
    let server = writer();
    let project = without_files(&server);
    let place = make_symlink(&project, ".config/brynhild/config.yaml", "gone/settings.yaml");
    let text = format!(
        "Error in config file {0}: {0} is a link to gone/settings.yaml, and nothing is there; \
         put it there, or remove the link",
        place.display()
    );
    let run = project.brynhild(&["config", "show"]);
    assert!(run.code(2).stderr.contains(&text), "{run}");
    let run = project.command(&["--safe", "chat", "Go"]).stdin("").run();
    assert_eq!(run.success().stdout, "Yes.\n", "{run}");
    assert!(run.stderr.contains(&text), "{run}");
    fs::remove_file(place).unwrap();

    let remembered = make_symlink(&project, ".config/brynhild/permissions.jsonl", "gone");
    let text = format!("{} is a link to gone, and nothing is there", remembered.display());
    let run = project.brynhild(&["permissions", "list"]);
    assert!(run.code(2).stderr.contains(&text), "{run}");
    let run = project.command(&["chat", "Go", "--yes"]).stdin("").run();
    assert_eq!(run.success().stdout, "Yes.\n", "{run}");
    assert!(run.stderr.contains(&text) && run.stderr.contains("nothing that was remembered holds"));
    fs::remove_file(&remembered).unwrap();
    fs::create_dir(&remembered).unwrap();
    let run = project.brynhild(&["permissions", "list"]);
    assert!(run.code(2).stderr.contains("it is not a regular file"), "{run}");
}

#[test]
fn invalid_environment_or_site_file_stops_a_conversation() {
    let server = writer();
    let project = without_files(&server);
    let wrong = project.command(&["chat", "Go"]).env("BRYNHILD_BEHAVIOR__MAX_TOKENS", "many").run();
    assert!(wrong.code(2).stderr.contains("BRYNHILD_BEHAVIOR__MAX_TOKENS"), "{wrong}");
    let site = project.file("site.yaml", "a: [").path().join("site.yaml");
    let wrong = project.command(&["chat", "Go"]).env("BRYNHILD_SITE_CONFIG", &site).run();
    assert!(wrong.code(2).stderr.contains("site.yaml"), "{wrong}");
    settings(&project, b"also: [");
    let wrong = project.command(&["chat", "Go"]).env("BRYNHILD_SITE_CONFIG", &site).run();
    wrong.code(2);
    assert!(server.chats().is_empty());
}

#[test]
fn lines_and_interface_start_with_a_broken_home() {
    let server = writer();
    let broken = without_files(&server);
    settings(&broken, b"models: {default: ");
    let run = broken.command(&["--plain", "--yes"]).stdin("Go\n/mode yolo\nAgain\n").run();
    assert!(run.stdout.contains("Yes.\n"), "{run}");
    assert!(run.stderr.contains("`--safe` is stronger than `/mode`"), "{run}");
    assert!(!broken.path().join("made").exists());
    let terminal = broken.terminal::<&str>(&[], (120, 40));
    terminal.wait_for("this conversation is read-only");
    terminal.wait_for("Ask anything");
    terminal.send("Go\r");
    terminal.wait_for("Yes.");
    assert!(!broken.path().join("made").exists());
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));

    let homeless = without_files(&server).env("HOME", "");
    let run = homeless.command(&["--plain", "--yes"]).stdin("Go\nAgain\n").run();
    assert_eq!(run.success().stdout.matches("Yes.").count(), 2, "{run}");
    assert_eq!(run.stderr.matches("the session is not saved").count(), 1, "{run}");
    let terminal = homeless.terminal::<&str>(&["--yes"], (120, 40));
    terminal.wait_for("Ask anything");
    terminal.send("Go\r");
    terminal.wait_for("the session is not saved");
    terminal.wait_for("Yes.");
    terminal.send("\x11");
    assert_eq!(terminal.wait_for_end(), Some(0));
}
