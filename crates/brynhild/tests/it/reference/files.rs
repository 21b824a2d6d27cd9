//! The page of file locations: every name that the code joins to the configuration directory, and
//! the files of a project that need trust.

use std::fmt::Write as _;

use super::check;

/// Files in the configuration directory.
const USER_FILES: [(&str, &str); 29] = [
    ("config.yaml", "your [configuration](config.md)"),
    ("credentials.json", "stored API keys, readable by you only"),
    ("model-aliases.yaml", "names of models"),
    ("hooks.yaml", "your [hooks](../extend/hooks.md)"),
    ("hooks", "scripts of your hooks"),
    ("plugins", "your [plugins](../extend/first-plugin.md)"),
    ("plugins.yaml", "plugins that are turned on and off"),
    ("plugins.lock", "source and hash of installed plugins"),
    ("plugin-data", "data of plugins, by name"),
    ("plugin-packages", "environments of Python packages"),
    ("marketplaces.json", "marketplaces"),
    ("commands", "your [slash commands](../extend/slash-commands.md)"),
    ("skills", "your [skills](../guides/rules-and-skills.md#skills)"),
    ("rules", "your [rules](../guides/rules-and-skills.md#rules)"),
    ("agents", "your [agents](../guides/agents.md) and roles"),
    ("profiles", "your [model profiles](profiles.md)"),
    ("themes", "your [themes](../guides/terminal.md#colors)"),
    ("mcp.json", "[MCP servers](../guides/mcp.md) that `mcp add` wrote"),
    ("mcp-pins", "what you accepted from MCP servers"),
    ("mcp-credentials", "tokens of `mcp login`"),
    ("mcp-data", "data of MCP servers"),
    ("permissions.jsonl", "remembered answers"),
    ("trust.jsonl", "decisions about projects"),
    ("trust", "copies of trusted files, to show changes"),
    ("audit.jsonl", "decisions that gave or refused access"),
    ("sessions", "sessions, and snapshots for undo"),
    ("logs", "conversation logs"),
    ("cache", "can be deleted at any time"),
    ("sandbox", "files that sandboxes use"),
];

#[test]
fn file_page_lists_the_files_of_the_code() {
    let mut sources = String::new();
    for path in crate::structure::sources() {
        sources.push_str(&std::fs::read_to_string(path).unwrap());
    }
    let joined = regex::Regex::new(r#"config_dir(?:\(\))?\s*\.join\("([^"/]+)"\)"#).unwrap();
    for (_, [name]) in joined.captures_iter(&sources).map(|it| it.extract()) {
        assert!(USER_FILES.iter().any(|(known, _)| *known == name), "{name} is not on the page");
    }
    let mut page = String::from(
        "# Files\n\n## Yours\n\nIn `$BRYNHILD_CONFIG_DIR`, else `$XDG_CONFIG_HOME/brynhild`, else \
         `~/.config/brynhild`:\n\n| file or directory | contents |\n|---|---|\n",
    );
    for (name, contents) in USER_FILES {
        assert!(sources.contains(&format!("{name}\"")), "no code uses {name}");
        writeln!(page, "| `{name}` | {contents} |").unwrap();
    }
    page.push_str(
        "\n`~/.agents/skills`, `~/.claude/skills`, `~/.claude/agents` and `~/.initrunner` are read too. \
         `brynhild config path` prints the configuration files in use.\n\n## A project's\n\nFiles that \
         need [trust](../guides/trust.md) do nothing until you give it.\n\n| file | it could |\n|---|---|\n",
    );
    let surfaces = include_str!("../../../../trust/src/surfaces.rs");
    let entry = regex::Regex::new(r#"surface\(\s*"([^"]+)",\s*"([^"]+)","#).unwrap();
    for (_, [pattern, could]) in entry.captures_iter(surfaces).map(|it| it.extract()) {
        writeln!(page, "| `{pattern}` | {could} |").unwrap();
    }
    page.push_str(
        "\n`AGENTS.md`, `CLAUDE.md` and other [rules](../guides/rules-and-skills.md#rules) need no trust: \
         they only tell the model something. `.brynhild-quarantine` has files that commands were not \
         allowed to create.\n",
    );
    check("reference/files.md", &page);
}
