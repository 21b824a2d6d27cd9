//! Files of a workspace that the shell of its user loads before each prompt, by direnv or mise: each
//! looks at its own file only, and runs whatever that names.

use std::fs;
use std::path::Path;

use super::{MOST_HOOKS, SEPARATORS, Search, is_file};
use crate::contents;

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

/// Where mise looks for tasks that are files, besides folders that are protected anyway.
const MISE_TASKS: [&str; 3] = ["mise-tasks", ".mise-tasks", "mise/tasks"];
/// Commands that read what they are given as a shell's text.
const LOADERS: [&str; 4] = [".", "source", "source_env", "source_env_if_exists"];
/// Commands of direnv that read `.env` where they are given nothing.
const VARIABLES: [&str; 2] = ["dotenv", "dotenv_if_exists"];
/// The longest text that comes of putting values in the places of their variables.
const LONGEST_TEXT: usize = 4 << 20;
/// So many times is a line looked at for a variable.
const MOST_LOOKS: usize = 200_000;
/// So many names at the top are compared with a pattern.
const MOST_NAMES: usize = 10_000;

impl Search<'_> {
    /// Adds what the shell loads besides names that are protected anyway.
    pub(super) fn environment(&mut self) {
        self.load(&self.root.join(ENVIRONMENT));
        for file in MISE {
            self.load(&self.root.join(file));
        }
        for place in MISE_PLACES {
            self.place(place);
        }
    }

    /// Adds a place where something is looked for, if it is there.
    fn place(&mut self, name: &str) {
        let place = self.root.join(name);
        let is_missing = self.missing.is_some_and(|missing| missing.starts_with(&place));
        if is_missing || place.symlink_metadata().is_ok() {
            self.found.extend(self.beneath(&place));
        }
    }

    /// What a file that the user's shell loads makes it load or run in turn.
    fn load(&mut self, file: &Path) {
        let Some(text) = self.text(file) else { return };
        let text = String::from_utf8_lossy(&text);
        if file.extension().is_some_and(|it| it == "toml") {
            self.load_mise(&text);
            return;
        }
        // Direnv goes to the folder of what it sources.
        let folder = file.parent().unwrap_or(self.root);
        let (values, is_cut) = with_values(&text);
        self.is_cut |= is_cut;
        let loading = loading_in_shell(&format!("{text}\n{values}"));
        let sourced = self.meant(&sourced(&loading), folder);
        self.load_each(&loading, folder, &|path| is_shell(path) || sourced.contains(path));
        for pattern in patterns(&loading) {
            if pattern.contains('/') {
                self.load_folder(pattern, folder);
            } else {
                self.load_matching(pattern, folder);
            }
        }
    }

    fn load_mise(&mut self, text: &str) {
        if starts_tasks(text) {
            for place in MISE_TASKS {
                self.place(place);
            }
        }
        self.load_each(&loading_in_mise(text), self.root, &is_shell);
    }

    /// Adds the files that a text names, and what those lead to that a shell reads.
    fn load_each(&mut self, text: &str, folder: &Path, is_read: &dyn Fn(&Path) -> bool) {
        for path in self.meant(text, folder) {
            if path.is_dir() && is_read(&path) {
                self.load(&path.join(ENVIRONMENT));
            } else if is_file(&path) || self.is_missing(&path) {
                self.found.insert(path.clone());
                if is_read(&path) {
                    self.load(&path);
                }
            }
        }
    }

    /// Adds the folder that a pattern looks through, with all that is or comes there.
    fn load_folder(&mut self, pattern: &str, base: &Path) {
        let is_fixed = |part: &&str| !part.contains(WILDCARDS);
        let fixed: Vec<&str> = pattern.split('/').take_while(is_fixed).collect();
        let fixed = fixed.join("/");
        let mut paths = self.spelled(&fixed, self.root);
        paths.extend(self.spelled(&fixed, base));
        for path in paths {
            let Some(folder) = self.beneath(&path) else { continue };
            let listing = contents::list(&folder, MOST_HOOKS).known().unwrap_or_default();
            self.is_cut |= listing.is_cut;
            self.found.insert(folder);
            for entry in listing.entries.iter().filter(|entry| is_file(&entry.path())) {
                self.load(&entry.path());
            }
        }
    }

    /// Adds the files that a pattern without a folder stands for: a folder that everything lies in
    /// cannot be protected as a whole.
    fn load_matching(&mut self, pattern: &str, base: &Path) {
        let listing = contents::list(base, MOST_NAMES).known().unwrap_or_default();
        self.is_cut |= listing.is_cut;
        let missing = self.missing.filter(|missing| missing.parent() == Some(base));
        let there = listing.entries.iter().map(fs::DirEntry::path).filter(|path| is_file(path));
        for path in there.chain(missing.map(Path::to_owned)) {
            if path.file_name().is_some_and(|name| could_match(pattern, &name.to_string_lossy())) {
                self.found.extend(self.beneath(&path));
                self.load(&path);
            }
        }
    }
}

/// Whether a pattern could stand for a name, by what it spells out at its beginning and end.
fn could_match(pattern: &str, name: &str) -> bool {
    let start = pattern.split(WILDCARDS).next().unwrap_or_default();
    let end = pattern.rsplit(['*', '?', '[', ']']).next().unwrap_or_default();
    name.starts_with(start) && name.ends_with(end)
}

const WILDCARDS: [char; 3] = ['*', '?', '['];

/// The words of a shell's text.
fn words(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| c.is_whitespace() || SEPARATORS.contains(c));
    words.filter(|word| !word.is_empty()).collect()
}

/// What a text has the shell itself read, as a text that says no more.
fn sourced(text: &str) -> String {
    let words = words(text);
    let pairs = words.windows(2).filter(|pair| LOADERS.contains(&pair[0]));
    let lines: Vec<String> = pairs.map(|pair| format!("source {}", pair[1])).collect();
    lines.join("\n")
}

/// The patterns in a text that stand for files which the shell reads: at once, or by a loop.
fn patterns(text: &str) -> Vec<&str> {
    let sourced = sourced(text);
    let by_variable = sourced.lines().any(|line| line.starts_with("source $"));
    let mut found = Vec::new();
    for line in text.lines() {
        let words = words(line);
        let is_loop = by_variable && words.contains(&"for");
        for (index, word) in words.iter().enumerate() {
            let is_given = index > 0 && LOADERS.contains(&words[index - 1]);
            // One that stands for everything tells nothing.
            let is_pattern = word.contains(WILDCARDS) && !word.trim_matches(WILDCARDS).is_empty();
            if (is_loop || is_given) && is_pattern {
                found.push(*word);
            }
        }
    }
    found
}

/// Whether something in the settings of mise can start a task by itself.
fn starts_tasks(text: &str) -> bool {
    STARTERS.iter().any(|starter| text.contains(starter))
}

/// The settings of mise without those that have nothing loaded: the tasks, which the person starts.
fn loading_in_mise(text: &str) -> String {
    let is_all = starts_tasks(text);
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

/// The lines of a shell's text that could run something, and what those say that do not name it.
fn loading_in_shell(text: &str) -> String {
    let mut loading = String::new();
    for line in text.lines().filter(|line| is_loading_in_shell(line)) {
        loading.push_str(line);
        loading.push('\n');
        let words = words(line);
        if words.iter().any(|word| VARIABLES.contains(word)) {
            loading.push_str("dotenv .env\n");
        }
        // What another command prints or a file holds is run, or read as variables: any of the words may
        // be where that comes from.
        let is_spread = [" $(", " \"$(", " `", " \"`", "<"].iter().any(|it| line.contains(it));
        if is_spread || words.contains(&"eval") {
            loading.extend(words.iter().map(|word| format!("sh {word}\n")));
        }
    }
    loading
}

/// The lines of a text in which variables stand that it sets, with each of their values in their places;
/// and whether there are more.
fn with_values(text: &str) -> (String, bool) {
    let loading = text.lines().filter(|line| line.contains('$') && is_loading_in_shell(line));
    let mut lines: Vec<String> = loading.map(|line| line.replace('"', "")).collect();
    let (given, mut length, mut looks) = (lines.len(), text.len(), 0);
    for word in text.split_whitespace().filter(|word| is_assignment(word)) {
        let (name, value) = word.split_once('=').unwrap_or_default();
        let value = value.trim_matches(['"', '\'', ';']);
        // What adds to itself (`PATH=$PATH:x`) would grow with every such line.
        if with_value(value, name, "").is_some() {
            continue;
        }
        looks += lines.len();
        if looks > MOST_LOOKS {
            return (lines.split_off(given).join("\n"), true);
        }
        let filled: Vec<String> =
            lines.iter().filter_map(|line| with_value(line, name, value)).collect();
        length += filled.iter().map(String::len).sum::<usize>();
        if length > LONGEST_TEXT {
            return (lines.split_off(given).join("\n"), true);
        }
        lines.extend(filled);
    }
    (lines.split_off(given).join("\n"), false)
}

/// A line with a value in the places of a variable; none where it has no such place.
fn with_value(line: &str, name: &str, value: &str) -> Option<String> {
    let plain = line.replace(&format!("${{{name}}}"), value);
    let mark = format!("${name}");
    let mut parts = plain.split(&mark);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // It may be the beginning of a longer name.
        let is_longer = part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if is_longer {
            filled.push('$');
        }
        filled.push_str(if is_longer { name } else { value });
        filled.push_str(part);
    }
    (filled != line).then_some(filled)
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
    fn what_is_loaded_by_other_words_than_its_name_is_found() {
        for (texts, wanted) in [
            (&[(".envrc", "dotenv"), (".env", "A=1")][..], ".env"),
            (&[(".envrc", "if x; then dotenv_if_exists; fi"), (".env", "A=1")], ".env"),
            (&[(".envrc", ". ./lib/env.inc"), ("lib/env.inc", ". ./x.sh")], "x.sh"),
            (&[(".envrc", "source_env .env.d"), (".env.d", ". ./x.sh")], "x.sh"),
            (&[(".envrc", "eval \"$(cat x.sh)\"")], "x.sh"),
            (&[(".envrc", "source <(cat x.sh)")], "x.sh"),
            (&[(".envrc", "for f in e.d/*.sh; do source \"$f\"; done"), ("e.d/a.sh", "")], "e.d"),
            (&[(".envrc", "for f in e.d/*\ndo . $f\ndone"), ("e.d/a", ". ./x.sh")], "x.sh"),
            (&[(".envrc", "source e.d/*.sh"), ("e.d/a.sh", "")], "e.d"),
            (&[(".envrc", "D=scripts\nsource $D/y"), ("scripts/y", "")], "scripts/y"),
            (&[(".envrc", "D=\"scripts\"\n. \"${D}/y\""), ("scripts/y", "")], "scripts/y"),
            (&[("mise.toml", "[hooks]\nenter = 'mise run t'"), ("mise-tasks/t", "")], "mise-tasks"),
        ] {
            let base = tempfile::tempdir().unwrap();
            let root = base.path().canonicalize().unwrap();
            for (name, text) in texts.iter().chain(&[("x.sh", "")]) {
                fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
                fs::write(root.join(name), text).unwrap();
            }
            assert!(git_pointers(&root, None).contains(&root.join(wanted)), "{texts:?}");
        }
    }

    #[test]
    fn what_is_merely_listed_or_looked_at_is_not_loaded() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        fs::create_dir(root.join("src")).unwrap();
        fs::write(root.join("src/a.js"), "").unwrap();
        fs::write(root.join("gen.py"), "open('./src/a.js')").unwrap();
        fs::write(root.join(".envrc"), "ls src/*\neval \"$(python gen.py)\"\ncat README\n")
            .unwrap();
        assert_eq!(git_pointers(&root, None), [root.join("gen.py")]);
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

    #[test]
    fn usual_spellings_do_not_hide_what_the_shell_loads() {
        for (texts, wanted) in [
            (&[(".envrc", "dotenv # variables"), (".env", "A=1")][..], ".env"),
            (&[(".envrc", "dotenv 2>/dev/null"), (".env", "A=1")], ".env"),
            (&[(".envrc", "export $(cat vars | xargs)"), ("vars", "A=1")], "vars"),
            (&[(".envrc", "while read l; do export $l; done < vars"), ("vars", "A=1")], "vars"),
            (&[(".envrc", "for f in .env.*; do . \"$f\"; done"), (".env.a", "")], ".env.a"),
            (&[(".envrc", "D=scripts\nsource \"$D\"/y"), ("scripts/y", "")], "scripts/y"),
            (&[(".envrc", "F=scripts/y\nsource \"$F\""), ("scripts/y", "")], "scripts/y"),
            (&[(".envrc", "export F=\"$PWD/y\"\n. $F"), ("y", "")], "y"),
            (&[(".envrc", "if a\nthen F=b\nelse F=y; fi\n. $F"), ("y", "")], "y"),
            (&[(".envrc", "source_env sub"), ("sub/.envrc", ". ./y"), ("sub/y", "")], "sub/y"),
        ] {
            let base = tempfile::tempdir().unwrap();
            let root = base.path().canonicalize().unwrap();
            for (name, text) in texts {
                fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
                fs::write(root.join(name), text).unwrap();
            }
            assert!(git_pointers(&root, None).contains(&root.join(wanted)), "{texts:?}");
        }
    }

    #[test]
    fn variables_that_stand_for_themselves_or_often_leave_nothing_open() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let adding = "export PATH=$PATH:./bin; hash -r\n".repeat(100);
        let value = |it: u32| format!("V{it}=v{it}\n");
        let values: String = (0..100).map(value).collect();
        let text = format!("{adding}{values}F=y\n. $F\nD=src\nls $DATA $V7/x\n");
        fs::write(root.join(".envrc"), text).unwrap();
        fs::write(root.join("y"), "").unwrap();
        fs::create_dir(root.join("v7")).unwrap();
        fs::write(root.join("v7/x"), "").unwrap();
        let found = Pointers::of(&root, &root, None);
        assert_eq!((found.paths, found.is_cut), (vec![root.join("v7/x"), root.join("y")], false));
        let place = |it: u32| format!("$V{it}/");
        let (many, all): (String, String) =
            ((0..30).map(value).collect(), (0..30).map(place).collect());
        fs::write(root.join(".envrc"), format!("{many}. {all}x\n")).unwrap();
        assert!(Pointers::of(&root, &root, None).is_cut);
    }
}
