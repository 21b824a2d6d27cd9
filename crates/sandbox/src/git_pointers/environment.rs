//! Files of a workspace that the shell of its user loads before each prompt, by direnv or mise: each
//! looks at its own file only, and runs whatever that names.

use std::path::Path;

use super::{Search, is_file};

/// What the user's shell loads before each prompt.
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
/// What in the settings of mise can start a task by itself, or hide where the tasks begin and end.
const STARTERS: [&str; 5] = ["hooks", "exec", "watch_files", "\"\"\"", "'''"];
/// Commands of a shell or of direnv that load nothing of what they are given.
const SETTERS: [&str; 5] = ["export", "watch_file", "watch_dir", "PATH_add", "path_add"];

impl Search<'_> {
    /// Adds what the shell loads besides names that are protected anyway.
    pub(super) fn environment(&mut self) {
        self.load(&self.root.join(ENVIRONMENT));
        for file in MISE {
            self.load(&self.root.join(file));
        }
        for place in MISE_PLACES.map(|place| self.root.join(place)) {
            let is_missing = self.missing.is_some_and(|missing| missing.starts_with(&place));
            if is_missing || place.symlink_metadata().is_ok() {
                self.found.extend(self.beneath(&place));
            }
        }
    }

    /// What a file that the user's shell loads makes it load or run in turn.
    fn load(&mut self, file: &Path) {
        let Some(text) = self.text(file) else { return };
        let text = String::from_utf8_lossy(&text);
        let is_mise = file.extension().is_some_and(|it| it == "toml");
        let loading = if is_mise { loading_in_mise(&text) } else { loading_in_shell(&text) };
        for path in self.meant(&loading, self.root) {
            if is_file(&path) || self.is_missing(&path) {
                self.found.insert(path.clone());
                if is_shell(&path) {
                    self.load(&path);
                }
            }
        }
    }
}

/// The settings of mise without those that have nothing loaded: the tasks, which the person starts.
fn loading_in_mise(text: &str) -> String {
    let is_all = STARTERS.iter().any(|starter| text.contains(starter));
    let (mut kept, mut is_task) = (Vec::new(), false);
    for line in text.lines().map(str::trim_start) {
        if line.starts_with('[') {
            is_task = line.starts_with("[tasks]") || line.starts_with("[tasks.");
        }
        if is_all || !(is_task || line.starts_with('#')) {
            kept.push(line);
        }
    }
    // Any text in quotes could be a path, as what this word is given is.
    kept.join("\n").replace(['"', '\''], " source ")
}

/// The lines of a shell's text that could run something.
fn loading_in_shell(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| is_loading_in_shell(line)).collect();
    lines.join("\n")
}

/// Whether a line of a shell's could run something: not where all of it sets variables, or has other
/// files watched.
fn is_loading_in_shell(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let first = words.clone().next().unwrap_or_default();
    if first.starts_with('#') {
        // Text in quotes that began above may end here.
        return line.contains(['"', '\'']);
    }
    let is_one = !line.contains([';', '&', '|', '(', '`']);
    !is_one || !(SETTERS.contains(&first) || words.all(is_assignment))
}

/// Whether a word gives a variable its value.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name.trim_end_matches('+'));
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
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
    use std::fs;

    use super::super::{MOST_BYTES, Pointers, git_pointers, names};

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

    /// Whether a script beside a file with this text is one that the shell loads.
    fn is_loaded(file: &str, text: &str) -> bool {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        fs::write(root.join(file), text).unwrap();
        fs::write(root.join("x.sh"), "").unwrap();
        git_pointers(&root, None).contains(&root.join("x.sh"))
    }

    #[test]
    fn a_line_is_left_out_only_where_all_of_it_sets_a_variable() {
        for text in [
            "export A=1; source ./x.sh",
            "export A=1 && . ./x.sh",
            "export B=1 | ./x.sh",
            "export A=1 & ./x.sh",
            "export A=$(./x.sh)",
            "export A=<(./x.sh)",
            "A=1 ./x.sh",
            "A=1 B=2 sh x.sh",
            "A=1; ./x.sh",
            "A=1 \\\n./x.sh",
            "watch_file a; ./x.sh",
            "export A='\n# '; ./x.sh",
        ] {
            assert!(is_loaded(".envrc", text), "{text}");
        }
        for text in [
            "export A=./x.sh",
            "export A=1 B=./x.sh",
            "A=1 B=./x.sh",
            "# ./x.sh",
            "watch_file ./x.sh",
            "PATH_add ./x.sh",
        ] {
            assert!(!is_loaded(".envrc", text), "{text}");
        }
    }

    #[test]
    fn every_text_in_mise_s_settings_may_be_a_file_but_those_of_tasks_that_nothing_starts() {
        for text in [
            "[env]\n_.source = 'x.sh'",
            "[env._]\nsource = [\n  \"./x.sh\",\n]",
            "[env]\nA = \"{{ exec(command='./x.sh') }}\"",
            "[hooks]\nenter = \"./x.sh\"",
            "[hooks.enter]\nscript = \"sh x.sh\"",
            "[tasks.t]\nrun = './x.sh'\n[hooks]\nenter = 'mise run t'",
            "[tasks.t]\nrun = 'make'\n[env]\n_.source = './x.sh'",
            "[env]\nA = \"\"\"\n[tasks]\n\"\"\"\n_.source = './x.sh'",
        ] {
            assert!(is_loaded("mise.toml", text), "{text}");
        }
        for text in ["[tasks.t]\nrun = './x.sh'", "[env]\nA = 'b' # c\n# ./x.sh"] {
            assert!(!is_loaded("mise.toml", text), "{text}");
        }
    }

    #[test]
    fn what_the_shell_loads_and_cannot_be_read_here_leaves_it_open_what_that_names() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        fs::write(root.join(".envrc"), ". ./big\n").unwrap();
        for (start, is_cut) in [("#!/bin/sh\n", true), ("\x7fELF", false)] {
            fs::write(root.join("big"), start).unwrap();
            assert!(!Pointers::of(&root, &root, None).is_cut);
            let file = fs::OpenOptions::new().write(true).open(root.join("big")).unwrap();
            file.set_len(MOST_BYTES + 1).unwrap();
            assert_eq!(Pointers::of(&root, &root, None).is_cut, is_cut, "{start}");
        }
    }
}
