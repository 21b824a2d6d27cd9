//! What in a script or command line runs something that cannot be found by reading it: trust does not
//! cover that, and the person is told. What is found decides nothing.

use super::words::loads_unnamed;

/// What runs the text or the file that comes next.
const RUN: [&str; 13] = [
    ".", "source", "sh", "bash", "zsh", "dash", "exec", "python", "python3", "node", "perl",
    "ruby", "php",
];

/// Programs that build, test or fetch more than their command lines name.
const BUILD: [&str; 20] = [
    "ant",
    "bazel",
    "cargo",
    "docker",
    "docker-compose",
    "dotnet",
    "go",
    "gradle",
    "jest",
    "mix",
    "mvn",
    "nox",
    "podman",
    "pytest",
    "rake",
    "sbt",
    "swift",
    "tox",
    "vitest",
    "zig",
];

/// The first such thing in a script.
pub(super) fn in_script(path: &str, text: &str) -> Option<String> {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
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
        let first =
            words.find(|word| !["if", "then", "else", "do", "while", "!"].contains(word))?;
        let next = words.find(|word| !word.starts_with('-'));
        let is_found = match first {
            "eval" => true,
            first if RUN.contains(&first) => next.is_some_and(is_open),
            first => BUILD.contains(&first) || is_open(first),
        };
        is_found.then(|| command.trim().to_owned())
    })
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
        ] {
            assert_eq!(in_shell(text), None, "{text}");
        }
        assert!(in_script("a.js", "require(name)").is_some());
        assert!(in_script("a.js", "require('./x')").is_none());
        assert!(in_script("run", "#!/bin/sh\neval x").is_some());
        assert!(in_script("run", "eval x").is_none());
    }
}
