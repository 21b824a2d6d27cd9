//! The real shell as a witness: what is allowed must be what Bash runs, word for word, and it must
//! write no file. No program is ever started: Bash finds none and hands the words to a function.

mod denied;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use contract::policy::{Decision, Mode};

use crate::setting::{judge, run};
use crate::table::rows;

/// Writes down what would be run. Builtins are off, so that they are written down too; `printf` does
/// the writing.
const PRELUDE: &str = r#"
exec 63>>"$WITNESS"
unset WITNESS
command_not_found_handle() { printf '%s\0' "$#" "$@" >&63; }
enable -n echo test '[' pwd true false : type command kill eval source . exec export alias \
    declare typeset read mapfile trap set shopt ulimit umask bg fg jobs wait
unset BASH_ENV
"#;

/// Pieces that change what a shell makes of a text.
const FRAGMENTS: &[&str] = &[
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
    "::",
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

/// What the shell does itself, unseen by the witness.
const SILENT: &[&str] = &["cd", "printf", "[["];

/// A small generator, the same on every machine.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("it is below the limit")
    }
}

/// Where the very many texts begin: other numbers in `WITNESS_START` try others.
#[expect(clippy::disallowed_methods, reason = "whoever runs the long tests says which texts")]
fn start() -> u64 {
    std::env::var("WITNESS_START").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn mutated(chance: &mut Chance, seeds: &[String]) -> String {
    let mut text = seeds[chance.below(seeds.len())].clone();
    if chance.below(4) == 0 {
        let joins = [" && ", "; ", " | ", "\n", " || "];
        text.push_str(joins[chance.below(joins.len())]);
        text.push_str(&seeds[chance.below(seeds.len())]);
    }
    for _ in 0..chance.below(4) {
        let places: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let at = places[chance.below(places.len())];
        match chance.below(3) {
            0 if at < text.len() => {
                text.remove(at);
            }
            _ => text.insert_str(at, FRAGMENTS[chance.below(FRAGMENTS.len())]),
        }
    }
    text
}

/// What Bash wants to run, and the names of files that it left.
#[expect(clippy::disallowed_methods, reason = "the witness is another program")]
fn witnessed(text: &str, folder: &Path) -> (Vec<Vec<String>>, Vec<String>) {
    let (work, log) = (folder.join("work"), folder.join("log"));
    fs::write(&log, "").unwrap();
    let output = Command::new(bash().expect("it was looked for"))
        .args(["--norc", "--noprofile", "-c", text])
        .env_clear()
        .env("PATH", "/nowhere")
        .env("LC_ALL", "C.UTF-8")
        .env("BASH_ENV", folder.join("prelude"))
        .env("WITNESS", &log)
        .current_dir(&work)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    drop(output);
    let bytes = fs::read(&log).unwrap();
    let mut fields =
        bytes.split(|b| *b == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    let mut runs = Vec::new();
    while let Some(count) = fields.next().and_then(|count| count.parse::<usize>().ok()) {
        runs.push(fields.by_ref().take(count).collect());
    }
    let left = fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().file_name());
    let left = left.filter_map(|name| name.into_string().ok()).filter(|name| name != "src");
    (runs, left.collect())
}

/// The words as they reach a program: `time` is a word of the shell in some places, and `cd`,
/// `printf` and tests leave no trace.
fn expected(programs: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for mut argv in programs {
        while argv.first().is_some_and(|word| word == "time") {
            argv.remove(0);
            if argv.first().is_some_and(|word| word == "-p") {
                argv.remove(0);
            }
        }
        if argv.first().is_some_and(|word| !SILENT.contains(&word.as_str())) {
            all.push(argv);
        }
    }
    all
}

/// Tries so many texts; returns how many of them were allowed and witnessed.
fn compare(count: usize, seed: u64) -> usize {
    let folder = std::env::temp_dir().join(format!("policy-witness-{}-{seed}", std::process::id()));
    fs::create_dir_all(folder.join("work/src")).unwrap();
    fs::write(folder.join("prelude"), PRELUDE).unwrap();
    fs::write(folder.join("work/src/main.rs"), "").unwrap();
    let tables = [
        include_str!("../commands.txt"),
        include_str!("../more_commands.txt"),
        include_str!("../variations.txt"),
    ];
    let is_seed = |(decision, text): &(Decision, String)| {
        *decision == Decision::Allow && text.len() < 200 && !text.contains('/')
            || *decision == Decision::Allow && text.contains("src")
    };
    let seeds: Vec<String> =
        tables.iter().flat_map(|table| rows(table)).filter(is_seed).map(|(_, text)| text).collect();
    let judge = judge();
    let mut chance = Chance(seed);
    let mut witnesses = 0;
    for _ in 0..count {
        let text = mutated(&mut chance, &seeds);
        if run(&judge, &text, Mode::Normal).decision != Decision::Allow {
            continue;
        }
        let Some(programs) = policy::proven_programs(&text, Path::new("/w")) else {
            continue;
        };
        let programs = expected(programs);
        let (runs, left) = witnessed(&text, &folder);
        let runs = expected(runs);
        witnesses += 1;
        assert_eq!(left, [""; 0], "{text:?} left files");
        for argv in &runs {
            assert!(programs.contains(argv), "{text:?} runs {argv:?}, allowed as {programs:?}");
        }
        // A redirection, and what leaves no trace, may fail, and then less is run.
        let may_fail = SILENT.iter().any(|name| text.contains(name));
        let unconditional = !text.contains(['|', '<', '>']) && !may_fail;
        if unconditional {
            assert_eq!(runs, programs, "{text:?} runs something else than it was allowed as");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    witnesses
}

fn bash() -> Option<&'static str> {
    ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists())
}

fn has_bash() -> bool {
    if bash().is_none() {
        let words = b"SKIPPED: comparing with Bash, which this machine has not\n";
        std::io::Write::write_all(&mut std::io::stderr(), words).unwrap();
    }
    bash().is_some()
}

#[test]
fn what_is_allowed_is_what_bash_runs() {
    if has_bash() {
        let witnesses = compare(2_500, 0x5eed);
        assert!(witnesses >= 300, "only {witnesses} texts were allowed");
    }
}

#[test]
#[ignore = "takes minutes; `cargo test --release -p policy --test it -- --ignored bash --nocapture`"]
fn what_is_allowed_is_what_bash_runs_for_very_many_texts() {
    const EXECUTIONS: usize = 100_000;
    const THREADS: u64 = 2;
    if !has_bash() {
        return;
    }
    let until_enough = |first: u64| {
        let (mut witnesses, mut seed) = (0, first);
        while witnesses < EXECUTIONS / 2 {
            witnesses += compare(10_000, seed.wrapping_mul(0x9e37_79b9).wrapping_add(start()));
            seed += THREADS;
        }
        witnesses
    };
    let executed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (1..=THREADS).map(|first| scope.spawn(move || until_enough(first))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no text surprises")).sum()
    });
    let words = format!("{executed} texts were run by Bash\n");
    std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes()).unwrap();
    assert!(executed >= EXECUTIONS);
}
