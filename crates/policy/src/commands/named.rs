//! Files that a command names, and rules about them. Sees too many rather than too few; never used to
//! allow.

mod unknown;

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use foldhash::{HashSet, HashSetExt};

use super::Read;
use super::meanings::{in_scripts, is_cluster, meanings};
use super::writes::{only_reads, written_by_program};
use crate::call::Call;
use crate::glob::Reading;
use crate::ground::is_wild;
use crate::rules::{PathPattern, Rule, Target, Touch};
use crate::shell::{Found, Piece, resolve};
use unknown::Unknown;

/// More files of one script are not looked at.
const SCRIPTED: usize = 4096;

/// The first file that the text names and a rule about files speaks of. Any word may be read; a
/// word is taken to be written unless its program is known to only look.
pub(super) fn named_file<'a>(call: &Call<'_>, read: &Read<'a>, rule: &Rule) -> Option<String> {
    let survey = read.survey;
    let Target::Path(touch, pattern) = &rule.matcher.target else {
        return None;
    };
    let wild =
        if *read.dots.get_or_init(|| sets_dots(read)) { Reading::Shell } else { Reading::Names };
    let ruled = Ruled { call, read, rule, pattern, wild };
    let mut words = Words::new(&ruled);
    for redirection in &survey.redirections {
        let target = &redirection.target;
        let how = if target.writes { Touch::Write } else { Touch::Read };
        if touch.includes(how) && words.have(&target.word, &redirection.folders) {
            return Some(target.word.text.clone());
        }
    }
    let mut last: Option<&Found> = None;
    for found in &survey.commands {
        // What a wrapper runs is a part of words that were looked at already.
        let seen = last.is_some_and(|last| last.ends_like(found));
        if seen || (*touch == Touch::Write && only_reads(found.argv())) {
            continue;
        }
        last = Some(found);
        if touch.includes(Touch::Write)
            && let Some(word) = ruled.removed(found)
        {
            return Some(word.text.clone());
        }
        // What is set for a program is handed to it too.
        let mut given = found.before().iter().chain(found.argv());
        let is_named = |word: &&'a Piece| !survey.is_pattern(found, word);
        if let Some(word) = given.find(|word| is_named(word) && words.have(word, &found.folders)) {
            return Some(word.text.clone());
        }
        for (count, file) in in_scripts(found.argv()).enumerate() {
            if count > SCRIPTED {
                read.ends.cut_short();
                break;
            }
            if ruled.is_any(&file, &found.folders) {
                return Some(file.text);
            }
        }
    }
    None
}

/// Whether the text makes wildcards stand for names that begin with a dot.
fn sets_dots(read: &Read<'_>) -> bool {
    let tells = |text: &str| {
        let text = text.to_ascii_lowercase().replace('_', "");
        ["dotglob", "globdots", "globignore"].iter().any(|name| text.contains(name))
    };
    if tells(read.text) {
        return true;
    }
    read.survey.commands.iter().any(|found| {
        let sets = |word: &Piece| matches!(word.text.as_str(), "shopt" | "setopt");
        let argv = found.argv();
        let mut words = found.before().iter().chain(argv);
        words.any(|word| tells(&word.text))
            || (argv.iter().any(sets) && argv.iter().any(|word| word.dynamic))
    })
}

/// The words that a rule was held against, and what became of them.
struct Words<'a, 'r> {
    ruled: &'r Ruled<'a, 'r>,
    unknown: Unknown<'r>,
    /// Most words are in the same few folders.
    near: Option<(*const PathBuf, [bool; 2])>,
    /// Many words come again and again, and did not fit the first time: all folders, or one of them.
    tried: HashSet<(&'a Piece, *const PathBuf)>,
    tried_in: HashSet<(&'a str, [bool; 4], &'a Path)>,
}

impl<'a, 'r> Words<'a, 'r> {
    fn new(ruled: &'r Ruled<'a, 'r>) -> Self {
        let unknown = Unknown::new(ruled.call, ruled.read, ruled.pattern);
        Self { ruled, unknown, near: None, tried: HashSet::new(), tried_in: HashSet::new() }
    }

    /// Whether a word in one of these folders is a file that the rule means.
    fn have(&mut self, word: &'a Piece, folders: &'a [PathBuf]) -> bool {
        let (ruled, unknown) = (self.ruled, &self.unknown);
        let [is_near, is_led] = match self.near {
            Some((seen, known)) if seen == folders.as_ptr() => known,
            Some(_) | None => [
                folders.iter().any(|folder| ruled.pattern.could_be(&folder.to_string_lossy())),
                unknown.leads_from(folders),
            ],
        };
        self.near = Some((folders.as_ptr(), [is_near, is_led]));
        // A link may have any name, but no more of them are followed than time allows.
        let ends = &ruled.read.ends;
        let may_be_link = ruled.call.ground.look().is_some() && !ends.is_cut_short();
        let is_unknown = is_led || unknown.concerns(word);
        let is_candidate = is_near || is_unknown || word.home || may_be_link;
        if (!is_candidate && !ruled.pattern.could_be(&word.text))
            || !self.tried.insert((word, folders.as_ptr()))
        {
            return false;
        }
        if is_unknown && unknown.is_told_by(word, folders) {
            return true;
        }
        let tried_in = &mut self.tried_in;
        meanings(&word.text).any(|text| {
            // A part of a word is looked up on disk only where its end is its own.
            let is_whole = text.len() == word.text.len();
            let may_lead = may_be_link && (is_whole || !is_cluster(&word.text));
            if !is_near && !word.home && !may_lead && !ruled.pattern.could_be(text) {
                return false;
            }
            let home = word.home && text.starts_with('~');
            let word = Piece { text: text.to_owned(), home, ..word.clone() };
            let links = if may_lead { Links::Followed } else { Links::AsNamed };
            let kind = [word.dynamic, word.home, word.glob, may_lead];
            let is_new = |folder: &&'a PathBuf| tried_in.insert((text, kind, folder.as_path()));
            let mut folders = folders.iter().filter(is_new);
            folders.any(|folder| ruled.is_file(&word, folder, links))
        })
    }
}

/// Whether links are looked up on disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Followed,
    AsNamed,
}

/// A rule about files, and what it is held against.
struct Ruled<'a, 'r> {
    call: &'r Call<'r>,
    read: &'r Read<'a>,
    rule: &'r Rule,
    pattern: &'r PathPattern,
    /// How words with wildcards are read.
    wild: Reading,
}

impl Ruled<'_, '_> {
    fn fits(&self, path: &Path, reading: Reading) -> bool {
        self.pattern.matches((path, reading), self.call.places, self.rule.decision)
    }

    fn is_any(&self, word: &Piece, folders: &[PathBuf]) -> bool {
        folders.iter().any(|folder| self.is_file(word, folder, Links::Followed))
    }

    /// All that is in a folder, where a program changes it and all that is below.
    fn removed<'f>(&self, found: &'f Found) -> Option<Cow<'f, Piece>> {
        let home = self.call.places.home.as_deref();
        let speaks = |word: &Piece, folder: &Path| {
            resolve(word, folder, home).is_some_and(|path| self.fits(&path, self.wild))
        };
        written_by_program(found.argv()).into_iter().find(|word| {
            let mut folders = found.folders.iter();
            word.glob && is_everything(&word.text) && folders.any(|folder| speaks(word, folder))
        })
    }

    /// Whether the rule speaks of the path that a word means in a folder.
    fn is_file(&self, word: &Piece, folder: &Path, links: Links) -> bool {
        let Some(path) = resolve(word, folder, self.call.places.home.as_deref()) else {
            return false;
        };
        // A folder may have been gone to by a pattern.
        let text = if word.home { path.to_string_lossy() } else { word.text.as_str().into() };
        let is_led = is_wild(&folder.to_string_lossy()) && self.read.ends.real(folder).is_none();
        let is_wild = word.glob || is_led;
        let reading = if is_wild { self.wild } else { Reading::Literal };
        if word.glob && is_everything(&word.text) {
            return self.is_everything(&path, (folder, &text));
        }
        let ends = &self.read.ends;
        // Of every folder that is there only what is in them counts.
        let is_any = |part: Component<'_>| is_everything(&part.as_os_str().to_string_lossy());
        if is_led && !word.glob && folder.components().any(is_any) {
            let meant = ends.meant(folder, &text, self.wild);
            let is_there = |end: &PathBuf| ends.real(end).is_some();
            return meant.iter().any(|end| is_there(end) && self.fits(end, Reading::Literal));
        }
        if self.fits(&path, reading) {
            return true;
        }
        if links == Links::AsNamed {
            return false;
        }
        if is_wild {
            let meant = ends.meant(folder, &text, self.wild);
            return meant.iter().any(|end| self.fits(end, Reading::Literal))
                || ends.led(folder, &text).is_some_and(|end| self.fits(&end, self.wild));
        }
        let leads = |end: &Path| end != path && self.fits(end, Reading::Literal);
        if leads(&ends.of(&path)) {
            return true;
        }
        // A link is followed before the `..` behind it is.
        let goes_back = |text: &str| text.split('/').any(|part| part == "..");
        let is_led_back = goes_back(&word.text) || goes_back(&folder.to_string_lossy());
        let home = self.call.places.home.as_deref().filter(|_| word.home);
        let walked = || match home {
            Some(home) => ends.walked(home, word.text.trim_start_matches(['~', '/'])),
            None => ends.walked(folder, &word.text),
        };
        is_led_back && walked().is_some_and(|end| leads(&end))
    }

    /// The same of all that is in a folder. Like the folder itself it is not taken for what a rule means
    /// further down: it is what everybody says of whatever is there.
    fn is_everything(&self, path: &Path, (folder, text): (&Path, &str)) -> bool {
        let places = self.call.places;
        let names = |path: &Path, reading| self.pattern.names((path, reading), places);
        let meant = self.read.ends.meant(folder, text, self.wild);
        if meant.iter().any(|end| names(end, Reading::Literal)) {
            return true;
        }
        let is_within = |folder: &Path| self.fits(folder, self.wild);
        let led = self.read.ends.led(folder, text);
        std::iter::once(path).chain(led.as_deref()).any(|path| {
            let is_open = meant.is_empty() || path.parent().is_some_and(is_within);
            is_open && names(path, self.wild)
        })
    }
}

/// Whether the last part of a word is nothing but stars.
fn is_everything(text: &str) -> bool {
    let last = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    !last.is_empty() && last.bytes().all(|byte| byte == b'*')
}
