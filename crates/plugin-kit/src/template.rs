//! The beginnings of plugins, one for each kind. Overwrites nothing.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use formats::shell;

const NAME_PLACEHOLDER: &str = "__NAME__";
/// The placeholder of the name as a Python identifier.
const IDENTIFIER_PLACEHOLDER: &str = "__IDENT__";

/// The beginning of a plugin of some kind.
pub struct Template {
    pub kind: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// A command that uses the plugin, with `DIR` for its directory.
    usage: &'static str,
}

/// The reason why a plugin was not written.
#[derive(Debug, thiserror::Error)]
pub enum NewError {
    #[error("{0:?} cannot be the name of a plugin")]
    Name(String),
    #[error("{} already exists and was not changed", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}: {error}", .path.display())]
    Write { path: PathBuf, error: io::Error },
}

impl NewError {
    /// Says what to do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Name(_) => Some(
                "use 2 to 64 lower-case letters, digits and hyphens, begin with a letter, with no \
                 hyphen at the end and no two in a row",
            ),
            Self::Exists(_) => Some("choose another name, or another directory with `--output`"),
            Self::Write { .. } => None,
        }
    }
}

macro_rules! files {
    ($($path:literal = $source:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../templates/", $source)))),*]
    };
}

/// All kinds, in the order in which the help lists them.
pub const TEMPLATES: &[Template] = &[
    Template {
        kind: "tool",
        files: files![
            "plugin.yaml" = "tool/plugin.yaml",
            "tools/__IDENT__.py" = "tool/tool.py",
            "tests/__NAME__.yaml" = "tool/test.yaml",
        ],
        usage: "brynhild --plugin-dir DIR tools exec __IDENT__ --input '{\"name\": \"Ann\"}'",
    },
    Template {
        kind: "hook",
        files: files![
            "plugin.yaml" = "hook/plugin.yaml",
            "hooks.yaml" = "hook/hooks.yaml",
            "scripts/check.py" = "hook/check.py",
            "tests/__NAME__.yaml" = "hook/test.yaml",
        ],
        usage: "brynhild --plugin-dir DIR hooks test pre_tool_use --input '{\"command\": \"git push\"}'",
    },
    Template {
        kind: "command",
        files: files![
            "plugin.yaml" = "command/plugin.yaml",
            "commands/__NAME__.md" = "command/command.md",
            "tests/__NAME__.yaml" = "command/test.yaml",
        ],
        usage: "brynhild --plugin-dir DIR command render __NAME__ src",
    },
    Template {
        kind: "skill",
        files: files![
            "plugin.yaml" = "skill/plugin.yaml",
            "skills/__NAME__/SKILL.md" = "skill/skill.md",
            "tests/__NAME__.yaml" = "skill/test.yaml",
        ],
        usage: "brynhild skill validate DIR/skills/__NAME__",
    },
    Template {
        kind: "provider",
        files: files![
            "plugin.yaml" = "provider/plugin.yaml",
            "providers/__IDENT__.py" = "provider/provider.py",
            "tests/__NAME__.yaml" = "provider/test.yaml",
        ],
        usage: "brynhild --plugin-dir DIR --provider __NAME__ chat hello",
    },
    Template {
        kind: "agent",
        files: files![
            ".claude-plugin/plugin.json" = "agent/plugin.json",
            "agents/__NAME__.md" = "agent/agent.md",
            "tests/__NAME__.yaml" = "agent/test.yaml",
        ],
        usage: "brynhild --plugin-dir DIR agents list",
    },
    Template {
        kind: "chibi",
        files: files!["__NAME__" = "chibi/plugin.py", "tests/__NAME__.yaml" = "chibi/test.yaml"],
        usage: "brynhild --plugin-dir DIR --yes tools exec __IDENT__ --input '{\"text\": \"hello\"}'",
    },
    Template {
        kind: "lmao",
        files: files![
            "tool.py" = "lmao/tool.py",
            "tests/__NAME__.yaml" = "lmao/test.yaml",
            "tests/project/notes.txt" = "lmao/notes.txt",
        ],
        usage: "brynhild --plugin-dir DIR tools exec __IDENT__ --input '{\"target\": \"README.md\"}'",
    },
    Template {
        kind: "role",
        files: files![
            "role.yaml" = "role/role.yaml",
            "__IDENT___tools.py" = "role/tools.py",
            "tests/__NAME__.yaml" = "role/test.yaml",
        ],
        usage: "brynhild run DIR/role.yaml -p \"Which files are here?\"",
    },
    Template {
        kind: "api",
        files: files!["plugin.yaml" = "api/plugin.yaml", "tests/__NAME__.yaml" = "api/test.yaml",],
        usage: "brynhild --plugin-dir DIR --yes tools exec __IDENT__ --input '{\"latitude\": 52.5, \"longitude\": 13.4}'",
    },
    Template {
        kind: "mcp",
        files: files![
            ".claude-plugin/plugin.json" = "mcp/plugin.json",
            ".mcp.json" = "mcp/mcp.json",
            "server.py" = "mcp/server.py",
            "tests/__NAME__.yaml" = "mcp/test.yaml",
        ],
        usage: "brynhild --plugin-dir DIR mcp test plugin:__NAME__:__NAME__",
    },
];

impl Template {
    /// Writes the plugin `name` into a directory of that name in `parent`. Returns the files.
    pub fn write(&self, name: &str, parent: &Path) -> Result<Vec<PathBuf>, NewError> {
        if !is_name(name) {
            return Err(NewError::Name(name.to_owned()));
        }
        let root = parent.join(name);
        if root.symlink_metadata().is_ok() {
            return Err(NewError::Exists(root));
        }
        let mut written = Vec::new();
        for (path, text) in self.files {
            let path = root.join(filled(path, name));
            create(&path, &filled(text, name))
                .map_err(|error| NewError::Write { path: path.clone(), error })?;
            written.push(path);
        }
        Ok(written)
    }

    /// The next commands for the author of the plugin in `root`, whose name is `name`.
    pub fn next_commands(&self, name: &str, root: &Path) -> [String; 3] {
        let root = shell::quote_path(&root.display().to_string());
        [
            format!("brynhild plugin test {root}"),
            filled(self.usage, name).replace("DIR", &root),
            format!("brynhild plugin validate {root}"),
        ]
    }
}

/// Returns true if every plugin system accepts the name.
fn is_name(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (2..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(is_inner)
        && !name.ends_with('-')
        && !name.contains("--")
}

fn filled(text: &str, name: &str) -> String {
    text.replace(NAME_PLACEHOLDER, name).replace(IDENTIFIER_PLACEHOLDER, &name.replace('-', "_"))
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mode = if text.starts_with("#!") { 0o777 } else { 0o666 };
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(kind: &str) -> &'static Template {
        TEMPLATES.iter().find(|it| it.kind == kind).unwrap()
    }

    #[test]
    fn every_template_has_a_test_and_no_placeholder_left() {
        for template in TEMPLATES {
            let directory = tempfile::tempdir().unwrap();
            let files = template.write("my-plugin", directory.path()).unwrap();
            assert!(files.iter().any(|path| path.ends_with("tests/my-plugin.yaml")));
            for path in files {
                let text = std::fs::read_to_string(&path).unwrap();
                let is_filled = |text: &str| !text.contains("NAME__") && !text.contains("IDENT__");
                assert!(is_filled(&text) && is_filled(path.to_str().unwrap()), "{path:?}: {text}");
            }
        }
    }

    #[test]
    fn template_refuses_bad_names_and_existing_directories() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a", "A-b", "1st", "-ab", "ab-", "a--b", "../x", "a_b", "a b", ""] {
            let refused = template("tool").write(name, directory.path());
            assert!(matches!(refused, Err(NewError::Name(_))), "{name}");
        }
        std::fs::create_dir(directory.path().join("taken")).unwrap();
        let refused = template("tool").write("taken", directory.path());
        assert!(matches!(refused, Err(NewError::Exists(_))));
    }

    #[test]
    fn executables_of_templates_can_be_run() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        template("chibi").write("loud", directory.path()).unwrap();
        let mode = directory.path().join("loud/loud").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o100, 0o100);
    }

    #[test]
    fn next_commands_quote_the_directory() {
        let [first, second, _] =
            template("role").next_commands("my-role", Path::new("a b/my-role"));
        assert_eq!(first, "brynhild plugin test 'a b/my-role'");
        assert!(second.starts_with("brynhild run 'a b/my-role'/role.yaml"), "{second}");
    }
}
