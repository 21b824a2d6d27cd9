//! Commands that build and test the project, whose first words say what they do, and the further words
//! with which they do no more: none that names a program, a file of settings or another project.

use super::options::Grammar;
use crate::shell::Word;

/// What may come after `--`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// No option.
    Operands,
    /// Anything in the project: it is for its own tests.
    Anything,
    /// Levels of lints.
    Lints,
}

/// A command by its first words.
struct Build {
    words: &'static [&'static str],
    short: &'static str,
    long: &'static [&'static str],
    rest: Rest,
}

const CARGO: &[&str] = &[
    "package=",
    "workspace",
    "all",
    "exclude=",
    "release",
    "profile=",
    "lib",
    "bin=",
    "bins",
    "test=",
    "tests",
    "example=",
    "examples",
    "benches",
    "all-targets",
    "all-features",
    "no-default-features",
    "features=",
    "quiet",
    "verbose",
    "no-run",
    "no-fail-fast",
    "keep-going",
    "doc",
    "no-deps",
    "document-private-items",
    "locked",
    "offline",
    "frozen",
    "jobs=",
    "message-format=",
    "color=",
    "check",
];

const GO: &[&str] = &[
    "v",
    "race",
    "short",
    "cover",
    "json",
    "failfast",
    "benchmem",
    "run=",
    "skip=",
    "count=",
    "timeout=",
    "bench=",
    "benchtime=",
    "tags=",
    "parallel=",
    "cpu=",
    "p=",
];

const DOTNET: &[&str] = &[
    "configuration=",
    "verbosity=",
    "framework=",
    "filter=",
    "nologo",
    "no-restore",
    "no-build",
    "no-incremental",
];

const PYTEST: &[&str] = &[
    "quiet",
    "verbose",
    "exitfirst",
    "maxfail=",
    "lf",
    "ff",
    "last-failed",
    "failed-first",
    "tb=",
    "durations=",
    "collect-only",
    "no-header",
    "showlocals",
];

const fn cargo(words: &'static [&'static str], rest: Rest) -> Build {
    Build { words, short: "p:qvrF:j:", long: CARGO, rest }
}

const fn go(words: &'static [&'static str]) -> Build {
    Build { words, short: "", long: GO, rest: Rest::Operands }
}

const fn script(words: &'static [&'static str]) -> Build {
    Build { words, short: "s", long: &["silent"], rest: Rest::Operands }
}

const fn dotnet(words: &'static [&'static str]) -> Build {
    Build { words, short: "c:v:f:", long: DOTNET, rest: Rest::Operands }
}

const BUILDS: &[Build] = &[
    cargo(&["cargo", "test"], Rest::Anything),
    cargo(&["cargo", "build"], Rest::Operands),
    cargo(&["cargo", "check"], Rest::Operands),
    cargo(&["cargo", "clippy"], Rest::Lints),
    cargo(&["cargo", "fmt"], Rest::Operands),
    cargo(&["cargo", "doc"], Rest::Operands),
    go(&["go", "test"]),
    go(&["go", "build"]),
    go(&["go", "vet"]),
    script(&["npm", "test"]),
    script(&["pnpm", "test"]),
    script(&["yarn", "test"]),
    dotnet(&["dotnet", "build"]),
    dotnet(&["dotnet", "test"]),
    Build { words: &["pytest"], short: "qvxslk:m:n:r:", long: PYTEST, rest: Rest::Operands },
];

/// The first words of a command that builds or tests, where the others let it do no more than that.
pub(crate) fn ordinary(argv: &[Word]) -> Option<&'static [&'static str]> {
    let begins = |build: &&Build| {
        let count = build.words.len();
        argv.len() >= count && argv.iter().zip(build.words).all(|(word, known)| word.text == *known)
    };
    let build = BUILDS.iter().find(begins)?;
    build.covers(&argv[build.words.len()..]).then_some(build.words)
}

impl Build {
    fn covers(&self, args: &[Word]) -> bool {
        let dashes = args.iter().position(|word| word.text == "--").unwrap_or(args.len());
        let (own, rest) = args.split_at(dashes);
        // Go takes whole names after one dash as well as after two.
        let named = |word: &Word| match word.text.strip_prefix('-') {
            Some(name) if self.words[0] == "go" && !name.starts_with('-') => {
                Word { text: format!("--{name}"), ..word.clone() }
            }
            Some(_) | None => word.clone(),
        };
        let own: Vec<Word> = own.iter().map(named).collect();
        let grammar = Grammar { short: self.short, long: &[self.long], numbers: false };
        let Ok(read) = grammar.read(&own) else { return false };
        let mut values = read.options.iter().filter_map(|(_, value)| value.as_deref());
        let mut operands = read.operands.iter().map(|word| word.text.as_str());
        values.all(stays) && operands.all(stays) && self.hands_on(rest.get(1..).unwrap_or_default())
    }

    /// Whether what comes after `--` is harmless.
    fn hands_on(&self, rest: &[Word]) -> bool {
        let mut texts = rest.iter().map(|word| word.text.as_str());
        match self.rest {
            // The usual harness of tests writes to a file that it is told.
            Rest::Anything => texts.all(|text| !text.starts_with("--logfile") && stays(text)),
            Rest::Operands => texts.all(|text| !text.starts_with('-') && stays(text)),
            Rest::Lints => {
                let grammar = Grammar { short: "D:W:A:", long: &[], numbers: false };
                grammar.read(rest).is_ok_and(|read| read.operands.is_empty())
            }
        }
    }
}

/// Whether a word, if it is a path, does not lead out of the folder, and is no file of further words.
fn stays(text: &str) -> bool {
    !text.starts_with('@')
        && !text.starts_with(['/', '~'])
        && !text.split('/').any(|part| part == "..")
}
