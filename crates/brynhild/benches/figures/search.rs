//! Grep and Glob against ripgrep, as whole processes on the same tree.

use std::fs;
use std::path::PathBuf;

use crate::job::{Job, Rig};
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const RUNS: usize = 15;

struct Case {
    what: &'static str,
    tool: &'static str,
    input: &'static str,
    rg: &'static [&'static str],
}

const CASES: [Case; 3] = [
    Case {
        what: "Grep, a word",
        tool: "Grep",
        input: r#"{"pattern": "unsafe_op_in_unsafe_fn"}"#,
        rg: &["--no-heading", "-n", "unsafe_op_in_unsafe_fn", "."],
    },
    Case {
        what: "Grep, an expression",
        tool: "Grep",
        input: r#"{"pattern": "fn \\w+_(?:unchecked|exact)\\(", "-i": true}"#,
        rg: &["--no-heading", "-n", "-i", r"fn \w+_(?:unchecked|exact)\(", "."],
    },
    Case {
        what: "Glob",
        tool: "Glob",
        input: r#"{"pattern": "**/*.rs", "limit": 100000}"#,
        rg: &["--files", "-g", "*.rs", "."],
    },
];

/// Measures searches.
pub(crate) fn measure(report: &mut Report) {
    let rig = Rig::new();
    let Some(rg) = ripgrep() else {
        report.note("`rg` is not installed: Grep and Glob were NOT measured");
        return;
    };
    let tree = sources().unwrap_or_else(|| generated(&rig));
    report.note(format!("searched {}", tree.display()));
    for case in &CASES {
        let ours = rig.brynhild(&["tools", "exec", case.tool, "--input", case.input]);
        let ours = ours.project(&tree);
        let theirs = rig.job(rg.clone(), case.rg).project(&tree);
        add(report, case.what, &ours, &theirs);
    }
}

fn add(report: &mut Report, what: &str, ours: &Job, theirs: &Job) {
    let (mut figures, mut limits) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        figures.push(ours.cost());
        limits.push(theirs.cost());
    }
    report.add(Row {
        what: format!("{what}, against `rg`"),
        unit: Unit::Milliseconds,
        figure: milliseconds(median(figures.iter().map(|cost| cost.wall).collect())),
        limit: Some(milliseconds(median(limits.iter().map(|cost| cost.wall).collect()))),
        aim: Aim::Ratio(1.2),
    });
    report.add(Row {
        what: format!("{what}: peak memory"),
        unit: Unit::Megabytes,
        figure: median(figures.iter().map(|cost| cost.peak_megabytes).collect()),
        limit: Some(median(limits.iter().map(|cost| cost.peak_megabytes).collect())),
        aim: Aim::Figure(30.0),
    });
}

#[expect(clippy::disallowed_methods, reason = "the search path tells where `rg` is")]
fn ripgrep() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join("rg")).find(|rg| rg.is_file())
}

/// The sources of crates that cargo has unpacked.
#[expect(clippy::disallowed_methods, reason = "cargo says in a variable where it keeps things")]
fn sources() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")))?;
    let sources = home.join("registry/src");
    sources.is_dir().then_some(sources)
}

/// A tree of 10,000 small files.
fn generated(rig: &Rig) -> PathBuf {
    let tree = rig.path("tree");
    let line = "    let value = unsafe { slice.get_unchecked(index) }; // some words to search\n";
    for directory in 0..200 {
        let directory = tree.join(format!("directory-{directory}/src"));
        fs::create_dir_all(&directory).expect("a directory");
        for file in 0..50 {
            let text = format!("fn number_{file}_exact() {{\n{}}}\n", line.repeat(100));
            fs::write(directory.join(format!("file-{file}.rs")), text).expect("a file");
        }
    }
    tree
}
