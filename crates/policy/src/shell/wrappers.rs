//! Programs that run other programs, and where in their arguments the other program begins.

mod names;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

/// A program that runs the program named in its arguments.
pub(crate) struct Wrapper {
    /// Its name.
    pub(crate) name: &'static str,
    /// Short options: a letter, and `:` after it where a value follows.
    short: &'static str,
    /// Long options; `=` at the end where a value follows, `=?` where one may be attached.
    long: &'static [&'static str],
    /// How many operands come before the program.
    operands: usize,
    /// Whether `NAME=value` may come before the program.
    assignments: bool,
    /// Short options with which it changes nothing about what the program does; none where it is
    /// never looked through to allow.
    harmless: Option<&'static str>,
}

const fn wrapper(name: &'static str, short: &'static str, operands: usize) -> Wrapper {
    Wrapper { name, short, long: &[], operands, assignments: false, harmless: None }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        long: &["kill-after=", "signal=", "foreground", "preserve-status", "verbose"],
        harmless: Some("k:s:v"),
        ..wrapper("timeout", "k:s:v", 1)
    },
    Wrapper { long: &["adjustment="], harmless: Some("n:"), ..wrapper("nice", "n:", 0) },
    Wrapper {
        long: &["class=", "classdata=", "ignore"],
        harmless: Some("c:n:t"),
        ..wrapper("ionice", "c:n:tp:P:u:", 0)
    },
    Wrapper { harmless: Some(""), ..wrapper("nohup", "", 0) },
    // The word of the shell may stand before a variable, the program may not.
    Wrapper { assignments: true, harmless: Some("p"), ..wrapper("time", "pf:o:av", 0) },
    Wrapper {
        long: &["input=", "output=", "error="],
        harmless: Some("i:o:e:"),
        ..wrapper("stdbuf", "i:o:e:", 0)
    },
    Wrapper { harmless: Some("p"), ..wrapper("command", "p", 0) },
    Wrapper {
        long: &["ignore-environment", "null", "unset=", "chdir=", "debug"],
        assignments: true,
        harmless: Some(""),
        ..wrapper("env", "i0u:C:v", 0)
    },
    wrapper("builtin", "", 0),
    wrapper("exec", "cla:", 0),
    wrapper("coproc", "", 0),
    wrapper("setsid", "cfw", 0),
    Wrapper {
        assignments: true,
        long: &["user=", "group=", "non-interactive", "preserve-env", "login", "shell"],
        ..wrapper("sudo", "u:g:h:p:C:r:t:T:U:D:R:AbBEHiKknPSs", 0)
    },
    wrapper("doas", "u:C:Lns", 0),
    Wrapper {
        long: &[
            "null",
            "no-run-if-empty",
            "max-args=",
            "max-procs=",
            "delimiter=",
            "arg-file=",
            "verbose",
            "replace=?",
            "max-lines=",
        ],
        ..wrapper("xargs", "0rtpxiI:J:n:P:L:s:a:d:E:", 0)
    },
    wrapper("strace", "fFqvrtTyCcdDhiknwxzZe:o:p:s:u:E:P:a:b:I:O:S:X:", 0),
    wrapper("ltrace", "fFqrtTCcSie:o:p:s:u:a:n:l:x:A:", 0),
    wrapper("chroot", "", 1),
    wrapper("unshare", "muinpUTCrcfS:G:R:w:", 0),
    wrapper("nsenter", "muinpUTCat:S:G:r:w:", 0),
    wrapper("busybox", "", 0),
    wrapper("toybox", "", 0),
    wrapper("flock", "sxenuoFvw:E:", 1),
    wrapper("taskset", "apc", 1),
    wrapper("chrt", "abdfiormvRT:P:D:", 1),
    wrapper("watch", "bcdegtxpn:q:", 0),
    wrapper("dbus-run-session", "", 0),
    wrapper("fakeroot", "", 0),
    wrapper("firejail", "", 0),
    wrapper("proxychains", "", 0),
    wrapper("torsocks", "", 0),
    wrapper("unbuffer", "p", 0),
    wrapper("caffeinate", "dimsut:w:", 0),
    wrapper("parallel", "", 0),
    wrapper("systemd-run", "", 0),
    wrapper("runcon", "", 1),
    wrapper("prlimit", "", 0),
    wrapper("npx", "yq", 0),
    wrapper("uvx", "", 0),
    wrapper("entr", "acdnprsz", 0),
    wrapper("hyperfine", "", 0),
    wrapper("valgrind", "", 0),
    wrapper("perf", "", 1),
    wrapper("ssh-agent", "", 0),
    wrapper("dbus-launch", "", 0),
    wrapper("xvfb-run", "a", 0),
    wrapper("cpulimit", "l:b", 0),
    wrapper("numactl", "", 0),
    wrapper("eatmydata", "", 0),
    wrapper("faketime", "", 1),
    wrapper("rlwrap", "", 0),
    wrapper("proxychains4", "q", 0),
    wrapper("tsocks", "", 0),
    wrapper("torify", "", 0),
    wrapper("pkexec", "", 0),
    wrapper("run0", "", 0),
    wrapper("gosu", "", 1),
    wrapper("su-exec", "", 1),
    wrapper("setpriv", "", 0),
    wrapper("poetry", "", 1),
    wrapper("uv", "", 1),
    wrapper("pipenv", "", 1),
    wrapper("hatch", "", 1),
    wrapper("bundle", "", 1),
    wrapper("direnv", "", 2),
    wrapper("mise", "", 1),
    wrapper("asdf", "", 1),
    wrapper("bunx", "", 0),
    wrapper("watchexec", "", 0),
    wrapper("nodemon", "", 0),
    wrapper("gtimeout", "k:s:v", 1),
    wrapper("gnice", "n:", 0),
    wrapper("genv", "i0u:C:v", 0),
    wrapper("ld-linux-x86-64.so.2", "", 0),
    wrapper("ld-linux-aarch64.so.1", "", 0),
    wrapper("ld-linux.so.2", "", 0),
    wrapper("ld.so", "", 0),
];

/// Where the program begins that a wrapper runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inner {
    /// At this index of the arguments.
    At(usize),
    /// Somewhere; an option is not known.
    Unclear,
    /// Nowhere; it runs nothing.
    Nothing,
}

/// What is known of a program by its name.
#[derive(Clone, Copy, Default)]
struct Role {
    wrapper: Option<&'static Wrapper>,
    kinds: u8,
}

const SHELL: u8 = 1;
const INTERPRETER: u8 = 2;
const EMBEDS: u8 = 4;
const LISTENS: u8 = 8;
const LAUNCHES: u8 = 16;
const UNBOUNDED: u8 = 32;

/// Every name of the lists: they are looked up for each command of a text.
static ROLES: LazyLock<HashMap<&'static str, Role, Quick>> = LazyLock::new(|| {
    let mut roles: HashMap<&'static str, Role, Quick> = HashMap::default();
    for wrapper in WRAPPERS {
        roles.entry(wrapper.name).or_default().wrapper = Some(wrapper);
    }
    let lists = [
        (names::SHELLS, SHELL),
        (names::INTERPRETERS, INTERPRETER),
        (names::EMBEDDING, EMBEDS),
        (names::LISTENERS, LISTENS),
        (names::LAUNCHERS, LAUNCHES),
        (names::UNBOUNDED, UNBOUNDED),
    ];
    for (names, kind) in lists {
        for name in names.split(' ') {
            roles.entry(name).or_default().kinds |= kind;
        }
    }
    roles
});

type Quick = BuildHasherDefault<Fnv>;

/// A quick hash: the keys of its only table are ours, so nobody can choose them to collide.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn role(name: &str) -> Role {
    ROLES.get(name).copied().unwrap_or_default()
}

fn is(name: &str, kind: u8) -> bool {
    role(name).kinds & kind != 0
}

/// Whether a program has commands of its own by which it runs others.
pub(crate) fn embeds(name: &str) -> bool {
    is(name, EMBEDS)
}

/// Whether a program reads such commands from its input.
pub(crate) fn listens(name: &str) -> bool {
    is(name, LISTENS)
}

/// Whether a program runs another one, which stands somewhere among its arguments.
pub(crate) fn launches(name: &str) -> bool {
    is(name, LAUNCHES)
}

/// Whether a wrapper that is given nothing to run opens a shell.
pub(crate) fn opens_shell(name: &str) -> bool {
    matches!(name, "chroot" | "unshare" | "nsenter" | "sudo" | "doas" | "fakeroot" | "firejail")
}

/// The wrapper of this name.
pub(crate) fn find(name: &str) -> Option<&'static Wrapper> {
    role(name).wrapper
}

/// Whether a program takes shell text.
pub(crate) fn is_shell(name: &str) -> bool {
    is(name, SHELL)
}

/// Whether a program takes program text.
pub(crate) fn is_interpreter(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    is(name, INTERPRETER) || (stem != name && is(stem, INTERPRETER))
}

/// Whether an approval of this program must never be remembered.
pub(crate) fn is_unbounded(name: &str) -> bool {
    find(name).is_some()
        || is_shell(name)
        || is_interpreter(name)
        || is(name, LAUNCHES | UNBOUNDED)
        || name.starts_with("mkfs")
}

/// Whether these words run what lies in the project, by whatever options stand before.
pub(crate) fn runs_project(words: &[&str]) -> bool {
    let Some((name, rest)) = words.split_first() else { return false };
    let known = names::RUNNING.iter().find(|(program, _)| program == name);
    let is_option = |word: &&&str| !word.starts_with(['-', '+']);
    known.is_some_and(|(_, commands)| {
        // An option may take the word after it as its value.
        rest.iter().filter(is_option).take(2).any(|word| commands.contains(word))
    })
}

impl Wrapper {
    /// Where the inner program begins in `args`, every option of the wrapper understood.
    pub(crate) fn inner(&self, args: &[&str]) -> Inner {
        self.look(args, self.short, self.long, self.assignments)
    }

    /// Whether it is never looked through to allow.
    pub(crate) fn is_opaque(&self) -> bool {
        self.harmless.is_none()
    }

    /// Where the inner program begins, if the wrapper changes nothing about what it does.
    pub(crate) fn transparent(&self, args: &[&str]) -> Option<usize> {
        let short = self.harmless?;
        let long = if short.is_empty() { &[][..] } else { self.long };
        match self.look(args, short, long, false) {
            Inner::At(at) => Some(at),
            Inner::Unclear | Inner::Nothing => None,
        }
    }

    fn look(&self, args: &[&str], short: &str, long: &[&str], assignments: bool) -> Inner {
        let mut at = 0;
        while let Some(&arg) = args.get(at) {
            if arg == "--" {
                at += 1;
                break;
            }
            if let Some(name) = arg.strip_prefix("--") {
                let (name, attached) = match name.split_once('=') {
                    Some((name, _)) => (name, true),
                    None => (name, false),
                };
                let takes_value = long.contains(&format!("{name}=").as_str());
                let may_take = long.contains(&format!("{name}=?").as_str());
                if !takes_value && !may_take && (attached || !long.contains(&name)) {
                    return Inner::Unclear;
                }
                at += if takes_value && !attached { 2 } else { 1 };
            } else if arg == "-" && self.name == "env" && short.contains('i') {
                at += 1;
            } else if arg.len() > 1 && arg.starts_with('-') {
                let Some(used) = cluster(&arg[1..], short, self.name) else {
                    return Inner::Unclear;
                };
                at += used;
            } else {
                break;
            }
        }
        at += self.operands;
        match args.get(at) {
            Some(&"--") if self.operands > 0 => at += 1,
            // An option between a subcommand and the program may take a value.
            Some(arg) if self.operands > 0 && arg.starts_with('-') => return Inner::Unclear,
            Some(_) | None => {}
        }
        while assignments && args.get(at).is_some_and(|arg| is_assignment(arg)) {
            at += 1;
        }
        if at < args.len() { Inner::At(at) } else { Inner::Nothing }
    }
}

/// How many arguments a cluster of short options takes; none where a letter is not known.
fn cluster(letters: &str, known: &str, wrapper: &str) -> Option<usize> {
    if wrapper == "nice" && letters.bytes().all(|b| b.is_ascii_digit()) {
        return Some(1);
    }
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        // Their values are attached, or there are none.
        if wrapper == "xargs" && matches!(letter, 'i' | 'l' | 'e') {
            return Some(1);
        }
        let at = known.find(letter).filter(|_| letter != ':')?;
        if known[at + letter.len_utf8()..].starts_with(':') {
            return Some(if rest.as_str().is_empty() { 2 } else { 1 });
        }
    }
    Some(1)
}

/// Whether a word sets a variable.
pub(crate) fn is_assignment(word: &str) -> bool {
    // Asked of very many words: one look at its bytes must do.
    let bytes = word.as_bytes();
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let Some(end) = bytes.iter().position(|byte| !is_letter(*byte)) else { return false };
    let is_named = end > 0 && !bytes[0].is_ascii_digit();
    is_named
        && match bytes[end] {
            b'=' => true,
            b'+' => bytes.get(end + 1) == Some(&b'='),
            // One element of it.
            b'[' => bytes[end..].contains(&b'='),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inner(line: &str) -> Inner {
        let words: Vec<&str> = line.split(' ').collect();
        find(words[0]).unwrap().inner(&words[1..])
    }

    #[test]
    fn the_inner_program_is_found_behind_options_values_and_operands() {
        assert_eq!(inner("timeout -s KILL 5 curl x"), Inner::At(3));
        assert_eq!(inner("timeout --signal=KILL 5 curl"), Inner::At(2));
        assert_eq!(inner("nice -n 5 curl"), Inner::At(2));
        assert_eq!(inner("nice -5 curl"), Inner::At(1));
        assert_eq!(inner("env -u A B=c curl"), Inner::At(3));
        assert_eq!(inner("sudo -u bob curl"), Inner::At(2));
        assert_eq!(inner("env --weird curl"), Inner::Unclear);
        assert_eq!(inner("perf record -- curl"), Inner::At(2));
        assert_eq!(inner("perf record -g -- curl"), Inner::Unclear);
        assert_eq!(inner("env -i"), Inner::Nothing);
        assert_eq!(inner("xargs -riZ env Z"), Inner::At(1));
    }

    #[test]
    fn a_wrapper_that_changes_the_program_is_not_transparent() {
        let env = find("env").unwrap();
        assert_eq!(env.transparent(&["ls"]), Some(0));
        assert_eq!(env.transparent(&["-i", "ls"]), None);
        let words = ["A=b", "ls"];
        // The assignment counts as the program, which no rule allows.
        assert_eq!(env.transparent(&words), Some(0));
        assert_eq!(find("time").unwrap().transparent(&["-o", "x", "ls"]), None);
        assert_eq!(find("sudo").unwrap().transparent(&["ls"]), None);
    }

    #[test]
    fn approvals_of_interpreters_shells_wrappers_git_and_rm_are_never_remembered() {
        for name in ["bash", "python3.12", "env", "git", "rm", "sudo", "awk", "xargs", "mkfs.ext4"]
        {
            assert!(is_unbounded(name), "{name}");
        }
        assert!(!is_unbounded("cargo"));
    }
}
