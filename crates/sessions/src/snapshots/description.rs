//! Words and figures about changed files, for all who show them.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use contract::event::{Change, Direction};
use contract::text::one_line;
use similar::{ChangeTag, TextDiff};

use super::undo::{Content, FileChange, UndoReport};

impl Display for UndoReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (verb, nothing) = match self.direction {
            Direction::Undo => ("undone", "There is nothing to undo: no turn changed a file."),
            Direction::Redo => ("made again", "Nothing to redo."),
        };
        if self.turns.is_empty() {
            return writeln!(out, "{nothing}");
        }
        let turns: Vec<String> = self.turns.iter().map(ToString::to_string).collect();
        let word = if turns.len() == 1 { "turn" } else { "turns" };
        let would = if self.dry_run { "would be " } else { "" };
        let files = self.files.len();
        let count = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        writeln!(out, "{word} {}: {count} {would}{verb}", turns.join(", "))?;
        for file in &self.files {
            let word = match file.change {
                Change::Created => "brought back",
                Change::Modified => "restored",
                Change::Deleted => "deleted",
            };
            writeln!(out, "  {word}  {}", one_line(&file.path))?;
        }
        for kept in &self.kept {
            writeln!(out, "  not restored  {}: {}", one_line(&kept.path), one_line(&kept.why))?;
        }
        if self.can_force {
            writeln!(out, "`--force` (`/undo force`) overwrites later changes")?;
        }
        Ok(())
    }
}

impl FileChange {
    /// The texts before and after; none if the file is binary.
    #[must_use]
    pub fn texts(&self) -> Option<(&str, &str)> {
        fn text(content: &Content) -> Option<&str> {
            match content {
                Content::Absent => Some(""),
                Content::File { bytes: Some(bytes), .. } if !bytes.contains(&0) => {
                    std::str::from_utf8(bytes).ok()
                }
                Content::File { .. }
                | Content::Link(_)
                | Content::Directory
                | Content::Unsaved(_) => None,
            }
        }
        Some((text(&self.before)?, text(&self.after)?))
    }

    /// The numbers of added and removed lines; none if the file is binary.
    #[must_use]
    pub fn line_counts(&self) -> Option<(usize, usize)> {
        let (before, after) = self.texts()?;
        let limit = Duration::from_millis(200);
        let diff = TextDiff::configure().timeout(limit).diff_lines(before, after);
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        Some((count(ChangeTag::Insert), count(ChangeTag::Delete)))
    }

    /// The kind of change, if counts of lines do not describe it.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        Some(match (&self.before, &self.after) {
            (Content::Unsaved(why), _) | (_, Content::Unsaved(why)) => format!(" ({why})"),
            (_, Content::Link(target)) => format!(" (a link to {})", target.display()),
            (Content::Directory, Content::Absent) | (_, Content::Directory) => {
                " (a directory)".to_owned()
            }
            (Content::File { mode: old, bytes: was }, Content::File { mode: new, bytes: is })
                if was == is =>
            {
                format!(" (permissions {old:o} to {new:o})")
            }
            _ if self.texts().is_none() => " (no text)".to_owned(),
            _ => return None,
        })
    }
}
