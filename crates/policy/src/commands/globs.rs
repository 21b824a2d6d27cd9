//! What a text itself says of the wildcards in it.

use super::Read;
use crate::glob::Reading;
use crate::shell::Piece;

/// What wildcards stand for.
#[derive(Clone, Copy)]
pub(super) struct Globs {
    /// How they are read: whether one that begins a name may stand for a dot.
    pub(super) reading: Reading,
    /// Whether they may stand for more than the listing of a folder tells, since case is disregarded.
    pub(super) is_open: bool,
    /// Whether two stars stand for folders at any depth.
    pub(super) is_deep: bool,
}

/// Options by which a wildcard stands for a dot; in an extended pattern one may stand in it.
const DOTS: &[&str] = &["dotglob", "globdots", "globignore", "extglob", "kshglob"];
/// The one by which case is disregarded, or regarded again.
const CASE: &str = "caseglob";
/// The one by which two stars stand for folders at any depth.
const DEEP: &str = "globstar";
/// No name of such an option is shorter.
const SHORTEST: usize = 7;

impl Globs {
    /// What a text says.
    pub(super) fn of(read: &Read<'_>) -> Self {
        let mut globs = Self { reading: Reading::Names, is_open: false, is_deep: false };
        globs.add(read.text);
        for found in read.survey.whole_commands() {
            let sets = |word: &Piece| matches!(word.text.as_str(), "shopt" | "setopt");
            let argv = found.argv();
            for word in found.before().iter().chain(argv) {
                globs.add(&word.text);
            }
            if argv.iter().any(sets) && argv.iter().any(|word| word.dynamic) {
                return Self { reading: Reading::Shell, is_open: true, is_deep: true };
            }
        }
        globs
    }

    fn add(&mut self, text: &str) {
        if text.len() < SHORTEST {
            return;
        }
        let text = text.to_ascii_lowercase().replace('_', "");
        if DOTS.iter().any(|name| text.contains(name)) {
            self.reading = Reading::Shell;
        }
        self.is_open |= text.contains(CASE);
        self.is_deep |= text.contains(DEEP);
    }
}
