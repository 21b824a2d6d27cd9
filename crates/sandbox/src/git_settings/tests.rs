use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;

/// Each of them says something, in one of the ways that a reader line by line gets wrong.
const TEXTS: [&str; 16] = [
    "[core]\n\tbare = false\n\thooksPath = .husky # shared\n",
    "[color][core] fsmonitor = \"echo x >&2; false\"\n",
    "[user] [core] fsmonitor = x\n[color \"x\"] [core]\n\teditor = y\n",
    "[core]\n editor = \"x\\\n[user]\"\n fsmonitor = \"echo x\"\n",
    "[core]\n notesref = x \\\n[color]\n fsmonitor = y\n",
    "[core] hooksPath = .hus\"ky\"\n[core] hooksPath = \".hus\\\"k\\\\y\"\n",
    "[core]\r\n\tbare = true\r\n\tworktree = a\rb \r\n[user]\r\n\tname = a\\\r\nb\r\n",
    "\u{feff}[core]\nbare\nFileMode\n[a.B.c]D-e=1\n",
    "[a \"B c]\\\"d\\\\\"]k=v;w\n[x\t \"\"]\ty = \" a \" b\t c \n",
    "[alias]\n\tl = \"!f() { \\\n\t\techo \\\"a;b\\\" # c; \\\n\t}; f\"\n",
    "a = 1\n[ \"x\"]\nb = 2\n[.c]d=3\n[]\n",
    "# x\n; y [core]\n[core] # z\n\teol = lf ; x\\\n\tbare = 1\n",
    "[a]b=\n[a]b = \"\"\n[a]b=\"\" \n[a]b = \\\n\n[a]c",
    "[a]b = x\\ty\\bz\\nq\n[a]b=x # \"\n[a]b=\"x # \"y\"\"z\n",
    "[include]path=a\n[includeIf \"gitdir:~/\"]\npath = b\n",
    "[remote \"o\"]\n\turl = https://h/x\n\tfetch = +refs/heads/*:refs/remotes/o/*\n",
];

/// Replacements of a byte, or insertions before it.
const PIECES: [&str; 16] = [
    "\"", "\\", "\n", "[", "]", "#", ";", "=", " ", "\t", "\r", "\\\n", "[core]", "x", ".", "\r\n",
];

/// As many changed texts are read by git too.
const CHANGED: usize = 200;

/// Full names with their values.
type Read = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// The settings that git reads in a file.
#[expect(clippy::disallowed_methods, reason = "git itself says what it reads")]
fn read_by_git(file: &Path) -> Option<Read> {
    let output = Command::new("git")
        .args(["config", "--list", "-z", "--no-includes", "-f"])
        .arg(file)
        .current_dir(file.parent().unwrap())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .output()
        .unwrap();
    let entry = |entry: &[u8]| match entry.iter().position(|byte| *byte == b'\n') {
        Some(at) => (entry[..at].to_vec(), Some(entry[at + 1..].to_vec())),
        None => (entry.to_vec(), None),
    };
    let entries = output.stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    output.status.success().then(|| entries.map(entry).collect())
}

fn read_here(text: &[u8]) -> Option<Read> {
    let full = |it: Setting| {
        let has_header = !it.section.is_empty() || it.subsection.is_some();
        let section = has_header.then(|| it.section.into_bytes());
        let parts = [section, it.subsection, Some(it.key.into_bytes())];
        (parts.into_iter().flatten().collect::<Vec<_>>().join(&b'.'), it.value)
    };
    Some(settings(text)?.into_iter().map(full).collect())
}

/// Deterministic random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

fn changed(numbers: &mut Numbers) -> Vec<u8> {
    let mut text = TEXTS[numbers.below(TEXTS.len())].as_bytes().to_vec();
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(text.len());
        let piece = PIECES[numbers.below(PIECES.len())].bytes();
        match numbers.below(3) {
            0 => drop(text.remove(at)),
            1 => drop(text.splice(at..=at, piece)),
            _ => drop(text.splice(at..at, piece)),
        }
    }
    text
}

#[test]
fn settings_are_read_as_git_reads_them() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config");
    let mut numbers = Numbers(1);
    let plain = TEXTS.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
    let others = (0..CHANGED).map(|_| changed(&mut numbers));
    let mut understood = 0;
    for text in plain.into_iter().chain(others) {
        fs::write(&file, &text).unwrap();
        let (ours, theirs) = (read_here(&text), read_by_git(&file));
        assert_eq!(ours, theirs, "{:?}", String::from_utf8_lossy(&text));
        understood += usize::from(ours.is_some());
    }
    assert!(understood > CHANGED / 4, "only {understood} texts were settings");
}

#[test]
fn a_zero_byte_is_no_setting() {
    assert_eq!(settings(b"[core]\nbare = a\0b\n"), None);
}
