//! Options with which an ordinary program starts another one that the command names. A rule for the program
//! does not mean them, unless it spells them out.

use super::git;
use crate::shell::{Word, base_name, names_program, wrappers};

/// Programs, and their options whose value is run. A letter may stand among others and have its value
/// attached; of a long option its beginning is enough.
const OPTIONS: &[(&str, &str)] = &[
    (
        "tar gtar bsdtar",
        "I F --use-compress-program --to-command --checkpoint-action --info-script --new-volume-script --rsh-command",
    ),
    ("rsync", "e --rsh"),
    ("ssh scp sftp", "o F"),
    ("scp sftp", "S D"),
    ("fd fdfind", "x X --exec --exec-batch"),
    ("make gmake", "E e --eval --environment-overrides"),
    ("npm pnpm yarn", "--script-shell --node-options"),
    ("cargo", "--config"),
    ("pytest py.test", "p c o --override-ini --config-file"),
    ("wget", "e --execute --use-askpass --config"),
    ("zip", "--unzip-command"),
    ("split", "--filter"),
    ("man", "P H --pager --html"),
    ("tcpdump", "z"),
    ("apt apt-get aptitude", "o c --option --config-file"),
];

/// The same, where a whole word is the option.
const WHOLE: &[(&str, &str)] = &[
    ("go", "exec toolexec vettool overlay"),
    ("gcc g++ cc c++ clang clang++", "wrapper specs fplugin"),
    ("zip", "TT"),
];

/// So many letters may stand together.
const CLUSTER: usize = 6;

/// How many wrappers in a row are looked through.
const WRAPPED: usize = 8;

/// Whether a program with these arguments starts no other that they name, apart from the words of which
/// `is_spelled` says that a rule has them.
pub(crate) fn starts_nothing(command: &[Word], is_spelled: &dyn Fn(usize) -> bool) -> bool {
    let mut at = 0;
    for _ in 0..WRAPPED {
        let Some(wrapper) = command.get(at).and_then(|it| wrappers::find(base_name(&it.text)))
        else {
            break;
        };
        let texts: Vec<&str> =
            command[at + 1..].iter().map(|it| it.text.as_str()).take(64).collect();
        match wrapper.inner(&texts) {
            wrappers::Inner::At(inner) => at += 1 + inner,
            wrappers::Inner::Unclear | wrappers::Inner::Nothing => return true,
        }
    }
    let Some(name) = command.get(at).map(|word| base_name(&word.text)) else { return true };
    let args = &command[at + 1..];
    let is_spelled = |word: usize| is_spelled(at + 1 + word);
    if name == "git" {
        return git::starts_nothing(args, &is_spelled);
    }
    let dashes = args.iter().position(|word| word.text == "--").unwrap_or(args.len());
    let mut words = (0..args.len()).filter(|at| !is_spelled(*at));
    !words.any(|at| {
        let next = args.get(at + 1).map_or("", |word| word.text.as_str());
        let is_run = match name {
            // Both take words behind `--` as their own.
            "make" | "gmake" => is_run_by_make(&args[at].text) || is_fed(&args[at].text, next),
            "npm" | "pnpm" | "yarn" => is_run_by_npm(args, at),
            _ => false,
        };
        is_run || (at < dashes && starts(name, (at, args[at].text.as_str()), next))
    })
}

/// Whether a word, the next one being `next`, has `name` start a program.
fn starts(name: &str, (at, word): (usize, &str), next: &str) -> bool {
    let of = |list: &'static [(&str, &str)]| {
        let own = list.iter().filter(|(names, _)| names.split(' ').any(|it| it == name));
        own.flat_map(|(_, options)| options.split(' '))
    };
    let (option, attached) = word.split_once('=').unwrap_or((word, ""));
    let is_whole = |known: &str| {
        option.strip_prefix('-').is_some_and(|it| it.trim_start_matches('-') == known)
    };
    if of(WHOLE).any(is_whole) {
        return true;
    }
    if option.starts_with("--") {
        let value = if word.contains('=') { attached } else { next };
        let mut known = of(OPTIONS).filter(|known| option.len() > 3 && known.starts_with(option));
        return known.any(|known| !is_usual(name, known, value));
    }
    // The first word of `tar` may be letters alone.
    let bundled = name.ends_with("tar") && at == 0;
    let Some(letters) = word.strip_prefix('-').or_else(|| bundled.then_some(word)) else {
        return false;
    };
    let mut known = of(OPTIONS).filter(|known| known.len() == 1);
    known.any(|known| {
        let Some((before, rest)) = letters.split_once(known) else { return false };
        // What is attached to another letter has more than letters, or many.
        let is_cluster =
            before.len() < CLUSTER && before.bytes().all(|it| it.is_ascii_alphanumeric());
        is_cluster && !is_usual(name, known, if rest.is_empty() { next } else { rest })
    })
}

/// Values that name a program which is the usual one, or none.
fn is_usual(name: &str, option: &str, value: &str) -> bool {
    let first = value.split_whitespace().next().unwrap_or_default();
    match (name, option) {
        ("tar" | "gtar" | "bsdtar", "I" | "--use-compress-program") => {
            ["gzip", "bzip2", "xz", "zstd", "zstdmt", "lz4", "lzip", "pigz", "pbzip2", "brotli"]
                .contains(&first)
        }
        ("tar" | "gtar" | "bsdtar", "--checkpoint-action") => {
            ["dot", "echo", "bell"].contains(&value)
        }
        ("rsync", _) => first == "ssh" && !runs_by_setting(value),
        ("ssh" | "scp" | "sftp", "o") => !runs_by_setting(value),
        ("pytest" | "py.test", "p") => value.starts_with("no:"),
        _ => false,
    }
}

/// Whether settings of `ssh` could name a program or a file of further settings.
fn runs_by_setting(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    ["command", "provider", "include", "match", " -f", "program", "xauth", "askpass"]
        .iter()
        .any(|it| value.contains(it))
}

/// Whether a word has `npm` and its like run what follows it, or set what they run later.
fn is_run_by_npm(args: &[Word], at: usize) -> bool {
    let word = args[at].text.as_str();
    // The beginning of a subcommand is taken for all of it.
    let is_begun = |word: &str, known: &str| word.len() > 1 && known.starts_with(word);
    let sets = |it: &Word| it.text == "c" || is_begun(&it.text, "config");
    let has_operand = || args[at + 1..].iter().any(|it| !it.text.starts_with('-'));
    // Behind options any word may be the subcommand.
    let is_first = at == 0 || args[0].text.starts_with('-');
    let runs = match word {
        "x" | "dlx" | "set" => true,
        "init" | "ini" | "innit" => has_operand(),
        word => ["exec", "explore", "create", "edit"].iter().any(|it| is_begun(word, it)),
    };
    (is_first && runs) || (["set", "edit"].contains(&word) && args[..at].iter().any(sets))
}

/// Whether make is told here to read its rules from what is given to it, a text that nobody has seen.
fn is_fed(word: &str, next: &str) -> bool {
    let value =
        match word.strip_prefix("--").map(|long| long.split_once('=').unwrap_or((long, next))) {
            Some((name, value)) => {
                let is_one = ["file", "makefile"].iter().any(|it| it.starts_with(name));
                Some(value).filter(|_| is_one && !name.is_empty())
            }
            None => word.strip_prefix('-').and_then(|letters| {
                let (_, value) = letters.split_once('f')?;
                Some(if value.is_empty() { next } else { value })
            }),
        };
    value.is_some_and(|it| it == "-" || it.starts_with("/dev/") || it.starts_with("/proc/"))
}

/// Whether an argument of make is a setting that is run, or could hold a command: more than one plain word, but for
/// options that name no file.
fn is_run_by_make(word: &str) -> bool {
    let Some((name, value)) = word.split_once('=').filter(|_| !word.starts_with('-')) else {
        return false;
    };
    let runs = name.ends_with('!');
    let name = name.trim_end_matches([':', '+', '?', '!']);
    let is_plain =
        |word: &str| word.chars().all(|c| c.is_alphanumeric() || "_.,:/+@%=-".contains(c));
    let is_option = |word: &str| word.starts_with('-') && is_plain(word) && !word.contains('/');
    let are_options = || value.split(' ').all(is_option);
    let is_word = is_plain(value) && !value.starts_with('-');
    let is_started = names_program(name) && value.contains('/');
    ["SHELL", ".SHELLFLAGS", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKE", "MAKEFILES"].contains(&name)
        || runs
        || is_started
        || !(is_word || are_options())
}
