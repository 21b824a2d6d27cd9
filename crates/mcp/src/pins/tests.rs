use std::os::unix::fs::PermissionsExt as _;

use contract::policy::Mode;
use contract::sandbox::Limits;
use contract::trust_check::TrustCheck;
use serde_json::json;

use super::*;
use crate::config::{self, Source, Transport};
use crate::launch::Surroundings;

fn server(line: &str, scope: Scope) -> Server {
    let mut words = line.split(' ');
    let command = words.next().unwrap();
    let document = json!({"s": {"command": command, "args": words.collect::<Vec<_>>()}});
    let source = Source { origin: "o".to_owned(), scope, document };
    config::read(&[source], &BTreeMap::new(), config::command_line::plain).servers.remove(0)
}

fn around(workspace: &Path, path: &str) -> Surroundings {
    Surroundings {
        workspace: workspace.to_owned(),
        env: BTreeMap::from([("PATH".to_owned(), path.to_owned())]),
        variables: BTreeMap::new(),
        home: None,
        reader: config::command_line::plain,
        data: workspace.join("data"),
        mode: Mode::Normal,
        limits: Limits::default(),
        vouch: TrustCheck::default(),
    }
}

fn counted(server: &Server, surroundings: &Surroundings) -> Files {
    let Transport::Stdio(program) = &server.transport else { unreachable!() };
    files(server, program, surroundings, &Hashes::default())
}

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn files_that_are_run_count_and_what_they_work_on_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for name in ["server.py", "tool", "notes", "t.db"] {
        fs::write(root.join(name), if name == "tool" { "#!/bin/sh\n" } else { "x" }).unwrap();
    }
    let surroundings = around(&root, "/usr/bin:/bin");
    let names = |line: &str, scope: Scope| {
        let files = counted(&server(line, scope), &surroundings).into_keys();
        let name = |path: String| path.rsplit('/').next().unwrap().to_owned();
        files.map(name).collect::<Vec<_>>()
    };
    for scope in [Scope::User, Scope::Project] {
        let names = |line: &str| names(line, scope.clone());
        assert_eq!(names("mcp-server-sqlite --db-path ./t.db"), [""; 0]);
        assert_eq!(names("mcp-server-sqlite t.db"), [""; 0]);
        assert_eq!(names("mcp-server-files . notes"), [""; 0]);
        assert_eq!(names("./notes t.db"), ["notes"]);
        assert_eq!(names("python3.12 -u notes t.db"), ["notes"]);
        assert_eq!(names("uvx x ./server.py ./tool t.db"), ["server.py", "tool"]);
        assert_eq!(names("python3 -X notes -W t.db tool notes"), ["tool"]);
        assert_eq!(names("node --import=./server.py notes t.db"), ["notes", "server.py"]);
        assert_eq!(names("strange python3 -u notes t.db"), ["notes"]);
        assert_eq!(names("strange -c python3\tnotes"), ["notes"]);
    }
    // One's own is started elsewhere, where there are no such files.
    assert_eq!(names("uvx x server.py", Scope::Project), ["server.py"]);
    assert_eq!(names("uvx x server.py", Scope::User), [""; 0]);
}

#[test]
fn a_script_is_looked_for_in_the_directories_that_the_command_names() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    let (work, own) = (base.join("work"), base.join("own"));
    for directory in [&work, &work.join("dev"), &work.join("run"), &own, &own.join("deep")] {
        fs::create_dir(directory).unwrap();
    }
    fs::write(own.join("plain"), "1").unwrap();
    fs::write(own.join("deep/plain"), "1").unwrap();
    fs::write(own.join("t.db"), "1").unwrap();
    program(&own.join("mine"), "#!/bin/sh\n");
    let surroundings = around(&work, "/usr/bin:/bin");
    let names = |line: &str| {
        let line = line.replace("OWN", &own.display().to_string());
        let files = counted(&server(&line, Scope::User), &surroundings).into_keys();
        let name = |path: String| path.strip_prefix(own.to_str().unwrap()).unwrap().to_owned();
        files.map(name).collect::<Vec<_>>()
    };
    for line in [
        "uv --directory OWN run plain t.db",
        "uv --directory=OWN run plain t.db",
        "uv run --project OWN plain",
        "strange -C OWN python3 -X dev plain t.db",
        "strange -COWN python3 plain",
        "python3 plain OWN",
    ] {
        assert_eq!(names(line), ["/plain"], "{line}");
    }
    assert_eq!(names("strange OWN/deep OWN python3 plain"), ["/deep/plain", "/plain"]);
}

#[test]
fn a_person_s_own_program_counts_wherever_it_lies_and_the_system_s_does_not() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    let (work, first, second) = (base.join("work"), base.join("first"), base.join("second"));
    for directory in [&work, &first, &second] {
        fs::create_dir(directory).unwrap();
    }
    program(&second.join("mine"), "#!/bin/sh\n");
    fs::write(second.join("s.py"), "1").unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", first.display(), second.display());
    let surroundings = around(&work, &path);
    let line = format!("mine {}/s.py", second.display());
    let own = server(&line, Scope::User);
    let files = counted(&own, &surroundings);
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(counted(&server(&line, Scope::Project), &surroundings).is_empty());
    assert!(counted(&server("sh", Scope::User), &surroundings).is_empty());
    let pins = Pins::new(&base, "s", &own, &work);
    assert_eq!(pins.doubt(&files), None, "nothing is agreed to yet");
    pins.agree(&files).unwrap();
    assert_eq!(pins.doubt(&counted(&own, &surroundings)), None);
    // Another program of that name, before the one agreed to.
    program(&first.join("mine"), "#!/bin/sh\n");
    let doubt = pins.doubt(&counted(&own, &surroundings)).unwrap();
    assert_eq!(doubt.names(), first.join("mine").display().to_string());
}

#[test]
fn what_the_first_line_of_a_program_names_counts_too() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    let (work, own) = (base.join("work"), base.join("own"));
    for directory in [&work, &own] {
        fs::create_dir(directory).unwrap();
    }
    program(&own.join("snake"), "an interpreter");
    let surroundings = around(&work, &format!("{}:/usr/bin:/bin", own.display()));
    let path = own.join("snake");
    for first in [
        format!("#!{}", path.display()),
        format!("#! {} -u", path.display()),
        "#!/usr/bin/env snake".to_owned(),
        "#!/usr/bin/env -S snake -u".to_owned(),
        "#!/usr/bin/env -Ssnake".to_owned(),
        "#!/usr/bin/env A=b snake".to_owned(),
    ] {
        program(&own.join("serve"), &format!("{first}\nprint()\n"));
        let own = server("serve", Scope::User);
        let files = counted(&own, &surroundings);
        assert!(files.contains_key(&path.display().to_string()), "{first}: {files:?}");
        let pins = Pins::new(&base, "s", &own, &work);
        pins.agree(&files).unwrap();
        program(&path, &format!("another for {first}"));
        let doubt = pins.doubt(&counted(&own, &surroundings)).unwrap();
        assert_eq!(doubt.names(), path.display().to_string(), "{first}");
        pins.agree(&counted(&own, &surroundings)).unwrap();
    }
    program(&own.join("serve"), "#!/bin/sh\n");
    assert_eq!(counted(&server("serve", Scope::User), &surroundings).len(), 1);
}

#[test]
fn another_description_agrees_to_further_files_and_not_to_changed_ones() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::write(root.join("a.py"), "1").unwrap();
    fs::write(root.join("b.py"), "1").unwrap();
    let surroundings = around(&root, "/usr/bin:/bin");
    let of = |line: &str| {
        let server = server(line, Scope::User);
        let files = counted(&server, &surroundings);
        (Pins::new(&root, "s", &server, &root), files)
    };
    let (pins, files) = of("python3 a.py");
    pins.agree(&files).unwrap();
    let (pins, files) = of("python3 b.py x");
    assert_eq!(pins.doubt(&files), None);
    fs::write(root.join("a.py"), "2").unwrap();
    let (pins, files) = of("python3 a.py x");
    assert_eq!(pins.doubt(&files).unwrap().names(), root.join("a.py").display().to_string());
    pins.agree(&files).unwrap();
    assert_eq!(pins.doubt(&files), None);
    assert_eq!(of("python3 a.py").0.doubt(&files), None);
    // What one description has run is not agreed to for another that was there before.
    assert!(of("python3 a.py").0.doubt(&of("python3 b.py x").1).is_some());
}

#[test]
fn what_cannot_be_read_is_not_taken_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let server = server("x", Scope::User);
    let pins = Pins::new(directory.path(), "s", &server, directory.path());
    pins.agree(&Files::new()).unwrap();
    assert_eq!(pins.doubt(&Files::new()), None);
    fs::write(&pins.path, "{}").unwrap();
    assert!(pins.doubt(&Files::new()).unwrap().unknown.is_some());
    pins.agree(&Files::new()).unwrap();
    assert_eq!(pins.doubt(&Files::new()), None);
}

#[test]
fn a_project_s_server_is_one_of_that_project() {
    let directory = tempfile::tempdir().unwrap();
    let path = |scope: Scope, place: &str| {
        Pins::new(directory.path(), "s", &server("x", scope), Path::new(place)).path
    };
    assert_ne!(path(Scope::Project, "/one"), path(Scope::Project, "/two"));
    assert_eq!(path(Scope::User, "/one"), path(Scope::User, "/two"));
    assert_ne!(path(Scope::User, "/one"), path(Scope::Project, "/one"));
}
