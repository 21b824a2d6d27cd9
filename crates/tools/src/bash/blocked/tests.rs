//! Tests of the hint about what was blocked.

use std::collections::BTreeMap;

use contract::sandbox::{Hosts, Limits};

use super::*;

fn profile(network: Network, access: Access) -> Profile {
    Profile {
        workspace: PathBuf::from("/w"),
        access,
        read: Vec::new(),
        write: Vec::new(),
        own: Vec::new(),
        fixed: Vec::new(),
        network,
        env: BTreeMap::new(),
        limits: Limits::default(),
    }
}

fn hint_for(text: &str) -> Option<String> {
    hint_in(&profile(Network::None, Access::Workspace), text)
}

fn hint_in(profile: &Profile, text: &str) -> Option<String> {
    hint(&Outcome { profile, requested: &[], refused: &[], text, failed: None })
}

/// The text between `blocked` and the colon.
fn named(text: &str) -> String {
    let hint = hint_for(text).unwrap_or_else(|| panic!("no hint for {text}"));
    let named = hint.strip_prefix("The sandbox blocked ").unwrap();
    named.split_once(": call Bash again with ").unwrap().0.to_owned()
}

#[test]
fn resolver_errors_name_the_host() {
    for text in [
        "curl: (6) Could not resolve host: a.example",
        "fatal: unable to access 'https://a.example/x/': Could not resolve host: a.example",
        "npm error request failed, reason: getaddrinfo ENOTFOUND a.example",
        "Error: getaddrinfo EAI_AGAIN a.example a.example:443",
        "wget: unable to resolve host address 'a.example'",
        "psql: error: could not translate host name \"a.example\" to address",
        "HTTPSConnectionPool(host='a.example', port=443): Temporary failure in name resolution",
        "ping: a.example: Temporary failure in name resolution",
        "go: dial tcp: lookup a.example: no such host",
        "curl: (7) Failed to connect to a.example port 443: Network is unreachable",
    ] {
        assert_eq!(named(text), "a.example", "{text}");
    }
}

#[test]
fn a_refused_local_connection_names_localhost() {
    for text in [
        "curl: (7) Failed to connect to localhost port 3000 after 0 ms: Couldn't connect to server",
        "Error: connect ECONNREFUSED 127.0.0.1:3000",
        "connect to ::1 port 5432: Connection refused",
    ] {
        assert_eq!(named(text), "localhost", "{text}");
    }
}

#[test]
fn unwritable_files_and_docker_request_outside() {
    let text = "touch: cannot touch '/etc/x': Read-only file system";
    assert_eq!(named(text), "writing /etc/x");
    assert!(hint_for(text).unwrap().ends_with(r#"with {"outside":true,"reason":"…"}"#));
    let text = "error: could not lock config file .git/config: Read-only file system";
    assert_eq!(named(text), "writing /w/.git/config");
    let text = "mkdir: cannot create directory '/home/me/x': Permission denied";
    assert_eq!(named(text), "writing /home/me/x");
    let text = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.";
    assert_eq!(named(text), "the Docker socket");
}

#[test]
fn unblocked_output_gives_no_hint() {
    for text in [
        "",
        "error: expected `;`",
        "bash: ./run.sh: Permission denied",
        "cat: /etc/shadow: Permission denied",
        "mkdir: cannot create directory 'src/x': Permission denied",
    ] {
        assert_eq!(hint_for(text), None, "{text}");
    }
    let text = "Could not resolve host: a.example";
    assert_eq!(hint_in(&profile(Network::Host, Access::Workspace), text), None);
    assert_eq!(hint_in(&profile(Network::None, Access::Host), text), None);
    let text = "touch: cannot touch '/w/x': Read-only file system";
    assert_eq!(hint_in(&profile(Network::None, Access::ReadOnly), text), None);
}

#[test]
fn refused_requests_join_those_of_the_call() {
    let granted = Hosts { names: vec!["a.example".to_owned()], key: String::new() };
    let profile = profile(Network::Hosts(granted), Access::Workspace);
    let refused =
        [Blocked::Host("B.example".to_owned(), 443), Blocked::Host("b.example".to_owned(), 8443)];
    let requested = ["a.example".to_owned()];
    let hint = hint(&Outcome {
        profile: &profile,
        requested: &requested,
        refused: &refused,
        text: "",
        failed: None,
    });
    assert_eq!(
        hint.unwrap(),
        "The sandbox blocked b.example, b.example:8443: call Bash again with \
         {\"network\":[\"a.example\",\"b.example\",\"b.example:8443\"],\"reason\":\"…\"}"
    );
    let write = [Blocked::Write(PathBuf::from("/w/.git/hooks/x"))];
    let hint = super::hint(&Outcome {
        profile: &profile,
        requested: &[],
        refused: &write,
        text: "",
        failed: None,
    });
    assert!(hint.unwrap().starts_with("The sandbox blocked writing /w/.git/hooks/x: "));
}

#[test]
fn programs_that_need_the_host_are_named() {
    let profile = profile(Network::None, Access::Workspace);
    let failed = |command, text| {
        let failed = Some(command);
        hint(&Outcome { profile: &profile, requested: &[], refused: &[], text, failed })
    };
    for (command, text) in [
        ("kill 1234", "bash: line 1: kill: (1234) - No such process"),
        ("lsof -i :3000", ""),
        ("git push", "ssh: Could not resolve hostname a.example: Name or service not known"),
        ("psql", "psql: error: connection to server on socket \"/run/.s.PGSQL.5432\" failed"),
    ] {
        let hint = failed(command, text).unwrap_or_else(|| panic!("no hint for {command}"));
        assert!(hint.contains(r#""outside":true"#), "{hint}");
    }
    assert_eq!(failed("lsof", "bash: lsof: command not found"), None);
    assert_eq!(failed("make", "make: *** Error 1"), None);
}

#[test]
fn connections_past_the_proxy_need_any_host() {
    let hosts = Hosts { names: vec!["localhost:5432".into()], key: "network".into() };
    let profile = profile(Network::Hosts(hosts), Access::Workspace);
    let text = "connect to localhost port 5432: Connection refused";
    let hint = hint_in(&profile, text).unwrap();
    assert!(hint.contains("a connection to localhost without the proxy"), "{hint}");
    assert!(hint.contains(r#""network":true"#), "{hint}");
}

#[test]
fn hint_names_a_bare_file_and_the_git_config() {
    assert_eq!(named("/bin/bash: line 1: .git: Read-only file system"), "writing /w/.git");
    let busy = "error: could not write config file .git/config: Device or resource busy";
    assert_eq!(named(busy), "writing /w/.git/config");
}
