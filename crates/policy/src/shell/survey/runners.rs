//! Programs that run what their arguments or their input say, each in its own way: shells,
//! interpreters, `find`, git, editors. Sees too much rather than too little.

use std::rc::Rc;

use super::edits::runs_lines;
use super::folders::Way;
use super::printing::runs_nothing;
use super::words::is_input;
use super::{Fit, Listens, NESTING, Reach, Survey, base_name};
use crate::shell::raw;
use crate::shell::tolerant::Piece;
use crate::shell::wrappers::{self, Inner};

/// Those of `docker` and `kubectl` that run nothing.
const CALM: &str = "stop kill rm rmi restart pause inspect ps logs get describe";

/// Their options whose value is a program.
const PROGRAMS: &[(&str, &str)] = &[
    ("tar", "-I"),
    ("gtar", "-I"),
    ("bsdtar", "-I"),
    ("rsync", "-e"),
    ("scp", "-S"),
    ("scp", "-o"),
    ("sftp", "-S"),
    ("sftp", "-o"),
    ("zip", "-TT"),
    ("man", "-P"),
    ("man", "-H"),
    ("nano", "-s"),
    ("tcpdump", "-z"),
    ("strace", "-o"),
    ("ltrace", "-o"),
    ("wget", "-e"),
    ("go", "-vettool"),
    ("mapfile", "-C"),
    ("readarray", "-C"),
    ("complete", "-C"),
    ("compgen", "-C"),
    ("go", "-exec"),
    ("go", "-toolexec"),
    ("ansible", "-a"),
    ("apt", "-o"),
    ("apt-get", "-o"),
    ("aptitude", "-o"),
    ("gcc", "-wrapper"),
    ("g++", "-wrapper"),
    ("cc", "-wrapper"),
    ("c++", "-wrapper"),
    ("clang", "-wrapper"),
];

/// Programs that hand a command on, to another machine or user.
pub(super) const REMOTE: &[&str] = &[
    "ssh", "docker", "podman", "kubectl", "parallel", "su", "sg", "runuser", "tmux", "screen",
    "newgrp", "rsh",
];

/// Those of them that run it on another machine.
const ELSEWHERE: &[&str] = &["ssh", "rsh", "docker", "podman", "kubectl"];

/// So much of a long option names it.
const SHORTENED: usize = 6;
/// So many words are handed on to a subcommand.
const GIVEN: usize = 16;
/// How many words of one git command may say that what follows is run: one could be the value of an
/// option, but hardly many.
const RUNNERS: usize = 4;

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
            self.evaluated(args, depth);
        }
        self.set_by(name, args, depth);
        // `git-push` is what `git push` runs, `sudoedit` another name of `sudo`.
        let other = match name.strip_prefix("git-") {
            Some(subcommand) => Some(["git", subcommand]),
            None => (name == "sudoedit").then_some(["sudo", "-e"]),
        };
        if let Some(other) = other {
            let piece = |text: &str| Piece { text: text.to_owned(), ..Piece::default() };
            let mut words: Vec<Piece> = other.map(piece).into();
            words.extend_from_slice(args);
            let end = words.len();
            self.add(&Rc::new(words), 0, end, Fit::Exact);
        }
        // A copy or a link of a program runs as the program does.
        if matches!(name, "cp" | "ln" | "mv" | "install" | "link" | "cat" | "dd") {
            self.copied(name, args);
        }
        if !wrappers::embeds(name) {
            return;
        }
        for (at, word) in args.iter().enumerate() {
            let next = args.get(at + 1).map_or("", |word| word.text.as_str());
            if PROGRAMS.contains(&(name, word.text.as_str())) {
                self.option_runs(next, depth);
            } else if let Some(value) = clustered(name, &word.text) {
                self.option_runs(if value.is_empty() { next } else { value }, depth);
            }
            // Make takes variables as arguments.
            if name.ends_with("make") && wrappers::is_assignment(&word.text) {
                self.assigned(word, true, depth);
            }
        }
        for (option, value) in args.iter().filter_map(|word| word.text.split_once('=')) {
            if PROGRAMS.contains(&(name, option)) {
                self.option_runs(value, depth);
            }
        }
        // A file of its commands may be what another program prints.
        let is_printed = |word: &Piece| word.dynamic && word.text.is_empty();
        self.loose |= wrappers::listens(name) && args.iter().any(is_printed);
        let kind = self.kind;
        let runs = |word: &&Piece| !runs_nothing(name, kind, &word.text);
        for word in args.iter().filter(runs) {
            if word.text.contains(|c: char| c.is_whitespace() || "!;(".contains(c)) {
                self.words_of(&word.text);
            }
        }
        if name.ends_with("sed") {
            self.edited(args, depth);
        }
    }

    /// The value of an option that is run: words, words between commas, or the value of a setting.
    pub(super) fn option_runs(&mut self, value: &str, depth: usize) {
        self.script(value, depth + 1);
        if value.contains(',') {
            self.script(&value.replace(',', " "), depth + 1);
        }
        if let Some((_, value)) = value.rsplit_once('=') {
            self.script(value.trim_matches(['"', '\'', '{', '}', ';']), depth + 1);
        }
    }

    /// Words that are evaluated once more: what they substitute runs, quoted or not.
    pub(super) fn evaluated(&mut self, args: &[Piece], depth: usize) {
        let substitutes = |word: &&Piece| word.text.contains('`') || word.text.contains("$(");
        for word in args.iter().filter(substitutes) {
            self.script(&word.text, depth + 1);
        }
    }

    /// Variables that a builtin or a loop sets.
    fn set_by(&mut self, name: &str, args: &[Piece], depth: usize) {
        match name {
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                for word in args {
                    self.assigned(word, false, depth);
                }
            }
            "for" | "select" => {
                let Some((variable, values)) = args.split_first() else { return };
                for value in values.iter().filter(|value| !value.dynamic && value.text != "in") {
                    self.constants.set(&variable.text, &value.text);
                    self.evaluated(std::slice::from_ref(value), depth);
                }
            }
            "set" => {
                let letters = |word: &Piece| word.text.starts_with('-') && word.text.contains('P');
                if args.iter().any(|it| letters(it) || it.text == "physical") {
                    self.way = Way::True;
                }
                let dashes = args.iter().position(|word| word.text == "--");
                let options = args.iter().take_while(|word| word.text.starts_with(['-', '+']));
                let first = dashes.map_or_else(|| options.count(), |at| at + 1);
                self.handed_on(&args[first..]);
            }
            "printf" if args.first().is_some_and(|word| word.text == "-v") && args.len() > 2 => {
                let values: Vec<&str> = args[2..].iter().map(|word| word.text.as_str()).collect();
                let values = raw::formatted(&values).unwrap_or_else(|| values[0].to_owned());
                self.constants.set(&args[1].text, &values);
            }
            "printf" => self.prints(args),
            _ => {}
        }
    }

    /// Adds the words of every argument that could be a program's text.
    pub(super) fn texts(&mut self, args: &[Piece]) {
        for word in args {
            let is_text = word.text.contains(|c: char| c.is_whitespace() || "('\";".contains(c));
            if is_text && !runs_nothing("", self.kind, &word.text) {
                self.words_of(&word.text);
            }
        }
    }

    /// A script runs by whatever shell it is given to, as it does by its own name.
    fn run_file(&mut self, words: &Rc<Vec<Piece>>, args: usize) {
        let is_option = |word: &&Piece| word.text.starts_with(['-', '+']);
        let file = args + words[args..].iter().take_while(is_option).count();
        if file < words.len() {
            self.add(words, file, words.len(), Fit::Exact);
        }
    }

    /// A file of shell text that is read in place.
    fn sourced(&mut self, args: &[Piece]) -> Listens {
        self.runs_file = true;
        let is_dynamic = args.iter().any(|word| word.dynamic);
        self.loose |= is_dynamic;
        self.sources.substituted |= is_dynamic;
        let from_input = args.iter().find(|word| word.text != "--").is_some_and(is_input);
        self.behind_descriptor(args);
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
                let mut rest = rest.iter().skip_while(|word| word.text == "--");
                let joined: Vec<&str> = rest.clone().map(|word| word.text.as_str()).collect();
                self.script(&joined.join(" "), depth + 1);
                let is_dynamic = rest.any(|word| word.dynamic);
                self.loose |= is_dynamic;
                self.sources.substituted |= is_dynamic;
            }
            "coproc" => {
                self.add(words, args, words.len(), Fit::Loose);
                if depth < NESTING {
                    return Some(self.command(words, args, depth + 1));
                }
            }
            "find" | "fd" | "fdfind" => self.actions(words, args, depth),
            "sed" | "gsed" if runs_lines(rest) => return Some(Listens::Shell),
            "git" => self.git_programs(words, args, depth),
            "source" | "." => {
                self.run_file(words, args);
                return Some(self.sourced(rest));
            }
            "fc" | "history" => self.remembered(name, words, args, depth),
            "jobs" => {
                let runs = rest.iter().position(|word| word.text == "-x");
                if let Some(at) = runs.filter(|_| depth < NESTING) {
                    return Some(self.command(words, args + at + 1, depth + 1));
                }
            }
            "npm" | "pnpm" | "yarn" | "bun" | "cargo" => {
                const RUN: &[&str] = &["exec", "x", "dlx", "watch"];
                const TEXT: &[&str] = &["-e", "--eval", "-p", "--print"];
                self.given_settings(rest, depth);
                let has = |words: &[&str]| rest.iter().any(|it| words.contains(&it.text.as_str()));
                if has(RUN) || (name == "bun" && has(TEXT)) {
                    self.add(words, args, words.len(), Fit::Loose);
                    self.texts(rest);
                }
            }
            _ if wrappers::launches(name) => {
                self.add(words, args, words.len(), Fit::Loose);
                self.texts(rest);
                self.launched_by(name, rest, depth);
                if wrappers::listens(name) {
                    return Some(Listens::Interpreter);
                }
                // Given nothing, many of them open a shell.
                let is_bare = rest.iter().all(|word| word.text.starts_with('-'));
                return Some(if is_bare { Listens::Shell } else { Listens::No });
            }
            "command"
                if rest.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) => {}
            _ if wrappers::listens(name) => return Some(Listens::Interpreter),
            _ if ELSEWHERE.contains(&name) && self.reach == Reach::Here => {
                self.add(words, args, words.len(), Fit::Loose);
            }
            _ if ELSEWHERE.contains(&name) => {
                let around = self.sources.leave_machine();
                let listens = self.shell(name, words, args, depth);
                self.sources.leave(around);
                return Some(listens);
            }
            _ if wrappers::is_shell(name) => return Some(self.shell(name, words, args, depth)),
            _ if wrappers::is_interpreter(name) => {
                self.texts(rest);
                // Without a file or a text the program is what comes in.
                let from_input = rest.iter().all(|word| word.text == "-" || word.text.is_empty());
                return Some(if from_input { Listens::Shell } else { Listens::Interpreter });
            }
            _ => return None,
        }
        Some(Listens::No)
    }

    /// A shell: text in its arguments, or a command in them, or else text on its standard input.
    fn shell(&mut self, name: &str, words: &Rc<Vec<Piece>>, args: usize, depth: usize) -> Listens {
        let is_remote = REMOTE.contains(&name);
        let mut takes_text = false;
        let mut after_c = matches!(name, "trap");
        let mut is_valued = false;
        let text = words[args..].iter().position(|word| word.text == "-c");
        if let Some(given) = text.and_then(|text| words[args..].get(text + 3..)) {
            self.handed_on(given);
        }
        if let Some(zeroth) = text.and_then(|text| words[args..].get(text + 2)) {
            self.constants.set("0", &zeroth.text);
        }
        for word in &words[args..] {
            let value = word.text.rsplit_once('=').map_or("", |(_, value)| value);
            // An alias' name ends at the first of them, whatever follows.
            if let Some((alias, whole)) = word.text.split_once('=').filter(|_| name == "alias") {
                self.names.mean(alias, whole);
                self.script(whole, depth + 1);
            }
            if after_c || word.text.contains(|c: char| c.is_whitespace() || ";|&$`<>(".contains(c))
            {
                takes_text = true;
                self.loose |= word.dynamic;
                self.sources.substituted |= word.dynamic && !is_remote;
                self.script(&word.text, depth + 1);
                // What a shell is told to run is no setting.
                if !after_c || self.reach != Reach::Here {
                    self.script(value, depth + 1);
                }
                // `-o 'ProxyCommand program'`
                let setting = word.text.trim_start().split_once(char::is_whitespace);
                let setting = setting.filter(|(name, _)| name.starts_with(char::is_uppercase));
                self.script(setting.map_or("", |(_, value)| value), depth + 1);
            } else if ["alias", "ssh"].contains(&name) && !value.is_empty() {
                self.script(value, depth + 1);
            }
            let is_letter = word.text.starts_with('-') && !word.text.starts_with("--");
            let opens = (is_letter && word.text.contains('c'))
                || (word.text.starts_with("--") && word.text.contains("command"));
            // Further options may come before the text, some with a word of their own.
            let goes_on = word.text.starts_with(['-', '+']) || is_valued;
            is_valued = matches!(word.text.as_str(), "-o" | "+o" | "-O" | "+O");
            after_c = opens || (after_c && goes_on);
            takes_text |= after_c;
        }
        if is_remote {
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
        let is_printed = |word: &Piece| word.dynamic && word.text.is_empty();
        self.sources.substituted |= !is_remote && operands.clone().any(is_printed);
        self.runs_file |= !takes_text;
        self.behind_descriptor(&words[args..]);
        if !takes_text && !is_remote {
            self.run_file(words, args);
        }
        // The operands of these are a machine or a user, or a shell elsewhere.
        let from_input =
            !is_calm(name, &words[args..]) && (is_remote || operands.next().is_none_or(is_input));
        let told_to = words[args..].iter().any(|word| matches!(word.text.as_str(), "-s" | "-"));
        if matches!(name, "at" | "batch") || (!takes_text && (from_input || told_to)) {
            Listens::Shell
        } else {
            Listens::No
        }
    }

    /// Programs that git is told to run.
    fn git_programs(&mut self, words: &Rc<Vec<Piece>>, args: usize, depth: usize) {
        let rest = &words[args..];
        self.git_settings_in_variables(rest, depth);
        for (word, next) in rest.iter().zip(rest.iter().skip(1)) {
            match word.text.as_str() {
                "-c" | "--config" => {
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
        for word in rest {
            let attached = ["--config=", "-O"].iter().find_map(|o| word.text.strip_prefix(o));
            let filter = word.text.split_once("-filter=").map(|(_, value)| value);
            let attached = attached.or(filter);
            let value = attached.map(|value| value.split_once('=').map_or(value, |(_, v)| v));
            self.script(value.unwrap_or_default().trim_start_matches('!'), depth + 1);
        }
        if rest.iter().any(|word| word.text == "config") {
            for (name, value) in rest.iter().zip(rest.iter().skip(1)) {
                if name.text.to_ascii_lowercase().starts_with("alias.") {
                    self.script(&format!("git {}", value.text), depth + 1);
                }
            }
            let values = rest.iter().filter(|word| word.text.contains(char::is_whitespace));
            values.for_each(|value| self.script(value.text.trim_start_matches('!'), depth + 1));
        }
        for word in rest.iter().filter(|word| word.text.starts_with("ext::")) {
            // A space is written so that it does not end a word.
            self.script(&word.text["ext::".len()..].replace("% ", " "), depth + 1);
        }
        let words_after = |name: &str| {
            let at = rest.iter().position(|word| word.text == name)?;
            let words = rest[at + 1..].iter().filter(|word| !word.text.starts_with('-'));
            Some(words.map(|word| word.text.as_str()).take(GIVEN).collect::<Vec<_>>().join(" "))
        };
        let inner = words_after("subtree").or_else(|| words_after("for-each-repo"));
        if let Some(inner) = inner {
            self.script(&format!("git {inner}"), depth + 1);
        }
        let is_runner =
            |(_, word): &(usize, &Piece)| matches!(word.text.as_str(), "run" | "foreach");
        for (at, _) in rest.iter().enumerate().filter(is_runner).take(RUNNERS) {
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
            "--filter",
            "--rsh-command",
            "--preview",
            "--bind",
            "--smtp-server",
            "--sendmail-cmd",
            "--info-script",
            "--new-volume-script",
            "--use-askpass",
            "--pre-invoke",
            "--post-invoke",
            "--script-shell",
            "--run_under",
            "--command",
            "--call",
            "--strip-program",
            "--coreutils-prog",
            "--browser",
            "--access-hook",
        ];
        let long = args.iter().enumerate().filter(|(_, word)| word.text.starts_with("--"));
        for (at, word) in long {
            let (name, value) = match word.text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.text.as_str(), None),
            };
            // Programs take the beginning of an option for all of it.
            let is_one = |option: &&str| {
                **option == *name || (name.len() >= SHORTENED && option.starts_with(name))
            };
            if OPTIONS.iter().any(is_one) {
                let next = args.get(at + 1).map(|word| word.text.as_str());
                if let Some(text) = value.or(next) {
                    self.script(text.trim_start_matches("exec="), depth + 1);
                }
            }
        }
    }
}

/// What `xargs` runs: a word that it fills in is one that only the running shell knows.
pub(super) fn filled(args: &[Piece], at: usize) -> Vec<Piece> {
    let place = place(args, at);
    let is_filled = |word: &Piece| place.is_some_and(|place| word.text.contains(place));
    args[at..]
        .iter()
        .map(|word| Piece { dynamic: word.dynamic || is_filled(word), ..word.clone() })
        .collect()
}

/// What `xargs` replaces in what it runs, which stands at `at`.
pub(super) fn place(args: &[Piece], at: usize) -> Option<&str> {
    args[..at].iter().enumerate().find_map(|(at, word)| {
        let next = || args.get(at + 1).map_or("{}", |word| word.text.as_str());
        match word.text.as_str() {
            "-I" | "-J" => Some(next()),
            "-i" | "--replace" => Some("{}"),
            text => ["--replace=", "-I", "-i"].iter().find_map(|o| text.strip_prefix(o)),
        }
    })
}

/// Whether `xargs` fills in what is run: the program, or the beginning of a shell's command.
pub(super) fn runs_filled(args: &[Piece], at: usize) -> bool {
    let Some(place) = place(args, at) else { return false };
    let Some((program, args)) = args[at..].split_first() else { return false };
    let begins = |word: &Piece| {
        let mut parts = word.text.split([';', '&', '|', '\n', '(', '`']);
        parts.any(|part| part.trim_start().starts_with(place))
    };
    let takes_text = |word: &Piece| word.text.starts_with('-') && word.text.contains('c');
    let is_shell = wrappers::is_shell(base_name(&program.text)) && args.iter().any(takes_text);
    program.text.contains(place) || (is_shell && args.iter().any(begins))
}

/// The value of an option of one letter that names a program, where it stands among other letters or
/// has its value attached; empty where that is the next word.
fn clustered<'a>(name: &str, word: &'a str) -> Option<&'a str> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    let options = PROGRAMS.iter().filter(|(program, _)| *program == name);
    let mut known = options.filter_map(|(_, option)| option.strip_prefix('-'));
    known.find_map(|option| {
        let is_letter = option.len() == 1;
        letters.split_once(option).filter(|_| is_letter).map(|(_, value)| value)
    })
}

/// Whether `xargs` could put the name of a program behind these words.
pub(super) fn ends_open(words: &[Piece]) -> bool {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).take(GIVEN).collect();
    let mut rest = texts.as_slice();
    while let Some((program, args)) = rest.split_first()
        && let Some(wrapper) = wrappers::find(base_name(program))
    {
        match wrapper.inner(args) {
            Inner::At(at) => rest = &args[at..],
            Inner::Unclear | Inner::Nothing => return true,
        }
    }
    let last = words.last().map_or("", |word| base_name(&word.text));
    let is_option = |word: &&Piece| word.text.starts_with('-') && word.text != "-c";
    let told = words.iter().rev().find(|word| !is_option(word)).map_or("", |word| &word.text);
    last == "-c" || told == "-c" || wrappers::find(last).is_some() || wrappers::is_shell(last)
}

/// Whether a program that hands commands on is told to do something else.
fn is_calm(name: &str, args: &[Piece]) -> bool {
    let is_known = |word: &Piece| CALM.split(' ').any(|it| it == word.text);
    matches!(name, "docker" | "podman" | "kubectl") && args.first().is_some_and(is_known)
}
