//! Finds servers whose program is whatever version of a package is newest when they start. Only
//! looks at words; nothing is run or fetched.

mod versions;

use serde_json::Value;

/// A package that a command would take in its newest version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Floating {
    /// The package as it is named.
    pub package: String,
    /// How it is named with a version.
    pub pinned: String,
}

impl Floating {
    /// What is wrong, and what to write in its place.
    pub fn describe(&self) -> String {
        let Self { package, pinned } = self;
        format!("takes whatever version of `{package}` is newest; name one, such as `{pinned}`")
    }
}

/// What reads packages from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registry {
    Npm,
    Python,
    Images,
    Deno,
}

/// How the options of a program are read.
struct Options {
    /// Options that name a package, in place of the first word.
    packages: &'static [&'static str],
    /// Further packages that come beside it.
    more: &'static [&'static str],
    /// Other options whose value is a word of its own.
    valued: &'static [&'static str],
    /// Options that name a whole command.
    commands: &'static [&'static str],
    /// Options with which nothing is fetched.
    local: &'static [&'static str],
}

const NPM: Options = Options {
    packages: &["-p", "--package"],
    more: &[],
    valued: &[
        "--cache",
        "--loglevel",
        "--node-options",
        "--prefix",
        "--registry",
        "--script-shell",
        "--shell",
        "--userconfig",
        "--workspace",
        "-n",
        "-w",
    ],
    commands: &["-c", "--call"],
    local: &["--no", "--no-install"],
};

const PYTHON: Options = Options {
    packages: &["--from", "--spec"],
    more: &["--with", "-w"],
    valued: &[
        "--build-constraints",
        "--cache-dir",
        "--color",
        "--config-file",
        "--constraints",
        "--default-index",
        "--directory",
        "--env-file",
        "--exclude-newer",
        "--extra-index-url",
        "--find-links",
        "--index",
        "--index-strategy",
        "--index-url",
        "--keyring-provider",
        "--link-mode",
        "--overrides",
        "--pip-args",
        "--prerelease",
        "--project",
        "--python",
        "--resolution",
        "--with-editable",
        "--with-requirements",
        "-b",
        "-c",
        "-f",
        "-i",
        "-p",
    ],
    commands: &[],
    local: &[],
};

const DENO: Options = Options {
    packages: &[],
    more: &[],
    valued: &["--cert", "--config", "--import-map", "--location", "--lock", "--seed", "-c"],
    commands: &[],
    local: &[],
};

/// Options of `docker run` without a value; all others have one.
const SWITCHES: [&str; 14] = [
    "--detach",
    "--disable-content-trust",
    "--help",
    "--init",
    "--interactive",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--privileged",
    "--publish-all",
    "--quiet",
    "--read-only",
    "--rm",
    "--sig-proxy",
    "--tty",
];

/// Programs that run the command which follows them, with their options that have a value.
const WRAPPERS: [(&str, &[&str]); 11] = [
    ("command", &[]),
    ("doas", &["-u"]),
    ("env", &["-u", "--unset", "-C", "--chdir", "-S", "--split-string"]),
    ("exec", &["-a"]),
    ("ionice", &["-c", "-n"]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("sudo", &["-u", "-g"]),
    ("timeout", &["-s", "-k"]),
];

/// Words of a shell behind which a command stands.
const KEYWORDS: [&str; 9] = ["!", "do", "else", "if", "then", "time", "until", "while", "{"];

/// How deep commands within commands are looked at.
const DEPTH: usize = 8;

/// The package that the entry of a server would take in its newest version, if there is one. What a
/// variable stands for counts as a version that somebody chose.
pub fn floating_entry(entry: &Value) -> Option<Floating> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let words = |key: &str| match entry.get(key) {
        Some(Value::Array(items)) => items.iter().filter_map(text).collect(),
        Some(value) => text(value).into_iter().collect::<Vec<_>>(),
        None => Vec::new(),
    };
    let mut line = words("command");
    if line.is_empty() {
        line = words("cmd");
    }
    line.extend(words("args"));
    floating(&line)
}

/// The package that a command would take in its newest version, if there is one.
fn floating(words: &[String]) -> Option<Floating> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    look(&words, DEPTH)
}

fn look(words: &[&str], depth: usize) -> Option<Floating> {
    let (first, rest) = words.split_first()?;
    let depth = depth.checked_sub(1)?;
    let name = first.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let name =
        [".exe", ".cmd", ".bat"].iter().find_map(|it| name.strip_suffix(it)).unwrap_or(&name);
    let second = rest.iter().position(|word| !word.starts_with('-'));
    let sub = second.map_or("", |at| rest[at]);
    let after = second.map_or(&[][..], |at| &rest[at + 1..]);
    match (name, sub) {
        ("npx" | "pnpx" | "bunx", _) => packages(rest, &NPM, Registry::Npm, depth),
        ("npm", "exec" | "x") | ("pnpm" | "yarn", "dlx") | ("bun", "x") => {
            packages(after, &NPM, Registry::Npm, depth)
        }
        ("uvx", _) => packages(rest, &PYTHON, Registry::Python, depth),
        ("uv", "tool") => match after.split_first() {
            Some((&"run", after)) => packages(after, &PYTHON, Registry::Python, depth),
            _ => None,
        },
        ("pipx", "run") => packages(after, &PYTHON, Registry::Python, depth),
        ("deno", "run" | "x") => packages(after, &DENO, Registry::Deno, depth),
        ("docker" | "podman" | "nerdctl", "container") => match after.split_first() {
            Some((&"run", after)) => image(after),
            _ => None,
        },
        ("docker" | "podman" | "nerdctl", "run") => image(after),
        ("sh" | "bash" | "dash" | "zsh" | "ksh" | "fish", _) => script(rest, depth),
        ("cmd", _) => {
            let at = rest.iter().position(|word| word.eq_ignore_ascii_case("/c"))?;
            look(&rest[at + 1..], depth)
        }
        _ => wrapped(name, rest, depth),
    }
}

/// The command behind a program that runs it.
fn wrapped(name: &str, rest: &[&str], depth: usize) -> Option<Floating> {
    let (_, valued) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name)?;
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        let is_setting = name == "env" && word.contains('=');
        let is_time = name == "timeout" && word.starts_with(|c: char| c.is_ascii_digit());
        if name == "env" && ["-S", "--split-string"].contains(word) {
            return script(&["-c", rest.get(at + 1).copied().unwrap_or_default()], depth);
        }
        if valued.contains(word) {
            at += 2;
        } else if word.starts_with('-') || is_setting || is_time {
            at += 1;
        } else {
            break;
        }
    }
    look(rest.get(at..)?, depth)
}

/// The commands of a shell's script.
fn script(rest: &[&str], depth: usize) -> Option<Floating> {
    let takes_script =
        |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let at = rest.iter().position(takes_script)?;
    commands(rest.get(at + 1)?).into_iter().find_map(|command| {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        // Words of the shell, and variables that are set for the command alone, stand before it.
        let is_setting = |word: &&&str| word.split_once('=').is_some_and(|(name, _)| is_name(name));
        let is_before = |word: &&&str| KEYWORDS.contains(*word) || is_setting(word);
        let settings = words.iter().take_while(is_before).count();
        look(&words[settings..], depth)
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The words of each command of a script: as far as quotes and separators tell.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = script.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() || ";&|()`".contains(c) => {
                commands.last_mut().expect("there is one").extend(word.take());
                if c == '\n' || !c.is_whitespace() {
                    commands.push(Vec::new());
                }
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    commands.last_mut().expect("there is one").extend(word);
    commands
}

/// The packages that the words behind a runner name.
fn packages(
    words: &[&str],
    options: &Options,
    registry: Registry,
    depth: usize,
) -> Option<Floating> {
    let mut named: Vec<&str> = Vec::new();
    let mut more: Vec<&str> = Vec::new();
    let mut first = None;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            first = Some(*word);
            break;
        }
        if *word == "--" {
            first = rest.next().copied();
            break;
        }
        let (key, attached) = match word.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (*word, None),
        };
        if options.local.contains(&key) {
            return None;
        }
        let list = |keys: &[&str]| keys.contains(&key);
        if list(options.packages) || list(options.more) || list(options.commands) {
            let value = attached.or_else(|| rest.next().copied()).unwrap_or_default();
            if list(options.commands) {
                if let Some(found) = script(&["-c", value], depth) {
                    return Some(found);
                }
            } else if list(options.packages) {
                named.push(value);
            } else {
                more.extend(value.split(','));
            }
        } else if list(options.valued) && attached.is_none() {
            rest.next();
        }
    }
    if named.is_empty() {
        named.extend(first);
    }
    named.extend(more);
    named.into_iter().find_map(|package| versions::floating(package, registry))
}

/// The image that the words behind `docker run` name.
fn image(words: &[&str]) -> Option<Floating> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            return versions::floating(word, Registry::Images);
        }
        let has_value = match word.strip_prefix("--") {
            Some("") => return versions::floating(rest.next()?, Registry::Images),
            Some(_) => !word.contains('=') && !SWITCHES.contains(word),
            // A letter with its value attached is longer than one that waits for it.
            None => word.len() == 2 && !["-i", "-t", "-d", "-P", "-q"].contains(word),
        };
        if has_value {
            rest.next();
        }
    }
    None
}

#[cfg(test)]
mod tests;
