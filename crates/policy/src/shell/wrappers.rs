//! Programs that run the program named in their arguments, as data.

/// A program that runs another one.
pub(crate) struct Wrapper {
    name: &'static str,
    /// Short options; `:` after one that takes a value.
    short: &'static str,
    /// Long options between spaces; `=` after one that takes a value.
    long: &'static str,
    /// The number of operands before the program.
    operands: usize,
    /// True if it changes nothing about the program, so that allow rules look through it.
    pub(crate) is_transparent: bool,
}

const fn clear(name: &'static str, short: &'static str, long: &'static str) -> Wrapper {
    Wrapper { name, short, long, operands: 0, is_transparent: true }
}

const fn opaque(name: &'static str, short: &'static str, long: &'static str) -> Wrapper {
    Wrapper { name, short, long, operands: 0, is_transparent: false }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        operands: 1,
        ..clear("timeout", "k:s:v", "kill-after= signal= foreground preserve-status verbose")
    },
    clear("nice", "n:", "adjustment="),
    clear("ionice", "c:n:t", "class= classdata= ignore"),
    clear("nohup", "", ""),
    clear("time", "p", ""),
    clear("stdbuf", "i:o:e:", "input= output= error="),
    clear("command", "p", ""),
    opaque("env", "i0u:C:v", "ignore-environment null unset= chdir= debug"),
    opaque("builtin", "", ""),
    opaque("exec", "cla:", ""),
    opaque("setsid", "cfw", ""),
    opaque(
        "sudo",
        "u:g:h:p:C:r:t:T:U:D:R:AbBEHiKknPSs",
        "user= group= non-interactive preserve-env login shell",
    ),
    opaque("doas", "u:C:Lns", ""),
    opaque(
        "xargs",
        "0rtpxI:n:P:L:s:a:d:E:",
        "null no-run-if-empty max-args= max-procs= delimiter= arg-file= verbose replace= max-lines=",
    ),
    opaque("strace", "fFqvrtTyCcdDhiknwxzZe:o:p:s:u:E:P:a:b:I:O:S:X:", ""),
    opaque("unshare", "muinpUTCrcfS:G:R:w:", ""),
    opaque("busybox", "", ""),
    opaque("toybox", "", ""),
    Wrapper { operands: 1, ..opaque("chroot", "", "") },
    Wrapper { operands: 1, ..opaque("flock", "sxenuoFvw:E:", "") },
    Wrapper { operands: 1, ..opaque("taskset", "apc", "") },
    opaque("watch", "bcdegtxpn:q:", ""),
    opaque("parallel", "", ""),
    opaque("npx", "yq", "yes quiet no-install loglevel="),
    opaque("uvx", "w:p:", "with= from= python="),
    opaque("bunx", "", ""),
    Wrapper { operands: 1, ..opaque("poetry", "", "") },
    Wrapper { operands: 1, ..opaque("bundle", "", "") },
];

/// Programs that run shell text: an argument behind `-c`, a script, or standard input.
pub(crate) const SHELLS: &str = "sh bash rbash dash ash zsh ksh mksh fish csh tcsh";

/// Programs that run program text of their own language.
pub(crate) const INTERPRETERS: &str = "python python2 python3 pypy pypy3 perl ruby node nodejs \
    deno bun php lua luajit tclsh expect osascript Rscript julia awk gawk mawk nawk";

/// The place of the program that a wrapper runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inner {
    /// This index of the arguments.
    At(usize),
    /// Unknown, because an option is not known.
    Unclear,
    /// None: it runs nothing.
    Nothing,
}

/// Finds the wrapper of this name.
pub(crate) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

impl Wrapper {
    /// Finds the program in `args`; `None` stands for a word that is not known.
    pub(crate) fn inner(&self, args: &[Option<&str>]) -> Inner {
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            let Some(arg) = arg else { break };
            if *arg == "--" {
                at += 1;
                break;
            }
            let used = if let Some(option) = arg.strip_prefix("--") {
                self.long(option)
            } else if arg.len() > 1 && arg.starts_with('-') {
                self.cluster(&arg[1..])
            } else {
                break;
            };
            match used {
                Some(used) => at += used,
                None => return Inner::Unclear,
            }
        }
        at += self.operands;
        while ["env", "sudo", "time"].contains(&self.name)
            && args.get(at).copied().flatten().is_some_and(is_assignment)
        {
            at += 1;
        }
        if at < args.len() { Inner::At(at) } else { Inner::Nothing }
    }

    fn long(&self, option: &str) -> Option<usize> {
        let (name, is_attached) = match option.split_once('=') {
            Some((name, _)) => (name, true),
            None => (option, false),
        };
        let mut known = self.long.split_ascii_whitespace();
        let takes_value = known.find(|it| it.trim_end_matches('=') == name)?.ends_with('=');
        Some(if takes_value && !is_attached { 2 } else { 1 })
    }

    fn cluster(&self, letters: &str) -> Option<usize> {
        if self.name == "nice" && letters.bytes().all(|b| b.is_ascii_digit()) {
            return Some(1);
        }
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            // The values of these are attached, or there are none.
            if self.name == "xargs" && matches!(letter, 'i' | 'l' | 'e') {
                return Some(1);
            }
            let at = self.short.find(letter).filter(|_| letter != ':')?;
            if self.short[at + letter.len_utf8()..].starts_with(':') {
                return Some(if rest.as_str().is_empty() { 2 } else { 1 });
            }
        }
        Some(1)
    }
}

/// Returns true if a word sets a variable.
pub(crate) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapper_finds_program_behind_options_and_operands() {
        let inner = |line: &str| {
            let words: Vec<Option<&str>> = line.split(' ').map(Some).collect();
            find(words[0].unwrap()).unwrap().inner(&words[1..])
        };
        assert_eq!(inner("timeout -s KILL 5 curl x"), Inner::At(3));
        assert_eq!(inner("timeout --signal=KILL 5 curl"), Inner::At(2));
        assert_eq!(inner("nice -n 5 curl"), Inner::At(2));
        assert_eq!(inner("nice -5 curl"), Inner::At(1));
        assert_eq!(inner("env -u A B=c curl"), Inner::At(3));
        assert_eq!(inner("sudo -u bob curl"), Inner::At(2));
        assert_eq!(inner("xargs -I{} curl {}"), Inner::At(1));
        assert_eq!(inner("env --weird curl"), Inner::Unclear);
        assert_eq!(inner("env -i"), Inner::Nothing);
    }
}
