//! Descriptions from earlier runs, so that a start runs no Python: one index by the times of
//! files, which is read whole, and one file for each plugin in each of its surroundings.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use ::files::cache;
use ::files::surroundings::Surroundings;
use foldhash::HashMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::description::{Answer, LeftOut};
use super::interpreter::Seen;
use super::payload;
use crate::confine;
use crate::fingerprint::{Files, is_among_others};
use crate::hash::{self, short_hash};
use crate::plugin::{Dialect, Plugin, Wishes};

/// Plugins above which the index is begun anew.
const MOST: usize = 4096;

/// The descriptions that are kept.
pub(crate) struct Cache {
    directory: PathBuf,
    index: Mutex<Option<Index>>,
    /// What holds until the program ends, by the files that would keep it.
    for_now: Mutex<HashMap<String, Kept>>,
}

#[derive(Default, Serialize, Deserialize)]
struct Index {
    plugins: HashMap<String, Entry>,
    /// Where descriptions were given; most of them in one place.
    around: Vec<Around>,
    #[serde(skip)]
    is_changed: bool,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    /// The files by their times, and all else that a description depends on.
    stamp: String,
    /// Which one of [`Index::around`].
    around: usize,
    /// The file that keeps it together with the content.
    file: String,
    /// An [`Answer`], which is taken apart when somebody asks for it.
    answer: Box<RawValue>,
}

/// A description of a content.
#[derive(Clone, Serialize, Deserialize)]
struct Kept {
    /// The hash of the files and all else that it depends on.
    content: String,
    around: Around,
    answer: Answer,
}

impl Kept {
    fn new(key: &Key, answer: &Answer) -> Self {
        Self { content: key.content(), around: key.around.clone(), answer: answer.clone() }
    }

    /// Whether it is what would be said now.
    fn is_of(&self, key: &Key) -> bool {
        let likeness = self.around.likeness(&key.around);
        holds(&self.answer) && likeness.is_enough_for(&self.answer) && self.content == key.content()
    }
}

/// What some descriptions depend on and others do not.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Around {
    /// The installed packages; they count where something was wrong.
    packages: String,
    /// Where programs are searched for; it counts there, and where the plugin looks for some.
    search_path: String,
}

/// How much of what is around is the same in two places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    Nothing,
    SearchPath,
    Everything,
}

impl Around {
    fn likeness(&self, other: &Self) -> Likeness {
        if self == other {
            Likeness::Everything
        } else if self.search_path == other.search_path {
            Likeness::SearchPath
        } else {
            Likeness::Nothing
        }
    }
}

impl Likeness {
    /// Whether a description that was given there holds here, too.
    fn is_enough_for(self, answer: &Answer) -> bool {
        let least = if answer.is_faulty() {
            Self::Everything
        } else if answer.looks_for_programs {
            Self::SearchPath
        } else {
            Self::Nothing
        };
        self >= least
    }
}

/// What a description is kept under.
pub(crate) struct Key {
    name: String,
    /// Changes with all that a description depends on.
    stamp: String,
    /// The same for a process that runs, where that depends on less.
    lasting: Option<String>,
    around: Around,
    /// The hash of everything but the files.
    base: blake3::Hash,
    files: Files,
}

/// The hash of what every plugin finds around it, which may change what it says of itself.
pub(crate) struct Told {
    hash: [u8; 32],
    /// The hash of where programs are searched for, which only some ask.
    search_path: String,
    /// The base of a plugin of which nothing but its files counts, for the interpreter of this
    /// identity: most are like that, and it is the same for all of them.
    plain: OnceLock<(String, blake3::Hash)>,
}

impl Told {
    pub(crate) fn of(surroundings: &Surroundings) -> Self {
        let mut hasher = blake3::Hasher::new();
        for (name, value) in confine::told(surroundings) {
            for text in [name, value] {
                hasher.update(&(text.len() as u64).to_le_bytes());
                hasher.update(text.as_bytes());
            }
        }
        let search_path = surroundings.env.get("PATH").map_or("", String::as_str);
        Self {
            hash: *hasher.finalize().as_bytes(),
            search_path: short_hash(search_path.as_bytes()),
            plain: OnceLock::new(),
        }
    }

    /// The hash of everything that a description depends on but the files.
    fn base(
        &self,
        plugin: &Plugin,
        interpreter: &Seen,
        surroundings: &Surroundings,
    ) -> Option<blake3::Hash> {
        // A manifest that lies among the files counts with them.
        let is_among_files =
            plugin.manifest.dialect == Dialect::Brynhild && plugin.package.is_none();
        let settings = &plugin.settings;
        let is_usual = settings.grants == Wishes::default() && settings.timeout.is_none();
        let is_plain = is_among_files && settings.own.is_empty() && is_usual;
        if is_plain
            && let Some((identity, base)) = self.plain.get()
            && *identity == interpreter.identity
        {
            return Some(*base);
        }
        let values: Vec<_> =
            settings.grants.env.iter().map(|name| surroundings.variables.get(name)).collect();
        let manifest = (!is_among_files).then_some(&plugin.manifest);
        let facts = serde_json::to_vec(&(
            (payload::IDENTITY, &interpreter.identity),
            (manifest, &plugin.package),
            // With more time a file may load that did not.
            (&settings.own, &settings.grants, values, settings.timeout),
        ));
        let mut hasher = blake3::Hasher::new();
        hasher.update(&facts.ok()?);
        hasher.update(&self.hash);
        // A role's tool types may come from any package.
        if is_among_others(plugin) || settings.own.contains_key("entry_points") {
            hasher.update(interpreter.packages.as_bytes());
        }
        let base = hasher.finalize();
        if is_plain {
            // The first stays; others are hashed each time.
            let _ = self.plain.set((interpreter.identity.clone(), base));
        }
        Some(base)
    }
}

impl Key {
    /// The key of a plugin with these files.
    pub(crate) fn of(
        plugin: &Plugin,
        interpreter: &Seen,
        (surroundings, told): (&Surroundings, &Told),
        files: Files,
    ) -> Option<Self> {
        let base = told.base(plugin, interpreter, surroundings)?;
        let stamp = short(&base, |hasher| files.stamp(hasher));
        let lasting = files.lasting().map(|files| short(&base, |hasher| files.stamp(hasher)));
        let around = Around {
            packages: interpreter.packages.clone(),
            search_path: told.search_path.clone(),
        };
        Some(Self { name: name(plugin), stamp, lasting, around, base, files })
    }

    /// Changes with all that a running process depends on.
    pub(crate) fn of_process(&self) -> &str {
        self.lasting.as_ref().unwrap_or(&self.stamp)
    }

    /// The file that keeps what is known of the plugin, whatever its files hold: one that changes
    /// with every start must not leave a description behind each time.
    fn file(&self) -> String {
        let name = |hasher: &mut blake3::Hasher| {
            hasher.update(self.name.as_bytes());
        };
        format!("{}.json", short(&self.base, name))
    }

    /// Changes with the bytes of the files.
    fn content(&self) -> String {
        short(&self.base, |hasher| self.files.content(hasher))
    }
}

/// The hash of what a description depends on, files and all.
fn short(base: &blake3::Hash, files: impl FnOnce(&mut blake3::Hasher)) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(base.as_bytes());
    files(&mut hasher);
    hash::short(&hasher)
}

/// Whether an answer needs no second try.
fn holds(answer: &Answer) -> bool {
    !answer.left_out.as_ref().is_some_and(LeftOut::is_old)
}

fn name(plugin: &Plugin) -> String {
    format!("{} {}", plugin.name(), plugin.root.display())
}

impl Cache {
    /// The cache in a directory. Reads nothing yet.
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory, index: Mutex::new(None), for_now: Mutex::default() }
    }

    /// What is kept for a plugin, by the times of its files or else by their content.
    pub(crate) fn get(&self, key: &Key) -> Option<Answer> {
        if let Some(answer) = self.known_for_now(key) {
            return Some(answer);
        }
        if let Some((answer, likeness)) = self.known(key) {
            return (likeness.is_enough_for(&answer) && holds(&answer)).then_some(answer);
        }
        let file = key.file();
        let kept: Kept = cache::read(&self.directory.join(&file))?;
        if !kept.is_of(key) {
            return None;
        }
        self.note(key, file, &kept.answer);
        Some(kept.answer)
    }

    fn known_for_now(&self, key: &Key) -> Option<Answer> {
        let for_now = self.for_now();
        if for_now.is_empty() {
            return None;
        }
        for_now.get(&key.file()).filter(|kept| kept.is_of(key)).map(|kept| kept.answer.clone())
    }

    /// What is kept for these times of the files.
    fn known(&self, key: &Key) -> Option<(Answer, Likeness)> {
        self.with(|index| {
            let entry = index.plugins.get(&key.name).filter(|entry| entry.stamp == key.stamp)?;
            let around = index.around.get(entry.around)?;
            let answer = serde_json::from_str(entry.answer.get()).ok()?;
            Some((answer, around.likeness(&key.around)))
        })
    }

    /// Keeps a description. What cannot be written is found out again the next time.
    pub(crate) fn put(&self, key: &Key, answer: &Answer) {
        let file = key.file();
        let _ = cache::write(&self.directory.join(&file), &Kept::new(key, answer));
        self.note(key, file, answer);
    }

    /// Keeps a description until the program ends.
    pub(crate) fn put_for_now(&self, key: &Key, answer: &Answer) {
        self.for_now().insert(key.file(), Kept::new(key, answer));
    }

    /// Drops what is kept for a plugin, because it says something else of itself when it runs.
    pub(crate) fn forget(&self, plugin: &Plugin) {
        let name = name(plugin);
        self.with(|index| {
            if let Some(entry) = index.plugins.remove(&name) {
                index.is_changed = true;
                let _ = fs::remove_file(self.directory.join(entry.file));
            }
        });
        self.save();
    }

    /// Writes the index, where it has changed.
    pub(crate) fn save(&self) {
        self.with(|index| {
            if std::mem::take(&mut index.is_changed) {
                let _ = cache::write(&self.directory.join("index.json"), index);
            }
        });
    }

    fn note(&self, key: &Key, file: String, answer: &Answer) {
        let Ok(answer) = serde_json::value::to_raw_value(answer) else { return };
        self.with(|index| {
            if index.plugins.len() >= MOST || index.around.len() >= MOST {
                *index = Index::default();
            }
            let known = index.around.iter().position(|around| *around == key.around);
            let around = known.unwrap_or_else(|| {
                index.around.push(key.around.clone());
                index.around.len() - 1
            });
            // A stamp that may hide a change matches nothing, so that the content is looked at.
            let stamp = if key.files.are_settled() { key.stamp.clone() } else { String::new() };
            let entry = Entry { stamp, around, file, answer };
            index.plugins.insert(key.name.clone(), entry);
            index.is_changed = true;
        });
    }

    fn for_now(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.for_now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Index) -> T) -> T {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || cache::read(&self.directory.join("index.json")).unwrap_or_default();
        act(index.get_or_insert_with(read))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::directories::Directories;
    use crate::python::description::{Complaint, ToolDescription};
    use crate::python::fixture::{plugin, surroundings};
    use crate::python::interpreter::Interpreter;

    fn seen() -> Seen {
        Seen::new(Interpreter::plain(Path::new("/usr/bin/python3")))
    }

    #[test]
    fn a_description_holds_as_long_as_the_content_does() {
        let directory = tempfile::tempdir().unwrap();
        let surroundings = surroundings(directory.path());
        let mut plugin = plugin(directory.path(), "p");
        let file = plugin.root.join("tools/a.py");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "1").unwrap();
        let cache = || Cache::new(directory.path().join("descriptions"));
        let key = |plugin: &Plugin| {
            let files = Files::of(plugin, &Directories::default()).unwrap();
            Key::of(plugin, &seen(), (&surroundings, &Told::of(&surroundings)), files).unwrap()
        };
        let answer = Answer { tools: vec![ToolDescription::default()], ..Answer::default() };
        let first = cache();
        assert_eq!(first.get(&key(&plugin)), None);
        first.put(&key(&plugin), &answer);
        first.save();
        assert_eq!(cache().get(&key(&plugin)), Some(answer.clone()));
        fs::write(&file, "2").unwrap();
        assert_eq!(cache().get(&key(&plugin)), None);
        fs::write(&file, "1").unwrap();
        assert_eq!(cache().get(&key(&plugin)), Some(answer.clone()), "the content is the same");
        plugin.settings.own.insert("level".into(), 3.into());
        assert_eq!(cache().get(&key(&plugin)), None, "other settings");
        plugin.settings.own.clear();
        cache().forget(&plugin);
        assert_eq!(cache().get(&key(&plugin)), None);
    }

    #[test]
    fn a_later_description_takes_the_place_of_the_one_before() {
        let directory = tempfile::tempdir().unwrap();
        let surroundings = surroundings(directory.path());
        let mut plugin = plugin(directory.path(), "p");
        let descriptions = directory.path().join("descriptions");
        let cache = Cache::new(descriptions.clone());
        let put = |plugin: &Plugin, log: &str| {
            fs::write(plugin.root.join("log.txt"), log).unwrap();
            let files = Files::of(plugin, &Directories::default()).unwrap();
            let around = (&surroundings, &Told::of(&surroundings));
            let key = Key::of(plugin, &seen(), around, files).unwrap();
            cache.put(&key, &Answer::default());
            assert_eq!(cache.get(&key), Some(Answer::default()));
            fs::read_dir(&descriptions).unwrap().count()
        };
        assert_eq!((put(&plugin, "1"), put(&plugin, "2"), put(&plugin, "3")), (1, 1, 1));
        plugin.settings.timeout = Some(std::time::Duration::from_secs(9));
        assert_eq!(put(&plugin, "3"), 2, "another one of the same name, elsewhere");
    }

    #[test]
    fn what_holds_for_now_is_gone_with_the_program() {
        let directory = tempfile::tempdir().unwrap();
        let surroundings = surroundings(directory.path());
        let plugin = plugin(directory.path(), "p");
        let cache = || Cache::new(directory.path().join("descriptions"));
        let files = Files::of(&plugin, &Directories::default()).unwrap();
        let told = Told::of(&surroundings);
        let key = Key::of(&plugin, &seen(), (&surroundings, &told), files).unwrap();
        let first = cache();
        first.put_for_now(&key, &Answer::default());
        first.save();
        assert_eq!(first.get(&key), Some(Answer::default()));
        assert_eq!(cache().get(&key), None);
    }

    #[test]
    fn what_was_wrong_is_looked_at_again_once_packages_changed() {
        let directory = tempfile::tempdir().unwrap();
        let surroundings = surroundings(directory.path());
        let plugin = plugin(directory.path(), "p");
        let cache = Cache::new(directory.path().join("descriptions"));
        let mut seen = seen();
        let answer = Answer { problems: vec![Complaint::default()], ..Answer::default() };
        let key = |seen: &Seen| {
            let files = Files::of(&plugin, &Directories::default()).unwrap();
            Key::of(&plugin, seen, (&surroundings, &Told::of(&surroundings)), files).unwrap()
        };
        cache.put(&key(&seen), &answer);
        assert!(cache.get(&key(&seen)).is_some());
        seen.packages.push('x');
        assert!(cache.get(&key(&seen)).is_none());
    }

    #[test]
    fn what_ended_python_once_is_tried_again_after_a_day() {
        let directory = tempfile::tempdir().unwrap();
        let surroundings = surroundings(directory.path());
        let plugin = plugin(directory.path(), "p");
        let cache = Cache::new(directory.path().join("descriptions"));
        let files = Files::of(&plugin, &Directories::default()).unwrap();
        let told = Told::of(&surroundings);
        let key = Key::of(&plugin, &seen(), (&surroundings, &told), files).unwrap();
        let mut ended = LeftOut::default();
        ended.files.insert("a.py".to_owned(), "exit code 3".to_owned());
        let mut answer = Answer { left_out: ended.kept(), ..Answer::default() };
        cache.put(&key, &answer);
        assert_eq!(cache.get(&key), Some(answer.clone()));
        answer.left_out = Some(LeftOut::default());
        cache.put(&key, &answer);
        assert_eq!(cache.get(&key), None);
    }

    #[test]
    fn only_who_looks_for_programs_is_asked_again_when_the_search_path_changed() {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = surroundings(directory.path());
        let plugin = plugin(directory.path(), "p");
        let cache = Cache::new(directory.path().join("descriptions"));
        let key = |surroundings: &Surroundings| {
            let files = Files::of(&plugin, &Directories::default()).unwrap();
            Key::of(&plugin, &seen(), (surroundings, &Told::of(surroundings)), files).unwrap()
        };
        let plain = Answer::default();
        let looking = Answer { looks_for_programs: true, ..Answer::default() };
        cache.put(&key(&surroundings), &plain);
        surroundings.env.insert("PATH".into(), "/elsewhere".into());
        assert_eq!(cache.get(&key(&surroundings)), Some(plain));
        cache.put(&key(&surroundings), &looking);
        assert_eq!(cache.get(&key(&surroundings)), Some(looking));
        surroundings.env.insert("PATH".into(), "/yet/elsewhere".into());
        assert_eq!(cache.get(&key(&surroundings)), None);
    }
}
