//! Programs that say their version and do nothing else, where they are the system's own: another
//! one's may be a switch that asks the project which program to run.

use crate::shell::Word;

/// Programs whose `--version` runs nothing else and reads nothing of the project.
pub(crate) const PROGRAMS: &[&str] = &[
    "as", "awk", "bash", "c++", "cat", "cc", "clang", "clang++", "cmake", "cp", "diff", "docker",
    "find", "g++", "gawk", "gcc", "gmake", "grep", "gzip", "head", "java", "javac", "jq", "ld",
    "ls", "lua", "make", "ninja", "node", "nodejs", "npm", "patch", "perl", "php", "pip", "pip3",
    "python", "python3", "rg", "ruby", "sed", "sort", "tail", "tar", "xz",
];

/// Programs of which a project's own file chooses the one that runs, where there is such a file.
pub(crate) const CHOSEN: &[&str] = &["cargo", "rustc"];

/// The files by which a project chooses them.
pub(crate) const CHOOSING: &[&str] = &["rust-toolchain", "rust-toolchain.toml"];

/// Whether these words only ask a program for its version.
pub(crate) fn is_asked(argv: &[Word]) -> bool {
    let Some((program, options)) = argv.split_first() else {
        return false;
    };
    let short: &[&str] = match program.text.as_str() {
        "python" | "python3" => &["-V"],
        "cargo" | "rustc" => &["-V", "-vV", "-Vv"],
        "node" | "nodejs" | "npm" | "perl" | "php" | "ruby" | "lua" => &["-v"],
        "java" | "javac" => &["-version"],
        _ => &[],
    };
    let is_version = |text: &str| text == "--version" || short.contains(&text);
    match options {
        [option] => !option.glob && is_version(&option.text),
        // Those of Rust tell more of it.
        [option, more] => {
            let is_more = ["--verbose", "-v"].contains(&more.text.as_str());
            is_more && CHOSEN.contains(&program.text.as_str()) && is_version(&option.text)
        }
        _ => false,
    }
}
