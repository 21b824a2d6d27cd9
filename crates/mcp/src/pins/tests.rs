use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use contract::policy::Mode;
use contract::sandbox::Limits;
use contract::trust_check::TrustCheck;
use serde_json::json;

use super::*;
use crate::config::{self, Source};
use crate::launch::LaunchSettings;

fn server(line: &str, scope: Scope) -> Server {
    let mut words = line.split(' ');
    let command = words.next().unwrap();
    let document = json!({"s": {"command": command, "args": words.collect::<Vec<_>>()}});
    let source = Source { origin: "o".to_owned(), scope, document };
    config::read(&[source], &BTreeMap::new()).servers.remove(0)
}

fn around(workspace: &Path, path: &str) -> LaunchSettings {
    LaunchSettings {
        workspace: workspace.to_owned(),
        env: BTreeMap::from([("PATH".to_owned(), path.to_owned())]),
        variables: BTreeMap::new(),
        home: None,
        data: workspace.join("data"),
        mode: Mode::Normal,
        limits: Limits::default(),
        trust_check: TrustCheck::default(),
    }
}

fn counted(server: &Server, launch_settings: &LaunchSettings) -> Files {
    files(server, launch_settings)
}

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn scripts_are_pinned_and_data_files_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for name in ["server.py", "tool", "notes", "t.db"] {
        fs::write(root.join(name), if name == "tool" { "#!/bin/sh\n" } else { "x" }).unwrap();
    }
    let launch_settings = around(&root, "/usr/bin:/bin");
    let names = |line: &str, scope: Scope| {
        let files = counted(&server(line, scope), &launch_settings).into_keys();
        let name = |path: String| path.rsplit('/').next().unwrap().to_owned();
        files.map(name).collect::<Vec<_>>()
    };
    for scope in [Scope::User, Scope::Project] {
        let names = |line: &str| names(line, scope.clone());
        assert_eq!(names("mcp-server-sqlite --db-path ./t.db"), [""; 0]);
        assert_eq!(names("mcp-server-sqlite t.db"), [""; 0]);
        assert_eq!(names("mcp-server-files . notes"), [""; 0]);
        assert_eq!(names("./notes t.db"), ["notes"]);
        assert_eq!(names("python3 notes t.db"), ["notes"]);
        assert_eq!(names("strange ./server.py ./tool t.db"), ["server.py", "tool"]);
        assert_eq!(names("node --import=./server.py t.db"), ["server.py"]);
    }
    // One's own is started elsewhere, where there are no such files.
    assert_eq!(names("uvx x server.py", Scope::Project), ["server.py"]);
    assert_eq!(names("uvx x server.py", Scope::User), [""; 0]);
}

#[test]
fn own_program_is_pinned_and_a_system_program_is_not() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    let (work, first, second) = (base.join("work"), base.join("first"), base.join("second"));
    for directory in [&work, &first, &second] {
        fs::create_dir(directory).unwrap();
    }
    program(&second.join("mine"), "#!/bin/sh\n");
    fs::write(second.join("s.py"), "1").unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", first.display(), second.display());
    let launch_settings = around(&work, &path);
    let line = format!("mine {}/s.py", second.display());
    let own = server(&line, Scope::User);
    let files = counted(&own, &launch_settings);
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(counted(&server(&line, Scope::Project), &launch_settings).is_empty());
    assert!(counted(&server("sh", Scope::User), &launch_settings).is_empty());
    let pins = Pins::new(&base, "s", &own, &work);
    assert_eq!(pins.unapproved(&files), None, "nothing is agreed to yet");
    pins.approve_files(&files).unwrap();
    assert_eq!(pins.unapproved(&counted(&own, &launch_settings)), None);
    // Another program of that name, before the one agreed to.
    program(&first.join("mine"), "#!/bin/sh\n");
    let program = pins.unapproved(&counted(&own, &launch_settings)).unwrap();
    assert_eq!(program.names(), first.join("mine").display().to_string());
}

#[test]
fn other_command_line_does_not_approve_changed_files() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::write(root.join("a.py"), "1").unwrap();
    fs::write(root.join("b.py"), "1").unwrap();
    let launch_settings = around(&root, "/usr/bin:/bin");
    let of = |line: &str| {
        let server = server(line, Scope::User);
        let files = counted(&server, &launch_settings);
        (Pins::new(&root, "s", &server, &root), files)
    };
    let (pins, files) = of("python3 a.py");
    pins.approve_files(&files).unwrap();
    let (pins, files) = of("python3 b.py x");
    assert_eq!(pins.unapproved(&files), None);
    fs::write(root.join("a.py"), "2").unwrap();
    let (pins, files) = of("python3 a.py x");
    assert_eq!(pins.unapproved(&files).unwrap().names(), root.join("a.py").display().to_string());
    pins.approve_files(&files).unwrap();
    assert_eq!(pins.unapproved(&files), None);
    assert_eq!(of("python3 a.py").0.unapproved(&files), None);
    // An approval for one description does not cover an earlier one.
    assert!(of("python3 a.py").0.unapproved(&of("python3 b.py x").1).is_some());
}

#[test]
fn unreadable_pins_need_approval() {
    let directory = tempfile::tempdir().unwrap();
    let server = server("x", Scope::User);
    let pins = Pins::new(directory.path(), "s", &server, directory.path());
    pins.approve_files(&Files::new()).unwrap();
    assert_eq!(pins.unapproved(&Files::new()), None);
    fs::write(&pins.path, "{}").unwrap();
    assert!(pins.unapproved(&Files::new()).unwrap().unreadable.is_some());
    pins.approve_files(&Files::new()).unwrap();
    assert_eq!(pins.unapproved(&Files::new()), None);
}

#[test]
fn pins_of_a_project_server_belong_to_that_project() {
    let directory = tempfile::tempdir().unwrap();
    let path = |scope: Scope, place: &str| {
        Pins::new(directory.path(), "s", &server("x", scope), Path::new(place)).path
    };
    assert_ne!(path(Scope::Project, "/one"), path(Scope::Project, "/two"));
    assert_eq!(path(Scope::User, "/one"), path(Scope::User, "/two"));
    assert_ne!(path(Scope::User, "/one"), path(Scope::Project, "/one"));
}
