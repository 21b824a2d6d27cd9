//! Advice on what to grant a server's program, going by the words of its failures. These are the
//! words of other programs.

use std::path::Path;

use contract::sandbox::Network;

use crate::config::Server;

/// Advice on a program that ended, going by its standard error.
pub(crate) fn advice(server: &Server, words: &str) -> String {
    let name = &server.name;
    if server.grants.network == Network::None && mentions(words, &["offline", "network"]) {
        return without_network(server);
    }
    if let Some(remedy) = remedy(server, words) {
        return remedy;
    }
    if mentions(words, &["No such file or directory", "not found", "ENOENT", "can't open file"]) {
        return format!(
            "its program or a file is not visible to it; `brynhild mcp grant {name}` with `--exec` or \
             `--read` names further paths, with `--env` variables"
        );
    }
    format!(
        "`brynhild mcp grant {name}` grants `--network`, `--read`, `--write`, `--env`, `--exec`"
    )
}

/// Errors of writes to a read-only file system.
const READ_ONLY_ERRORS: [&str; 3] = ["EROFS", "Read-only file system", "read-only file system"];
/// Such errors of SQLite, which name no file.
const READ_ONLY_DATABASE_ERRORS: [&str; 2] = ["unable to open database file", "readonly database"];

/// Errors of connections without a network.
#[rustfmt::skip]
const NETWORK_ERRORS: [&str; 10] = [
    "ENOTFOUND", "EAI_AGAIN", "ENOTCACHED", "ECONNREFUSED", "ENETUNREACH", "fetch failed", "getaddrinfo",
    "resolve host", "Temporary failure in name resolution", "due to a connection issue",
];

/// Advice on a network error. None if the program has a network, or reports another error.
fn network_advice(server: &Server, words: &str) -> Option<String> {
    let is_shut_off = server.grants.network == Network::None && mentions(words, &NETWORK_ERRORS);
    is_shut_off.then(|| without_network(server))
}

/// Advice on a network error in a result that is reported as a success and begins like a failure. Text
/// that is only about failures, such as a line of code, gets none.
pub(crate) fn advice_on_success(server: &Server, words: &str) -> Option<String> {
    #[rustfmt::skip]
    const BEGINNINGS: [&str; 14] = [
        "error", "fail", "fetch failed", "unable", "could not", "couldn't", "cannot", "can't", "request", "network",
        "connection", "getaddrinfo e", "exception", "sorry",
    ];
    let begins = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins: String = begins.chars().take(40).collect::<String>().to_lowercase();
    let is_failure = BEGINNINGS.iter().any(|beginning| begins.starts_with(beginning));
    if is_failure { network_advice(server, words) } else { None }
}

/// Advice on an error that the sandbox may have caused. None for other errors.
pub(crate) fn remedy(server: &Server, words: &str) -> Option<String> {
    let name = &server.name;
    if let Some(remedy) = network_advice(server, words) {
        return Some(remedy);
    }
    if mentions(words, &READ_ONLY_ERRORS) || mentions(words, &READ_ONLY_DATABASE_ERRORS) {
        let place = refused_directory(words);
        let (place, what) = match &place {
            Some(place) => (place.as_str(), "lets it write there"),
            None => (".", "lets it write the workspace"),
        };
        return Some(format!(
            "it may write its own directory alone; `brynhild mcp grant {name} --write {place}` {what}"
        ));
    }
    if mentions(words, &["EACCES", "EPERM", "Permission denied"]) {
        return Some(format!(
            "it may read the workspace and write its own directory alone; \
             `brynhild mcp grant {name}` takes `--read` and `--write` with further paths"
        ));
    }
    None
}

/// The directory of a refused write, if the error names the file: `.git` of a repository, else the
/// nearest one that exists.
fn refused_directory(words: &str) -> Option<String> {
    let words = words.lines().rfind(|line| mentions(line, &READ_ONLY_ERRORS))?;
    let is_end = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ',' | ')');
    let marked = words.split(is_end).map(|word| word.trim_end_matches([':', '.', ';']));
    let file = marked.map(Path::new).find(|path| path.is_absolute() && path.parent().is_some())?;
    let inside = file.ancestors().find(|path| path.ends_with(".git"));
    let directory = inside.or_else(|| file.ancestors().skip(1).find(|path| path.is_dir()))?;
    (directory != Path::new("/")).then(|| directory.display().to_string())
}

fn mentions(text: &str, marks: &[&str]) -> bool {
    marks.iter().any(|mark| text.contains(mark))
}

fn without_network(server: &Server) -> String {
    let name = &server.name;
    format!("it runs without a network; `brynhild mcp grant {name} --network` gives it one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_of_a_refused_write_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("dist");
        std::fs::create_dir(&inside).unwrap();
        let shown = inside.display();
        let words = format!("EROFS: read-only file system, open '{shown}/memory.jsonl.tmp'");
        assert_eq!(refused_directory(&words), Some(shown.to_string()));
        let words = "fatal: Unable to create '/repo/.git/index.lock': Read-only file system";
        assert_eq!(refused_directory(words).as_deref(), Some("/repo/.git"));
        assert_eq!(refused_directory("Read-only file system"), None);
        let trace = format!("File \"/usr/bin/server\", line 8\nCannot open \"{shown}/d\": EROFS\n");
        assert_eq!(refused_directory(&trace), Some(shown.to_string()));
        assert_eq!(refused_directory("cannot open /x: Read-only file system"), None);
    }
}
