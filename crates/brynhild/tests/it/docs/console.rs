//! Runs the `console` blocks of a page in a fresh home and project, and compares the output.
//! `UPDATE=1` writes what the commands print; `PAGE=guides/mcp` runs one page.
//!
//! - `$ COMMAND` runs in the project, with both outputs in one; a final `\` continues it in the
//!   next line. `(exit code N)` follows the output of a command that fails.
//! - A line `...` matches any number of lines.
//! - `<!-- file: PATH -->` before another block writes the block to a file.
//! - `<!-- run` and the lines up to `-->` are a script that prepares the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use super::{pages, repository};
use crate::has_bubblewrap;

/// A directory with a home in it, and a project in the home.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("brynhild-docs-").tempdir().unwrap();
        let place = Self { directory };
        fs::create_dir_all(place.project()).unwrap();
        place
    }

    fn home(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("ann")
    }

    fn project(&self) -> PathBuf {
        self.home().join("site")
    }

    fn write(&self, name: &str, text: &str) {
        let path = name.strip_prefix("~/").map(|rest| self.home().join(rest));
        let path = path.unwrap_or_else(|| self.project().join(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Both outputs of a command line, and its exit code.
    #[expect(clippy::disallowed_methods, reason = "the pages show a shell")]
    fn run(&self, line: &str) -> (String, i32) {
        let binary = Path::new(env!("CARGO_BIN_EXE_brynhild")).parent().unwrap();
        let done = Command::new("/bin/sh")
            .args(["-c", &format!("exec 2>&1\n{line}")])
            .current_dir(self.project())
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", binary.display()))
            .env("HOME", self.home())
            .env("LANG", "C.UTF-8")
            .env("PIP_NO_INDEX", "1")
            .env("REPOSITORY", repository())
            .output()
            .unwrap();
        (String::from_utf8_lossy(&done.stdout).into_owned(), done.status.code().unwrap_or(-1))
    }

    /// The output without what differs from run to run.
    fn stable(&self, text: &str) -> String {
        let home = self.home().display().to_string();
        let root = repository().display().to_string();
        let text = text.replace(&home, "/home/ann").replace(&root, "/opt/brynhild");
        let patterns = [
            (r"session-\d{8}-\d{6}(-[a-z0-9]+)?", "session-20260301-101500"),
            (r"brynhild_\d{8}_\d{6}(_[a-z0-9]+)?", "brynhild_20260301_101500"),
            (r"20\d\d-\d\d-\d\d \d\d:\d\d(:\d\d)?", "2026-03-01 10:15"),
            (r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?", "2026-03-01T10:15:00Z"),
            (r"  20\d\d-\d\d-\d\d  ", "  2026-03-01  "),
            (r"about \d+ in / \d+ out", "about 1200 in / 45 out"),
            (r"/tmp/brynhild-\d+-\d+", "/tmp/brynhild-demo"),
            (r"\b\d+\.\d+ ?s\b", "0.1 s"),
            (r"\b\d+(\.\d+)? ms\b", "20 ms"),
            (r"127\.0\.0\.1:\d{4,5}", "127.0.0.1:8000"),
        ];
        let stable = patterns.iter().fold(text, |text, (pattern, stand_in)| {
            Regex::new(pattern).unwrap().replace_all(&text, *stand_in).into_owned()
        });
        stable.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

/// Returns true if the lines are equal, with `...` for any number of lines.
fn matches(expected: &[&str], actual: &[&str]) -> bool {
    match (expected.split_first(), actual.split_first()) {
        (Some((&"...", rest)), _) => {
            (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..]))
        }
        (Some((line, expected)), Some((other, actual))) => {
            line == other && matches(expected, actual)
        }
        (None, None) => true,
        _ => false,
    }
}

/// The block with the output of each command behind it.
fn played(place: &Place, block: &[&str]) -> Vec<String> {
    let mut lines = block.iter().copied().peekable();
    let mut played = Vec::new();
    while let Some(line) = lines.next() {
        let mut command =
            line.strip_prefix("$ ").unwrap_or_else(|| panic!("no command: {line}")).to_owned();
        played.push(line.to_owned());
        while command.ends_with('\\') {
            let next = lines.next().unwrap();
            played.push(next.to_owned());
            command = format!("{}{}", command.trim_end_matches('\\'), next.trim_start());
        }
        let mut expected = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            expected.push(line);
        }
        let (output, code) = place.run(&command);
        let mut output = place.stable(&output);
        if code != 0 {
            let gap = if output.is_empty() { "" } else { "\n" };
            output = format!("{output}{gap}(exit code {code})");
        }
        let actual: Vec<&str> = output.lines().collect();
        let shown = if matches(&expected, &actual) { expected } else { actual };
        played.extend(shown.into_iter().map(str::to_owned));
    }
    played
}

/// The page as its commands make it, and the number of its `console` blocks.
fn page(text: &str) -> (String, usize) {
    let place = Place::new();
    let mut lines = text.lines();
    let (mut page, mut count, mut file) = (Vec::new(), 0, None);
    while let Some(line) = lines.next() {
        page.push(line.to_owned());
        if line == "<!-- run" {
            let script: Vec<&str> = lines.by_ref().take_while(|line| *line != "-->").collect();
            let (output, code) = place.run(&format!("set -e\n{}", script.join("\n")));
            assert_eq!(code, 0, "{}\n{output}", script.join("\n"));
            page.extend(script.into_iter().map(str::to_owned));
            page.push(String::from("-->"));
        } else if let Some(name) = line.strip_prefix("<!-- file: ") {
            file = name.strip_suffix(" -->").map(str::to_owned);
        } else if let Some(language) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if let Some(name) = file.take() {
                place.write(&name, &(block.join("\n") + "\n"));
            }
            if language == "console" {
                count += 1;
                page.extend(played(&place, &block));
            } else {
                page.extend(block.into_iter().map(str::to_owned));
            }
            page.push(String::from("```"));
        }
    }
    (page.join("\n") + "\n", count)
}

/// Plays the pages whose paths begin with `prefix`.
#[expect(clippy::disallowed_methods, reason = "the switches of this test")]
fn play(prefix: &str) {
    if !has_bubblewrap() {
        return;
    }
    let update = std::env::var_os("UPDATE").is_some();
    let only = std::env::var("PAGE").unwrap_or_default();
    let root = repository();
    let mut stale = Vec::new();
    for path in pages() {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        if !name.starts_with(prefix) || !name.contains(&only) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let (current, _) = page(&text);
        if current != text && update {
            fs::write(&path, &current).unwrap();
        } else if current != text {
            let differs = |(old, new): &(&str, &str)| old != new;
            let first = text.lines().zip(current.lines()).find(differs).unwrap_or(("", ""));
            stale.push(format!("{name}:\n  page:    {}\n  program: {}", first.0, first.1));
        }
    }
    let hint = "run `UPDATE=1 cargo test -p brynhild docs::console` and look at the difference";
    assert!(stale.is_empty(), "{}\n{hint}", stale.join("\n"));
}

#[test]
fn readme_commands_print_the_shown_output() {
    play("README.md");
}

#[test]
fn start_pages_show_what_commands_print() {
    play("docs/start");
}

#[test]
fn guides_show_what_commands_print() {
    play("docs/guides");
}

#[test]
fn extension_pages_show_what_commands_print() {
    play("docs/extend");
}

#[test]
fn reference_pages_show_what_commands_print() {
    play("docs/reference");
}

#[test]
fn help_pages_show_what_commands_print() {
    play("docs/help");
}
