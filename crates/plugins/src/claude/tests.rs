//! Loading of whole directories.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

struct Directory(tempfile::TempDir);

impl Directory {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = directory.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    fn root(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("demo")
    }

    fn load(&self) -> Loaded {
        let declared = read(&self.root()).unwrap();
        let mut plugin = unread(self.root(), Place::Global);
        plugin.manifest = declared.manifest.clone();
        load(plugin, declared, Path::new("/data"), Path::new("/work"))
    }
}

#[test]
fn all_parts_of_a_directory_without_a_manifest_are_loaded() {
    let directory = Directory::new(&[
        ("commands/hello.md", "Say hello to $ARGUMENTS"),
        ("commands/git/log.md", "---\ndescription: Log\n---\nlog"),
        ("agents/reviewer.md", "---\ndescription: Reviews\n---\nReview."),
        ("skills/pages/SKILL.md", "---\nname: pages\ndescription: Makes pages\n---\nBody"),
        (
            "hooks/hooks.json",
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}], "FileChanged": []}}"#,
        ),
        (".mcp.json", r#"{"files": {"command": "run"}}"#),
        ("output-styles/a.md", ""),
    ]);
    let loaded = directory.load();
    let names: Vec<&str> = loaded.commands.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["git:log", "hello", "pages"]);
    assert_eq!((loaded.agents.len(), loaded.skills.len()), (1, 1));
    assert_eq!((loaded.handler_count(), loaded.servers.len()), (1, 1));
    assert_eq!(loaded.server_files["files"], ".mcp.json");
    assert_eq!(loaded.name(), Some("demo"));
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let report: Vec<&str> = loaded.report.iter().map(ReportLine::as_str).collect();
    let report = report.join("\n");
    for words in [
        "form: directory without a manifest",
        "loaded command /demo:hello (commands/hello.md)",
        "loaded agent demo:reviewer",
        "loaded skill pages",
        "loaded hook of Stop: x",
        "ignored hooks of FileChanged: it has no counterpart here",
        "ignored output-styles",
    ] {
        assert!(report.contains(words), "{words} is not in\n{report}");
    }
}

#[test]
fn skill_declared_and_found_is_loaded_once() {
    let skill = "---\nname: a\ndescription: d\n---\nDo.\n";
    let manifest = r#"{"name": "twice", "skills": ["./skills/a/"]}"#;
    let directory =
        Directory::new(&[(".claude-plugin/plugin.json", manifest), ("skills/a/SKILL.md", skill)]);
    let loaded = directory.load();
    let told =
        loaded.report.iter().filter(|line| line.as_str().starts_with("loaded skill")).count();
    assert_eq!((told, loaded.skills.len()), (1, 1), "{:?}", loaded.report);
}

#[test]
fn broken_part_is_one_message() {
    let directory = Directory::new(&[
        (".claude-plugin/plugin.json", r#"{"name": "broken"}"#),
        ("commands/good.md", "fine"),
        ("commands/bad.md", "---\na: [\n---\nx"),
        ("skills/none/SKILL.md", "---\nname: none\n---\nx"),
        ("hooks/hooks.json", "{"),
        (".mcp.json", "[]"),
    ]);
    let loaded = directory.load();
    assert_eq!(loaded.commands.len(), 1);
    assert_eq!(loaded.problems.len(), 4, "{:?}", loaded.problems);
    assert!(loaded.problems.iter().all(|problem| !problem.hint.is_empty()));
}

#[test]
fn symlinks_out_of_the_plugin_are_not_followed() {
    let directory = Directory::new(&[("commands/good.md", "fine")]);
    fs::write(directory.0.path().join("secret.md"), "secret").unwrap();
    std::os::unix::fs::symlink("../../secret.md", directory.root().join("commands/far.md"))
        .unwrap();
    let loaded = directory.load();
    assert_eq!((loaded.commands.len(), loaded.problems.len()), (1, 1));
}

#[test]
fn agent_plugin_has_only_skills_and_servers() {
    let schema = "https://agent-plugins.org/schemas/1.0.0/";
    let manifest = format!(r#"{{"$schema": "{schema}plugin.schema.json", "name": "portable"}}"#);
    let servers = format!(
        r#"{{"$schema": "{schema}mcp.schema.json", "mcpServers": {{"s": {{"type": "stdio", "command": "x"}}}}}}"#
    );
    let directory = Directory::new(&[
        ("plugin.json", &manifest),
        ("mcp.json", &servers),
        ("skills/one/SKILL.md", "---\nname: one\ndescription: One\n---\nx"),
        ("commands/not.md", "x"),
    ]);
    let loaded = directory.load();
    assert_eq!((loaded.skills.len(), loaded.servers.len()), (1, 1));
    assert_eq!(loaded.commands.len(), 1, "the skill can be typed, the command is not one");
    assert!(loaded.report.iter().any(|line| line.as_str().starts_with("ignored commands")));
    fs::write(directory.root().join("plugin.json"), r#"{"name": "portable"}"#).unwrap();
    assert!(read(&directory.root()).is_err());
}

#[test]
fn plugin_formats_are_recognized_by_file_names() {
    let bare = Directory::new(&[("commands/hello.md", "Say hello")]);
    let found = |directory: &Directory, place| {
        find(&directory.root(), place, &Directories::default()).0.len()
    };
    assert_eq!(
        (found(&bare, Place::Flag), claims(&bare.root(), &Directories::default())),
        (1, true)
    );
    let own = Directory::new(&[("commands/hello.md", "---\nname: hello\n---\nHi")]);
    assert_eq!(
        (found(&own, Place::Flag), claims(&own.root(), &Directories::default())),
        (0, false)
    );
    let other = Directory::new(&[("plugin.yaml", "name: x"), ("commands/a.md", "x")]);
    assert_eq!(
        (found(&other, Place::Flag), claims(&other.root(), &Directories::default())),
        (0, false)
    );
    let parent = bare.root().parent().unwrap().to_owned();
    assert_eq!(find(&parent, Place::Global, &Directories::default()).0.len(), 1);
    assert!(claims(&parent, &Directories::default()));
}

#[test]
fn reference_lists_the_support_of_every_part() {
    use std::fmt::Write as _;
    let mut text = String::from("| hook event | support | reason |\n|---|---|---|\n");
    for (name, ..) in event::TABLE {
        writeln!(text, "| `{name}` | yes | |").unwrap();
    }
    for (name, why) in event::MISSING {
        writeln!(text, "| `{name}` | no | {why} |").unwrap();
    }
    text += "\n| part | support | reason |\n|---|---|---|\n";
    for part in manifest::PARTS {
        writeln!(text, "| `{part}` | yes | |").unwrap();
    }
    for (key, path, why) in manifest::UNUSED {
        let part = if key.is_empty() { path } else { key };
        writeln!(text, "| `{part}` | no | {why} |").unwrap();
    }
    text += "\n| key of an agent | support | reason |\n|---|---|---|\n";
    for key in agent_file::REFUSED {
        writeln!(text, "| `{key}` | no | not used in the agents of a plugin |").unwrap();
    }
    for key in agent_file::IGNORED {
        writeln!(text, "| `{key}` | no | it has no effect |").unwrap();
    }
    crate::tests::fixture::check_reference("plugin-systems.md", "claude", &text);
}
