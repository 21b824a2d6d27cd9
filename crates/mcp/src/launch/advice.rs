//! Advice on what to grant a server's program, going by the words of its failures. These are the
//! words of other programs.

use std::path::Path;

use contract::sandbox::Network;

use crate::config::Server;

/// What a user can try, going by what a program said before it ended.
pub(crate) fn advice(server: &Server, words: &str) -> String {
    let name = &server.name;
    if server.grants.network == Network::None && says(words, &["offline", "network"]) {
        return without_network(server);
    }
    if let Some(remedy) = remedy(server, words) {
        return remedy;
    }
    if says(words, &["No such file or directory", "not found", "ENOENT", "can't open file"]) {
        return format!(
            "its program or a file is not visible to it; `mcp.servers.{name}.sandbox.exec` or \
             `.read` names further paths, and variables are passed on with `env`"
        );
    }
    format!("`mcp.servers.{name}.sandbox` grants `network`, `read`, `write`, `env` and `exec`")
}

/// What programs say where nothing may be written.
const SHUT: [&str; 3] = ["EROFS", "Read-only file system", "read-only file system"];
/// What SQLite says there; it names no file.
const SHUT_DATABASE: [&str; 2] = ["unable to open database file", "readonly database"];

/// What programs say where nobody can be reached.
const UNREACHED: [&str; 10] = [
    "ENOTFOUND",
    "EAI_AGAIN",
    "ENOTCACHED",
    "ECONNREFUSED",
    "ENETUNREACH",
    "fetch failed",
    "getaddrinfo",
    "resolve host",
    "Temporary failure in name resolution",
    "due to a connection issue",
];

/// What would let a program reach somebody; none where it can, or does not say that it could not.
fn shut_off(server: &Server, words: &str) -> Option<String> {
    let is_shut_off = server.grants.network == Network::None && says(words, &UNREACHED);
    is_shut_off.then(|| without_network(server))
}

/// The same of a result that the program does not call a failure, and that begins like one: what is
/// only about failures, such as a line of somebody's code, is no reason to open anything.
pub(crate) fn seems_shut_off(server: &Server, words: &str) -> Option<String> {
    const BEGINNINGS: [&str; 14] = [
        "error",
        "fail",
        "fetch failed",
        "unable",
        "could not",
        "couldn't",
        "cannot",
        "can't",
        "request",
        "network",
        "connection",
        "getaddrinfo e",
        "exception",
        "sorry",
    ];
    let begins = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins: String = begins.chars().take(40).collect::<String>().to_lowercase();
    let is_failure = BEGINNINGS.iter().any(|beginning| begins.starts_with(beginning));
    if is_failure { shut_off(server, words) } else { None }
}

/// What would let a program do what it says it could not; none where the sandbox is not the cause.
pub(crate) fn remedy(server: &Server, words: &str) -> Option<String> {
    let name = &server.name;
    if let Some(remedy) = shut_off(server, words) {
        return Some(remedy);
    }
    if says(words, &SHUT) || says(words, &SHUT_DATABASE) {
        let place = refused_place(words);
        let (place, what) = match &place {
            Some(place) => (place.as_str(), "lets it write there"),
            None => (".", "lets it write the workspace"),
        };
        return Some(format!(
            "it may write its own directory alone; `mcp.servers.{name}.sandbox.write: [{place}]` {what}"
        ));
    }
    if says(words, &["EACCES", "EPERM", "Permission denied"]) {
        return Some(format!(
            "it may read the workspace and write its own directory alone; \
             `mcp.servers.{name}.sandbox` takes `read` and `write` with further paths"
        ));
    }
    None
}

/// The directory that a write was refused in, where the line about it names the file: `.git` of a
/// repository, else the one that holds it.
fn refused_place(words: &str) -> Option<String> {
    let words = words.lines().rfind(|line| says(line, &SHUT))?;
    let is_end = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ',' | ')');
    let marked = words.split(is_end).map(|word| word.trim_end_matches([':', '.', ';']));
    let file = marked.map(Path::new).find(|path| path.is_absolute() && path.parent().is_some())?;
    let inside = file.ancestors().find(|path| path.ends_with(".git"));
    let directory = inside.or_else(|| file.ancestors().skip(1).find(|path| path.is_dir()))?;
    (directory != Path::new("/")).then(|| directory.display().to_string())
}

fn says(words: &str, marks: &[&str]) -> bool {
    marks.iter().any(|mark| words.contains(mark))
}

fn without_network(server: &Server) -> String {
    let name = &server.name;
    format!("it runs without a network; `mcp.servers.{name}.sandbox.network: true` gives it one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_refused_write_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("dist");
        std::fs::create_dir(&inside).unwrap();
        let shown = inside.display();
        let words = format!("EROFS: read-only file system, open '{shown}/memory.jsonl.tmp'");
        assert_eq!(refused_place(&words), Some(shown.to_string()));
        let words = "fatal: Unable to create '/repo/.git/index.lock': Read-only file system";
        assert_eq!(refused_place(words).as_deref(), Some("/repo/.git"));
        assert_eq!(refused_place("Read-only file system"), None);
        let trace = format!("File \"/usr/bin/server\", line 8\nCannot open \"{shown}/d\": EROFS\n");
        assert_eq!(refused_place(&trace), Some(shown.to_string()));
        assert_eq!(refused_place("cannot open /x: Read-only file system"), None);
    }
}
