//! The working directory of a server's program: the workspace, unless the program runs code that it
//! finds in its working directory, or obeys settings there. Then a clone could be run in place of a
//! server of the user's own, with its keys. Looks at the program itself, not behind shells.

use std::path::PathBuf;

use super::Launch;
use crate::config::{Program, Scope};
use crate::failure::Failure;

/// Programs that run code of their working directory, some with the arguments by which they do.
#[rustfmt::skip]
const DIRECTORY_RUNNERS: [(&str, &[&str]); 14] = [
    ("npx", &[]), ("pnpx", &[]), ("bunx", &[]), ("uvx", &[]), ("npm", &["exec", "x"]), ("pnpm", &["dlx", "exec"]),
    ("yarn", &["dlx", "exec"]), ("uv", &["tool", "run"]), ("pipx", &["run"]), ("deno", &["npm:", "jsr:"]),
    ("bun", &[]), ("tsx", &[]), ("ts-node", &[]), ("cargo", &[]),
];

impl Launch<'_> {
    /// The working directory.
    pub(crate) fn working_directory(&self) -> PathBuf {
        match &self.program.cwd {
            Some(cwd) => self.settings.full_path(cwd),
            None if self.is_kept_apart() => self.data.clone(),
            None => self.settings.workspace.clone(),
        }
    }

    /// Fails if a program that is not started in the workspace is to run a file of the workspace.
    pub(super) fn check_script(&self) -> Result<(), Failure> {
        let is_subcommand = |word: &str| DIRECTORY_RUNNERS.iter().any(|(_, it)| it.contains(&word));
        let mut operands = self.program.args.iter().filter(|word| !word.starts_with('-'));
        let run = operands.find(|word| !is_subcommand(word)).filter(|word| is_relative_path(word));
        let Some(path) = run.filter(|_| self.is_kept_apart()) else { return Ok(()) };
        let command = &self.program.command;
        let sentence = format!("would be what the project brings: `{command}` is to run `{path}`");
        let hint = "write `cwd: .` where that may be run";
        Err(Failure::of(self.server, sentence).hinted(hint))
    }

    /// The arguments. If the program is not started in the workspace, relative paths in their usual
    /// form become absolute.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let is_kept_apart = self.is_kept_apart();
        let absolute = |word: &String| {
            if !is_kept_apart || !is_relative_path(word) {
                return word.clone();
            }
            let path = self.settings.workspace.join(word.trim_start_matches("./"));
            path.to_string_lossy().into_owned()
        };
        self.program.args.iter().map(absolute).collect()
    }

    /// Returns true if the program must not start in the workspace.
    fn is_kept_apart(&self) -> bool {
        self.program.cwd.is_none()
            && self.server.scope != Scope::Project
            && runs_code_of_directory(self.program)
    }
}

fn is_relative_path(word: &str) -> bool {
    [".", ".."].contains(&word) || word.starts_with("./") || word.starts_with("../")
}

fn runs_code_of_directory(program: &Program) -> bool {
    let name = program.command.rsplit('/').next().unwrap_or_default();
    let has = |sign: &&str| {
        let is_sign =
            |word: &String| word == sign || (sign.ends_with(':') && word.starts_with(sign));
        program.args.iter().any(is_sign)
    };
    let is_runner = |(runner, signs): &(&str, &[&str])| {
        name == *runner && (signs.is_empty() || signs.iter().any(has))
    };
    let is_python = ["python", "pypy"].iter().any(|python| name.starts_with(python));
    let mut options = program.args.iter().take_while(|word| word.starts_with('-'));
    // A module, or code: both are looked for in the working directory first.
    let is_no_file = |word: &String| !word.starts_with("--") && word.contains(['m', 'c']);
    DIRECTORY_RUNNERS.iter().any(is_runner) || (is_python && options.any(is_no_file))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn programs_that_run_code_of_their_directory_are_recognized() {
        for (line, expected) in [
            ("npx -y server@1.2.3", true),
            ("/usr/bin/npx -y server@1.2.3", true),
            ("npm exec server@1.2.3", true),
            ("bun run /opt/server.ts", true),
            ("uv --quiet tool run server==1.2.3", true),
            ("deno run -A npm:server@1.2.3", true),
            ("python3 -m server", true),
            ("python3.12 -I -um server", true),
            ("python3 /opt/server.py -m x", false),
            ("node server.js", false),
            ("npm run server", false),
            ("deno run server.ts", false),
            ("docker run -i image:1", false),
        ] {
            let mut words = line.split(' ').map(str::to_owned);
            let command = words.next().unwrap();
            let (env, inherited) = (BTreeMap::new(), Vec::new());
            let program = Program { command, args: words.collect(), env, inherited, cwd: None };
            assert_eq!(runs_code_of_directory(&program), expected, "{line}");
        }
    }
}
