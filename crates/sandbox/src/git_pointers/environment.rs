//! Files of a workspace that the shell of its user loads before each prompt, by direnv or mise: each
//! looks at its own file only, and runs whatever that names.

use std::fs;
use std::path::Path;

use super::{DEEPEST, MOST_BYTES, Search, is_file};

/// What the user's shell loads before each prompt; of the settings of mise only some lines.
const ENVIRONMENT: &str = ".envrc";
const MISE: [&str; 6] = [
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    ".mise/config.toml",
    ".config/mise/config.toml",
];
/// Where mise looks for settings besides its own names.
const MISE_PLACES: [&str; 2] = [".config/mise", "mise/config.toml"];

impl Search<'_> {
    /// Adds what the shell loads besides names that are protected anyway.
    pub(super) fn environment(&mut self) {
        self.load(&self.root.join(ENVIRONMENT), 0);
        for file in MISE {
            self.load(&self.root.join(file), 0);
        }
        for place in MISE_PLACES.map(|place| self.root.join(place)) {
            let is_missing = self.missing.is_some_and(|missing| missing.starts_with(&place));
            if is_missing || place.symlink_metadata().is_ok() {
                self.found.extend(self.beneath(&place));
            }
        }
    }

    /// What a file that the user's shell loads makes it load or run in turn.
    fn load(&mut self, file: &Path, depth: usize) {
        let is_small = fs::metadata(file).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES);
        if !is_small || depth > DEEPEST {
            return;
        }
        let text = String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned();
        let is_mise = file.extension().is_some_and(|it| it == "toml");
        let is_loading = if is_mise { is_loading_in_mise } else { is_loading_in_shell };
        let text: Vec<&str> = text.lines().filter(|line| is_loading(line)).collect();
        for path in self.meant(&text.join("\n"), self.root) {
            let is_meant = is_file(&path) || self.is_missing(&path);
            if is_meant && self.found.insert(path.clone()) && is_shell(&path) {
                self.load(&path, depth + 1);
            }
        }
    }
}

/// Whether a line of mise's settings has the shell load a file.
fn is_loading_in_mise(line: &str) -> bool {
    let key = line.split('=').next().unwrap_or_default().trim_end();
    ["_", "source", "file"].iter().any(|end| key.ends_with(end))
}

/// Whether a line of a shell's could run something: not where it only sets a variable, or has other
/// files watched.
fn is_loading_in_shell(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_plain = ["export", "watch_file", "watch_dir", "PATH_add", "path_add"].contains(&first)
        || first.contains('=')
        || first.starts_with('#');
    !is_plain || line.contains("$(") || line.contains('`')
}

/// Whether a file could be one that a shell reads.
fn is_shell(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let ending = path.extension().and_then(|it| it.to_str());
    let is_usual = ending.is_none_or(|it| ["sh", "bash", "zsh"].contains(&it));
    name.starts_with(ENVIRONMENT) || (is_usual && !name.starts_with(".env"))
}

#[cfg(test)]
mod tests {
    use super::super::{git_pointers, names};
    use super::*;

    #[test]
    fn what_the_shell_s_environment_loads_is_found() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        };
        let text = "source ./scripts/env\n. other\nsource_env_if_exists local\nuse nix\ndotenv .env\n\
                    export A=./src/run\nwatch_file ./src/run\n";
        write(".envrc", text);
        write(".env", "B=./src/run\n");
        write("scripts/env", ". \"$PWD/scripts/more\"\n");
        write("scripts/more", "");
        write("mise.toml", "[env]\n_.source = \"./e.sh\"\n[tasks.t]\nrun = \"./src/run\"\n");
        write("src/run", "");
        let wanted = [".env", "scripts/env", "scripts/more"];
        assert_eq!(git_pointers(&root, None), wanted.map(|name| root.join(name)));
        for name in ["other", "local", "e.sh", "scripts/more", ".config/mise/conf.d/a.toml"] {
            assert!(names(&root, None, &root.join(name)), "{name}");
        }
        for name in ["nix", "src/run", "src/other", "scripts/x", ".config/x"] {
            assert!(!names(&root, None, &root.join(name)), "{name}");
        }
    }
}
