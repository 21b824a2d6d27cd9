//! The directory that a server's program is started in: the workspace, unless the program takes what it runs from
//! there. Runners of packages prefer what is installed in their directory, and obey settings in it, as some interpreters
//! do; Python looks there first for modules. So a clone could be run in the place of a server of the user's own, with
//! its keys.

use std::path::{Path, PathBuf};

use super::{Surroundings, home_path};
use crate::config::{Program, Scope, Server};
use crate::failure::Failure;

/// Programs that do so, some with the words by which they do.
#[rustfmt::skip]
const TAKING: [(&str, &[&str]); 14] = [
    ("npx", &[]), ("pnpx", &[]), ("bunx", &[]), ("uvx", &[]), ("npm", &["exec", "x"]), ("pnpm", &["dlx", "exec"]),
    ("yarn", &["dlx", "exec"]), ("uv", &["tool", "run"]), ("pipx", &["run"]), ("deno", &["npm:", "jsr:"]),
    ("bun", &[]), ("tsx", &[]), ("ts-node", &[]), ("cargo", &[]),
];
/// Words by which `uv` takes it from another directory, or from none.
const ELSEWHERE: [&str; 3] = ["--directory", "--no-project", "--project"];

/// Where a server's program runs; `data` is the directory of its own.
pub(crate) fn working_directory(
    (server, program): (&Server, &Program),
    surroundings: &Surroundings,
    data: &Path,
) -> PathBuf {
    match &program.cwd {
        Some(cwd) => surroundings.workspace.join(home_path(cwd, surroundings)),
        None if is_apart(server, program) => data.to_owned(),
        None => surroundings.workspace.clone(),
    }
}

/// Fails where a program that is kept from starting in the workspace is to run what lies there.
pub(crate) fn check(server: &Server, program: &Program) -> Result<(), Failure> {
    let is_runner_s =
        |word: &str| TAKING.iter().any(|(name, signs)| *name == word || signs.contains(&word));
    let mut operands = program.args.iter().filter(|word| !word.starts_with('-'));
    let run = operands.find(|word| !is_runner_s(word)).filter(|word| is_from_here(word));
    let Some(path) = run.filter(|_| is_apart(server, program)) else { return Ok(()) };
    let (name, command) = (&server.name, &program.command);
    Err(Failure::hinted(
        format!(
            "MCP server `{name}` would be what the project brings: `{command}` is to run `{path}`"
        ),
        "write `cwd: .` where that may be run",
    ))
}

/// The arguments of a program. To one that is kept from starting in the workspace a path from there means the same.
pub(crate) fn arguments((server, program): (&Server, &Program), workspace: &Path) -> Vec<String> {
    let is_apart = is_apart(server, program);
    let meant = |word: &String| {
        if is_apart && is_from_here(word) {
            workspace.join(word.trim_start_matches("./")).to_string_lossy().into_owned()
        } else {
            word.clone()
        }
    };
    program.args.iter().map(meant).collect()
}

/// Whether a word is a path from the directory that one is in.
fn is_from_here(word: &str) -> bool {
    [".", ".."].contains(&word) || word.starts_with("./") || word.starts_with("../")
}

/// Whether a program is kept from starting in the workspace.
fn is_apart(server: &Server, program: &Program) -> bool {
    let is_free = program.cwd.is_none() && server.scope != Scope::Project;
    is_free && takes_from_directory(program)
}

/// Whether a program takes what it runs from the directory that it is started in. Words of a script for a shell count
/// as well, and so does every word that looks like one of them.
fn takes_from_directory(program: &Program) -> bool {
    let words = std::iter::once(&program.command).chain(&program.args);
    let words: Vec<&str> = words.flat_map(|word| word.split(is_end)).collect();
    let names = words.iter().map(|word| word.rsplit('/').next().unwrap_or_default());
    names.enumerate().any(|(at, name)| {
        let behind = &words[at + 1..];
        let is_elsewhere = || name == "uv" && behind.iter().any(|it| ELSEWHERE.contains(it));
        let is_taking = |(taking, signs): &(&str, &[&str])| {
            let is_sign = |word: &&str| signs.iter().any(|sign| is_meant(word, sign));
            name == *taking && (signs.is_empty() || behind.iter().any(is_sign)) && !is_elsewhere()
        };
        TAKING.iter().any(is_taking)
            || ["python", "pypy"].iter().any(|it| name.starts_with(it)) && runs_no_file(behind)
    })
}

fn is_end(letter: char) -> bool {
    letter.is_whitespace() || ";|&()'\"`=$".contains(letter)
}

fn is_meant(word: &str, sign: &str) -> bool {
    if sign.ends_with(':') { word.starts_with(sign) } else { word == sign }
}

/// Whether Python is given a module, or code, by its options.
fn runs_no_file(words: &[&str]) -> bool {
    let mut words = words.iter();
    while let Some(option) = words.next().and_then(|word| word.strip_prefix('-')) {
        if !option.starts_with('-') && option.contains(['m', 'c']) {
            return true;
        }
        if ["X", "W", "-check-hash-based-pycs"].contains(&option) {
            words.next();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_looks_around_in_its_directory_is_known_by_its_words() {
        for (line, takes) in [
            ("npx -y server@1.2.3", true),
            ("/usr/bin/npx -y server@1.2.3", true),
            ("env A=b npx server@1.2.3", true),
            ("sh -c|exec npx -y server@1.2.3", true),
            ("sh -c|A=1;npx server@1.2.3", true),
            ("npm exec server@1.2.3", true),
            ("bun x server@1.2.3", true),
            ("bun run /opt/server.ts", true),
            ("uv run --with mcp==1.2 mcp run /opt/server.py", true),
            ("uv --quiet tool run server==1.2.3", true),
            ("deno run -A npm:server@1.2.3", true),
            ("python3 -m server", true),
            ("python3.12 -I -X dev -um server", true),
            ("python3 -c|import server", true),
            ("python3 /opt/server.py -m x", false),
            ("python3 -u -W ignore server.py", false),
            ("node server.js", false),
            ("npm run server", false),
            ("uv run --no-project /opt/server.py", false),
            ("uv --directory /opt/x run server", false),
            ("uv run --directory=/opt/x server", false),
            ("deno run server.ts", false),
            ("docker run -i image:1", false),
        ] {
            let (line, script) = line.split_once('|').unwrap_or((line, ""));
            let mut words = line.split(' ').map(str::to_owned);
            let command = words.next().unwrap();
            let args = words.chain((!script.is_empty()).then(|| script.to_owned())).collect();
            let (env, inherited) = (BTreeMap::new(), Vec::new());
            let program = Program { command, args, env, inherited, cwd: None };
            assert_eq!(takes_from_directory(&program), takes, "{line} {script}");
        }
    }
}
