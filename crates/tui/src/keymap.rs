//! The keys of actions. One table names every action, says what it is for and which keys reach it; help,
//! palette, the panel after the leader and remapping are all made of it. Keys that edit text are
//! the composer's and stand in none of these: Ctrl with A E F B N P D K Y W U L O stays free.

use std::collections::BTreeMap;

use crate::key::{Code, Key};

/// Something that a key, the palette or a command can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    Help,
    Quit,
    Thinking,
    Clear,
    Palette,
    Models,
    Sessions,
    Fresh,
    Rewind,
    Themes,
    Plugins,
    Permissions,
    Mode,
    Effort,
    Compact,
    Search,
    History,
    Browse,
    Open,
    Copy,
    Editor,
    Mouse,
    Vim,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Redraw,
    Suspend,
    Cancel,
    Interrupt,
    Send,
    Newline,
}

/// An action with its name, description and keys.
pub struct ActionInfo {
    pub action: Action,
    /// Its name in the configuration.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// The keys that reach it, in words; a sequence has blanks between its keys.
    pub keys: &'static [&'static str],
}

const fn row(
    action: Action,
    name: &'static str,
    about: &'static str,
    keys: &'static [&'static str],
) -> ActionInfo {
    ActionInfo { action, name, about, keys }
}

/// Every action.
pub const ACTIONS: &[ActionInfo] = &[
    row(Action::Help, "help", "Help: keys and commands", &["ctrl+t h", "ctrl+t ?", "f1"]),
    row(Action::Palette, "palette", "Command palette", &["ctrl+t p", "f3", "ctrl+shift+p"]),
    row(Action::Models, "models", "Switch model", &["ctrl+t m", "f4"]),
    row(Action::Sessions, "sessions", "Switch session", &["ctrl+t s", "f6"]),
    row(Action::Fresh, "new-session", "New session", &["ctrl+t n"]),
    row(Action::Rewind, "rewind", "Go back to an earlier message", &["ctrl+t u"]),
    row(Action::Thinking, "thinking", "Toggle reasoning", &["ctrl+t t", "f2"]),
    row(Action::Open, "open", "Toggle the last tool call", &["ctrl+t o", "f7"]),
    row(Action::Browse, "browse", "Browse the conversation", &["ctrl+t b", "f8"]),
    row(Action::Search, "search", "Search the conversation", &["ctrl+t /", "f9"]),
    row(Action::Copy, "copy", "Copy the last reply", &["ctrl+t y"]),
    row(Action::Editor, "editor", "Edit in $EDITOR", &["ctrl+t e", "ctrl+x ctrl+e"]),
    row(Action::History, "history", "Search prompt history", &["ctrl+r", "ctrl+t r"]),
    row(Action::Mode, "mode", "Next permission mode", &["backtab", "ctrl+t f"]),
    row(Action::Effort, "effort", "Next reasoning effort", &["ctrl+t i", "f5"]),
    row(Action::Permissions, "permissions", "Permissions", &["ctrl+t a"]),
    row(Action::Plugins, "plugins", "Plugins", &["ctrl+t g"]),
    row(Action::Themes, "themes", "Theme", &["ctrl+t d"]),
    row(Action::Compact, "compact", "Compact the conversation", &["ctrl+t k"]),
    row(Action::Clear, "clear", "Clear the conversation", &["ctrl+t c"]),
    row(Action::Mouse, "mouse", "Toggle mouse capture", &["ctrl+t x"]),
    row(Action::Vim, "vim", "Toggle vim mode", &["ctrl+t v"]),
    row(Action::PageUp, "page-up", "Scroll up", &["pageup", "alt+v"]),
    row(Action::PageDown, "page-down", "Scroll down", &["pagedown", "ctrl+v"]),
    row(Action::Top, "top", "Scroll to the start", &["ctrl+home", "ctrl+t <"]),
    row(Action::Bottom, "bottom", "Scroll to the end", &["ctrl+end", "ctrl+t >"]),
    row(Action::Redraw, "redraw", "Redraw", &["ctrl+t l"]),
    row(Action::Suspend, "suspend", "Suspend (fg resumes)", &["ctrl+z"]),
    row(Action::Cancel, "cancel", "Close, or interrupt the model", &["esc", "ctrl+g"]),
    row(Action::Interrupt, "interrupt", "Interrupt; clear the text; twice: exit", &["ctrl+c"]),
    row(Action::Send, "send", "Send", &[]),
    row(Action::Newline, "newline", "Insert a line break", &[]),
    row(Action::Quit, "quit", "Exit", &["ctrl+t q", "ctrl+q", "f10"]),
];

/// Keys that the user has set: names of actions with keys in words.
pub type KeyOverrides = BTreeMap<String, Vec<String>>;

/// The keys of actions.
#[derive(Clone)]
pub struct Keymap {
    bindings: Vec<(Vec<Key>, Action)>,
}

/// The meaning of a sequence of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMatch {
    Action(Action),
    /// The beginning of a sequence.
    Prefix,
    Unknown,
}

impl Keymap {
    /// The usual keys with those of the user, and the problems of the latter.
    pub fn new(remapped: &KeyOverrides) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut bindings = Vec::new();
        for described in ACTIONS {
            let own = remapped.get(described.name);
            let usual = || described.keys.iter().filter_map(|word| sequence(word)).collect();
            let mut bound: Vec<Vec<Key>> = Vec::new();
            for word in own.into_iter().flatten() {
                let name = described.name;
                match sequence(word) {
                    Some(keys) if begins_with_letter(&keys) => problems.push(format!(
                        "`{word}` (ui.keys.{name}) is ignored: it begins with a letter, which \
                         could then not be typed"
                    )),
                    Some(keys) => bound.push(keys),
                    None => problems.push(format!("`{word}` is not a key (ui.keys.{name})")),
                }
            }
            // An invalid binding removes nothing.
            let is_own = own.is_some_and(|own| own.is_empty() || !bound.is_empty());
            let keys: Vec<Vec<Key>> = if is_own { bound } else { usual() };
            bindings.extend(keys.into_iter().map(|keys| (keys, described.action, is_own)));
        }
        for name in remapped.keys() {
            if ACTIONS.iter().all(|described| described.name != name) {
                let names: Vec<&str> = ACTIONS.iter().map(|described| described.name).collect();
                problems.push(format!(
                    "`{name}` is not an action; the actions are {}",
                    names.join(", ")
                ));
            }
        }
        // The user's bindings replace the defaults.
        let taken: Vec<Vec<Key>> = bindings
            .iter()
            .filter(|(_, _, is_own)| *is_own)
            .map(|(keys, _, _)| keys.clone())
            .collect();
        problems.extend(lost(&bindings));
        let bindings = bindings
            .into_iter()
            .filter(|(keys, _, is_own)| *is_own || !taken.contains(keys))
            .map(|(keys, action, _)| (keys, action))
            .collect();
        let keymap = Self { bindings };
        problems.extend(keymap.hidden());
        (keymap, problems)
    }

    /// Problems of sequences whose first keys do something of their own.
    fn hidden(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (keys, action) in &self.bindings {
            let below = |(other, _): &&(Vec<Key>, Action)| {
                other.len() > keys.len() && other.starts_with(keys)
            };
            let below: Vec<&str> =
                self.bindings.iter().filter(below).map(|(_, it)| described(*it).name).collect();
            if !below.is_empty() {
                let (name, keys, below) =
                    (described(*action).name, keys_text(keys), below.join(", "));
                problems.push(format!("{keys} (ui.keys.{name}) hides the keys of {below}"));
            }
        }
        problems
    }

    /// The key that stands in dialogs for what a key does elsewhere, if it is one of theirs.
    pub(crate) fn in_dialogs(&self, key: Key) -> Key {
        if key.typed().is_some() {
            return key;
        }
        match self.resolve(&[key]) {
            KeyMatch::Action(Action::Cancel) => Key::plain(Code::Esc),
            KeyMatch::Action(Action::Interrupt) => Key::ctrl('c'),
            KeyMatch::Action(Action::Send) => Key::plain(Code::Enter),
            KeyMatch::Action(Action::PageUp) => Key::plain(Code::PageUp),
            KeyMatch::Action(Action::PageDown) => Key::plain(Code::PageDown),
            KeyMatch::Action(Action::Top) => Key::plain(Code::Home),
            KeyMatch::Action(Action::Bottom) => Key::plain(Code::End),
            KeyMatch::Action(_) | KeyMatch::Prefix | KeyMatch::Unknown => key,
        }
    }

    pub fn resolve(&self, keys: &[Key]) -> KeyMatch {
        if let Some((_, action)) = self.bindings.iter().find(|(bound, _)| bound == keys) {
            return KeyMatch::Action(*action);
        }
        if self.bindings.iter().any(|(bound, _)| bound.starts_with(keys)) {
            return KeyMatch::Prefix;
        }
        KeyMatch::Unknown
    }

    /// The keys that can follow some keys, in words, with their actions.
    pub fn following(&self, keys: &[Key]) -> Vec<(String, &'static ActionInfo)> {
        let mut all: Vec<(String, &'static ActionInfo)> = Vec::new();
        for (bound, action) in &self.bindings {
            let Some(rest) = bound.strip_prefix(keys).filter(|rest| !rest.is_empty()) else {
                continue;
            };
            match all.iter_mut().find(|(_, it)| it.action == *action) {
                Some((reached, _)) => *reached = format!("{reached} {}", keys_text(rest)),
                None => all.push((keys_text(rest), described(*action))),
            }
        }
        all
    }

    /// The key to name to a user for an action: a single one if there is one.
    pub fn hint(&self, action: Action) -> String {
        let keys = self.bindings.iter().filter(|(_, bound)| *bound == action).map(|(keys, _)| keys);
        if let Some(keys) = keys.min_by_key(|keys| keys.len()) {
            return keys_text(keys);
        }
        // These keys have their meaning without the table.
        match action {
            Action::Send => Key::plain(Code::Enter).to_string(),
            Action::Cancel => Key::plain(Code::Esc).to_string(),
            Action::Interrupt => Key::ctrl('c').to_string(),
            _ => format!("ui.keys.{}", described(action).name),
        }
    }

    /// The key that most sequences begin with, in words.
    pub fn leader(&self) -> Option<String> {
        let first = |(keys, _): &(Vec<Key>, Action)| (keys.len() > 1).then(|| keys[0]);
        let count = |key: Key| self.bindings.iter().filter(|it| first(it) == Some(key)).count();
        let key = self.bindings.iter().filter_map(first).max_by_key(|key| count(*key))?;
        Some(key.to_string())
    }

    /// The keys that reach an action, in words.
    pub fn keys_of(&self, action: Action) -> Vec<String> {
        let is = |(_, bound): &&(Vec<Key>, Action)| *bound == action;
        self.bindings.iter().filter(is).map(|(keys, _)| keys_text(keys)).collect()
    }
}

/// The table's entry of an action.
pub fn described(action: Action) -> &'static ActionInfo {
    let found = ACTIONS.iter().find(|described| described.action == action);
    found.expect("every action stands in the table")
}

fn sequence(words: &str) -> Option<Vec<Key>> {
    let keys: Option<Vec<Key>> = words.split_whitespace().map(Key::parse).collect();
    keys.filter(|keys| !keys.is_empty())
}

/// Problems of the user's keys that take away letters or the keys of other actions.
fn lost(bindings: &[(Vec<Key>, Action, bool)]) -> Vec<String> {
    let mut problems = Vec::new();
    for (at, (keys, action, _)) in bindings.iter().enumerate().filter(|(_, it)| it.2) {
        let is_same =
            |(other, theirs, _): &&(Vec<Key>, Action, bool)| other == keys && theirs != action;
        if bindings[..at].iter().filter(|it| it.2).any(|it| is_same(&it)) {
            // The first one has the key, and was reported.
            continue;
        }
        let (own, shown) = (described(*action).name, keys_text(keys));
        for (_, theirs, is_own) in bindings.iter().filter(is_same) {
            let theirs = described(*theirs).name;
            problems.push(if *is_own {
                format!("{shown} is bound to both {own} and {theirs} (ui.keys); {own} gets it")
            } else {
                format!("{shown} (ui.keys.{own}) takes the key of {theirs}")
            });
        }
        if let [key] = keys[..]
            && key.typed().is_some()
        {
            problems.push(format!("{shown} (ui.keys.{own}) can no longer be typed"));
        }
    }
    problems
}

/// Returns true if a sequence begins with a letter, which could not be typed any more.
fn begins_with_letter(keys: &[Key]) -> bool {
    keys.len() > 1 && keys[0].typed().is_some()
}

fn keys_text(keys: &[Key]) -> String {
    let words: Vec<String> = keys.iter().map(ToString::to_string).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(words: &str) -> Vec<Key> {
        sequence(words).unwrap()
    }

    #[test]
    fn default_keys_are_valid_and_unique() {
        let (keymap, problems) = Keymap::new(&KeyOverrides::new());
        assert_eq!(problems, [""; 0]);
        for (at, (bound, action)) in keymap.bindings.iter().enumerate() {
            let others = keymap.bindings.iter().enumerate().filter(|(other, _)| *other != at);
            for (_, (other, _)) in others {
                assert!(!other.starts_with(bound), "{action:?} hides {}", keys_text(other));
            }
        }
    }

    #[test]
    fn the_reserved_keys_are_left_alone() {
        let (keymap, _) = Keymap::new(&KeyOverrides::new());
        for letter in "aefbnpdkywulo".chars() {
            assert_eq!(keymap.resolve(&[Key::ctrl(letter)]), KeyMatch::Unknown, "Ctrl+{letter}");
        }
    }

    #[test]
    fn documented_keys_have_their_actions() {
        let (keymap, _) = Keymap::new(&KeyOverrides::new());
        for (words, action) in [
            ("ctrl+t h", Action::Help),
            ("ctrl+t q", Action::Quit),
            ("ctrl+t t", Action::Thinking),
            ("ctrl+t c", Action::Clear),
            ("ctrl+t p", Action::Palette),
            ("f1", Action::Help),
            ("f2", Action::Thinking),
            ("f3", Action::Palette),
            ("f10", Action::Quit),
            ("esc", Action::Cancel),
        ] {
            assert_eq!(keymap.resolve(&keys(words)), KeyMatch::Action(action), "{words}");
        }
        assert_eq!(keymap.resolve(&keys("ctrl+t")), KeyMatch::Prefix);
    }

    #[test]
    fn keymap_reports_mistakes_in_user_keys() {
        let remapped = KeyOverrides::from([
            ("help".to_owned(), vec!["f7".to_owned()]),
            ("quit".to_owned(), vec!["hyper+q".to_owned()]),
            ("fly".to_owned(), vec![]),
        ]);
        let (keymap, problems) = Keymap::new(&remapped);
        assert_eq!(keymap.resolve(&keys("f7")), KeyMatch::Action(Action::Help));
        assert_eq!(keymap.resolve(&keys("f1")), KeyMatch::Unknown);
        assert_eq!(keymap.resolve(&keys("f10")), KeyMatch::Action(Action::Quit), "it stays");
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems.contains(&"F7 (ui.keys.help) takes the key of open".to_owned()));
    }

    #[test]
    fn keymap_reports_letters_taken_by_user_keys() {
        let remapped = KeyOverrides::from([
            ("help".to_owned(), vec!["h".to_owned()]),
            ("send".to_owned(), vec!["ctrl+s".to_owned()]),
            ("newline".to_owned(), vec!["enter".to_owned()]),
        ]);
        let (_, problems) = Keymap::new(&remapped);
        assert_eq!(problems, ["h (ui.keys.help) can no longer be typed"]);
    }

    #[test]
    fn sequence_starting_with_a_letter_is_refused() {
        let set = |words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            Keymap::new(&KeyOverrides::from([("search".to_owned(), words)]))
        };
        for words in ["g s", "space s", "G s"] {
            let (keymap, problems) = set(&[words]);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].contains("begins with a letter"), "{problems:?}");
            assert_eq!(keymap.resolve(&keys(words)[..1]), KeyMatch::Unknown, "it can be typed");
            assert_eq!(keymap.resolve(&keys("f9")), KeyMatch::Action(Action::Search), "usual");
        }
        let (keymap, problems) = set(&["g s", "alt+g s"]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(keymap.resolve(&keys("alt+g s")), KeyMatch::Action(Action::Search));
        assert_eq!(keymap.resolve(&keys("f9")), KeyMatch::Unknown);
    }

    #[test]
    fn keymap_reports_a_key_set_twice_once() {
        let key = || vec!["f7".to_owned()];
        let remapped =
            KeyOverrides::from([("clear".to_owned(), key()), ("help".to_owned(), key())]);
        let (keymap, problems) = Keymap::new(&remapped);
        assert_eq!(keymap.resolve(&keys("f7")), KeyMatch::Action(Action::Help));
        assert_eq!(
            problems,
            [
                "F7 (ui.keys.help) takes the key of open",
                "F7 is bound to both help and clear (ui.keys); help gets it",
            ]
        );
    }

    #[test]
    fn keymap_reports_keys_that_hide_sequences() {
        let remapped = KeyOverrides::from([("models".to_owned(), vec!["ctrl+t".to_owned()])]);
        let (_, problems) = Keymap::new(&remapped);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("Ctrl+T (ui.keys.models) hides the keys of help, "));
    }
}
