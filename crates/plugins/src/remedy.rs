//! Hints that name the grant for an access that the sandbox has blocked. Grants nothing.

use std::path::{Path, PathBuf};

use ::files::path::normalize;
use ::files::surroundings::Surroundings;
use contract::policy::Mode;
use files::protected::protected;
use rustix::fs::{Access, access};

use crate::plugin::{NetworkPermission, Permissions, Plugin};

/// Messages of Python, Node and the usual programs without a network.
const NO_NETWORK_ERRORS: &str = "All connection attempts failed|Cannot connect to host|Could not resolve host|\
    Couldn't connect to server|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|Failed to connect to|\
    Failed to establish a new connection|unable to resolve host address|Errno 101]|\
    Errno 111]|Errno -3]|Network is unreachable|Connection refused|\
    Temporary failure in name resolution|nodename nor servname";
/// Messages of HTTP clients that the proxy of the sandbox refused. A server may refuse with the same
/// words, so they count only without a network.
const PROXY_REFUSALS: [&str; 4] =
    ["403 Forbidden", "403: Forbidden", "403 Client Error", "response 403"];
/// Messages where nothing may be written.
const READ_ONLY_ERRORS: [&str; 2] = ["Read-only file system", "Errno 30]"];
/// Messages of SQLite there; it names no file.
const READ_ONLY_DATABASE_ERRORS: [&str; 2] = ["unable to open database file", "readonly database"];
const NOT_FOUND_ERROR: &str = "No such file or directory";
/// Shell messages about a program that is not visible, behind its name.
const NO_PROGRAM: [&str; 2] = [": command not found", ": not found"];
/// Shell messages about a variable, behind its name.
const NO_VARIABLE: [&str; 2] = [": unbound variable", ": parameter not set"];
/// The message where no socket may be opened; it names no file.
const NO_SOCKET: &str = "Operation not permitted";
const REFUSED: [&str; 2] = ["Permission denied", NO_SOCKET];

pub(crate) struct Around<'a> {
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) home: Option<PathBuf>,
    /// True if it may write in the workspace without a grant.
    pub(crate) opens_workspace: bool,
    pub(crate) mode: Mode,
}

/// Returns true if the output of a program says that it found no network.
pub fn is_alone(words: &str) -> bool {
    NO_NETWORK_ERRORS.split('|').any(|mark| words.contains(mark))
}

/// The grant that would let `plugin` do what `words` say it could not, if the sandbox is the cause.
pub(crate) fn remedy(plugin: &Plugin, around: &Around<'_>, words: &str) -> Option<String> {
    let mode = around.mode;
    let says = |marks: &[&str]| marks.iter().any(|mark| words.contains(mark));
    let grants = &plugin.settings.grants;
    let has_no_network = grants.network == NetworkPermission::None || mode == Mode::ReadOnly;
    let file = (says(&REFUSED) || says(&READ_ONLY_ERRORS)).then(|| file(words)).flatten();
    let is_without_socket = words.contains(NO_SOCKET) && file.is_none();
    let is_offline = is_alone(words) || is_without_socket || says(&PROXY_REFUSALS);
    let (what, missing) = if has_no_network && is_offline {
        (
            "without a network",
            Permissions { network: NetworkPermission::All, ..Permissions::default() },
        )
    } else if let Some(file) = file {
        let directory = directory(plugin, around, file)?;
        (
            "and may not write there",
            Permissions { write: vec![directory], ..Permissions::default() },
        )
    } else if says(&READ_ONLY_ERRORS) || says(&READ_ONLY_DATABASE_ERRORS) {
        let write = vec!["DIRECTORY".into()];
        ("and may not write there", Permissions { write, ..Permissions::default() })
    } else {
        return unseen(plugin, around, words);
    };
    let name = plugin.name();
    if mode == Mode::ReadOnly {
        return Some(format!(
            "the plugin `{name}` runs confined {what}, as in `read-only` mode all do"
        ));
    }
    Some(grantable(plugin, what, &missing))
}

/// Names the command with which the user grants what is missing, and no more than the manifest
/// requests if it requests that.
fn grantable(plugin: &Plugin, what: &str, missing: &Permissions) -> String {
    let (name, requested) = (plugin.name(), &plugin.manifest.sandbox);
    let includes =
        |asked: &[PathBuf], wanted: &[PathBuf]| wanted.iter().all(|it| asked.contains(it));
    let names = |asked: &[String], wanted: &[String]| wanted.iter().all(|it| asked.contains(it));
    let asks_network =
        missing.network == NetworkPermission::None || requested.network != NetworkPermission::None;
    let is_requested = asks_network
        && includes(&requested.read, &missing.read)
        && includes(&requested.write, &missing.write)
        && names(&requested.env, &missing.env)
        && names(&requested.exec, &missing.exec);
    let command = if is_requested {
        format!("brynhild plugin grant {name}")
    } else {
        missing.grant_command(name)
    };
    format!("the plugin `{name}` runs confined {what}; the user can grant it with `{command}`")
}

/// The grant for a variable, a program or a file in the home that exists and is not visible.
fn unseen(plugin: &Plugin, around: &Around<'_>, words: &str) -> Option<String> {
    let surroundings = around.surroundings;
    let mut missing = Permissions::default();
    let variable = || NO_VARIABLE.iter().find_map(|mark| before(words, mark));
    let program = || NO_PROGRAM.iter().find_map(|mark| before(words, mark));
    let what = if let Some(name) = quoted(words, "KeyError").or_else(variable) {
        let is_hidden = |name: &str| {
            surroundings.variables.contains_key(name) && !surroundings.env.contains_key(name)
        };
        if !is_hidden(name) || plugin.settings.grants.env.iter().any(|known| known == name) {
            return None;
        }
        missing.env.push(name.to_owned());
        "and sees the usual variables alone"
    } else {
        let path = quoted(words, NOT_FOUND_ERROR).or_else(program)?;
        if path.contains('/') {
            let home = surroundings.home.as_deref()?;
            let own = around.home.as_deref().and_then(|own| Path::new(path).strip_prefix(own).ok());
            // What it can read is missing for another reason than the sandbox.
            let granted = plugin.settings.grants.read.iter().map(|read| surroundings.resolve(read));
            let readable = [surroundings.workspace.clone(), plugin.root.clone()];
            if own.is_none()
                && readable.into_iter().chain(granted).any(|it| Path::new(path).starts_with(it))
            {
                return None;
            }
            // Whether it is there is not said: who asks may not know it.
            let inside = own.or_else(|| Path::new(path).strip_prefix(home).ok())?;
            missing.read.push(Path::new("~").join(inside));
            "and does not see your home"
        } else {
            surroundings.program(path)?;
            missing.exec.push(path.to_owned());
            "and sees the system's programs alone"
        }
    };
    Some(grantable(plugin, what, &missing))
}

fn quoted<'a>(words: &'a str, mark: &str) -> Option<&'a str> {
    let (_, after) = words.split_once(mark)?;
    after.strip_prefix(": '")?.split_once('\'').map(|(quoted, _)| quoted)
}

fn before<'a>(words: &'a str, mark: &str) -> Option<&'a str> {
    let (front, _) = words.split_once(mark)?;
    let front = front.lines().next_back()?;
    let bare = front.trim_end_matches(['\'', '’']);
    let word = if bare.len() == front.len() {
        front.rsplit(char::is_whitespace).next()
    } else {
        bare.rsplit(['\'', '‘']).next()
    };
    word.filter(|word| !word.is_empty())
}

/// The file that a message of Python's ends with, or that one of a program's names before the cause.
fn file(words: &str) -> Option<&str> {
    let python = READ_ONLY_ERRORS.iter().chain(&REFUSED).find_map(|mark| quoted(words, mark));
    python.or_else(|| before(words, ": Read-only file system"))
}

/// The directory to grant so that `file` can be written; none if no grant would help.
fn directory(plugin: &Plugin, around: &Around<'_>, file: &str) -> Option<PathBuf> {
    let surroundings = around.surroundings;
    let file = normalize(&surroundings.directory().join(file));
    let grants = &plugin.settings.grants;
    if grants.write.iter().any(|path| file.starts_with(surroundings.resolve(path))) {
        return None;
    }
    if let Ok(inside) = file.strip_prefix(&surroundings.workspace) {
        let is_kept = protected(inside).is_some();
        return (!is_kept && !around.opens_workspace).then(|| PathBuf::from("."));
    }
    let directory = if file.starts_with(&plugin.root) { &plugin.root } else { file.parent()? };
    // A directory that the user cannot write either is not shut by the sandbox.
    if directory.is_dir() && access(directory, Access::WRITE_OK).is_err() {
        return None;
    }
    let home = surroundings.home.as_deref();
    let is_wide =
        directory.components().count() < 3 || home.is_some_and(|it| it.starts_with(directory));
    if is_wide || directory.starts_with("/proc") || directory.starts_with("/sys") {
        return None;
    }
    let in_home = home.and_then(|home| directory.strip_prefix(home).ok());
    Some(in_home.map_or_else(|| directory.to_owned(), |inside| Path::new("~").join(inside)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{plugin, surroundings};

    fn told(words: &str, grants: Permissions, mode: Mode) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        let surroundings = surroundings(directory.path());
        let mut plugin = plugin(&directory.path().join("home/plugins"), "p");
        plugin.settings.grants = grants;
        let home = directory.path().join("data/home");
        let words = words.replace("ROOT", plugin.root.to_str().unwrap());
        let words = words.replace("OWN", home.to_str().unwrap());
        let around = Around {
            surroundings: &surroundings,
            home: Some(home),
            opens_workspace: words.starts_with("open: "),
            mode,
        };
        remedy(&plugin, &around, &words)
    }

    fn grant(words: &str) -> String {
        let told = told(words, Permissions::default(), Mode::Normal).unwrap_or_default();
        told.split('`').nth(3).unwrap_or_default().to_owned()
    }

    #[test]
    fn advice_names_the_command_that_grants_access() {
        let network = "brynhild plugin grant p --network";
        for words in [
            "OSError: [Errno 101] Network is unreachable",
            "URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
            "ConnectError: [Errno 111] Connection refused",
            "PermissionError: [Errno 1] Operation not permitted",
            "HTTPError: HTTP Error 403: Forbidden",
            "URLError: <urlopen error Tunnel connection failed: 403 Forbidden>",
        ] {
            assert_eq!(grant(words), network, "{words}");
        }
        let online = Permissions { network: NetworkPermission::All, ..Permissions::default() };
        assert_eq!(told("HTTP Error 403: Forbidden", online, Mode::Normal), None);
        let written = |directory: &str| format!("brynhild plugin grant p --write {directory}");
        let error = "OSError: [Errno 30] Read-only file system: ";
        assert_eq!(grant(&format!("{error}'out.txt'")), written("."));
        assert_eq!(grant(&format!("{error}'ROOT/state.json'")), written("~/plugins/p"));
        assert_eq!(grant(&format!("{error}'/srv/data/x'")), written("/srv/data"));
        assert_eq!(grant("OperationalError: unable to open database file"), written("DIRECTORY"));
        let refused = "PermissionError: [Errno 13] Permission denied: '/srv/data/x'";
        assert_eq!(grant(refused), written("/srv/data"));
    }

    #[test]
    fn advice_names_the_command_that_shows_a_path() {
        let granted = |what: &str| format!("brynhild plugin grant p --{what}");
        assert_eq!(grant("KeyError: 'SECRET'"), granted("env SECRET"));
        assert_eq!(grant("KeyError: 'other'"), "");
        let error = "FileNotFoundError: [Errno 2] No such file or directory: ";
        assert_eq!(grant(&format!("{error}'sh'")), granted("exec sh"));
        assert_eq!(grant(&format!("{error}'no-such-program'")), "");
        assert_eq!(grant(&format!("{error}'OWN/notes.txt'")), granted("read ~/notes.txt"));
        assert_eq!(grant(&format!("{error}'/nowhere/x'")), "");
    }

    #[test]
    fn missing_readable_file_gets_no_advice() {
        let directory = tempfile::tempdir().unwrap();
        let mut surroundings = surroundings(directory.path());
        surroundings.workspace = directory.path().join("home/work");
        let mut plugin = plugin(&directory.path().join("home/plugins"), "p");
        plugin.settings.grants.read = vec!["~/notes".into()];
        let around = Around {
            surroundings: &surroundings,
            home: None,
            opens_workspace: false,
            mode: Mode::Normal,
        };
        let advice = |file: &str| {
            let home = directory.path().join("home").display().to_string();
            let words = format!("No such file or directory: '{home}/{file}'");
            remedy(&plugin, &around, &words)
        };
        for file in ["work/x", "plugins/p/x", "notes/x"] {
            assert_eq!(advice(file), None, "{file}");
        }
        assert!(advice("secret/x").is_some());
    }

    #[test]
    fn messages_of_shells_and_programs_are_recognized() {
        let granted = |what: &str| format!("brynhild plugin grant p --{what}");
        let network = granted("network");
        assert_eq!(grant("curl: (6) Could not resolve host: example.org"), network);
        assert_eq!(grant("Error: getaddrinfo EAI_AGAIN example.org"), network);
        let written = granted("write /srv/data");
        for words in [
            "first\nsh: 1: cannot create /srv/data/x: Read-only file system",
            "touch: cannot touch '/srv/data/x': Read-only file system",
            "bash: /srv/data/x: Read-only file system",
        ] {
            assert_eq!(grant(words), written, "{words}");
        }
        assert_eq!(grant("p: line 2: SECRET: unbound variable"), granted("env SECRET"));
        assert_eq!(grant("p: line 2: sh: command not found"), granted("exec sh"));
        assert_eq!(grant("env: ‘sh’: No such file or directory"), "");
        assert_eq!(grant("open: out.txt: Read-only file system"), "");
        assert_eq!(grant(": Read-only file system"), granted("write DIRECTORY"));
    }

    #[test]
    fn granted_or_ungrantable_access_gets_no_advice() {
        let error = "OSError: [Errno 30] Read-only file system: ";
        for file in [".git/hooks/x", "/etc/passwd", "/usr"] {
            assert_eq!(grant(&format!("{error}'{file}'")), "", "{file}");
        }
        assert_eq!(grant("ValueError: no"), "");
        assert_eq!(grant("Permission denied: ask the owner"), "");
        let all = Permissions {
            network: NetworkPermission::All,
            write: vec![".".into()],
            ..Permissions::default()
        };
        let words = format!("{error}'out.txt'");
        assert_eq!(told(&words, all.clone(), Mode::Normal), None);
        assert_eq!(told("[Errno 101] Network is unreachable", all, Mode::Normal), None);
    }

    #[test]
    fn advice_in_read_only_mode_names_the_mode() {
        let told = told("[Errno 101]", Permissions::default(), Mode::ReadOnly).unwrap();
        assert!(told.contains("read-only") && !told.contains("plugin grant"), "{told}");
    }

    #[test]
    fn advice_names_no_more_than_the_manifest_requests() {
        let directory = tempfile::tempdir().unwrap();
        let mut plugin = plugin(directory.path(), "p");
        plugin.manifest.sandbox.network = NetworkPermission::Hosts(vec!["a.test".into()]);
        let missing = Permissions { network: NetworkPermission::All, ..Permissions::default() };
        let told = grantable(&plugin, "so", &missing);
        assert!(told.ends_with("`brynhild plugin grant p`"), "{told}");
        let missing = Permissions { read: vec!["~/a b".into()], ..Permissions::default() };
        let told = grantable(&plugin, "so", &missing);
        assert!(told.ends_with("`brynhild plugin grant p --read ~/'a b'`"), "{told}");
    }
}
