//! Output that is too long for the model: head and tail stay, the whole goes to a file.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::id::CallId;

/// Characters of a tool's output that the model reads.
const LIMIT: usize = 50_000;

pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) stored: Option<PathBuf>,
}

/// Returns `content`, or its beginning and end with the path of a file that has all of it.
pub(crate) fn truncate(content: String, call: &CallId, spill: &Path) -> Shown {
    // Bytes bound characters from above, so short output is not counted.
    if content.len() <= LIMIT || content.chars().count() <= LIMIT {
        return Shown { text: content, stored: None };
    }
    let kept = keep(&content, call, spill);
    let place = match &kept {
        Ok(path) => {
            let path = path.display();
            format!("The whole output is in {path}; read it with an offset and a limit.")
        }
        Err(error) => format!("The whole output could not be saved: {error}."),
    };
    let first = &content[..start_of(&content, LIMIT * 3 / 5)];
    let last = &content[start_of(&content, content.chars().count() - LIMIT * 2 / 5)..];
    let note = format!("... [TRUNCATED: output exceeded 50,000 characters] ...\n{place}");
    Shown { text: format!("{first}\n\n{note}\n\n{last}"), stored: kept.ok() }
}

/// The byte at which a character begins, counted from 0.
fn start_of(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

fn keep(content: &str, call: &CallId, spill: &Path) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(spill)?;
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' }
    };
    let name: String = call.as_str().chars().take(80).map(safe).collect();
    let (mut file, path) = create(&spill.join(name))?;
    file.write_all(content.as_bytes())?;
    Ok(path)
}

/// Creates a private file under a free name: other sessions have calls of equal ids.
fn create(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut attempt = 1;
    loop {
        let candidate = match attempt {
            1 => path.with_extension("txt"),
            _ => path.with_extension(format!("{attempt}.txt")),
        };
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&candidate);
        match created {
            Ok(file) => return Ok((file, candidate)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1_000 => {
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_is_cut_and_saved_whole_to_a_file() {
        let directory = tempfile::tempdir().expect("tempdir");
        let whole = format!("BEGIN{}END", "é".repeat(60_000));
        let shown = truncate(whole.clone(), &CallId("a/../b".into()), directory.path());
        assert_eq!(shown.stored, Some(directory.path().join("a____b.txt")));
        let short = shown.text;
        assert!(short.starts_with("BEGIN") && short.ends_with("END"));
        assert!(short.contains("[TRUNCATED: output exceeded 50,000 characters]"));
        let characters = short.chars().count();
        assert!((50_000..50_500).contains(&characters), "{characters}");
        let kept = std::fs::read_to_string(directory.path().join("a____b.txt")).expect("kept");
        assert_eq!(kept, whole);
    }

    #[test]
    fn calls_with_equal_ids_get_separate_files() {
        let directory = tempfile::tempdir().expect("tempdir");
        for letter in ["a", "b"] {
            truncate(letter.repeat(50_001), &CallId("same".into()), directory.path());
        }
        for (name, letter) in [("same.txt", "a"), ("same.2.txt", "b")] {
            let kept = std::fs::read_to_string(directory.path().join(name)).expect("kept");
            assert!(kept.starts_with(letter), "{name}");
        }
    }

    #[test]
    fn short_output_is_unchanged() {
        let text = "é".repeat(50_000);
        let shown = truncate(text.clone(), &CallId("c".into()), Path::new("/nowhere"));
        assert_eq!((shown.text, shown.stored), (text, None));
    }
}
