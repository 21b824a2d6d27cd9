//! Which words of a command a rule for writing speaks of. What a program surely writes is denied; of what nobody
//! knows it is asked; sources, scripts that are run, and what is only looked at or tested are not written.

use super::{EVERY, LAST};
use crate::programs;
use crate::shell::wrappers::{is_interpreter, is_shell};
use crate::shell::{Fit, Found, Kind, Piece, base_name};

/// What is known of what a command writes.
pub(crate) struct Told<'a> {
    /// Words that name what it writes.
    pub(crate) targets: Vec<&'a Piece>,
    /// What is known of its other words.
    pub(crate) others: Others,
    /// How many words at its beginning are no files that it writes in any case.
    pub(crate) first: usize,
}

/// Whether a command writes the files that its words name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Others {
    /// It only reads or runs them.
    Never,
    /// It gives them to others.
    HandedOn,
    /// Nobody knows.
    Perhaps,
    /// It does.
    Surely,
}

/// Further programs that write what they name, or make it another name for something.
#[rustfmt::skip]
const WRITERS: &[&str] = &[
    "ln", "link", "mktemp", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "wget", "split",
    "csplit", "git", "unzip", "cpio", "mount",
];
/// Programs that pack files, and change them unless they are told not to.
const PACKERS: &[&str] = &["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"];
/// Programs that write nothing but what an option names.
#[rustfmt::skip]
const READERS: &[&str] = &[
    "cd", "pushd", "popd", "source", ".", "less", "more", "most", "bat", "batcat", "view", "shellcheck",
    "mypy", "pyright", "flake8", "pylint", "hadolint", "yamllint", "gcc", "g++", "cc", "c++", "clang",
    "clang++", "dd", "exec", "cloc", "tokei", "scc", "objdump", "nm", "strings",
];
/// Programs that run tests, or check what is written.
#[rustfmt::skip]
const TESTERS: &[&str] = &[
    "pytest", "py.test", "unittest", "jest", "vitest", "mocha", "ava", "tap", "jasmine", "cypress",
    "playwright", "karma", "phpunit", "rspec", "bats", "prove", "nosetests", "nose2", "tox", "nox", "ctest",
    "ruff", "eslint", "biome", "prettier", "black", "isort", "autopep8", "rubocop", "stylelint",
    "markdownlint", "rustfmt", "gofmt", "clang-format", "clang-tidy", "shfmt", "golangci-lint", "doctest",
];
/// Those of them that write unless they are told not to.
const FORMATTERS: &[&str] = &["black", "isort", "rustfmt", "ruff format"];
/// Options with which they change what they look at.
#[rustfmt::skip]
const FIXING: &[&str] = &[
    "--fix", "--fix-only", "--write", "-w", "-i", "--in-place", "--inplace", "-u", "--update", "-a", "-A",
    "--updateSnapshot", "--update-snapshots", "--snapshot-update", "--autocorrect", "--autocorrect-all",
];
/// Options with which formatters only say what they would do.
const CHECKING: &[&str] = &["--check", "--check-only", "--diff", "--dry-run"];
/// Programs and those of their commands that build or test and leave what they name as it is.
const BUILDERS: &[(&str, &[&str])] = &[
    ("go", &["test", "build", "run", "vet", "list", "doc"]),
    ("cargo", &["test", "build", "run", "check", "clippy", "bench", "nextest", "doc"]),
    ("npm", &["test", "t", "run", "start"]),
    ("yarn", &["test", "run", "start"]),
    ("pnpm", &["test", "run", "start"]),
    ("bun", &["test"]),
    ("deno", &["test", "check", "lint"]),
    ("docker", &["compose", "build"]),
    ("podman", &["compose", "build"]),
];
/// Words that only start the program behind them.
#[rustfmt::skip]
const STARTERS: &[(&str, &str)] = &[
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("pdm", "run"), ("bundle", "exec"),
    ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "dlx"), ("yarn", "exec"), ("npm", "exec"), ("coverage", "run"),
];
/// Options whose value is written, whatever program takes them.
#[rustfmt::skip]
const OUTPUTS: &[&str] = &[
    "-o", "-out", "--output", "--out", "--outfile", "--out-file", "--output-file", "--outdir", "--out-dir",
    "--outDir", "--output-dir", "--output-document", "--outputFile", "--junitxml", "--junit-xml", "--log-junit",
    "--report-log", "--basetemp", "--cov-report", "--html", "--html-report", "--xml-report", "--txt-report",
    "--coverage-html", "--coverageDirectory", "--cache-location", "--cache-dir", "--log-file", "--target-dir",
    "--artifact-dir", "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile", "-outputdir",
];
/// More words that start others are not looked behind.
const STARTED: usize = 4;

/// What is known of what `found` writes.
pub(crate) fn told(found: &Found) -> Told<'_> {
    let argv = found.argv();
    if found.kind == Kind::Target {
        return surely(0);
    }
    match found.fit {
        Fit::Exact | Fit::Handed => by_program(argv),
        Fit::Loose => by_any(argv),
    }
}

/// Whether words are those of a program that tests or checks files, and leaves them as they are.
pub(crate) fn only_checks(words: &[Piece]) -> bool {
    let name = started(words).first().map_or("", |word| base_name(&word.text));
    let told = by_program(words);
    TESTERS.contains(&name) && told.others == Others::Never && told.targets.is_empty()
}

fn surely(first: usize) -> Told<'static> {
    Told { targets: Vec::new(), others: Others::Surely, first }
}

/// A command that writes these and nothing else.
fn only(targets: Vec<&Piece>) -> Told<'_> {
    Told { targets, others: Others::Never, first: 1 }
}

/// The same where any word may be the program.
fn by_any(argv: &[Piece]) -> Told<'_> {
    let named =
        |names: &[&str]| argv.iter().position(|word| names.contains(&base_name(&word.text)));
    let mut targets = outputs(argv);
    for at in [named(EVERY), named(WRITERS), named(&["sed", "gsed", "perl", "ruby"])] {
        let words = at.map_or(&[][..], |at| &argv[at..]);
        if by_program(words).others == Others::Surely && !super::only_reads(words) {
            targets.extend(words.iter().skip(1));
        }
    }
    if let Some(at) = named(LAST) {
        targets.extend(by_program(&argv[at..]).targets);
    }
    Told { targets, others: Others::Perhaps, first: 0 }
}

fn by_program(words: &[Piece]) -> Told<'_> {
    let Some((program, args)) = words.split_first() else {
        return only(Vec::new());
    };
    let name = base_name(&program.text);
    match name {
        "ln" | "link" => surely(1),
        "cp" if has_links(args) || has(args, &["-S", "--suffix"]) => surely(1),
        "install" if has(args, &["-d", "--directory"]) => surely(1),
        "rsync" if has(args, &["--remove-source-files"]) => surely(1),
        "tar" | "gtar" | "bsdtar" => archived(args),
        "zip" if !has(args, &["-m", "--move"]) => {
            only(args.iter().find(|word| !word.text.starts_with('-')).into_iter().collect())
        }
        "perl" | "ruby" if args.iter().any(|word| is_in_place(&word.text)) => surely(1),
        _ if LAST.contains(&name) => only(copied(args)),
        _ if PACKERS.contains(&name)
            && has(args, &["-c", "-dc", "-cd", "-l", "-t", "--stdout"]) =>
        {
            only(Vec::new())
        }
        "for" | "select" | "set" | "export" | "declare" | "local" | "readonly" | "typeset"
        | "read" | "mapfile" => Told { others: Others::HandedOn, ..only(Vec::new()) },
        _ if READERS.contains(&name) => only(outputs(words)),
        _ if EVERY.contains(&name) || WRITERS.contains(&name) => surely(1),
        // Of these it is known how they only look, and this is something else.
        _ if programs::is_known(name) => surely(1),
        _ => by_others(words),
    }
}

/// What programs write that test, check, build or run something, and all that nobody knows.
fn by_others(given: &[Piece]) -> Told<'_> {
    let words = started(given);
    let name = words.first().map_or("", |word| base_name(&word.text));
    let args = words.get(1..).unwrap_or_default();
    let operand = |word: &Piece| !word.text.starts_with('-');
    let script = args.iter().position(operand);
    let command = script.map_or("", |at| args[at].text.as_str());
    let (targets, first) = (outputs(given), given.len() - args.len());
    if TESTERS.contains(&name) {
        let writes = |it: &&str| *it == name || **it == format!("{name} {command}");
        let is_formatter = FORMATTERS.iter().any(writes) && !has(args, CHECKING);
        let others = if is_formatter || has(args, FIXING) { Others::Surely } else { Others::Never };
        return Told { targets, others, first };
    }
    let mut builders = BUILDERS.iter().filter(|(program, _)| *program == name);
    let builds = builders.any(|(_, commands)| commands.contains(&command));
    if builds || (name == "node" && has(args, &["--test"])) {
        return only(targets);
    }
    // What is run is not written by that.
    let has_text = has(args, &["-c", "-e", "-E", "-p", "-r", "--eval", "--print"]);
    let runs_file = (is_shell(name) || is_interpreter(name)) && !has_text;
    let first = first + script.filter(|_| runs_file).map_or(0, |at| at + 1);
    Told { targets, others: Others::Perhaps, first }
}

/// Whether one of these words is given.
fn has(args: &[Piece], names: &[&str]) -> bool {
    args.iter().any(|word| names.contains(&word.text.as_str()))
}

/// The words of the program that others only start.
fn started(argv: &[Piece]) -> &[Piece] {
    let mut words = argv;
    for _ in 0..STARTED {
        let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
        let (name, next) = (base_name(text(0)), text(1));
        if is_interpreter(name) && next == "-m" {
            words = words.get(2..).unwrap_or_default();
        } else if matches!(name, "npx" | "bunx" | "uvx") && !next.starts_with('-') {
            words = &words[1..];
        } else if STARTERS.contains(&(name, next)) {
            words = words.get(2..).unwrap_or_default();
        } else {
            break;
        }
    }
    words
}

/// The words with which options name what is written.
pub(crate) fn outputs(argv: &[Piece]) -> Vec<&Piece> {
    let mut targets = Vec::new();
    for (at, word) in argv.iter().enumerate().skip(1) {
        let text = word.text.as_str();
        if !text.starts_with(['-', 'o']) {
            continue;
        }
        let name = text.split('=').next().unwrap_or_default();
        let is_attached = text.starts_with("-o") || text.starts_with("of=");
        if is_attached || OUTPUTS.contains(&name) {
            targets.push(word);
        }
        if OUTPUTS.contains(&text) {
            targets.extend(argv.get(at + 1));
        }
    }
    targets
}

/// Options of copies that name where they go.
const INTO: &[&str] =
    &["--target-directory", "--backup-dir", "--partial-dir", "--temp-dir", "--log-file"];

/// Where a copy goes.
fn copied(args: &[Piece]) -> Vec<&Piece> {
    let mut targets: Vec<&Piece> = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        let is_bundle = text.starts_with('-') && !text.starts_with("--") && text.contains('t');
        if is_bundle || INTO.iter().any(|name| text.starts_with(name)) {
            targets.push(word);
        }
        if (is_bundle && text.ends_with('t')) || INTO.contains(&text) {
            targets.extend(args.get(at + 1));
        }
    }
    let is_named = |word: &&Piece| word.text == "-t" || word.text.starts_with("--target");
    if args.iter().any(|word| is_named(&word)) {
        return targets;
    }
    // What follows an option may be its value, and the target stands before it.
    let operands = args.iter().enumerate().rev().filter(|(_, word)| !word.text.starts_with('-'));
    for (at, word) in operands {
        targets.push(word);
        if !at.checked_sub(1).is_some_and(|at| args[at].text.starts_with('-')) {
            break;
        }
    }
    targets
}

/// What `tar` writes: the archive, or what it takes out of it.
fn archived(args: &[Piece]) -> Told<'_> {
    let is_bundle = |at: usize, text: &str| {
        (at == 0 && !text.starts_with('-')) || (text.starts_with('-') && !text.starts_with("--"))
    };
    let texts = || args.iter().map(|word| word.text.as_str()).enumerate();
    // What follows this letter may be the archive.
    let letters = |text: &str| text.find('f').map_or(text.len(), |at| at + 1);
    let with = |letter: char| {
        texts().position(|(at, it)| is_bundle(at, it) && it[..letters(it)].contains(letter))
    };
    let makes = with('c').or(with('r')).or(with('u')).is_some();
    let makes = makes || has(args, &["--create", "--append", "--update"]);
    let takes = with('x').is_some() || has(args, &["--extract", "--get"]);
    let file = with('f').or_else(|| texts().position(|(_, text)| text == "--file"));
    let is_archive = |at: usize, word: &Piece| {
        file.is_some_and(|file| at == file || at == file + 1) || word.text.starts_with("--file=")
    };
    let is_made = makes && !takes;
    if is_made && has(args, &["--remove-files"]) {
        return surely(1);
    }
    let words = args.iter().enumerate().filter(|(at, word)| {
        // A folder may be attached to the letters.
        is_archive(*at, word) == is_made || (!is_made && word.text.starts_with('-'))
    });
    only(words.map(|(_, word)| word).collect())
}

/// Whether a copy makes links to what it copies.
fn has_links(args: &[Piece]) -> bool {
    args.iter().any(|word| {
        let text = word.text.as_str();
        let letters = text.split(['t', 'S']).next().unwrap_or_default();
        let is_bundle = text.starts_with('-') && !text.starts_with("--");
        (is_bundle && letters.contains(['l', 's']))
            || text.starts_with("--link")
            || text.starts_with("--sym")
    })
}

/// Whether an option of Perl or Ruby changes files where they are.
fn is_in_place(text: &str) -> bool {
    let letters = text.strip_prefix('-').unwrap_or_default();
    let own = letters.split(['e', 'E', 'I', 'M', 'm', 'F', 'x', 'D', 'C', 'r']).next();
    !letters.starts_with('-') && own.is_some_and(|own| own.contains('i'))
}
