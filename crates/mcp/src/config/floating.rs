//! Finds servers whose program is whatever version of a package is newest when they start. Only
//! looks at words; nothing is run or fetched.

mod versions;

use contract::text::head;
use serde_json::Value;

use super::expand::with_defaults;
use super::shell::interpreters::{self, UV_VALUED};
use super::shell::{self, Behind, DEPTH, Script};

/// What a command runs that may be another program at every start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Floating {
    /// A package in its newest version.
    Package {
        /// The package as it is named.
        package: String,
        /// How it is named with a version.
        pinned: String,
    },
    /// Whatever an address holds.
    Page(String),
    /// Something that its words do not tell.
    Unclear(String),
}

impl Floating {
    /// What is wrong, and what to write in its place.
    pub fn describe(&self) -> String {
        match self {
            Self::Package { package, pinned } => {
                format!(
                    "takes whatever version of `{package}` is newest; name one, such as `{pinned}`"
                )
            }
            Self::Page(address) => {
                format!("runs whatever is at `{address}`; name a version in it, or a file")
            }
            Self::Unclear(command) => format!(
                "runs `{}`, which does not tell what that is; name the program and its arguments",
                head(command, LONGEST)
            ),
        }
    }

    fn unclear(words: &[&str]) -> Self {
        Self::Unclear(words.join(" "))
    }
}

/// The most that is shown of a command.
const LONGEST: usize = 200;

/// What reads packages from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registry {
    Npm,
    Python,
    Images,
    Deno,
    Go,
}

/// What the first word is that is no option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// A package, where no option names one.
    Package,
    /// A file, or a program that is there.
    Local,
}

/// How the options of a program are read.
struct Options {
    /// What the first word is.
    first: First,
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
    first: First::Package,
    packages: &["-p", "--package"],
    more: &[],
    valued: &[
        "--cache",
        "--cwd",
        "--dir",
        "--filter",
        "--loglevel",
        "--node-options",
        "--prefix",
        "--registry",
        "--script-shell",
        "--shell",
        "--userconfig",
        "--workspace",
        "-C",
        "-F",
        "-n",
        "-w",
    ],
    commands: &["-c", "--call"],
    local: &["--no", "--no-install"],
};

const PYTHON: Options = Options {
    first: First::Package,
    packages: &["--from", "--spec"],
    more: &["--with", "-w"],
    valued: UV_VALUED,
    commands: &[],
    local: &[],
};

const UV_RUN: Options = Options {
    first: First::Local,
    packages: &[],
    more: &["--with", "-w"],
    valued: UV_VALUED,
    commands: &[],
    local: &[],
};

const GO: Options = Options {
    first: First::Package,
    packages: &[],
    more: &[],
    valued: &["-C", "-exec", "-gcflags", "-ldflags", "-mod", "-modfile", "-p", "-tags"],
    commands: &[],
    local: &[],
};

const DENO: Options = Options {
    first: First::Package,
    packages: &[],
    more: &[],
    valued: &["--cert", "--config", "--import-map", "--location", "--lock", "--seed", "-c"],
    commands: &[],
    local: &[],
};

/// Options of `docker`, `podman` and `nerdctl` before `run` whose value is a word of its own.
const ENGINE: [&str; 29] = [
    "--address",
    "--cgroup-manager",
    "--config",
    "--conmon",
    "--connection",
    "--context",
    "--events-backend",
    "--hooks-dir",
    "--host",
    "--identity",
    "--imagestore",
    "--log-level",
    "--module",
    "--namespace",
    "--network-config-dir",
    "--root",
    "--runroot",
    "--runtime",
    "--ssh",
    "--storage-driver",
    "--storage-opt",
    "--tlscacert",
    "--tlscert",
    "--tlskey",
    "--url",
    "-H",
    "-c",
    "-l",
    "-n",
];

/// Options of `docker run` and `podman run` without a value; all others have one.
const SWITCHES: [&str; 25] = [
    "--detach",
    "--disable-content-trust",
    "--env-host",
    "--help",
    "--http-proxy",
    "--init",
    "--interactive",
    "--no-healthcheck",
    "--no-hostname",
    "--no-hosts",
    "--oom-kill-disable",
    "--passwd",
    "--privileged",
    "--publish-all",
    "--quiet",
    "--read-only",
    "--read-only-tmpfs",
    "--replace",
    "--rm",
    "--rmi",
    "--sig-proxy",
    "--tls-verify",
    "--tty",
    "--unsetenv-all",
    "--use-api-socket",
];

/// What the entry of a server runs that may be another program at every start, if there is something
/// of the kind. What a variable stands for counts as a version that somebody chose, unless the
/// entry itself says what it stands for otherwise.
pub fn floating_entry(entry: &Value) -> Option<Floating> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(with_defaults(text)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
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

/// What a command runs that may be another program at every start, if there is something of the kind.
fn floating(words: &[String]) -> Option<Floating> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    look(&words, DEPTH)
}

fn look(words: &[&str], depth: usize) -> Option<Floating> {
    let (first, rest) = words.split_first()?;
    let Some(depth) = depth.checked_sub(1) else { return Some(Floating::unclear(words)) };
    let name = shell::name(first);
    if is_open(&name) {
        return Some(Floating::unclear(words));
    }
    if let Some(behind) = shell::behind(&name, rest) {
        return match behind {
            Behind::Command(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                look(&words, depth)
            }
            Behind::Script(text) => script(&text, depth),
            Behind::Unclear => Some(Floating::unclear(words)),
        };
    }
    let (sub, after) = subcommand(rest, before_subcommand(&name));
    match (name.as_str(), sub) {
        ("npx" | "pnpx" | "bunx", _) => packages(rest, &NPM, Registry::Npm, depth),
        ("npm", "exec" | "x") | ("pnpm" | "yarn", "dlx") | ("bun", "x") => {
            packages(after, &NPM, Registry::Npm, depth)
        }
        ("uvx", _) => packages(rest, &PYTHON, Registry::Python, depth),
        ("uv", "run") => packages(after, &UV_RUN, Registry::Python, depth),
        ("uv", "tool") => match subcommand(after, PYTHON.valued) {
            ("run", after) => packages(after, &PYTHON, Registry::Python, depth),
            _ => None,
        },
        ("pipx", "run") => packages(after, &PYTHON, Registry::Python, depth),
        ("deno", "run" | "x") => packages(after, &DENO, Registry::Deno, depth),
        ("go", "run") => packages(after, &GO, Registry::Go, depth),
        ("docker" | "podman" | "nerdctl", "container") => match subcommand(after, &[]) {
            ("run", after) => image(after),
            _ => None,
        },
        ("docker" | "podman" | "nerdctl", "run") => image(after),
        _ => look(&interpreters::given(&name, rest).module, depth),
    }
}

/// Whether a shell makes something else of the name of a program. What the person's variable stands
/// for was put there by them.
fn is_open(name: &str) -> bool {
    let is_test = ["[", "[["].contains(&name);
    !is_test && !versions::is_variable(name) && name.contains(['$', '`', '*', '?', '[', '{'])
}

/// The options of a program that stand before what it shall do, and whose value is a word of its own.
fn before_subcommand(name: &str) -> &'static [&'static str] {
    match name {
        "npm" | "pnpm" | "yarn" | "bun" => NPM.valued,
        "uv" => PYTHON.valued,
        "docker" | "podman" | "nerdctl" => &ENGINE,
        "go" => GO.valued,
        _ => &[],
    }
}

/// The first word that is neither an option nor the value of one, and what follows it.
fn subcommand<'a>(words: &'a [&'a str], valued: &[&str]) -> (&'a str, &'a [&'a str]) {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if !word.starts_with('-') {
            return (word, &words[at + 1..]);
        }
        at += if valued.contains(word) { 2 } else { 1 };
    }
    ("", &[])
}

/// What the commands of a script would take.
fn script(text: &str, depth: usize) -> Option<Floating> {
    let script = Script::read(text);
    let found = script.commands.iter().find_map(|command| {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        look(&words, depth)
    });
    found.or_else(|| (!script.is_whole).then(|| Floating::unclear(&[text])))
}

/// The parts of a list that stand outside of brackets.
fn listed(list: &str) -> Vec<&str> {
    let mut is_inside = false;
    let is_comma = |c: char| {
        is_inside = (is_inside || c == '[') && c != ']';
        c == ',' && !is_inside
    };
    list.split(is_comma).collect()
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
                if let Some(found) = script(value, depth) {
                    return Some(found);
                }
            } else if list(options.packages) {
                named.push(value);
            } else {
                more.extend(listed(value));
            }
        } else if list(options.valued) && attached.is_none() {
            rest.next();
        }
    }
    if named.is_empty() && options.first == First::Package {
        named.extend(first);
    }
    named.extend(more);
    let found = named.into_iter().find_map(|package| versions::floating(package, registry));
    found.or_else(|| {
        let command: Vec<&str> = first.into_iter().chain(rest.copied()).collect();
        match first {
            Some(first) if options.first == First::Local => {
                versions::page(first).or_else(|| look(&command, depth))
            }
            _ => None,
        }
    })
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
            // Letters together: one with a value has it attached, or is the last and waits for it.
            None => {
                let letters = word.trim_start_matches('-');
                let valued = letters.find(|letter| !"itdPq".contains(letter));
                valued.is_some_and(|at| at + 1 == letters.len())
            }
        };
        if has_value {
            rest.next();
        }
    }
    // What is taken for the value of an option may be the image.
    (!words.is_empty()).then(|| Floating::unclear(words))
}

#[cfg(test)]
mod tests;
