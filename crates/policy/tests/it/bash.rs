//! Bash as the witness: every program that it runs for an allowed text is allowed on its own, and no file
//! is written. No program is started: Bash finds none and gives the words to a function.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use contract::action::Action;
use contract::policy::{Decision, Mode, Policy};
use policy::Judge;

use crate::setting::{bash, judge, run};

/// Writes down the directory and the words of each program. Builtins are off, so that they are written
/// down too; `printf` does the writing.
const PRELUDE: &str = r#"
exec 63>>"$WITNESS"
unset WITNESS BASH_ENV
FUNCNEST=20
command_not_found_handle() { printf '%s\0' "$PWD" "$#" "$@" >&63; }
enable -n echo test '[' pwd true false : type command kill eval source . exec export alias \
    declare typeset read mapfile trap set shopt ulimit umask bg fg jobs wait
"#;

/// Texts to begin with.
const SEEDS: &[&str] = &[
    "ls -la src",
    "git status --short",
    "git diff HEAD~1 -- src/main.rs",
    "cat src/main.rs | head -40",
    "rg 'fn main' src",
    "cargo test 2>&1",
    "cargo build >/dev/null 2>&1",
    "sed -n 1,40p src/lib.rs",
    "ls src/*.rs",
    "cd src && ls",
    "cat <<'EOF'\nhello $(id)\nEOF",
    "echo \"a b\" 'c d' e",
    "wc -l src/main.rs; pwd",
    "find src -name '*.rs'",
    "sort src/main.rs | uniq -c",
    "test -f src/main.rs && echo yes || echo no",
    "git log --oneline -n 5 # history",
];

/// Texts to begin with that run what is denied.
const DENIED: &[&str] = &[
    "curl x",
    "'cu'rl x",
    "c\\url x",
    "ls && curl x",
    "echo $(curl x)",
    "if true; then curl x; fi",
    "git push --force",
    "(curl x)",
    "ls | sudo ls",
    "cat <<EOF\n$(curl x)\nEOF",
    "cat <<EOF\n $(curl x)\nEOF",
    "cat <<-EOF\n\t`curl x`\nEOF",
    "cu\\\nrl x",
    "git pu\\\nsh",
];

/// Pieces that change what a shell makes of a text.
const PIECES: &[&str] = &[
    " ",
    "'",
    "\"",
    "\\",
    "\n",
    ";",
    "&",
    "|",
    "&&",
    "||",
    "$",
    "`",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "#",
    " #",
    "=",
    "~",
    "*",
    "?",
    "[",
    "]",
    "!",
    "-",
    ",",
    "\t",
    "\r",
    "$(",
    "${",
    "<<",
    "<<<",
    "'E'",
    ">&",
    "2>&1",
    ">/dev/null",
    "<(",
    "\\\n",
    "$'",
    "a",
    "x=1 ",
    "é",
    "time ",
    "if ",
    "then ",
    "echo x",
    "--",
    "&>",
    ">|",
    ";;",
    "|&",
    "{a,b}",
    "@",
    "%",
    "^",
    "+",
];

/// A small generator, the same on every machine.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("it is below the limit")
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn text(&mut self, seeds: &[&str]) -> String {
        let mut text = self.pick(seeds).to_owned();
        if self.below(4) == 0 {
            text.push_str(self.pick(&[" && ", "; ", " | ", "\n", " || "]));
            text.push_str(self.pick(seeds));
        }
        for _ in 0..self.below(4) {
            let places: Vec<usize> =
                text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let at = places[self.below(places.len())];
            if self.below(3) == 0 && at < text.len() {
                text.remove(at);
            } else {
                text.insert_str(at, self.pick(PIECES));
            }
        }
        text
    }
}

/// A directory to run texts in.
struct Witness {
    directory: PathBuf,
}

impl Witness {
    fn new(name: &str) -> Self {
        let name = format!("policy-witness-{name}-{}", std::process::id());
        fs::create_dir_all(std::env::temp_dir().join(&name).join("work/src")).unwrap();
        let directory = fs::canonicalize(std::env::temp_dir().join(name)).unwrap();
        fs::write(directory.join("prelude"), PRELUDE).unwrap();
        fs::write(directory.join("work/src/main.rs"), "").unwrap();
        Self { directory }
    }

    /// The programs that Bash runs, each with its directory as below `/w`.
    #[expect(clippy::disallowed_methods, reason = "the witness is another program")]
    fn programs(&self, text: &str) -> Vec<(PathBuf, Vec<String>)> {
        let log = self.directory.join("log");
        fs::write(&log, "").unwrap();
        let output = Command::new("/bin/bash")
            .args(["--norc", "--noprofile", "-c", text])
            .env_clear()
            .env("PATH", "/nowhere")
            .env("LC_ALL", "C.UTF-8")
            .env("BASH_ENV", self.directory.join("prelude"))
            .env("WITNESS", &log)
            .current_dir(self.directory.join("work"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        drop(output);
        let bytes = fs::read(&log).unwrap();
        let mut fields =
            bytes.split(|b| *b == 0).map(|it| String::from_utf8_lossy(it).into_owned());
        let mut found = Vec::new();
        while let (Some(directory), Some(count)) = (fields.next(), fields.next()) {
            let inner = Path::new(&directory).strip_prefix(self.directory.join("work"));
            let directory =
                inner.map_or(PathBuf::from(&directory), |inner| Path::new("/w").join(inner));
            found.push((directory, fields.by_ref().take(count.parse().unwrap()).collect()));
        }
        found
    }

    /// Names of files that were written.
    fn left(&self) -> Vec<String> {
        let names = fs::read_dir(self.directory.join("work")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| name != "src").collect()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // A leftover is below the directory for temporary files.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The arguments as a shell command. A single quote in an argument is replaced.
fn quoted(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:,@%+-".contains(c);
    let quote = |word: &String| {
        if !word.is_empty() && word.chars().all(is_plain) {
            return word.clone();
        }
        format!("'{}'", word.replace('\'', "_"))
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

fn decide(judge: &Judge, cwd: &Path, text: &str) -> Decision {
    let action = Action::Run { command: text.to_owned(), cwd: cwd.to_owned() };
    judge.judge(&bash(), &[action], Mode::Ask).decision
}

fn has_bash() -> bool {
    let has = Path::new("/bin/bash").exists();
    if !has {
        let words = b"SKIPPED: comparing with Bash, which this machine has not\n";
        std::io::Write::write_all(&mut std::io::stderr(), words).unwrap();
    }
    has
}

#[test]
fn bash_runs_only_allowed_programs_for_an_allowed_text() {
    if !has_bash() {
        return;
    }
    let (witness, judge, mut chance) = (Witness::new("allowed"), judge(), Chance(0x5eed));
    let mut count = 0;
    for _ in 0..3_000 {
        let text = chance.text(SEEDS);
        let is_allowed = run(&judge, &text, Mode::Ask).decision == Decision::Allow;
        if !is_allowed {
            continue;
        }
        count += 1;
        for (cwd, words) in witness.programs(&text) {
            let single = quoted(&words);
            assert_eq!(decide(&judge, &cwd, &single), Decision::Allow, "{text:?} runs {words:?}");
        }
        assert_eq!(witness.left(), [""; 0], "{text:?} writes files");
    }
    assert!(count >= 300, "only {count} texts were allowed");
}

#[test]
fn no_text_for_which_bash_runs_a_denied_program_runs_unasked() {
    if !has_bash() {
        return;
    }
    let (witness, judge, mut chance) = (Witness::new("denied"), judge(), Chance(0xdead));
    let mut count = 0;
    for _ in 0..600 {
        let text = chance.text(DENIED);
        let programs = witness.programs(&text);
        let is_denied = |(_, words): &(PathBuf, Vec<String>)| {
            let first = words.first().map(String::as_str);
            matches!(first, Some("curl" | "sudo"))
                || words.starts_with(&["git".into(), "push".into()])
        };
        if !programs.iter().any(is_denied) {
            continue;
        }
        count += 1;
        for mode in [Mode::Ask, Mode::Normal, Mode::Yolo] {
            let ruling = run(&judge, &text, mode);
            assert_ne!(ruling.decision, Decision::Allow, "{mode:?} {text:?} runs {programs:?}");
        }
    }
    assert!(count >= 200, "only {count} texts run a denied program");
}
