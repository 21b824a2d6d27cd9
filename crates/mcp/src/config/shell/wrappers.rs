//! Programs that run the command which follows them.

use super::{Behind, Script, is_name, owned};

/// A program that runs the command which follows it, and how its own words are told from that.
struct Wrapper {
    name: &'static str,
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with one.
    valued: &'static str,
    /// Other options without a value, or with one in the same word.
    long_flags: &'static [&'static str],
    /// Other options with a value.
    long_valued: &'static [&'static str],
    /// How many words of its own stand before the command.
    operands: usize,
}

/// One that has no words of its own.
const PLAIN: Wrapper =
    Wrapper { name: "", flags: "", valued: "", long_flags: &[], long_valued: &[], operands: 0 };

const WRAPPERS: [Wrapper; 19] = [
    Wrapper { name: "builtin", ..PLAIN },
    Wrapper { name: "busybox", ..PLAIN },
    Wrapper { name: "caffeinate", flags: "dimsu", valued: "tw", ..PLAIN },
    Wrapper { name: "chroot", long_valued: &["--groups", "--userspec"], operands: 1, ..PLAIN },
    Wrapper { name: "command", flags: "pvV", ..PLAIN },
    Wrapper { name: "doas", flags: "Lns", valued: "Cu", ..PLAIN },
    Wrapper {
        name: "env",
        flags: "i0v",
        valued: "aCPSu",
        long_flags: &[
            "--block-signal",
            "--debug",
            "--default-signal",
            "--ignore-environment",
            "--ignore-signal",
            "--list-signal-handling",
            "--null",
        ],
        long_valued: &["--argv0", "--chdir", "--split-string", "--unset"],
        ..PLAIN
    },
    Wrapper { name: "exec", flags: "cl", valued: "a", ..PLAIN },
    Wrapper {
        name: "ionice",
        flags: "t",
        valued: "cn",
        long_flags: &["--ignore"],
        long_valued: &["--class", "--classdata"],
        ..PLAIN
    },
    Wrapper {
        name: "nice",
        flags: "0123456789",
        valued: "n",
        long_valued: &["--adjustment"],
        ..PLAIN
    },
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper { name: "setsid", flags: "cfw", long_flags: &["--ctty", "--fork", "--wait"], ..PLAIN },
    Wrapper {
        name: "stdbuf",
        valued: "eio",
        long_valued: &["--error", "--input", "--output"],
        ..PLAIN
    },
    Wrapper {
        name: "sudo",
        flags: "ABbEHKkNnPS",
        valued: "CDgRTu",
        long_flags: &["--non-interactive", "--preserve-env", "--set-home", "--stdin"],
        long_valued: &["--chdir", "--chroot", "--command-timeout", "--group", "--user"],
        ..PLAIN
    },
    Wrapper { name: "taskset", flags: "ac", long_flags: &["--cpu-list"], operands: 1, ..PLAIN },
    Wrapper {
        name: "time",
        flags: "apqv",
        valued: "fo",
        long_flags: &["--append", "--portability", "--quiet", "--verbose"],
        long_valued: &["--format", "--output"],
        ..PLAIN
    },
    Wrapper {
        name: "timeout",
        flags: "fpv",
        valued: "ks",
        long_flags: &["--foreground", "--preserve-status", "--verbose"],
        long_valued: &["--kill-after", "--signal"],
        operands: 1,
    },
    Wrapper { name: "toybox", ..PLAIN },
    Wrapper {
        name: "xargs",
        flags: "0oprtx",
        valued: "adEILnPs",
        long_flags: &["--exit", "--no-run-if-empty", "--null", "--open-tty", "--verbose"],
        long_valued: &["--arg-file", "--delimiter", "--max-args", "--max-lines", "--max-procs"],
        ..PLAIN
    },
];

/// What a word is to a wrapper.
enum Kind<'a> {
    Flag,
    /// An option whose value is the next word.
    Waiting(&'a str),
    /// An option with its value.
    Filled(&'a str, &'a str),
    /// The end of options.
    End,
    Operand,
    Unknown,
}

impl Wrapper {
    fn kind<'a>(&self, word: &'a str) -> Kind<'a> {
        if word == "--" {
            return Kind::End;
        }
        if word.starts_with("--") {
            return match word.split_once('=') {
                Some((key, value)) if self.long_valued.contains(&key) => Kind::Filled(key, value),
                Some((key, _)) if self.long_flags.contains(&key) => Kind::Flag,
                None if self.long_valued.contains(&word) => Kind::Waiting(word),
                None if self.long_flags.contains(&word) => Kind::Flag,
                Some(_) | None => Kind::Unknown,
            };
        }
        let Some(letters) = word.strip_prefix('-') else { return Kind::Operand };
        for (at, letter) in letters.char_indices() {
            if self.valued.contains(letter) {
                let (key, value) = letters[at..].split_at(letter.len_utf8());
                return if value.is_empty() {
                    Kind::Waiting(key)
                } else {
                    Kind::Filled(key, value)
                };
            }
            if !self.flags.contains(letter) {
                return Kind::Unknown;
            }
        }
        Kind::Flag
    }

    /// Whether a word sets a variable for the command.
    fn is_setting(&self, word: &str) -> bool {
        let is_setting = word.split_once('=').is_some_and(|(name, _)| is_name(name));
        is_setting && ["env", "sudo", "doas"].contains(&self.name)
    }
}

/// What a wrapper of this name runs; none where it is no wrapper.
pub(super) fn behind(name: &str, rest: &[&str]) -> Option<Behind> {
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let mut operands = wrapper.operands;
    let mut is_over = false;
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        at += 1;
        let kind = if is_over { Kind::Operand } else { wrapper.kind(word) };
        match kind {
            Kind::End => is_over = true,
            Kind::Unknown => return Some(Behind::Unclear),
            Kind::Filled(key, text) if is_split(name, key) => {
                return Some(split(text, &rest[at..]));
            }
            Kind::Waiting(key) if is_split(name, key) => {
                let (text, rest) = rest[at..].split_first()?;
                return Some(split(text, rest));
            }
            Kind::Waiting(_) => at += 1,
            Kind::Flag | Kind::Filled(..) => {}
            Kind::Operand if wrapper.is_setting(word) => {}
            Kind::Operand if operands > 0 => {
                operands -= 1;
                is_over = true;
            }
            Kind::Operand => {
                at -= 1;
                break;
            }
        }
    }
    Some(Behind::Command(owned(rest.get(at..).unwrap_or_default())))
}

/// Whether an option has words of the command in one.
fn is_split(name: &str, key: &str) -> bool {
    name == "env" && ["S", "--split-string"].contains(&key)
}

/// What `env` makes of words in one, and of those that follow them.
fn split(text: &str, rest: &[&str]) -> Behind {
    let script = Script::read(text);
    let [command] = script.commands.as_slice() else { return Behind::Unclear };
    if !script.is_whole {
        return Behind::Unclear;
    }
    let words = command.settings.iter().chain(&command.words).cloned();
    Behind::Command(std::iter::once("env".to_owned()).chain(words).chain(owned(rest)).collect())
}
