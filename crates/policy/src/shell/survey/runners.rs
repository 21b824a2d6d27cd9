//! Programs that run what their arguments or their input say, each in its own way: shells,
//! interpreters, `find`, git, editors. Sees too much rather than too little.

use std::rc::Rc;

use super::{Fit, Listens, NESTING, Survey};
use crate::programs;
use crate::shell::tolerant::Piece;
use crate::shell::wrappers::{self, Inner};

/// Their options whose value is a program.
const PROGRAMS: &[(&str, &str)] = &[
    ("tar", "-I"),
    ("gtar", "-I"),
    ("bsdtar", "-I"),
    ("rsync", "-e"),
    ("scp", "-S"),
    ("sftp", "-S"),
    ("zip", "-TT"),
    ("man", "-P"),
    ("mapfile", "-C"),
    ("readarray", "-C"),
    ("complete", "-C"),
];

/// Programs that run another one, which stands somewhere among their arguments.
const LAUNCHERS: &[&str] = &[
    "proot",
    "conda",
    "mamba",
    "micromamba",
    "nix",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "bwrap",
    "toolbox",
    "distrobox",
    "flatpak",
    "start-stop-daemon",
    "daemonize",
    "chpst",
];

/// Builtins that evaluate what stands between the brackets of a name, quoted or not.
const EVALUATING: &[&str] = &[
    "unset",
    "test",
    "[",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "let",
    "read",
    "printf",
    "getopts",
    "wait",
    "mapfile",
    "readarray",
];

impl Survey {
    /// Adds what a program with commands of its own could run.
    pub(super) fn embedded(&mut self, name: &str, args: &[Piece], depth: usize) {
        if EVALUATING.contains(&name) {
            let substitutes = |word: &&Piece| word.text.contains('`') || word.text.contains("$(");
            for word in args.iter().filter(substitutes) {
                self.script(&word.text, depth + 1);
            }
        }
        if !wrappers::embeds(name) {
            return;
        }
        for (word, next) in args.iter().zip(args.iter().skip(1)) {
            if PROGRAMS.contains(&(name, word.text.as_str())) {
                self.script(&next.text, depth + 1);
            }
        }
        // A script that is known to only edit text runs nothing.
        let runs = |word: &&Piece| !name.ends_with("sed") || !programs::only_edits(&word.text);
        for word in args.iter().filter(runs) {
            if word.text.contains(char::is_whitespace) || word.text.contains('!') {
                self.words_of(&word.text);
            }
        }
    }

    /// Adds the words of every argument that could be a program's text.
    pub(super) fn texts(&mut self, args: &[Piece]) {
        for word in args {
            if word.text.contains(|c: char| c.is_whitespace() || "('\";".contains(c)) {
                self.words_of(&word.text);
            }
        }
    }

    /// A file of shell text that is read in place.
    fn sourced(&mut self, args: &[Piece]) -> Listens {
        self.runs_file = true;
        self.loose |= args.iter().any(|word| word.dynamic);
        let from_input = args.first().is_some_and(is_input);
        if from_input { Listens::Shell } else { Listens::No }
    }

    /// Handles programs that take text to run, or change the folder.
    pub(super) fn special(
        &mut self,
        name: &str,
        words: &Rc<Vec<Piece>>,
        args: usize,
        depth: usize,
    ) -> Option<Listens> {
        let rest = &words[args..];
        match name {
            "cd" | "pushd" | "chdir" => self.change_folder(rest),
            "eval" => {
                let joined: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
                self.script(&joined.join(" "), depth + 1);
                self.loose |= rest.iter().any(|word| word.dynamic);
            }
            "coproc" => self.add(words, args, words.len(), Fit::Loose),
            "find" | "fd" | "fdfind" => self.actions(words, args, depth),
            "git" => self.git_programs(words, args, depth),
            "source" | "." => return Some(self.sourced(rest)),
            "npm" | "pnpm" | "yarn" | "bun" | "cargo" => {
                const RUN: &[&str] = &["exec", "x", "dlx", "watch"];
                if rest.iter().any(|word| RUN.contains(&word.text.as_str())) {
                    self.add(words, args, words.len(), Fit::Loose);
                    self.texts(rest);
                }
            }
            _ if LAUNCHERS.contains(&name) => {
                self.add(words, args, words.len(), Fit::Loose);
                self.texts(rest);
            }
            "command"
                if rest.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) => {}
            _ if wrappers::listens(name) => return Some(Listens::Interpreter),
            _ if wrappers::is_shell(name) => return Some(self.shell(name, words, args, depth)),
            _ if wrappers::is_interpreter(name) => {
                self.texts(rest);
                // Without a file or a text the program is what comes in.
                let given = |word: &Piece| word.text != "-" && !word.text.is_empty();
                let from_input = !rest.iter().any(given);
                return Some(if from_input { Listens::Shell } else { Listens::Interpreter });
            }
            _ => return None,
        }
        Some(Listens::No)
    }

    /// A shell: text in its arguments, or a command in them, or else text on its standard input.
    fn shell(&mut self, name: &str, words: &Rc<Vec<Piece>>, args: usize, depth: usize) -> Listens {
        const REMOTE: &[&str] = &[
            "ssh", "docker", "podman", "kubectl", "parallel", "su", "sg", "runuser", "tmux",
            "screen",
        ];
        let mut takes_text = false;
        let mut after_c = matches!(name, "trap");
        for word in &words[args..] {
            let value = word.text.rsplit_once('=').map_or("", |(_, value)| value);
            if after_c || word.text.contains(|c: char| c.is_whitespace() || ";|&$`<>(".contains(c))
            {
                takes_text = true;
                self.loose |= word.dynamic;
                self.script(&word.text, depth + 1);
                self.script(value, depth + 1);
            } else if name == "alias" && !value.is_empty() {
                self.script(value, depth + 1);
            }
            after_c = word.text.starts_with('-') && word.text.contains('c');
            takes_text |= after_c;
        }
        if REMOTE.contains(&name) {
            self.add(words, args, words.len(), Fit::Loose);
        }
        if let Some(wrapper) = wrappers::find(name) {
            let texts: Vec<&str> =
                words[args..].iter().map(|w| w.text.as_str()).take(256).collect();
            if let Inner::At(at) = wrapper.inner(&texts)
                && depth < NESTING
            {
                self.command(words, args + at, depth + 1);
            } else {
                self.add(words, args, words.len(), Fit::Loose);
            }
        }
        let mut operands = words[args..].iter().filter(|word| !word.text.starts_with('-'));
        self.loose |= operands.clone().any(|word| word.dynamic);
        self.runs_file |= !takes_text;
        let from_input = operands.next().is_none_or(is_input);
        let told_to = words[args..].iter().any(|word| matches!(word.text.as_str(), "-s" | "-"));
        if matches!(name, "at" | "batch") || (!takes_text && (from_input || told_to)) {
            Listens::Shell
        } else {
            Listens::No
        }
    }

    /// `env -S 'program arguments'`.
    pub(super) fn split_strings(&mut self, args: &[Piece], depth: usize) {
        for word in args {
            if word.text.contains(char::is_whitespace) {
                let text = word.text.trim_start_matches("--split-string=");
                let text = text.trim_start_matches("-S");
                self.script(text, depth + 1);
            }
        }
    }

    /// `find ... -exec program ... ;`
    fn actions(&mut self, words: &Rc<Vec<Piece>>, args: usize, depth: usize) {
        const RUNNERS: &[&str] =
            &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
        let mut at = args;
        while at < words.len() {
            if RUNNERS.contains(&words[at].text.as_str()) {
                let end = words[at + 1..]
                    .iter()
                    .position(|word| matches!(word.text.as_str(), ";" | "+"))
                    .map_or(words.len(), |length| at + 1 + length);
                let inner: Rc<Vec<Piece>> = Rc::new(words[at + 1..end].to_vec());
                if depth < NESTING {
                    self.command(&inner, 0, depth + 1);
                } else {
                    self.add(words, at + 1, end, Fit::Loose);
                }
                at = end;
            }
            at += 1;
        }
    }

    /// Programs that git is told to run.
    fn git_programs(&mut self, words: &Rc<Vec<Piece>>, args: usize, depth: usize) {
        let rest = &words[args..];
        for (word, next) in rest.iter().zip(rest.iter().skip(1)) {
            match word.text.as_str() {
                "-c" => {
                    let (name, value) = next.text.split_once('=').unwrap_or((&next.text, ""));
                    self.script(value.trim_start_matches('!'), depth + 1);
                    if name.to_ascii_lowercase().starts_with("alias.") {
                        self.script(&format!("git {value}"), depth + 1);
                    }
                }
                "-x" | "--exec" | "-u" | "--setup" => self.script(&next.text, depth + 1),
                option if option.ends_with("-filter") => self.script(&next.text, depth + 1),
                _ => {}
            }
        }
        for word in rest.iter().filter(|word| word.text.starts_with("ext::")) {
            self.script(&word.text["ext::".len()..], depth + 1);
        }
        for (at, word) in rest.iter().enumerate() {
            if !matches!(word.text.as_str(), "run" | "foreach") {
                continue;
            }
            let is_option = |word: &&Piece| word.text.starts_with('-');
            let inner = at + 1 + rest[at + 1..].iter().take_while(is_option).count();
            for text in rest[inner.min(rest.len())..].iter().take(1) {
                self.script(&text.text, depth + 1);
            }
            if depth < NESTING {
                self.command(words, args + inner, depth + 1);
            } else {
                self.add(words, args + inner.min(rest.len()), words.len(), Fit::Loose);
            }
        }
    }

    /// Options whose value is a program, whatever program takes them.
    pub(super) fn options_that_run(&mut self, args: &[Piece], depth: usize) {
        const OPTIONS: &[&str] = &[
            "--pre",
            "--compress-program",
            "--use-compress-program",
            "--to-command",
            "--pager",
            "--upload-pack",
            "--receive-pack",
            "--rsh",
            "--checkpoint-action",
            "--exec",
            "--open-files-in-pager",
            "--hostname-bin",
            "--extcmd",
        ];
        let long = args.iter().enumerate().filter(|(_, word)| word.text.starts_with("--"));
        for (at, word) in long {
            let (name, value) = match word.text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.text.as_str(), None),
            };
            if OPTIONS.contains(&name) {
                let next = args.get(at + 1).map(|word| word.text.as_str());
                if let Some(text) = value.or(next) {
                    self.script(text.trim_start_matches("exec="), depth + 1);
                }
            }
        }
    }
}

fn is_input(word: &Piece) -> bool {
    matches!(word.text.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}
