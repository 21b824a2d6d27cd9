//! The files of folders that rules or their own names say something of. A text that goes through the same folder
//! again and again is answered from these: most files are of no interest to anybody.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use contract::policy::Decision;
use foldhash::HashMap;

use super::Start;
use crate::call::Call;
use crate::glob::Reading;
use crate::ground::{Ends, Look, Sought, Width};
use crate::paths::is_secret;
use crate::rules::{PathPattern, Target};

/// More files of all folders together are not gone through for one command.
const FILES: usize = 100_000;

/// Where files were looked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Among {
    /// Those that lie there.
    Lying(Width),
    /// Those that git keeps.
    Kept,
}

/// The files of a folder that are of interest, and what came of looking at all of them.
type Known = (Rc<[PathBuf]>, Sought);

/// What is known of folders that were gone through to the end.
pub(super) struct Noted<'a> {
    call: &'a Call<'a>,
    ends: &'a Ends<'a>,
    patterns: Vec<&'a PathPattern>,
    known: HashMap<(PathBuf, Among), Known>,
    /// How many files may yet be gone through.
    left: usize,
}

impl<'a> Noted<'a> {
    pub(super) fn new(call: &'a Call<'a>, ends: &'a Ends<'a>) -> Self {
        let decisions = [Decision::Deny, Decision::Ask].into_iter();
        let rules = decisions.flat_map(|decision| call.rules_that(decision));
        let patterns = rules.filter_map(|rule| match &rule.matcher.target {
            Target::Path(_, pattern) => Some(pattern),
            Target::Anything
            | Target::AnyCommand
            | Target::Command(_)
            | Target::Host(_)
            | Target::What(_) => None,
        });
        Self { call, ends, patterns: patterns.collect(), known: HashMap::default(), left: FILES }
    }

    /// The first file at or below a start that is `wanted`, of those that are of interest.
    pub(super) fn seek(
        &mut self,
        ground: &dyn Look,
        (start, width): (&Start, Width),
        wanted: &mut dyn FnMut(&Path) -> bool,
    ) -> Sought {
        let folder = &start.named;
        if !self.ends.is_there(folder) {
            return Sought::Nothing;
        }
        self.through((start, folder, Among::Lying(width)), wanted, |wanted| {
            ground.seek(folder, width, wanted)
        })
    }

    /// The same of the files that the repository around a start keeps.
    pub(super) fn kept(
        &mut self,
        ground: &dyn Look,
        start: &Start,
        wanted: &mut dyn FnMut(&Path) -> bool,
    ) -> Sought {
        // All folders of a repository have what it keeps in common.
        let workspace = &self.call.places.workspace;
        let is_shared = self.ends.is_part_of_workspace(&start.named);
        let folder = if is_shared { workspace } else { &start.named };
        self.through((start, folder, Among::Kept), wanted, |wanted| {
            ground.git_keeps(folder, wanted)
        })
    }

    fn through(
        &mut self,
        (start, folder, among): (&Start, &Path, Among),
        wanted: &mut dyn FnMut(&Path) -> bool,
        look: impl FnOnce(&mut dyn FnMut(&Path) -> bool) -> Sought,
    ) -> Sought {
        let key = (folder.to_owned(), among);
        if let Some((files, sought)) = self.known.get(&key) {
            let first = files.iter().find(|path| wanted(path));
            return first.map_or_else(|| sought.clone(), |path| Sought::Found(path.clone()));
        }
        if self.left == 0 {
            return Sought::TooMany;
        }
        let mut noted: Vec<PathBuf> = Vec::new();
        let mut count = 0;
        let sought = look(&mut |path| {
            count += 1;
            if !self.is_of_interest(start, path) {
                return false;
            }
            noted.push(path.to_owned());
            wanted(path)
        });
        self.left = self.left.saturating_sub(count);
        // By another name they may be of interest too.
        if start.named == start.real && !matches!(sought, Sought::Found(_)) {
            self.known.insert(key, (noted.into(), sought.clone()));
        }
        sought
    }

    /// Whether a rule may speak of a file, or its name says that it is a secret.
    fn is_of_interest(&self, start: &Start, path: &Path) -> bool {
        let is_ruled = |path: &Path| {
            let text = path.to_string_lossy();
            self.patterns.iter().any(|pattern| pattern.may_name(&text))
        };
        let below = path.strip_prefix(&self.call.places.workspace).unwrap_or(path);
        is_ruled(path)
            || start.real(path).is_some_and(|real| is_ruled(&real))
            || is_secret(&below.to_string_lossy(), Reading::Literal)
    }
}
