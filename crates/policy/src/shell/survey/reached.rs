//! Whether words of a text could reach a program in another language. What is only said, searched for, or written
//! into a file that nothing here runs is data. Where that is not certain, it counts.

use super::names::Names;
use super::spoken::{is_device, is_group, name_of, put_elsewhere, turns_around};
use super::words::stages;
use super::{base_name, program_index};
use crate::programs::sed;
use crate::shell::tolerant::{self, Piece, Scan, Segment};

/// In texts of more segments all of them count.
const LONG: usize = 512;

/// More here-documents are not told from what is around them.
const FED: usize = 8;

/// Programs that take no word for a program in another language, and run nothing.
#[rustfmt::skip]
const MUTE: &[&str] = &[
    "echo", "printf", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "cat", "tee", "head", "tail", "wc",
    "sort", "uniq", "cut", "tr", "nl", "less", "ls", "test", "[", "touch", "mkdir", "cd", "true", "false", ":",
    "pwd", "jq", "diff", "cmp", "stat", "basename", "dirname", "date", "sleep", "exit", "rm", "chmod",
];

/// Subcommands of git that do not either.
const KEEPING: &[&str] =
    &["commit", "log", "grep", "show", "diff", "tag", "notes", "stash", "blame", "merge", "add"];

/// Those of `gh`.
const TELLING: &[&str] = &["issue", "pr", "release", "gist", "search", "api"];

/// Endings of files that nobody runs unless they are named.
const PROSE: &[&str] = &[".md", ".txt", ".log", ".rst", ".adoc", ".csv", ".html"];

/// Whether a program in another language could be given a text with one of these words.
pub(crate) fn reaches_interpreter(text: &str, words: &[&str]) -> bool {
    let names = |text: &str| words.iter().any(|word| text.contains(word));
    let scan = tolerant::scan(text);
    // What a here-document defines is defined by whoever it is fed to.
    let mut own = text.to_owned();
    for (_, fed) in scan.fed.iter().filter(|(_, fed)| !fed.is_empty()).take(FED) {
        own = own.replace(fed.as_str(), "");
    }
    let is_certain = !scan.torn
        && scan.segments.len() <= LONG
        && Names::of(&own).functions.is_empty()
        && !own.contains("alias");
    let stages = stages(&scan.segments);
    let goes_on = |it: &Segment| {
        is_group(it) && (stages[it.pipeline] > 1 || !it.redirects.is_empty() || is_fed(&scan, it))
    };
    if !is_certain || scan.segments.iter().any(|it| turns_around(it) || goes_on(it)) {
        return names(text);
    }
    let is_put = put_elsewhere(&scan.segments);
    let running: Vec<&Segment> = scan.segments.iter().filter(|it| !is_mute(it)).collect();
    // Without such a program nothing that is said reaches one.
    if running.is_empty() {
        return false;
    }
    let counts = |(at, segment): (usize, &Segment)| {
        let said = || segment.words.iter().any(|word| names(&word.text));
        let fed = || scan.fed.iter().any(|(to, text)| *to == segment.pipeline && names(text));
        (said() || fed()) && (is_put[at] || !stays(segment, &scan, &running))
    };
    scan.segments.iter().enumerate().any(counts)
}

fn is_fed(scan: &Scan, segment: &Segment) -> bool {
    scan.fed.iter().any(|(pipeline, _)| *pipeline == segment.pipeline)
}

/// Whether a segment only sets variables, or says how others belong together.
fn is_setting(segment: &Segment) -> bool {
    let name = name_of(segment);
    segment.is_data || matches!(name, "" | "for" | "select" | "export" | "local" | "readonly")
}

/// Whether a segment runs nothing that could take its words for a program.
fn is_mute(segment: &Segment) -> bool {
    let args = segment.words.get(program_index(&segment.words) + 1..).unwrap_or_default();
    let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
    let program = segment.words.get(program_index(&segment.words));
    let is_test = segment.words.first().is_some_and(|word| word.text == "[[");
    if is_setting(segment) || is_test {
        return true;
    }
    if program.is_none_or(|program| program.dynamic) {
        return false;
    }
    match name_of(segment) {
        "git" => match texts.as_slice() {
            ["-C", _, subcommand, ..] | [subcommand, ..] => KEEPING.contains(subcommand),
            [] => true,
        },
        "gh" => texts.first().is_none_or(|command| TELLING.contains(command)),
        "sed" | "gsed" => {
            let edits = |script: &&str| sed::only_edits(script);
            !sed::reads_script(&texts) && sed::scripts(&texts).iter().all(edits)
        }
        name => MUTE.contains(&name),
    }
}

/// Whether what a segment says goes nowhere but to the terminal, or into a file that nothing here runs.
fn stays(segment: &Segment, scan: &Scan, running: &[&Segment]) -> bool {
    let pipeline = || scan.segments.iter().filter(|it| it.pipeline == segment.pipeline);
    // A here-document goes where its program puts it, and what a variable holds may be put anywhere.
    let bare = |text: &str| text.replace(['"', '\\'], "");
    let is_fed =
        |word: &Piece| scan.fed.iter().any(|(_, fed)| bare(fed).contains(&bare(&word.text)));
    if segment.is_data && segment.words.iter().all(is_fed) {
        return true;
    }
    if is_setting(segment) || !pipeline().all(is_mute) {
        return false;
    }
    let redirected = pipeline().flat_map(|it| &it.redirects).filter(|it| it.writes);
    let redirected = redirected.map(|it| &it.word).filter(|word| !is_device(&word.text));
    let teed = pipeline().filter(|it| name_of(it) == "tee").flat_map(|it| it.words.iter().skip(1));
    let mut files = redirected.chain(teed);
    files.all(|file| {
        let is_named = |word: &Piece| word.glob || word.text.contains(base_name(&file.text));
        let is_prose = PROSE.iter().any(|end| file.text.ends_with(end));
        is_prose && !running.iter().any(|it| it.words.iter().any(is_named))
    })
}
