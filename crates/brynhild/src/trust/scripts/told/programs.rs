//! Programs, and words of a shell, that run nothing of a project: some whatever they are given, others as long as
//! all that they are given is of a shape that was looked at.

use policy::script::{Piece, Word};

use super::variables::loads;

/// Those that run nothing, load nothing and write no file but what they are for, whatever they are given.
#[rustfmt::skip]
const INERT: [&str; 79] = [
    ":", "afplay", "basename", "black", "break", "cat", "chmod", "cksum", "clang-format", "cmp", "column", "comm",
    "continue", "cut", "date", "df", "dirname", "du", "echo", "egrep", "envsubst", "exit", "expr", "false", "fgrep",
    "fold", "free", "getent", "grep", "groups", "hadolint", "head", "hostname", "id", "isort", "join", "jq", "kill",
    "logger", "ls", "md5sum", "mkdir", "mktemp", "nl", "notify-send", "nproc", "od", "paste", "pgrep", "printenv", "ps",
    "pwd", "readlink", "realpath", "return", "rev", "rm", "rmdir", "seq", "sha1sum", "sha256sum", "shellcheck", "shift",
    "sleep", "stat", "sum", "sync", "tac", "tail", "taplo", "touch", "tr", "true", "tty", "type", "uname", "wc",
    "which", "whoami",
];
/// Those that could write a file or load something if an option says so, with the options that do not.
#[rustfmt::skip]
const OPTIONS: [(&str, &[&str]); 5] = [
    ("aplay", &["-q"]),
    ("base64", &["-d", "-D", "--decode", "-w", "-w0", "--wrap", "-i"]),
    ("gofmt", &["-d", "-e", "-l", "-s", "-w"]),
    ("paplay", &[]),
    ("ruff", &[
        "-e", "-n", "-q", "-s", "--check", "--diff", "--exit-zero", "--extend-select", "--fix", "--fix-only",
        "--force-exclude", "--ignore", "--line-length", "--no-cache", "--output-format", "--quiet", "--select", "--silent",
        "--unsafe-fixes",
    ]),
];
/// What git does without reading more of the project than its own folder.
const GIT: [&str; 2] = ["rev-parse --show-toplevel", "branch --show-current"];
/// Options of `curl` that name no file but one that is sent, and those of them with a value.
#[rustfmt::skip]
const CURL: [&str; 18] = [
    "-s", "-S", "-f", "-L", "-sS", "-fsS", "-sf", "-fsSL", "-sSf", "--silent", "--fail", "--show-error", "-X", "-H", "-d",
    "--data", "--json", "-m",
];
const CURL_VALUES: [&str; 6] = ["-X", "-H", "-d", "--data", "--json", "-m"];

/// A program's own name, where it is one of the system.
pub(super) fn name(program: &str) -> &str {
    let own = ["/usr/bin/", "/bin/"].iter().find_map(|it| program.strip_prefix(it));
    own.unwrap_or(program)
}

/// Whether what a program of this name does depends on options that it may be given in variables.
pub(super) fn takes_options(name: &str) -> bool {
    OPTIONS.iter().any(|(it, _)| *it == name)
}

/// Whether a program that is given these runs nothing.
pub(in super::super) fn runs_nothing(name: &str, args: &[Word]) -> bool {
    let texts: Option<Vec<&str>> = args.iter().map(Word::literal).collect();
    match name {
        _ if INERT.contains(&name) => true,
        "set" => is_set(args),
        "read" => texts.is_some_and(|it| is_read(&it)),
        "printf" => args.first().and_then(Word::literal).is_some_and(is_format),
        "command" => matches!(texts.as_deref(), Some(["-v", _])),
        "git" => texts.is_some_and(|it| GIT.contains(&it.join(" ").as_str())),
        "sort" => texts.is_some_and(|it| it.iter().all(|it| is_option(it, "bfnruhVk0123456789,."))),
        "uniq" => texts.is_some_and(|it| it.iter().all(|it| is_option(it, "cdui"))),
        "sed" => texts.is_some_and(|it| is_sed(&it)),
        "awk" | "gawk" | "mawk" => texts.is_some_and(|it| is_awk(&it)),
        "curl" => is_curl(args),
        "test" => is_test(args),
        "[" => {
            args.split_last().is_some_and(|(end, args)| end.literal() == Some("]") && is_test(args))
        }
        _ => {
            let known = OPTIONS.iter().find(|(it, _)| *it == name);
            known.is_some_and(|(_, options)| args.iter().all(|it| is_known(it, options)))
        }
    }
}

/// Whether a word is no option, or one of these.
fn is_known(word: &Word, options: &[&str]) -> bool {
    let text = match word.pieces.first() {
        Some(Piece::Text(text)) => text,
        Some(Piece::Variable(_)) | None => return true,
        // Of what it stands for, some may be options.
        Some(Piece::Bare(_) | Piece::Other) => return false,
    };
    let option = text.split('=').next().unwrap_or_default();
    !text.starts_with('-') || ["-", "--"].contains(&text.as_str()) || options.contains(&option)
}

fn is_option(text: &str, letters: &str) -> bool {
    text.strip_prefix('-')
        .is_some_and(|it| !it.is_empty() && it.chars().all(|c| letters.contains(c)))
}

/// Whether `printf` sets no variable: behind `-v` a name could be an element, whose number is worked out by running
/// it, and `%n`, also with a width or a length, could set `PATH`.
fn is_format(text: &str) -> bool {
    let text = text.replace("%%", "");
    let mut signs = text.split('%').skip(1);
    !text.starts_with('-') && signs.all(|it| it.starts_with(['s', 'd']))
}

fn is_set(args: &[Word]) -> bool {
    let is_known = |word: &Word| {
        let names = ["pipefail", "errexit", "nounset", "noglob"];
        word.literal().is_some_and(|it| {
            names.contains(&it)
                || is_option(it, "eufxo")
                || is_option(&it.replace('+', "-"), "eufx")
        })
    };
    args.iter().take_while(|it| it.literal() != Some("--")).all(is_known)
}

fn is_read(texts: &[&str]) -> bool {
    let names = if texts.first() == Some(&"-r") { &texts[1..] } else { texts };
    names.iter().all(|it| is_name(it) && !loads(it))
}

pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether `sed` is given nothing but one substitution, with flags that neither run nor write, and files to read.
fn is_sed(texts: &[&str]) -> bool {
    let mut texts = texts;
    while let [option, rest @ ..] = texts
        && is_option(option, "nErz")
    {
        texts = rest;
    }
    let [script, files @ ..] = texts else { return false };
    if files.iter().any(|it| it.starts_with('-')) {
        return false;
    }
    let Some(sign) = script.strip_prefix('s').and_then(|it| it.chars().next()) else {
        return false;
    };
    if !"/|#,@".contains(sign) || script.contains(['\n', ';', '{', '}']) {
        return false;
    }
    let parts: Vec<&str> = script.split(sign).collect();
    let is_whole = parts.iter().take(parts.len() - 1).all(|part| !part.ends_with('\\'));
    parts.len() == 4 && is_whole && parts[3].chars().all(|c| "gpI0123456789".contains(c))
}

/// Whether `awk` is given a text that starts, reads and writes nothing by names of its own.
fn is_awk(texts: &[&str]) -> bool {
    let program = match texts {
        ["-F", _, program] | [program] => program,
        [option, program] if option.starts_with("-F") => program,
        _ => return false,
    };
    let odd = ["system", "getline", "|", ">", "@", "include", "load"];
    !program.starts_with('-') && !odd.iter().any(|it| program.contains(it))
}

/// Whether `curl` is given no option that writes a file or loads something.
fn is_curl(args: &[Word]) -> bool {
    let mut is_value = false;
    let mut is_target = false;
    args.iter().all(|word| {
        if std::mem::take(&mut is_target) {
            return word.literal() == Some("/dev/null");
        }
        if std::mem::take(&mut is_value) {
            return word.is_one();
        }
        match word.pieces.first() {
            Some(Piece::Text(text)) if text.starts_with('-') => {
                is_value = CURL_VALUES.contains(&text.as_str());
                is_target = text == "-o";
                word.literal().is_some() && (is_target || CURL.contains(&text.as_str()))
            }
            Some(Piece::Text(text)) => !text.is_empty() && word.is_one(),
            _ => false,
        }
    })
}

/// Whether words are a test that looks at files and texts only: some ask for a variable by its name, which may be
/// an element that is worked out by running it.
fn is_test(args: &[Word]) -> bool {
    let args = match args {
        [not, rest @ ..] if not.literal() == Some("!") => rest,
        _ => args,
    };
    let is_sign =
        |word: &Word, signs: &[&str]| word.literal().is_some_and(|it| signs.contains(&it));
    args.iter().all(Word::is_one)
        && match args {
            [_] => true,
            [sign, _] => is_sign(sign, &UNARY),
            [_, sign, _] => is_sign(sign, &BINARY) || is_sign(sign, &NUMBERS),
            _ => false,
        }
}

const UNARY: [&str; 16] = [
    "-b", "-c", "-d", "-e", "-f", "-h", "-L", "-n", "-p", "-r", "-S", "-s", "-t", "-w", "-x", "-z",
];
const BINARY: [&str; 6] = ["=", "==", "!=", "-nt", "-ot", "-ef"];
/// What Bash alone compares a text with a pattern by.
const FITS: &str = "=~";
const NUMBERS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// The same for the words between `[[` and `]]`, which only Bash takes for a test: to another shell what follows
/// `&&` and `||` is a command.
pub(super) fn is_double_test(words: &[Word], is_bash: bool) -> bool {
    let is_join = |word: &Word| ["&&", "||"].iter().any(|it| word.literal() == Some(it));
    let tests = words.split(is_join).collect::<Vec<_>>();
    let is_number = |word: &Word| match word.pieces.as_slice() {
        [Piece::Text(text)] => !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit()),
        [Piece::Variable(name)] => ["#", "?"].contains(&name.as_str()),
        _ => false,
    };
    let is_known = |test: &[Word]| {
        let test = match test {
            [not, rest @ ..] if not.literal() == Some("!") => rest,
            _ => test,
        };
        match test {
            [_] => true,
            [sign, _] => sign.literal().is_some_and(|it| UNARY.contains(&it)),
            [one, sign, other] => {
                let sign = sign.literal().unwrap_or_default();
                // To another shell a pattern may be more than one word.
                let is_pattern = sign == FITS && (is_bash || other.is_one());
                BINARY.contains(&sign)
                    || is_pattern
                    || (NUMBERS.contains(&sign) && is_number(one) && is_number(other))
            }
            _ => false,
        }
    };
    (tests.len() == 1 || is_bash) && tests.into_iter().all(is_known)
}
