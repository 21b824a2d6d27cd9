//! Attacks that take more than one command, or for which the host does something while one runs: each
//! step alone is harmless, or looks so.

use std::fs;
use std::process::{Child, Stdio};

use super::world::World;
use super::{Door, Place, Rung, each_place, eventually, text};

/// Writes settings that make git run something.
const EVIL: &str =
    "evil() { printf '[core]\\n\\tfsmonitor = \"touch %s/PWNED;false\"\\n' $REAL; };";

/// An attack: what the user has done, the commands, and what the user does then.
struct Rounds {
    id: &'static str,
    before: &'static str,
    commands: &'static [&'static str],
    look: &'static str,
}

const ROUNDS: &[Rounds] = &[
    Rounds {
        id: "a second name of a nested repository's settings",
        before: "true",
        commands: &["git init -q sub && ln sub/.git/config sub/x", "evil >> sub/x"],
        look: "cd sub && git status",
    },
    Rounds {
        id: "a second name that was there before",
        before: "ln .git/config a",
        commands: &["evil >> a"],
        look: "git status",
    },
    Rounds {
        id: "a git directory elsewhere",
        before: "true",
        commands: &["git init -q --separate-git-dir=real sub", "evil >> real/config"],
        look: "cd sub && git status",
    },
    Rounds {
        id: "a git directory where nobody looks",
        before: "mkdir node_modules",
        commands: &[
            "git init -q --separate-git-dir=node_modules/real sub",
            "evil >> node_modules/real/config",
        ],
        look: "cd sub && git status",
    },
    Rounds {
        id: "a bare repository",
        before: "true",
        commands: &[
            "git init -q --bare sub",
            "evil >> sub/config; printf '\\tbare=false\\n\\tworktree = %s\\n' $PWD >> sub/config",
        ],
        look: "cd sub && git status",
    },
    Rounds {
        id: "hooks of a bare repository that had none",
        before: "git init -q --bare sub; rm -rf sub/hooks",
        commands: &[
            "mkdir sub/hooks; printf '#!/bin/sh\\ntouch %s/PWNED\\n' $REAL > sub/hooks/update; \
              chmod +x sub/hooks/update",
        ],
        look: "git push -q sub HEAD:refs/heads/x",
    },
    Rounds {
        id: "a link into what is not searched",
        before: "mkdir docs; echo a > docs/a",
        commands: &[
            "mkdir node_modules; mv docs node_modules/docs; git init -q node_modules/docs; \
              evil >> node_modules/docs/.git/config; ln -s node_modules/docs docs",
        ],
        look: "cd docs && git status",
    },
    Rounds {
        id: "a link into a harmless repository's own folder",
        before: "true",
        commands: &[
            "git init -q sub; git init -q sub/.git/docs; evil >> sub/.git/docs/.git/config; \
              ln -s sub/.git/docs docs",
        ],
        look: "cd docs && git status",
    },
];

#[test]
fn nothing_is_planted_step_by_step() {
    each_place(|user, place| {
        for rounds in ROUNDS {
            let world = World::with_git(user);
            let made = world.plainly(rounds.before);
            assert!(made.status.success(), "{}: {made:?}", rounds.id);
            let mut said = Vec::new();
            for command in rounds.commands {
                said.push(world.confined(place, &format!("{EVIL} {command}")));
            }
            world.plainly(rounds.look);
            let is_held = !world.home.join("PWNED").exists();
            assert!(is_held, "{} {user:?} {place:?}: {said:?}", rounds.id);
        }
    });
}

#[test]
fn the_steps_work_without_walls() {
    for rounds in ROUNDS {
        let world = World::with_git(super::User::Same);
        world.plainly(rounds.before);
        for command in rounds.commands {
            world.plainly(&format!("{EVIL} {command}"));
        }
        let looked = world.plainly(rounds.look);
        assert!(world.home.join("PWNED").exists(), "{} proves nothing: {looked:?}", rounds.id);
    }
}

#[test]
fn repositories_that_were_made_are_of_use_later() {
    const LATER: &str = "git push -q sub HEAD:refs/heads/main && git -C sub log -1 --format=%s main; \
                         git -C real/../tree log -1 2>&1 | head -1";
    each_place(|user, place| {
        let world = World::with_git(user);
        let made = world.confined(
            place,
            "git init -q --bare sub; git init -q --separate-git-dir=real tree; echo made",
        );
        assert_eq!(text(&made), "made\n", "{user:?} {place:?} {made:?}");
        let output = world.confined(place, LATER);
        let said = text(&output);
        assert!(said.starts_with("a\nfatal: your current branch"), "{user:?} {place:?} {output:?}");
        assert!(!world.work.join(".brynhild-quarantine").exists(), "{user:?} {place:?} {output:?}");
    });
}

#[test]
fn what_other_programs_obey_is_found_whatever_its_name() {
    const PLANTED: [&str; 9] = [
        ".dir-locals-2.el",
        ".hg/hgrc",
        ".vs/tasks.vs.json",
        ".nova/Tasks/a.json",
        ".theia/tasks.json",
        ".jj/repo/config.toml",
        ".sl/config",
        ".github/hooks/a.json",
        "a/.hg/hgrc",
    ];
    let script =
        format!("for f in {}; do mkdir -p $(dirname $f); echo x > $f; done", PLANTED.join(" "));
    each_place(|user, place| {
        let world = World::with_git(user);
        world.plainly("mkdir -p b/.hg/store; echo old > b/.hg/hgrc; mkdir -p c/.hg/store");
        world.confined(place, "mkdir -p .github/workflows; echo x > .github/workflows/a.yml");
        let output = world.confined(place, &script);
        for name in PLANTED {
            assert!(!world.work.join(name).exists(), "{name} {user:?} {place:?} {output:?}");
        }
        assert!(world.work.join(".github/workflows/a.yml").exists(), "{user:?} {place:?}");
        world.confined(place, "echo x > b/.hg/store/x; echo x > c/.hg/hgrc; echo x >> b/.hg/hgrc");
        let old = fs::read_to_string(world.work.join("b/.hg/hgrc")).unwrap();
        assert_eq!(old, "old\n", "{user:?} {place:?}");
        assert!(!world.work.join("c/.hg/hgrc").exists(), "{user:?} {place:?}");
        assert!(world.work.join("b/.hg/store/x").exists(), "{user:?} {place:?}");
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
fn a_host_that_takes_the_walls_away_opens_no_protected_name() {
    const PLANT: &str = "echo '{}' > .mcp.json; mkdir -p .claude; echo '{}' > .claude/settings.json; \
                         mkdir -p .git/x; echo x > .envrc";
    each_place(|user, place| {
        let world = World::with_git(user);
        world.plainly("echo old > .envrc; git add .envrc; git commit -qm x");
        let child = waiting(&world, place, PLANT);
        let cleaned = world.plainly("git clean -fdq; touch up");
        assert!(cleaned.status.success(), "{cleaned:?}");
        if place.rung == Rung::Bubblewrap {
            // What an editor does when it saves.
            world.plainly("echo new > .envrc~; mv .envrc~ .envrc");
        }
        fs::write(world.work.join("go"), "").unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        for name in [".mcp.json", ".claude/settings.json"] {
            assert!(!world.work.join(name).exists(), "{name} {user:?} {place:?} {said}");
        }
        let is_told = place.rung == Rung::Landlock || said.contains(".envrc` was replaced");
        assert!(is_told, "{user:?} {place:?} {said}");
    });
}

#[test]
fn one_sandbox_within_another_s_folder_keeps_its_walls() {
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
