//! What in a script or command line runs something that cannot be found by reading it: trust does not
//! cover that, and the person is told. What is found decides nothing.

use super::run::gone_through;
use super::words::loads_unnamed;

/// What runs the text or the file that comes next.
const RUN: [&str; 13] = [
    ".", "source", "sh", "bash", "zsh", "dash", "exec", "python", "python3", "node", "perl",
    "ruby", "php",
];

/// Programs that build, test or fetch more than their command lines name.
#[rustfmt::skip]
const BUILD: [&str; 64] = [
    "ant", "ava", "babel", "bazel", "bazelisk", "bundle", "bunx", "c8", "cargo", "cmake",
    "composer", "ctest", "cypress", "docker", "docker-compose", "dotnet", "eslint", "go", "gradle",
    "grunt", "gulp", "hatch", "jasmine", "jest", "karma", "lerna", "lint-staged", "mage", "meson",
    "mix", "mocha", "mvn", "ninja", "nox", "npx", "nx", "nyc", "parcel", "pdm", "phpunit", "pipenv",
    "playwright", "podman", "poetry", "pre-commit", "prettier", "pylint", "pytest", "rails", "rake",
    "rollup", "rspec", "sbt", "scons", "stylelint", "swift", "tox", "tsc", "turbo", "uv", "vite",
    "vitest", "webpack", "zig",
];

/// Modules of Python that do the same.
const MODULES: [&str; 14] = [
    "build",
    "coverage",
    "django",
    "doctest",
    "flask",
    "invoke",
    "mypy",
    "nose2",
    "nox",
    "pip",
    "pre_commit",
    "pytest",
    "tox",
    "unittest",
];
/// What runs the program that comes next, and words of a shell before a command.
const BEFORE: [&str; 12] =
    ["if", "then", "else", "do", "while", "!", "env", "time", "nice", "nohup", "command", "xargs"];
/// Files that hold lines of a shell and do not say so by their ending.
const RECIPES: [&str; 6] =
    ["Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile"];

/// The first such thing in the scripts of a package.
pub(super) fn in_package(bytes: &[u8]) -> Option<String> {
    let package: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let scripts = package.get("scripts")?.as_object()?;
    scripts.values().filter_map(serde_json::Value::as_str).find_map(in_shell)
}

/// The first such thing in a script.
pub(super) fn in_script(path: &str, text: &str) -> Option<String> {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let name = path.rsplit('/').next().unwrap_or_default();
    match ending {
        _ if RECIPES.contains(&name) => in_shell(&text.replace("\n\t@", "\n\t")),
        "mk" => in_shell(&text.replace("\n\t@", "\n\t")),
        "sh" | "bash" | "zsh" | "ksh" => in_shell(text),
        "py" | "js" | "mjs" | "cjs" | "ts" | "mts" => {
            loads_unnamed(text).then(|| "a module whose name it puts together".to_owned())
        }
        _ => {
            let first = text.lines().next().unwrap_or_default();
            (first.starts_with("#!") && first.contains("sh")).then(|| in_shell(text)).flatten()
        }
    }
}

/// The first such thing in what a shell runs.
pub(super) fn in_shell(text: &str) -> Option<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let commands = lines.flat_map(|line| line.split([';', '|', '&', '(', '`']));
    commands.into_iter().find_map(|command| {
        let mut words = command.split_whitespace();
        let first = words.find(|word| !BEFORE.contains(word) && !is_setting(word))?;
        if first.starts_with("python") && runs_module(words.clone()) {
            return Some(command.trim().to_owned());
        }
        // Of the whole project not all files count because a text goes through it.
        let goes_everywhere = || {
            let mut places = gone_through(command).into_iter().map(|(place, _)| place);
            places.any(|place| [".", "./"].contains(&place.as_str()) || is_open(&place))
        };
        if (first == "find" && goes_everywhere())
            || (first == "java" && has_class_path(words.clone()))
        {
            return Some(command.trim().to_owned());
        }
        let next = words.find(|word| !word.starts_with('-'));
        let is_found = match first {
            "eval" => true,
            first if RUN.contains(&first) => next.is_some_and(is_open),
            first => BUILD.contains(&first) || is_open(first),
        };
        is_found.then(|| command.trim().to_owned())
    })
}

/// Whether Java is told where the classes lie that it loads.
fn has_class_path<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    words.any(|word| ["-cp", "-classpath", "--class-path"].contains(&word))
}

/// Whether a word sets a variable for the command that follows.
fn is_setting(word: &str) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && is_name(name))
}

/// Whether words after Python's name make it run a module that finds its own work, or trust what is
/// cached beside scripts whatever it is told.
fn runs_module<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    while let Some(option) = words.next().and_then(|word| word.strip_prefix('-')) {
        let (letters, module) = match option.split_once('m') {
            Some((letters, "")) => (letters, words.next()),
            Some((letters, module)) => (letters, Some(module)),
            None => (option, None),
        };
        if letters.contains(['I', 'E']) {
            return true;
        }
        if ["W", "X"].contains(&option) {
            words.next();
        }
        if let Some(module) = module {
            return MODULES.contains(&module.split('.').next().unwrap_or_default());
        }
    }
    false
}

/// Whether a word is nothing but variables and slashes. The arguments of the script are none: they
/// stand where it is named.
fn is_open(word: &str) -> bool {
    let word = word.replace(['"', '\'', '{', '}'], "");
    let is_variable = |part: &str| {
        part.strip_prefix('$').is_some_and(|name| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    word != "$0" && word.starts_with('$') && word.split('/').all(is_variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_reading_finds_is_named_and_the_rest_is_not() {
        for text in [
            "eval \"$x\"",
            "set -e\n. $part",
            "for f in a b; do sh \"$dir/$f\"; done",
            "cargo run -q",
            "cd x && docker build .",
            "\"${TOOL}\" --check",
            "python3 -m unittest discover -s tests",
            "PYTHONPATH=vend python3 -W ignore -mpytest",
            "env A=b npx tool",
            "python3 -I x.py",
            "eslint .",
            "find . -type f -exec sh {} +",
            "find \"$dir\" -name '*.sh' -exec bash {} +",
            "java -cp classes Check",
        ] {
            assert!(in_shell(text).is_some(), "{text}");
        }
        for text in [
            "./x.sh",
            "# eval x",
            ". lib/$m.sh",
            "exec \"$@\"",
            "sh \"$(dirname \"$0\")/x.sh\"",
            "echo cargo $x",
            "python3 -c 'import x'",
            "PYTHONPATH=vend python3 x.py -m pytest",
            "python3 -m lib.tool",
            "find checks -exec sh {} +",
            "find . -name '*.o' -exec rm {} +",
            "java -jar x.jar",
        ] {
            assert_eq!(in_shell(text), None, "{text}");
        }
        assert!(in_script("a.js", "require(name)").is_some());
        assert!(in_script("a.js", "require('./x')").is_none());
        assert!(in_script("run", "#!/bin/sh\neval x").is_some());
        assert!(in_script("run", "eval x").is_none());
        assert!(in_script("a/Makefile", "check:\n\t@cargo test\n").is_some());
        assert!(in_script("a/Makefile", "check:\n\tsh x.sh\n").is_none());
        assert!(in_package(br#"{"scripts": {"a": "jest"}}"#).is_some());
        assert!(in_package(br#"{"scripts": {"a": "node x.js"}}"#).is_none());
    }
}
