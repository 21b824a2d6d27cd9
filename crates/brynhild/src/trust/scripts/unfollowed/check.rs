//! Whether a command is shown to run nothing of the project, or just what is covered. Every question is put
//! to what a word is, never to how it is written.

use super::super::inert::INERT;
use super::super::place::{DECLARES, Folder, Known, is};
use super::super::run::gone_through;
use super::super::shell::{self, Command, Kind, Script, Setting, Word, is_name};
use super::interpreters::{OTHERS, PACKAGES, SHELLS};
use super::texts::{is_awk_inert, is_sed_inert};
use super::variables::{is_harmless, loads};
use super::{Covered, in_covered};

/// What git does without running anything of the project.
#[rustfmt::skip]
const INERT_GIT: [&str; 17] = [
    "add", "blame", "branch", "cat-file", "describe", "diff", "fetch", "log", "ls-files", "ls-tree",
    "merge-base", "rev-list", "rev-parse", "show", "status", "symbolic-ref", "tag",
];

/// What runs the program that comes next.
const WRAPPERS: [&str; 7] = ["env", "nice", "nohup", "command", "builtin", "exec", "setsid"];
/// Programs by whose output more is known than that it is a text.
#[rustfmt::skip]
const HEARD: [&str; 12] = [
    "cat", "cd", "date", "dirname", "git", "id", "nproc", "pushd", "pwd", "readlink", "realpath", "wc",
];

/// What `find` is told before a value.
const TESTS: [&str; 8] =
    ["-iname", "-ipath", "-mmin", "-mtime", "-name", "-newer", "-path", "-size"];

/// The first command of a text that is not followed.
pub(super) fn first(script: &Script, covered: &Covered<'_>) -> Option<String> {
    let known = Known::of(script, covered.names);
    let check = Check { script, covered, gone: gone(script, &known), known };
    if let Some(name) = HEARD.iter().find(|name| script.functions.contains(**name)) {
        return Some(format!("{name}()"));
    }
    // All are looked at, since each may say what shells run.
    let commands = script.commands.iter().enumerate();
    let found: Vec<_> = commands.filter(|it| !check.is_followed(*it)).collect();
    found.first().map(|(_, command)| command.text.clone())
}

/// The commands by which a text goes into folders that it names.
fn gone(script: &Script, known: &Known<'_>) -> Vec<usize> {
    let goes = |command: &Command| {
        let is_cd = command.words.first().is_some_and(|it| is(it, "cd") || is(it, "pushd"));
        is_cd && command.words.iter().skip(1).any(|it| known.folder(it) == Some(Folder::Named))
    };
    let commands = script.commands.iter().enumerate();
    commands.filter(|(_, command)| goes(command)).map(|(number, _)| number).collect()
}

pub(super) struct Check<'a> {
    pub(super) script: &'a Script,
    pub(super) known: Known<'a>,
    pub(super) covered: &'a Covered<'a>,
    gone: Vec<usize>,
}

/// A command, and the folder that it may run in.
#[derive(Clone, Copy)]
pub(super) struct Here<'a> {
    pub(super) command: &'a Command,
    pub(super) folder: Folder,
}

impl Check<'_> {
    fn is_followed(&self, (number, command): (usize, &Command)) -> bool {
        let has_gone = self.gone.iter().any(|it| {
            let scope = self.script.commands[*it].scope;
            *it != number && self.script.is_within(command.scope, scope)
        });
        let folder = if has_gone { Folder::Named } else { Folder::Own };
        let here = Here { command, folder };
        let values = command.settings.iter().map(|setting| &setting.value);
        let words = command.words.iter().chain(&command.inputs).chain(&command.targets);
        if !words.chain(values).all(|word| self.known.is_safe(word)) {
            return false;
        }
        match command.kind {
            Kind::Simple => {
                let reads = command.words.first().is_some_and(|it| is(it, "read"));
                let is_set = |it: &Setting| (reads && it.name == "IFS") || self.is_set(it, false);
                command.settings.iter().all(is_set) && self.runs(&command.words, here)
            }
            Kind::Loop => command.words[0].literal().is_some_and(|name| !loads(&name)),
            Kind::Test => self.is_test(&command.words),
            Kind::Data => true,
        }
    }

    /// Whether a variable may have this value.
    fn is_set(&self, setting: &Setting, is_exported: bool) -> bool {
        let Setting { name, value, is_added } = setting;
        let text = value.literal();
        if name == "IFS" {
            return !is_exported;
        }
        let is_folder = |part: &str| self.known.folder(&Word::of(part)).is_some();
        let is_known = self.known.folder(value).is_some() || self.known.is_number(value);
        match name.as_str() {
            _ if *is_added && loads(name) => false,
            "PYTHONPATH" | "NODE_PATH" | "PERL5LIB" | "RUBYLIB" => {
                is_known || text.is_some_and(|text| text.split(':').all(is_folder))
            }
            "NODE_OPTIONS" | "PERL5OPT" | "RUBYOPT" => text.is_some(),
            "BASH_ENV" | "ENV" => self.is_for_shell(value, Folder::Own),
            _ if text.as_ref().is_some_and(|text| is_harmless(name, text)) => true,
            _ if loads(name) => false,
            _ if is_exported => text.is_some() || is_known || !super::variables::could_load(name),
            _ => true,
        }
    }

    /// Whether what these words run is covered, or nothing.
    fn runs(&self, words: &[Word], here: Here<'_>) -> bool {
        let settings: Vec<Setting> = words.iter().map_while(Word::setting).collect();
        let is_wrapped = words.len() < here.command.words.len();
        if is_wrapped && !settings.iter().all(|it| self.is_set(it, true)) {
            return false;
        }
        let Some((program, args)) = words[settings.len()..].split_first() else { return true };
        let has_own = !here.command.settings.is_empty();
        if has_own
            && !here.command.settings.iter().all(|it| it.name == "IFS" || self.is_set(it, true))
        {
            return false;
        }
        let Some(name) = program.literal() else { return self.is_started(program, here) };
        let (folder, own) = name.rsplit_once('/').unwrap_or(("", &name));
        if !["", "/bin", "/usr/bin", "/usr/local/bin"].contains(&folder) {
            let is_build = ["gradlew", "mvnw"].contains(&own);
            return !is_build && self.is_started(program, here);
        }
        self.script.functions.contains(&name) || self.is_program_followed(own, args, here)
    }

    /// Whether a file that is started by its path is covered.
    fn is_started(&self, program: &Word, here: Here<'_>) -> bool {
        let is_covered = self.known.is_file(program, here.folder);
        if is_covered {
            self.covered.ran.directly(program);
        }
        is_covered
    }

    /// Whether a file that a shell runs is covered.
    pub(super) fn is_for_shell(&self, file: &Word, folder: Folder) -> bool {
        let is_covered = self.known.is_file(file, folder);
        if is_covered {
            self.covered.ran.by_shell(file);
        }
        is_covered
    }

    fn is_program_followed(&self, name: &str, args: &[Word], here: Here<'_>) -> bool {
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_file = |word: &Word| self.known.is_file(word, here.folder);
        let texts: Vec<Option<String>> = args.iter().map(Word::literal).collect();
        let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        match name {
            "cd" | "pushd" => self.is_way(args, here),
            "." | "source" => args.first().is_some_and(|it| self.is_for_shell(it, here.folder)),
            "[" | "test" => self.is_old_test(args),
            "trap" => match texts.as_slice() {
                [Some("-" | "-l" | "-p"), ..] | [] => true,
                [Some(text), ..] => self.is_text(text, here),
                [None, ..] => false,
            },
            "let" => texts.iter().all(|it| {
                let is_sum = |text: &str| self.is_sum(text);
                it.is_some_and(is_sum)
            }),
            "unset" => texts
                .iter()
                .all(|it| it.is_some_and(|it| is_name(it) || ["-v", "-f"].contains(&it))),
            "shopt" => texts.iter().all(|it| {
                matches!(
                    it,
                    Some("-s" | "-u" | "-q" | "nullglob" | "globstar" | "dotglob" | "lastpipe")
                )
            }),
            _ if DECLARES.contains(&name) => self.declares(name, args),
            "read" | "printf" | "mapfile" | "readarray" | "getopts" => {
                is_setter_inert(name, &texts)
            }
            "run-parts" => args.last().is_some_and(|it| is_file(it) && it.literal().is_some()),
            "rg" | "sort" => self.operands(args).is_some_and(|texts| is_sort_inert(&texts)),
            "git" => self.is_git_inert(args, &texts, here),
            "sed" => self.operands(args).is_some_and(|texts| is_sed_inert(&texts)),
            "awk" | "gawk" | "mawk" => is_awk_inert(&texts),
            "find" => self.is_find_followed(args, here.command),
            "xargs" => is_xargs_inert(&texts),
            "wget" => texts.iter().all(|it| {
                it.is_some_and(|it| {
                    !it.starts_with('-') || ["-q", "-nv", "-O", "-O-", "-c"].contains(&it)
                })
            }),
            "osascript" => matches!(texts.as_slice(), [Some("-e"), Some(text)]
                if text.starts_with("display notification \"") && !text.contains(['\n', '(', '«']) && !text.contains("do shell") && !text.contains("script")),
            "terraform" => matches!(texts.as_slice(), [Some("fmt"), ..]),
            "java" => matches!(texts.as_slice(), [Some("-jar"), Some(_), ..]) && is_file(&args[1]),
            "timeout" => self.is_timed(args, here),
            "command" if matches!(texts.first(), Some(Some("-v" | "-V"))) => true,
            "builtin" | "exec" | "command" if args.is_empty() => true,
            "wait" => args.iter().all(|it| self.known.is_number(it) || self.known.is_all(it)),
            _ if WRAPPERS.contains(&name) => self.is_wrapped(name, args, here),
            _ if INERT.contains(&name) => true,
            _ if SHELLS.contains(&name) => self.is_shell_followed(args, here),
            _ if OTHERS.contains(&base) => self.is_interpreter_followed(base, args, here),
            "make" | "gmake" => {
                let goes = |it: &str| it.starts_with("-C") || it.starts_with("--dir");
                let is_told = |it: &str| it.contains("eval") || it.starts_with("-E");
                texts.iter().all(|it| {
                    it.is_some_and(|it| !is_told(it) && (!goes(it) || here.folder == Folder::Own))
                })
            }
            _ if PACKAGES.contains(&name) => self.is_package_followed(name, args, here),
            _ => false,
        }
    }

    /// Whether a sum that is given as a text runs nothing.
    fn is_sum(&self, text: &str) -> bool {
        let Ok(script) = shell::read(&format!("(({text}))")) else { return false };
        matches!(script.commands.as_slice(), [command] if command.kind == Kind::Data
            && command.words.iter().all(|word| self.known.is_safe(word)))
    }

    /// Whether a text that is given to a shell runs only what is covered.
    pub(super) fn is_text(&self, text: &str, here: Here<'_>) -> bool {
        let has_gone = here.folder == Folder::Named;
        let is_shallow = self.covered.depth < super::DEEPEST;
        // The folder that it runs in is one of those that the text around it names.
        let goes = has_gone && (text.contains("cd") || text.contains("git") || text.contains('$'));
        is_shallow && !goes && in_covered(text, &self.covered.deeper()).is_none()
    }

    /// Whether the names in a folder that is gone to are looked at.
    fn is_way(&self, args: &[Word], here: Here<'_>) -> bool {
        let is_option = |it: &&Word| ["--", "-P", "-L"].iter().any(|option| is(it, option));
        let mut places = args.iter().skip_while(is_option);
        match (places.next(), places.next()) {
            (Some(place), None) if is(place, "-") => true,
            (Some(place), None) => match self.known.folder(place) {
                Some(Folder::Own) => true,
                Some(Folder::Named) => here.folder == Folder::Own,
                None => false,
            },
            _ => false,
        }
    }

    fn is_test(&self, words: &[Word]) -> bool {
        let texts: Vec<Option<String>> = words.iter().map(Word::literal).collect();
        texts.iter().enumerate().all(|(at, text)| match text.as_deref() {
            Some("-v" | "-R") => {
                texts.get(at + 1).is_some_and(|it| it.as_deref().is_some_and(is_name))
            }
            Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") => {
                let sides = [at.checked_sub(1), Some(at + 1)];
                sides.iter().all(|side| {
                    side.and_then(|side| words.get(side)).is_some_and(|it| self.known.is_number(it))
                })
            }
            Some(_) | None => true,
        })
    }

    /// Whether `[` tests what stands there: what is split, or stands where a sign could, may be one that
    /// names an element by what it runs.
    fn is_old_test(&self, args: &[Word]) -> bool {
        let is_sign = |it: &Word| it.literal().is_some();
        let starts_open = |pair: &[Word]| !is_sign(&pair[0]) && !is_sign(&pair[1]);
        let names = args.windows(2).filter(|pair| is(&pair[0], "-v") || is(&pair[0], "-R"));
        args.iter().all(|it| self.known.is_one(it) || self.known.is_number(it))
            && !args.windows(2).any(starts_open)
            && names.into_iter().all(|pair| pair[1].literal().is_some_and(|it| is_name(&it)))
    }

    fn declares(&self, name: &str, args: &[Word]) -> bool {
        let mut is_exported = name == "export";
        args.iter().all(|word| match (word.setting(), word.literal()) {
            (Some(setting), _) => self.is_set(&setting, is_exported),
            (None, Some(text)) if text.starts_with('-') => {
                is_exported |= text.contains('x');
                !text.contains(['i', 'n', 'f', 'F'])
            }
            (None, Some(text)) => is_name(&text) && (!loads(&text) || name != "export"),
            (None, None) => false,
        })
    }

    fn is_git_inert(&self, args: &[Word], texts: &[Option<&str>], here: Here<'_>) -> bool {
        // A folder may be a repository of its own, with what that runs.
        if here.folder == Folder::Named {
            return false;
        }
        let mut at = 0;
        loop {
            match texts.get(at) {
                Some(Some("--no-pager" | "-P")) => at += 1,
                Some(Some("-C")) => {
                    if args.get(at + 1).and_then(|it| self.known.folder(it)) != Some(Folder::Own) {
                        return false;
                    }
                    at += 2;
                }
                _ => break,
            }
        }
        let (Some(Some(action)), rest) = (texts.get(at), texts.get(at + 1..).unwrap_or_default())
        else {
            return false;
        };
        let is_told = rest.iter().flatten().any(|it| {
            it.contains("ext-diff") || it.contains("textconv") || it.contains("upload-pack")
        });
        let plain: Vec<&str> =
            rest.iter().flatten().copied().filter(|it| !it.starts_with('-')).collect();
        let is_literal = rest.iter().all(Option::is_some);
        match *action {
            "config" => {
                is_literal
                    && (plain.len() == 1
                        && !rest.iter().any(|it| matches!(it, Some("-e" | "--edit")))
                        || rest.contains(&Some("--get")))
            }
            "remote" => matches!(rest, [] | [Some("-v" | "show" | "get-url"), ..]),
            "stash" => matches!(rest, [Some("list" | "show"), ..]),
            "fetch" => is_literal && !is_told && plain.iter().all(|it| !it.contains(['/', ':'])),
            action => INERT_GIT.contains(&action) && !is_told,
        }
    }

    /// Words as they are, up to where options end, with a sign for each that is not known; none where one of
    /// these could be an option.
    fn operands(&self, args: &[Word]) -> Option<Vec<String>> {
        let mut texts = Vec::new();
        for word in args {
            match word.literal() {
                Some(text) if text == "--" => break,
                Some(text) => texts.push(text),
                None if self.known.is_operand(word) => texts.push(String::from('\u{1}')),
                None => return None,
            }
        }
        Some(texts)
    }

    /// Whether `find` runs nothing, or files of a folder all of which are covered.
    fn is_find_followed(&self, args: &[Word], command: &Command) -> bool {
        let texts: Vec<Option<String>> = args.iter().map(Word::literal).collect();
        let is_run = |it: &str| ["-exec", "-execdir", "-ok", "-okdir"].contains(&it);
        let runs = texts.iter().flatten().any(|it| is_run(it));
        // A word that is not known could be one that runs what follows as far as a sign.
        let has_end = texts.iter().flatten().any(|it| it == ";" || it.ends_with('+'));
        let is_value = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| texts[at].as_deref());
            before.is_some_and(|it| TESTS.contains(&it))
        };
        let is_known = |at: usize| {
            texts[at].is_some()
                || is_value(at)
                || self.known.is_operand(&args[at])
                || (!has_end && self.known.is_one(&args[at]))
        };
        let programs = texts.windows(2).filter(|pair| pair[0].as_deref().is_some_and(is_run));
        let mut programs = programs.map(|pair| pair[1].as_deref().unwrap_or_default());
        if !runs || programs.clone().all(|it| INERT.contains(&it)) {
            return (0..args.len()).all(is_known);
        }
        let Some(texts) = texts.iter().cloned().collect::<Option<Vec<String>>>() else {
            return false;
        };
        let is_program = |it: &str| {
            SHELLS.contains(&it) || OTHERS.contains(&it) || INERT.contains(&it) || it == "{}"
        };
        let words: Vec<String> = texts.iter().map(|it| it.replace(';', "\\;")).collect();
        let plain = gone_through(&format!("find {}", words.join(" ")));
        let is_told =
            |place: &str| ![".", "./"].contains(&place) && !place.contains(['$', '*', '?']);
        let mut folders = texts.iter().take_while(|it| !it.starts_with('-'));
        folders.clone().for_each(|folder| self.covered.ran.below(folder));
        programs.all(is_program)
            && !texts.iter().any(|it| it == "-c")
            && folders.all(|it| !it.starts_with('/') && !it.contains(".."))
            && !plain.is_empty()
            && plain.iter().all(|(place, _)| is_told(place))
            && plain == gone_through(&command.text)
    }

    fn is_timed(&self, args: &[Word], here: Here<'_>) -> bool {
        let mut rest = args;
        while let [option, after @ ..] = rest {
            match option.literal().as_deref() {
                Some("-k" | "-s") => rest = after.get(1..).unwrap_or_default(),
                Some("--foreground" | "--preserve-status" | "-v") => rest = after,
                Some(time) if time.starts_with(|c: char| c.is_ascii_digit()) => {
                    return self.runs(after, here);
                }
                Some(_) | None => return false,
            }
        }
        false
    }

    fn is_wrapped(&self, name: &str, args: &[Word], here: Here<'_>) -> bool {
        let texts: Vec<Option<String>> = args.iter().take(2).map(Word::literal).collect();
        match (name, texts.first().map(Option::as_deref)) {
            ("env", Some(Some("-u"))) | ("nice", Some(Some("-n"))) => {
                let rest = args.get(2..).unwrap_or_default();
                texts.get(1).is_some_and(Option::is_some) && self.is_wrapped(name, rest, here)
            }
            (_, Some(Some("-i" | "-" | "--"))) => self.runs(&args[1..], here),
            (_, Some(Some(option))) if option.starts_with('-') => false,
            _ => self.runs(args, here),
        }
    }
}

/// Whether what sets variables to what it reads sets none by which others load, and calls nothing.
fn is_setter_inert(name: &str, texts: &[Option<&str>]) -> bool {
    let is_free = |text: Option<&str>| {
        text.is_some_and(|text| !loads(text) && !text.contains(['[', '$', '`']))
    };
    let takes_text = ["-p", "-rp", "-d", "-t", "-n", "-u"];
    match (name, texts) {
        ("printf", [Some("-v"), name, ..]) => name.is_some_and(is_name) && is_free(*name),
        ("printf", [Some(format), ..]) => !format.starts_with("-v"),
        ("printf", [None, ..]) => false,
        ("read", _) => texts.iter().enumerate().all(|(at, text)| {
            let before = at.checked_sub(1).and_then(|at| texts[at]);
            is_free(*text) || before.is_some_and(|it| takes_text.contains(&it))
        }),
        ("mapfile" | "readarray", _) => texts.iter().all(|text| {
            is_free(*text) && text.is_some_and(|text| !text.starts_with('-') || text == "-t")
        }),
        _ => texts.get(1).is_some_and(|text| is_free(*text)),
    }
}

fn is_sort_inert(texts: &[String]) -> bool {
    let starts = ["--pre", "--hostname-bin", "--co"];
    !texts.iter().any(|it| starts.iter().any(|start| it.starts_with(start)))
}

fn is_xargs_inert(texts: &[Option<&str>]) -> bool {
    let mut texts = texts.iter();
    while let Some(text) = texts.next() {
        let Some(text) = text else { return false };
        match *text {
            "-0" | "-r" | "-t" | "-I{}" | "-I%" => {}
            "-n" | "-P" | "-L" | "-I" | "-d" => {
                let value = texts.next().copied().flatten();
                if value.is_none_or(|value| value.chars().all(char::is_alphabetic)) {
                    return false;
                }
            }
            _ if text.starts_with("-n") || text.starts_with("-P") || text.starts_with("-L") => {
                if !text[2..].bytes().all(|it| it.is_ascii_digit()) {
                    return false;
                }
            }
            program => return INERT.contains(&program),
        }
    }
    true
}
