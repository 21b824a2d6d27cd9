//! Files that a command names, and rules about them. Sees too many rather than too few; never used to
//! allow.

mod given;
mod led;
mod patterns;
mod reading;
mod unknown;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use foldhash::{HashSet, HashSetExt};

use super::Read;
use super::dots::led_back;
use super::meanings::{in_scripts, is_cluster, meanings};
use super::writes::{Others, Told, only_reads, outputs, told, written_by_program};
use crate::call::Call;
use crate::glob::{Reading, is_deep};
use crate::ground::is_wild;
use crate::rules::{PathPattern, Rule, Steps, Target, Touch};
use crate::shell::{Found, Kind, Piece, Redirection, resolve};
pub(super) use given::Given;
use given::given;
pub(super) use led::Led;
use unknown::Unknown;

/// The longest name that a file may have.
const LONGEST: usize = 255;

/// A file that a rule speaks of.
pub(super) enum Hit {
    /// What the rule speaks of is done to it.
    Sure(String),
    /// It could be.
    Perhaps(String),
}

/// The first file that the text names and a rule about files speaks of. Any word may be read. What is written
/// is known of some programs; of others it can only be asked about.
pub(super) fn named_file(call: &Call<'_>, read: &Read<'_>, rule: &Rule) -> Option<Hit> {
    let survey = read.survey;
    let Target::Path(touch, pattern) = &rule.matcher.target else {
        return None;
    };
    let ruled = Ruled::new(call, read, (*touch, pattern));
    let mut words = Words::new(&ruled);
    for redirection in &survey.redirections {
        let target = &redirection.target;
        let how = if target.writes { Touch::Write } else { Touch::Read };
        if touch.includes(how) && words.have((&target.word, Kind::Usual), &redirection.folders) {
            return Some(Hit::Sure(target.word.text.clone()));
        }
    }
    let hit = match touch {
        Touch::Write => ruled.written_file(&mut words),
        Touch::Read => ruled.read_file(&mut words).map(Hit::Sure),
        Touch::Any => {
            let read = ruled.read_file(&mut words).map(Hit::Sure);
            read.or_else(|| ruled.written_file(&mut words))
        }
    };
    hit.or_else(|| ruled.made.take().map(Hit::Perhaps))
}

/// The words that a rule was held against, and what became of them.
struct Words<'a, 'r> {
    ruled: &'r Ruled<'a, 'r>,
    unknown: Unknown<'r>,
    /// Most words are in the same few folders.
    near: Option<(*const PathBuf, [bool; 2])>,
    /// Many words come again and again, and did not fit the first time: all folders, or one of them.
    tried: HashSet<(&'a Piece, *const PathBuf)>,
    tried_in: HashSet<(&'a str, [bool; 5], &'a Path)>,
}

impl<'a, 'r> Words<'a, 'r> {
    fn new(ruled: &'r Ruled<'a, 'r>) -> Self {
        let unknown = Unknown::new(ruled.call, ruled.read, ruled.pattern);
        Self { ruled, unknown, near: None, tried: HashSet::new(), tried_in: HashSet::new() }
    }

    /// Whether a word in one of these folders is a file that the rule means.
    fn have(&mut self, (word, kind): (&'a Piece, Kind), folders: &'a [PathBuf]) -> bool {
        let is_raw = matches!(kind, Kind::Raw | Kind::Whole);
        let (ruled, unknown) = (self.ruled, &self.unknown);
        let [is_near, is_led] = match self.near {
            Some((seen, known)) if seen == folders.as_ptr() => known,
            Some(_) | None => [
                folders.iter().any(|folder| ruled.pattern.may_name(&folder.to_string_lossy())),
                unknown.leads_from(folders),
            ],
        };
        self.near = Some((folders.as_ptr(), [is_near, is_led]));
        // A link may have any name, but no more of them are followed than time allows.
        let ends = &ruled.read.ends;
        let may_be_link = ruled.call.ground.look().is_some() && !ends.is_cut_short();
        let is_unknown = is_led || unknown.concerns(word);
        let is_candidate = is_near || is_unknown || word.home || ruled.pattern.may_name(&word.text);
        let is_open = || is_wild(&word.text) && ruled.read.globs().is_open;
        let leads = || may_be_link && (is_open() || ruled.read.led.leads(ends, word, folders));
        if (!is_candidate && !leads()) || !self.tried.insert((word, folders.as_ptr())) {
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
            if !is_near && !word.home && !may_lead && !ruled.pattern.may_name(text) {
                return false;
            }
            let home = word.home && text.starts_with('~');
            let word = Piece { text: text.to_owned(), home, ..word.clone() };
            let links = if may_lead { Links::Followed } else { Links::AsNamed };
            let kind = [word.dynamic, word.home, word.glob, may_lead, is_raw];
            let is_new = |folder: &&'a PathBuf| tried_in.insert((text, kind, folder.as_path()));
            let mut folders = folders.iter().filter(is_new);
            folders.any(|folder| ruled.is_file(&word, folder, (links, is_raw)))
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
    touch: Touch,
    pattern: &'r PathPattern,
    /// How words with wildcards are read.
    wild: Reading,
    /// Whether something runs in a folder that is not known.
    is_adrift: bool,
    /// The files below a folder of which the rule speaks.
    below: RefCell<HashMap<PathBuf, Rc<[PathBuf]>>>,
    /// A pattern that stands for no such file yet, where the text itself may make one.
    made: Cell<Option<String>>,
    makes_files: OnceCell<bool>,
    steps: OnceCell<Vec<Steps>>,
    /// The patterns for whole paths that it stands for.
    whole: OnceCell<Vec<String>>,
    handed_on: OnceCell<Others>,
}

impl<'a, 'r> Ruled<'a, 'r> {
    fn new(
        call: &'r Call<'r>,
        read: &'r Read<'a>,
        (touch, pattern): (Touch, &'r PathPattern),
    ) -> Self {
        Self {
            call,
            read,
            touch,
            pattern,
            wild: read.globs().reading,
            is_adrift: read.survey.commands.iter().any(|found| found.adrift),
            below: RefCell::default(),
            made: Cell::default(),
            makes_files: OnceCell::new(),
            steps: OnceCell::new(),
            whole: OnceCell::new(),
            handed_on: OnceCell::new(),
        }
    }

    fn fits(&self, path: &Path, reading: Reading) -> bool {
        let whole = self.whole.get_or_init(|| self.pattern.whole(self.call.places));
        self.pattern.fits_one(whole, (path, reading))
    }

    fn is_any(&self, word: &Piece, folders: &[PathBuf]) -> bool {
        folders.iter().any(|folder| self.is_file(word, folder, (Links::Followed, false)))
    }

    /// The first file that a word names and the rule speaks of, which any command may read.
    fn read_file(&self, words: &mut Words<'a, '_>) -> Option<String> {
        self.read.given.get_or_init(|| given(self.read.survey)).iter().find_map(|it| match it {
            Given::Command(found) if self.touch.includes(Touch::Write) => {
                self.removed(found).map(|word| word.text.clone())
            }
            Given::Command(_) => None,
            Given::Word(word, kind, folders) => {
                words.have((word, *kind), folders).then(|| word.text.clone())
            }
            Given::Scripted(name, folders) => self.scripted(name, folders),
        })
    }

    /// The first file that a command writes and the rule speaks of, or may write.
    fn written_file(&self, words: &mut Words<'a, '_>) -> Option<Hit> {
        let commands = &self.read.survey.commands;
        let mut others = Words::new(self);
        let mut perhaps = None;
        for (at, found) in commands.iter().enumerate() {
            // What a wrapper runs is looked at by itself.
            let inner = commands.get(at + 1).filter(|next| found.runs(next));
            if let Some(inner) = inner {
                let own = found.argv().len() - inner.argv().len();
                let mut own = outputs(&found.argv()[..own]).into_iter();
                if let Some(word) = own.find(|word| words.have((word, found.kind), &found.folders))
                {
                    return Some(Hit::Sure(word.text.clone()));
                }
                continue;
            }
            if only_reads(found.argv()) {
                continue;
            }
            let told = told(found);
            if let Some(word) = self.written((found, &told), words) {
                return Some(Hit::Sure(word));
            }
            if perhaps.is_none() && self.others(&told) == Others::Perhaps {
                perhaps = self.perhaps_written((found, told.first), &mut others);
            }
            let mut scripted = in_scripts(found.argv());
            if let Some(file) = scripted.find_map(|name| self.scripted(name, &found.folders)) {
                return Some(Hit::Sure(file));
            }
        }
        perhaps.map(Hit::Perhaps)
    }

    /// A name in a script, where the rule speaks of it.
    fn scripted(&self, name: &str, folders: &[PathBuf]) -> Option<String> {
        if !self.read.ends.affords_scripted(name) {
            return None;
        }
        // No link has a longer name.
        let may_lead = name.len() <= LONGEST && self.call.ground.look().is_some();
        if !may_lead && !self.pattern.could_be(name) {
            return None;
        }
        let file = Piece { text: name.to_owned(), ..Piece::default() };
        self.is_any(&file, folders).then_some(file.text)
    }

    /// What a command writes of all that the rule means.
    fn written(
        &self,
        (found, told): (&'a Found, &Told<'_>),
        words: &mut Words<'a, '_>,
    ) -> Option<String> {
        if let Some(word) = self.removed(found) {
            return Some(word.text.clone());
        }
        let others = self.others(told);
        let targets: HashSet<*const Piece> =
            told.targets.iter().map(|it| std::ptr::from_ref(*it)).collect();
        let is_sure = |word: &&Piece| {
            others == Others::Surely || targets.contains(&std::ptr::from_ref(*word))
        };
        let mut given = found.before().iter().chain(found.argv()).filter(is_sure);
        let word = given.find(|word| {
            !self.read.survey.is_pattern(found, word)
                && words.have((word, found.kind), &found.folders)
        });
        word.map(|word| word.text.clone())
    }

    /// What is known of the words that are no targets; what a loop or a variable takes is written as what other
    /// commands do to it.
    fn others(&self, known: &Told<'_>) -> Others {
        if known.others != Others::HandedOn {
            return known.others;
        }
        *self.handed_on.get_or_init(|| {
            let survey = self.read.survey;
            let is_target = |it: &Redirection| it.target.writes && it.target.word.dynamic;
            if survey.redirections.iter().any(is_target) {
                return Others::Surely;
            }
            let given = survey.commands.iter().filter(|found| !only_reads(found.argv()));
            let does = |found: &Found| {
                let it = told(found);
                let is_given = found.argv().iter().skip(it.first).any(|word| word.dynamic);
                let is_target = it.targets.iter().any(|word| word.dynamic);
                match is_target {
                    true => Others::Surely,
                    false if is_given => it.others,
                    false => Others::Never,
                }
            };
            let strictest = given.map(does).filter(|it| *it != Others::HandedOn).max();
            strictest.unwrap_or(Others::Never)
        })
    }

    /// What a program might write of which nobody knows what it does: the words that are there, or say
    /// something of what the rule names.
    fn perhaps_written(
        &self,
        (found, first): (&'a Found, usize),
        words: &mut Words<'a, '_>,
    ) -> Option<String> {
        let is_there = |word: &Piece| {
            let has_disk = self.call.ground.look().is_some();
            if has_disk && self.read.led.is_absent(&self.read.ends, word, &found.folders) {
                return false;
            }
            let home = self.call.places.home.as_deref();
            let mut paths = found.folders.iter().filter_map(|it| resolve(word, it, home));
            paths.any(|path| self.read.ends.is_there(&path))
        };
        let mut given = found.before().iter().chain(found.argv().iter().skip(first));
        let word = given.find(|word| {
            !self.read.survey.is_pattern(found, word)
                && (self.pattern.could_be(&word.text) || is_there(word))
                && words.have((word, found.kind), &found.folders)
        });
        word.map(|word| word.text.clone())
    }

    /// All that is in a folder, where a program changes it and all that is below.
    fn removed<'f>(&self, found: &'f Found) -> Option<Cow<'f, Piece>> {
        let home = self.call.places.home.as_deref();
        let speaks = |word: &Piece, folder: &Path| {
            let path = resolve(word, folder, home);
            path.is_some_and(|path| match self.listed((folder, &word.text)) {
                Some(meant) => meant.paths.iter().any(|end| {
                    let may_hold = self.pattern.may_lie_below(end, self.call.places);
                    self.fits(end, Reading::Literal) || (may_hold && !self.below(end).is_empty())
                }),
                None => self.fits(&path, self.wild),
            })
        };
        written_by_program(found.argv()).into_iter().find(|word| {
            let mut folders = found.folders.iter();
            word.glob && is_everything(&word.text) && folders.any(|folder| speaks(word, folder))
        })
    }

    /// Whether the rule speaks of the path that a word means in a folder, be it by a pattern that leads back.
    fn is_file(&self, word: &Piece, folder: &Path, (links, is_raw): (Links, bool)) -> bool {
        let led = led_back(word, self.read);
        std::iter::once(word).chain(&led).any(|it| self.is_path(it, folder, (links, is_raw)))
    }

    /// The same of a word as it stands.
    fn is_path(&self, word: &Piece, folder: &Path, (links, is_raw): (Links, bool)) -> bool {
        let Some(path) = resolve(word, folder, self.call.places.home.as_deref()) else {
            return false;
        };
        // A folder may have been gone to by a pattern.
        let text = if word.home { path.to_string_lossy() } else { word.text.as_str().into() };
        let is_led = is_wild(&folder.to_string_lossy()) && self.read.ends.real(folder).is_none();
        let is_pattern = word.glob || is_led;
        let reading = if is_pattern { self.wild } else { Reading::Literal };
        let is_everything = word.glob && self.is_lone(&word.text);
        let is_deep =
            !is_everything || path.parent().is_some_and(|it| is_wild(&it.to_string_lossy()));
        // In a folder that is not known it may stand for anything.
        if self.is_adrift && word.glob && is_deep && self.fits(&path, self.wild) {
            self.made.set(Some(word.text.clone()));
        }
        if is_everything {
            return self.is_everything(&path, (folder, &text));
        }
        let ends = &self.read.ends;
        if is_pattern && let Some(meant) = self.listed((folder, &text)) {
            return self.is_meant(&path, &meant) || (is_raw && self.is_anywhere(folder, &text));
        }
        if self.fits(&path, reading) {
            return true;
        }
        if links == Links::AsNamed {
            return false;
        }
        if is_pattern {
            let meant = ends.meant(folder, &text, self.wild).paths;
            return meant.iter().any(|end| self.fits(end, Reading::Literal))
                || ends.led(folder, &text).is_some_and(|end| self.fits(&end, self.wild));
        }
        // A link on the way may have such a name, too.
        let fits = |path: &Path| self.fits(path, Reading::Literal);
        let leads = |way: &Path, end: &Path| {
            end != path && (fits(end) || ends.links(way).iter().any(|link| fits(link)))
        };
        if leads(&path, &ends.of(&path)) {
            return true;
        }
        // A link is followed before the `..` behind it is.
        let goes_back = |text: &str| text.split('/').any(|part| part == "..");
        let is_led_back = goes_back(&word.text) || goes_back(&folder.to_string_lossy());
        let home = self.call.places.home.as_deref().filter(|_| word.home);
        let (folder, text) = match home {
            Some(home) => (home, word.text.trim_start_matches(['~', '/'])),
            None => (folder, word.text.as_str()),
        };
        is_led_back && ends.stepped(folder, text).is_some_and(|way| leads(&way, &ends.of(&way)))
    }

    /// Whether a word is all that is in a folder, and nothing further down.
    fn is_lone(&self, text: &str) -> bool {
        is_everything(text) && !(self.read.globs().is_deep && text.split('/').any(is_deep))
    }

    /// The same of all that is in a folder. Like the folder itself it is not taken for what a rule means
    /// further down: it is what everybody says of whatever is there.
    fn is_everything(&self, path: &Path, (folder, text): (&Path, &str)) -> bool {
        let places = self.call.places;
        let names = |path: &Path, reading| self.pattern.names((path, reading), places);
        let meant = self.read.ends.meant(folder, text, self.wild).paths;
        let is_there = |end: &PathBuf| self.read.ends.is_there(end);
        if meant.iter().any(|end| names(end, Reading::Literal) && is_there(end)) {
            return true;
        }
        let led = self.read.ends.led(folder, text);
        if self.listed((folder, text)).is_some() {
            let mut folders = [Some(path), led.as_deref()].into_iter().flatten();
            return folders.any(|path| path.parent().is_some_and(|it| self.names_folder(it)));
        }
        let is_within = |folder: &Path| self.fits(folder, self.wild);
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
