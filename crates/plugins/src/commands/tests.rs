use serde_json::json;

use super::*;
use crate::commands::template::Variable;
use crate::offer::Offer;
use crate::plugin::{Manifest, Place, Plugin, PluginSettings};

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn found_in(text: &str) -> FoundCommands {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "c.md", text);
    let places = Places { global: Some(directory.path().to_path_buf()), ..Places::default() };
    discover(&places, &Contributions::default())
}

fn named(name: &str, source: &str, rank: Rank) -> Command {
    Command {
        name: name.into(),
        description: String::new(),
        aliases: Vec::new(),
        args: String::new(),
        body: String::new(),
        source: source.into(),
        plugin: source.strip_prefix("plugin:").map(str::to_owned),
        path: None,
        rank,
        run: None,
        recipe: None,
    }
}

fn rendered(body: &str, args: &str) -> Rendered {
    let command = Command { body: body.into(), ..named("a", "global", Rank::Full) };
    command.render(&Placeholders {
        args,
        cwd: "/work",
        variable: &|name| match name {
            "USER" => Variable::Value("ada {{args}}".into()),
            "API_KEY" => Variable::Secret,
            _ => Variable::Unset,
        },
    })
}

#[test]
fn a_command_is_its_front_matter_and_its_trimmed_body() {
    let text = "---\r\nname: deploy\r\ndescription: Ships it\r\naliases:\r\n  - d\r\n  - ship\r\nargs: \"[where]\"\r\n---\r\n\r\nDeploy {{args}}\r\n\r\n";
    let found = found_in(text);
    assert_eq!(found.problems, []);
    let command = &found.commands[0];
    assert_eq!((command.name.as_str(), command.body.as_str()), ("deploy", "Deploy {{args}}"));
    assert_eq!(command.aliases, ["d", "ship"]);
    assert_eq!(command.args, "[where]");
    assert_eq!(command.source, "global");
}

#[test]
fn the_rest_of_the_closing_line_belongs_to_the_body() {
    assert_eq!(found_in("---  \nname: a\n---body\n").commands[0].body, "body");
}

#[test]
fn invalid_command_file_is_reported_with_its_line() {
    let table = [
        ("name: a\n", "line 1: the file does not begin with front matter"),
        ("\n---\nname: a\n---\n", "line 1: the file does not begin with front matter"),
        ("---\n---\nb\n", "line 2: the front matter is empty"),
        ("---\nname: a\n", "line 1: the front matter has no end"),
        ("---\nname: 7\n---\n", "line 2: `name` is not text"),
        ("---\ndescription: x\n---\n", "`name` is missing"),
        ("---\nname: a\naliases: b\n---\n", "line 3: `aliases` is not a list of texts"),
        ("---\nname: a\nalias: [b]\n---\n", "`alias` is not a key of a command"),
        ("---\nname: two words\n---\n", "line 2: the name \"two words\" cannot be typed"),
        ("---\nname: a\nargs: [x]\n---\n", "line 3: `args` is not text"),
    ];
    for (text, wanted) in table {
        let found = found_in(text);
        assert!(found.commands.is_empty(), "{text}");
        assert!(found.problems[0].what.contains(wanted), "{text}: {}", found.problems[0]);
    }
    let long = format!("---\nname: {}\n---\n", "x".repeat(65));
    assert!(found_in(&long).commands.is_empty());
    let long = format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(513));
    assert!(found_in(&long).commands.is_empty());
}

#[test]
fn placeholders_are_filled_in_order() {
    assert_eq!(rendered("{{args}} in {{cwd}}", "a {{cwd}}").text, "a /work in /work");
    assert_eq!(rendered("{{args}}", "{{env.USER}}").text, "{{env.USER}}");
    assert_eq!(rendered("by {{env.USER}}", "x").text, "by ada x");
    assert_eq!(rendered("[{{env.NOPE}}]", "").text, "[]");
    assert_eq!(
        rendered("{{ args }} {{foo}} {{env.}} {{env.a b}}", "x").text,
        "{{ args }} {{foo}} {{env.}} {{env.a b}}"
    );
    assert_eq!(rendered("{{env.USER", "x").text, "{{env.USER");
}

#[test]
fn a_secret_stays_out_of_the_text() {
    let rendered = rendered("key={{env.API_KEY}}.", "");
    assert_eq!(rendered.text, "key=.");
    assert_eq!(rendered.withheld, ["API_KEY"]);
}

#[test]
fn commands_come_from_plugins_packages_then_the_project() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for place in ["global", "plugin/commands", "project/.brynhild/commands"] {
        write(root, &format!("{place}/same.md"), "---\nname: same\n---\nx\n");
    }
    let plugin = Plugin {
        manifest: Manifest { name: "p".into(), ..Manifest::default() },
        root: root.join("plugin"),
        place: Place::Global,
        enabled: true,
        trusted: true,
        settings: PluginSettings::default(),
        package: None,
    };
    let offer = Offer {
        plugin: "pkg".into(),
        commands: vec![
            json!({"name": "same", "body": "y", "entry_point": "ep"}),
            json!({"frontmatter": {"name": "other", "aliases": ["o"]}, "body": " z ", "path": "/x"}),
            json!({"name": 3}),
            json!("words"),
        ],
        ..Offer::default()
    };
    let places = Places {
        global: Some(root.join("global")),
        project: Some(root.join("project/.brynhild/commands")),
        project_rank: Rank::Full,
        ..Places::default()
    };
    let contributions =
        Contributions { plugins: vec![&plugin], offers: vec![&offer], ..Contributions::default() };
    let found = discover(&places, &contributions);
    let sources: Vec<&str> = found.commands.iter().map(|it| it.source.as_str()).collect();
    assert_eq!(sources, ["global", "plugin:p", "entry_point:ep", "entry_point:pkg", "project"]);
    assert_eq!(found.problems.len(), 2);
    let table = Table::new(found.commands, &[]);
    assert_eq!(table.find("same").unwrap().source, "project");
    assert_eq!(table.find("P:Same").unwrap().source, "plugin:p");
    assert_eq!(table.find("pkg:same").unwrap().source, "entry_point:ep");
    assert_eq!(table.find("o").unwrap().body, "z");
}

#[test]
fn plugin_commands_cannot_take_built_in_names() {
    let commands = vec![
        named("help", "plugin:p", Rank::Full),
        named("deploy", "global", Rank::Full),
        named("deploy", "project", Rank::Guest),
        Command {
            aliases: vec!["deploy".into(), "quit".into(), "e".into()],
            ..named("else", "plugin:p", Rank::Full)
        },
    ];
    let table = Table::new(commands, &["help", "quit"]);
    assert!(table.find("help").is_none() && table.find("quit").is_none());
    assert_eq!(table.find("p:help").unwrap().source, "plugin:p");
    assert_eq!(table.find("DEPLOY").unwrap().source, "global");
    assert_eq!(table.find("project:deploy").unwrap().source, "project");
    assert_eq!(table.find("e").unwrap().name, "else");
    assert_eq!(table.shortest(&table.commands()[0]), "p:help");
    assert_eq!(table.problems.len(), 2);
    assert!(table.problems[0].what.contains("`/help` means a built-in command"));
}

#[test]
fn project_commands_cannot_be_symlinks_outside() {
    let (project, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(elsewhere.path(), "secret.md", "---\nname: secret\n---\nx\n");
    write(project.path(), ".brynhild/commands/own.md", "---\nname: own\n---\nx\n");
    let commands = project.path().join(".brynhild/commands");
    std::os::unix::fs::symlink(elsewhere.path().join("secret.md"), commands.join("link.md"))
        .unwrap();
    let places = Places { project: Some(commands), ..Places::default() };
    let found = discover(&places, &Contributions::default());
    assert_eq!(found.commands.len(), 1);
    assert!(found.problems[0].what.contains("points outside"));
}
