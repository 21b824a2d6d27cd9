//! The page of file locations: the program's table of names in the configuration directory, and the
//! files of a project that need trust.

use std::fmt::Write as _;

use setup::user_files;

use super::check;

/// Names that are joined to the configuration directory, as the binary or another crate writes them.
#[test]
fn code_uses_the_names_of_the_file_page() {
    let join = r#"(?:config_dir|cache_dir)\b[^;]{0,60}?\.join\("([^"/]+)([^"]*)"\)"#;
    let join = regex::Regex::new(join).unwrap();
    let mut sources = String::new();
    let mut count = 0;
    for path in crate::structure::sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        let is_binary = path.components().any(|part| part.as_os_str() == "brynhild");
        for (_, [name, below]) in join.captures_iter(&text).map(|it| it.extract()) {
            let shown = path.display();
            let is_written = is_binary && below.is_empty();
            assert!(!is_written, "{shown} writes {name:?}; use `setup::user_files`");
            let is_listed = user_files::ALL.iter().any(|(known, _)| *known == name);
            assert!(is_listed, "{shown} uses {name:?}, which `setup::user_files` does not list");
            count += 1;
        }
        if !path.ends_with("user_files.rs") {
            sources.push_str(&text);
        }
    }
    assert!(count > 5, "found only {count} names");
    let table = include_str!("../../../../setup/src/user_files.rs");
    for (name, _) in user_files::ALL {
        let (before, _) = table.split_once(&format!(" = \"{name}\"")).unwrap();
        let constant = before.rsplit(' ').next().unwrap();
        let uses = [format!("user_files::{constant}"), format!("own::{constant}")];
        let is_used = uses.iter().any(|it| sources.contains(it));
        assert!(is_used || sources.contains(&format!("\"{name}\"")), "no code uses {name}");
    }
}

#[test]
fn file_page_lists_the_files_of_the_code() {
    let mut page = String::from(
        "# Files\n\n## Yours\n\nIn `$BRYNHILD_CONFIG_DIR`, else `$XDG_CONFIG_HOME/brynhild`, else \
         `~/.config/brynhild`:\n\n| file or directory | contents |\n|---|---|\n",
    );
    for (name, contents) in user_files::ALL {
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
