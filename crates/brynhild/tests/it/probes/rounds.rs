//! Attacks that take more than one command, or for which the host does something while one runs: each
//! step alone is harmless, or looks so.

use std::fs;
use std::process::{Child, Stdio};

use super::world::World;
use super::{Door, Place, each_place, eventually};

/// A script that makes these files.
fn making(names: &[&str]) -> String {
    format!("for f in {}; do mkdir -p $(dirname $f); echo x > $f; done", names.join(" "))
}

#[test]
fn other_spellings_of_protected_names_are_removed() {
    const PLANTED: [&str; 6] = [
        ".VSCODE/tasks.json",
        ".Claude/settings.json",
        ".vscode./tasks.json",
        ".Mcp.json",
        ".ENVRC",
        "a/.Claude/settings.json",
    ];
    let script = making(&PLANTED);
    each_place(|user, place| {
        let world = World::with_git(user);
        let output = world.confined(place, &script);
        for name in PLANTED {
            assert!(!world.work.join(name).exists(), "{name} {user:?} {place:?} {output:?}");
        }
    });
}

/// A command that goes on when the file `go` is there.
fn waiting(world: &World, place: Place, script: &str) -> Child {
    let script = format!("touch up; until [ -e go ]; do sleep 0.02; done; {script}");
    let mut command = world.command(place, &script);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the command starts", || world.work.join("up").exists());
    child
}

#[test]
fn nested_sandboxes_stay_confined() {
    each_place(|user, place| {
        let world = World::with_git(user);
        world.plainly("git init -q pkg");
        let outer = waiting(&world, place, "true");
        let plant = "touch up; until [ -e go ]; do sleep 0.02; done; echo '{}' > .mcp.json; \
                     mkdir -p .claude; echo x > .claude/settings.json";
        let mut inner = world.command(Place { door: Door::Run, ..place }, plant);
        inner.current_dir(world.work.join("pkg")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let inner = inner.spawn().unwrap();
        eventually("the inner one starts", || world.work.join("pkg/up").exists());
        fs::write(world.work.join("go"), "").unwrap();
        let outer = outer.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&outer.stderr).into_owned();
        assert!(!said.contains("planted"), "{user:?} {place:?} {said}");
        fs::write(world.work.join("pkg/go"), "").unwrap();
        let output = inner.wait_with_output().unwrap();
        for name in [".mcp.json", ".claude/settings.json"] {
            let is_left = world.work.join("pkg").join(name).is_file();
            assert!(!is_left, "{name} {user:?} {place:?} {output:?}");
        }
    });
}
