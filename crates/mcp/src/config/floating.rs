//! Finds servers whose program is whatever version of a package is newest when they start. Only
//! looks at words; nothing is run or fetched.

mod versions;

use std::path::Path;

use contract::text::head;
use serde_json::Value;

use super::command_line::{Command, CommandReader, Stands, UNKNOWN, name};
use super::expand::{VARIABLE, with_defaults};
use super::interpreters::{RUNNERS, UV_VALUED, given, has, is_known, may_begin};

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
        Self::Unclear(words.join(" ").replace(UNKNOWN, ".."))
    }

    /// With variables as the entry has them.
    fn restored(self) -> Self {
        let restored = |text: String| text.replace(VARIABLE, "${");
        match self {
            Self::Package { package, pinned } => {
                Self::Package { package: restored(package), pinned: restored(pinned) }
            }
            Self::Page(address) => Self::Page(restored(address)),
            Self::Unclear(command) => Self::Unclear(restored(command)),
        }
    }
}

/// The most that is shown of a command.
const LONGEST: usize = 200;
/// So many words that could begin a command are looked at.
const MOST: usize = 64;

/// Programs that run none of their words.
const QUIET: &str = ": [ [[ cd echo export false mkdir printf set tee test true";

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
    packages: &'static str,
    /// Further packages that come beside it.
    more: &'static str,
    /// Other options whose value is a word of its own.
    valued: &'static str,
    /// Options that name a whole command.
    commands: &'static str,
    /// Options with which nothing is fetched.
    local: &'static str,
}

/// One that takes the package which it names first.
const PLAIN: Options =
    Options { first: First::Package, packages: "", more: "", valued: "", commands: "", local: "" };

const NPM: Options = Options {
    packages: "-p --package",
    valued: "\
        --cache --cwd --dir --filter --loglevel --node-options --prefix --registry \
        --script-shell --shell --userconfig --workspace -C -F -n -w",
    commands: "-c --call",
    local: "--no --no-install",
    ..PLAIN
};

const PYTHON: Options =
    Options { packages: "--from --spec", more: "--with -w", valued: UV_VALUED, ..PLAIN };

const UV_RUN: Options = Options { first: First::Local, packages: "", ..PYTHON };

const BUN_RUN: Options = Options { first: First::Local, packages: "", ..NPM };

const GO: Options =
    Options { valued: "-C -exec -gcflags -ldflags -mod -modfile -p -tags", ..PLAIN };

const DENO: Options =
    Options { valued: "--cert --config --import-map --location --lock --seed -c", ..PLAIN };

/// Options of `docker`, `podman` and `nerdctl` before `run` whose value is a word of its own.
const ENGINE: &str = "\
    --address --cgroup-manager --config --conmon --connection --context --events-backend \
    --hooks-dir --host --identity --imagestore --log-level --module --namespace \
    --network-config-dir --root --runroot --runtime --ssh --storage-driver --storage-opt \
    --tlscacert --tlscert --tlskey --url -H -c -l -n";

/// Options of `docker run` and `podman run` without a value; all others have one.
const SWITCHES: &str = "\
    --detach --disable-content-trust --env-host --help --http-proxy --init --interactive \
    --no-healthcheck --no-hostname --no-hosts --oom-kill-disable --passwd --privileged \
    --publish-all --quiet --read-only --read-only-tmpfs --replace --rm --rmi --sig-proxy \
    --tls-verify --tty --unsetenv-all --use-api-socket";

/// What the entry of a server runs that may be another program at every start, if there is something
/// of the kind. What a variable stands for counts as a version that somebody chose, unless the
/// entry itself says what it stands for otherwise.
pub fn floating_entry(entry: &Value, reader: CommandReader) -> Option<Floating> {
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
    if line.is_empty() {
        return None;
    }
    let read = reader(&line, Path::new("/"), None);
    let is_certain = |command: &&Command| command.stands == Stands::First;
    let (certain, others): (Vec<&Command>, Vec<&Command>) =
        read.commands.iter().partition(is_certain);
    let found = certain.iter().find_map(|command| look(&borrowed(&command.words)));
    let found = found.or_else(|| others.iter().find_map(|it| scan(&borrowed(&it.words))));
    let found = found.or_else(|| (!read.is_followed).then(|| Floating::unclear(&borrowed(&line))));
    found.map(Floating::restored)
}

fn borrowed(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// What a command takes whose program is the first word.
fn look(words: &[&str]) -> Option<Floating> {
    let (first, rest) = words.split_first()?;
    let name = name(first);
    let is_telling = is_known(&name) || has(QUIET, &name) || first.contains(UNKNOWN);
    if is_telling { known(words) } else { scan(rest) }
}

/// The same of a program that is known to take something, or to run a module; none for others.
fn known(words: &[&str]) -> Option<Floating> {
    let mut words = words.to_vec();
    while let Some((first, rest)) = words.split_first() {
        let is_unknown = |at: &usize| rest.get(*at).is_some_and(|word| word.contains(UNKNOWN));
        if first.contains(UNKNOWN) {
            return Some(Floating::unclear(&words));
        }
        let name = name(first);
        if let Some(found) = taken(&name, rest) {
            return Some(found);
        }
        let given = given(&name, rest)?;
        if given.files.iter().any(is_unknown) {
            return Some(Floating::unclear(&words));
        }
        words = given.module;
    }
    None
}

/// What a command takes of which any word may be the program, or begin with it.
fn scan(words: &[&str]) -> Option<Floating> {
    let is_between = |c: char| c.is_whitespace() || "'\"`;&|()<>".contains(c);
    let texts = words.iter().filter(|word| word.contains(char::is_whitespace));
    let texts = texts.map(|text| text.split(is_between).filter(|it| !it.is_empty()).collect());
    std::iter::once(words.to_vec()).chain(texts).find_map(|words: Vec<&str>| {
        let mut starts = (0..words.len()).filter(|at| may_begin(words[*at]));
        let found = starts.by_ref().take(MOST).find_map(|at| known(&words[at..]));
        found.or_else(|| starts.next().map(|_| Floating::unclear(&words)))
    })
}

/// The package that a runner takes with these words behind it.
fn taken(runner: &str, rest: &[&str]) -> Option<Floating> {
    let (sub, after) = subcommand(rest, before_subcommand(runner));
    match (runner, sub) {
        _ if has(RUNNERS, runner) && sub.contains(UNKNOWN) => Some(Floating::unclear(rest)),
        ("npx" | "pnpx" | "bunx", _) => packages(rest, &NPM, Registry::Npm),
        ("npm", "exec" | "x") | ("pnpm" | "yarn", "dlx") | ("bun", "x") => {
            packages(after, &NPM, Registry::Npm)
        }
        ("uvx", _) => packages(rest, &PYTHON, Registry::Python),
        ("uv", "run") => packages(after, &UV_RUN, Registry::Python),
        ("uv", "tool") => match subcommand(after, PYTHON.valued) {
            ("run", after) => packages(after, &PYTHON, Registry::Python),
            _ => None,
        },
        ("pipx", "run") => packages(after, &PYTHON, Registry::Python),
        ("deno", "run" | "serve" | "x") => packages(after, &DENO, Registry::Deno),
        // What it shall do may be left out before what it shall run.
        ("deno", first) if first.contains(':') => packages(rest, &DENO, Registry::Deno),
        ("bun", "run") => packages(after, &BUN_RUN, Registry::Npm),
        ("bun", first) if first.contains("://") => packages(rest, &BUN_RUN, Registry::Npm),
        ("go", "run") => packages(after, &GO, Registry::Go),
        ("docker" | "podman" | "nerdctl", "container") => match subcommand(after, "") {
            ("run", after) => image(after),
            _ => None,
        },
        ("docker" | "podman" | "nerdctl", "run") => image(after),
        _ => None,
    }
}

/// The options of a program that stand before what it shall do, and whose value is a word of its own.
fn before_subcommand(name: &str) -> &'static str {
    match name {
        "npm" | "pnpm" | "yarn" | "bun" => NPM.valued,
        "uv" => PYTHON.valued,
        "docker" | "podman" | "nerdctl" => ENGINE,
        "go" => GO.valued,
        _ => "",
    }
}

/// The first word that is neither an option nor the value of one, and what follows it.
fn subcommand<'a>(words: &'a [&'a str], valued: &str) -> (&'a str, &'a [&'a str]) {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if !word.starts_with('-') {
            return (word, &words[at + 1..]);
        }
        at += if has(valued, word) { 2 } else { 1 };
    }
    ("", &[])
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
fn packages(words: &[&str], options: &Options, registry: Registry) -> Option<Floating> {
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
        if key.contains(UNKNOWN) {
            return Some(Floating::unclear(words));
        }
        if has(options.local, key) {
            return None;
        }
        let list = |keys: &str| has(keys, key);
        if list(options.packages) || list(options.more) || list(options.commands) {
            let value = attached.or_else(|| rest.next().copied()).unwrap_or_default();
            if list(options.commands) {
                if let Some(found) = scan(&[value]) {
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
    found.or_else(|| first.filter(|_| options.first == First::Local).and_then(versions::page))
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
            Some(_) => !word.contains('=') && !has(SWITCHES, word),
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
