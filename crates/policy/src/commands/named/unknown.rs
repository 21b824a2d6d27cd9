//! Words that lead to where only the running shell knows: through an expansion, a link that the same text
//! makes, or the folder of a process. What is known of them is held against a rule.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use contract::policy::Decision;

use super::super::Read;
use super::super::meanings::meanings;
use crate::call::Call;
use crate::glob::{Reading, paths_meet_as};
use crate::ground::Ends;
use crate::paths::Places;
use crate::rules::{PathPattern, Steps, plain};
use crate::shell::{GAP, Piece};

/// More links of one text are not followed.
const LINKS: usize = 64;
/// In more folders a word is looked at only if it tells something itself.
const FEW: usize = 4;

/// What a rule says of such words.
pub(super) struct Unknown<'a> {
    steps: Vec<Steps>,
    home: Option<&'a Path>,
    /// The names of links that the text makes.
    links: HashSet<&'a str>,
    ends: &'a Ends<'a>,
    pattern: &'a PathPattern,
    places: &'a Places,
}

impl<'a> Unknown<'a> {
    /// What `pattern` says.
    pub(super) fn new(call: &'a Call<'_>, read: &'a Read<'_>, pattern: &'a PathPattern) -> Self {
        let made = read.index.running(read.survey, "ln").flat_map(|(found, at)| {
            let words = found.argv().get(at + 1..).unwrap_or_default();
            words.iter().filter(|word| !word.text.starts_with('-')).map(|word| bare(&word.text))
        });
        let mut links = HashSet::new();
        for link in made.filter(|name| !matches!(*name, "" | "." | "..")) {
            if links.len() == LINKS && !links.contains(link) {
                read.ends.cut_short();
                break;
            }
            links.insert(link);
        }
        let links = links.into_iter().map(bare_name).collect();
        let (steps, home) = (pattern.steps(call.places), call.places.home.as_deref());
        Self { steps, home, links, ends: &read.ends, pattern, places: call.places }
    }

    /// Whether one of these folders may be elsewhere than it says.
    pub(super) fn leads_from(&self, folders: &[PathBuf]) -> bool {
        let is_led = |folder: &PathBuf| {
            let of_process = folder.starts_with("/proc") || folder.starts_with("/dev");
            of_process || self.has_link(&folder.to_string_lossy())
        };
        folders.iter().any(is_led)
    }

    /// Whether a word could lead there.
    pub(super) fn concerns(&self, word: &Piece) -> bool {
        let text = word.text.as_str();
        word.dynamic || text.contains("proc/") || text.contains("/dev/") || self.has_link(text)
    }

    fn has_link(&self, text: &str) -> bool {
        self.links.iter().any(|link| text.contains(link))
    }

    /// Whether what is known of a word tells that it is a file which the rule means.
    pub(super) fn is_told_by(&self, word: &Piece, folders: &[PathBuf]) -> bool {
        let marked = word.marked();
        if self.is_led_by((&marked, word.glob), folders) {
            return true;
        }
        let is_known = |c: char| c.is_alphanumeric();
        // Of a word of which nothing is known nothing is told, whatever the rule.
        if !marked.contains(is_known) {
            return false;
        }
        // In many folders only what the word says itself is looked at.
        let tells = |steps: &Steps| steps.could_be_told_by(&marked);
        if folders.len() > FEW && !self.steps.iter().any(tells) {
            return false;
        }
        let reading = if word.glob { Reading::Shell } else { Reading::Literal };
        meanings(&marked).any(|text| {
            let home = self.home.filter(|_| word.home && text.starts_with('~'));
            match home {
                Some(home) => self.is_told(&format!("{}{}", home.display(), &text[1..]), reading),
                None if text.starts_with(['/', GAP]) => self.is_told(text, reading),
                None => folders.iter().any(|folder| {
                    let is_edit = text.starts_with("s/") && !self.is_there(&folder.join("s"));
                    !is_edit && self.is_told(&format!("{}/{text}", folder.display()), reading)
                }),
            }
        })
    }

    /// Whether what stands behind the last gap is a link in one of the folders, to what the rule means.
    fn is_led_by(&self, (marked, is_wild): (&str, bool), folders: &[PathBuf]) -> bool {
        let Some((_, rest)) = marked.rsplit_once(GAP) else { return false };
        let Some(rest) = rest.strip_prefix('/').filter(|rest| !rest.is_empty()) else {
            return false;
        };
        folders.iter().any(|folder| {
            let fits = |end: &Path| {
                self.pattern.matches((end, Reading::Literal), self.places, Decision::Deny)
            };
            if is_wild {
                let meant = self.ends.meant(folder, rest, Reading::Shell);
                let named = folder.join(rest);
                let named = (&*named.to_string_lossy(), Reading::Shell);
                let is_link =
                    |end: &Path| !paths_meet_as(named, (&end.to_string_lossy(), Reading::Literal));
                return meant.paths.iter().any(|end| is_link(end) && fits(end));
            }
            let path = folder.join(rest);
            let end = self.ends.of(&path);
            end != path && fits(&end)
        })
    }

    /// The same of a path.
    fn is_told(&self, path: &str, reading: Reading) -> bool {
        let led = self.beyond_link(path);
        let path = plain(led.as_deref().unwrap_or(path));
        let Some(gap) = path.find(GAP) else {
            return false;
        };
        let fits = |path: &str| {
            let path = path.to_lowercase();
            self.steps.iter().any(|steps| steps.are_told_by(&path, reading))
        };
        fits(&path)
            || path[..gap].rfind('/').is_some_and(|end| {
                // The known beginning may be a link.
                let real = self.ends.of(Path::new(&path[..end]));
                end > 0
                    && real != Path::new(&path[..end])
                    && fits(&format!("{}{}", real.display(), &path[end..]))
            })
    }

    /// What is left of a path behind a link that the text makes, with a gap before it.
    fn beyond_link(&self, path: &str) -> Option<String> {
        if self.links.is_empty() {
            return None;
        }
        let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        parts.find(|part| self.links.contains(part))?;
        let rest: Vec<&str> = parts.collect();
        (!rest.is_empty()).then(|| format!("{GAP}/{}", rest.join("/")))
    }

    fn is_there(&self, path: &Path) -> bool {
        self.ends.is_there(path)
    }
}

/// A link's name without what says only that it is here.
fn bare(text: &str) -> &str {
    text.trim_start_matches("./").trim_end_matches('/')
}

fn bare_name(link: &str) -> &str {
    link.rsplit('/').next().unwrap_or(link)
}
