//! Attacks that take more than one command, or for which the host does something while one runs: each
//! step alone is harmless, or looks so.

use std::fs;
use std::process::{Child, Output, Stdio};

use super::world::World;
use super::{Door, Place, Rung, each_place, eventually, text};

/// Writes settings that make git run something.
const EVIL: &str =
    "evil() { printf '[core]\\n\\tfsmonitor = \"touch %s/PWNED;false\"\\n' $REAL; };";

/// Writes a program that the user's git would run.
const PROGRAM: &str = "program() { mkdir -p $(dirname $1); printf '#!/bin/sh\\ntouch %s/PWNED\\n' $REAL > $1; \
     chmod +x $1; };";

/// Makes the workspace a linked worktree of a repository elsewhere.
macro_rules! linked {
    ($then:literal) => {
        concat!(
            "git clone -q . $REAL/main; git -C $REAL/main worktree add -q $REAL/wt; rm -rf .git; \
             mv $REAL/wt/.git .git; echo $W/.git > $REAL/main/.git/worktrees/wt/gitdir; \
             git config user.name a; git config user.email b; git status; ",
            $then
        )
    };
}

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
    Rounds {
        id: "hooks of a linked worktree",
        before: linked!("git config core.hooksPath .husky; mkdir .husky; echo > .husky/pre-commit"),
        commands: &["program .husky/pre-commit"],
        look: "git commit -q --allow-empty -m x",
    },
    Rounds {
        id: "hooks of a linked worktree that has none yet",
        before: linked!("git config core.hooksPath hk"),
        commands: &["program hk/pre-commit"],
        look: "git commit -q --allow-empty -m x",
    },
    Rounds {
        id: "a program of a linked worktree",
        before: linked!(
            "git config core.fsmonitor ./mon.sh; printf '#!/bin/sh\\n' > mon.sh; chmod +x mon.sh"
        ),
        commands: &["program mon.sh"],
        look: "git status",
    },
    Rounds {
        id: "hooks of a nested repository",
        before: "git init -q n; git -C n config core.hooksPath hk",
        commands: &["program n/hk/pre-commit"],
        look: "cd n; git -c user.name=a -c user.email=b commit -q --allow-empty -m x",
    },
    Rounds {
        id: "a program of a nested repository",
        before: "git init -q n; git -C n config core.fsmonitor ./mon.sh; printf '#!/bin/sh\\n' > n/mon.sh; \
                 chmod +x n/mon.sh",
        commands: &["program n/mon.sh"],
        look: "cd n && git status",
    },
    Rounds {
        id: "a program of a nested repository that is not there yet",
        before: "git init -q n; git -C n config core.fsmonitor ./mon.sh",
        commands: &["program n/mon.sh"],
        look: "cd n && git status",
    },
    Rounds {
        id: "settings that a nested repository includes",
        before: "git init -q n; git -C n config include.path ../../inc",
        commands: &["evil > inc"],
        look: "cd n && git status",
    },
    Rounds {
        id: "settings that a deep repository among many files includes",
        before: "mkdir 0; for i in $(seq 4000); do : > 0/f$i; done; mkdir -p 1/2/3/4/5/6; \
                 git init -q 1/2/3/4/5/6/n; git -C 1/2/3/4/5/6/n config core.hooksPath hk; \
                 mkdir 1/2/3/4/5/6/n/hk; echo > 1/2/3/4/5/6/n/hk/pre-commit",
        commands: &["program 1/2/3/4/5/6/n/hk/pre-commit"],
        look: "cd 1/2/3/4/5/6/n; git -c user.name=a -c user.email=b commit -q --allow-empty -m x",
    },
    Rounds {
        id: "hooks of a worktree within the workspace",
        before: "git config core.hooksPath .husky; git worktree add -q .worktrees/x",
        commands: &["program .worktrees/x/.husky/pre-commit"],
        look: "cd .worktrees/x && git commit -q --allow-empty -m x",
    },
    Rounds {
        id: "the repository of git in Jujutsu's folder",
        before: "mkdir -p .jj/repo/store; git init -q --bare .jj/repo/store/git; \
                 printf git > .jj/repo/store/git_target",
        commands: &["evil >> .jj/repo/store/git/config"],
        look: "git --git-dir=.jj/repo/store/git --work-tree=. status",
    },
    Rounds {
        id: "a repository of git that Jujutsu's folder is led to",
        before: "mkdir -p .jj/repo/store; git init -q --bare .jj/repo/store/git; \
                 printf git > .jj/repo/store/git_target",
        commands: &[
            "mkdir node_modules; git init -q --bare node_modules/x; evil >> node_modules/x/config; \
             printf ../../../node_modules/x > .jj/repo/store/git_target",
        ],
        look: "git --git-dir=.jj/repo/store/$(cat .jj/repo/store/git_target) --work-tree=. status",
    },
    Rounds {
        id: "the repository of git in Sapling's folder",
        before: "mkdir -p a/.sl/store; git init -q --bare a/.sl/store/git",
        commands: &["evil >> a/.sl/store/git/config"],
        look: "git --git-dir=a/.sl/store/git --work-tree=. status",
    },
    Rounds {
        id: "a second name of a hook beside very many protected files",
        before: "mkdir -p .claude/worktrees/w; (cd .claude/worktrees/w; seq 21000 | xargs touch); \
                 echo > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; ln .git/hooks/pre-commit b",
        commands: &["printf '#!/bin/sh\\ntouch %s/PWNED\\n' $REAL > b"],
        look: "git commit -q --allow-empty -m x",
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
                said.push(world.confined(place, &format!("{EVIL} {PROGRAM} {command}")));
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
            world.plainly(&format!("{EVIL} {PROGRAM} {command}"));
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

/// A script that makes these files.
fn making(names: &[&str]) -> String {
    format!("for f in {}; do mkdir -p $(dirname $f); echo x > $f; done", names.join(" "))
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
    let script = making(&PLANTED);
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

#[test]
fn other_spellings_of_protected_names_stay_nowhere() {
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

/// What the tool says that writes a file.
fn write(world: &World, place: Place, name: &str) -> Output {
    let input = format!("{{\"file_path\":\"{name}\",\"content\":\"x\"}}");
    let words = ["--mode", "yolo", "tools", "exec", "Write", "--input", &input];
    world.program(place.rung, &words.map(str::to_owned)).output().unwrap()
}

#[test]
fn what_the_user_s_shell_loads_before_a_prompt_is_kept() {
    const PLANTED: [&str; 6] = [
        "mise.local.toml",
        ".mise/config.toml",
        ".config/mise/conf.d/a.toml",
        ".envrc.local",
        "a/mise.toml",
        "scripts/new",
    ];
    each_place(|user, place| {
        let world = World::with_git(user);
        let text = "source ./scripts/env\\n. ./scripts/new\\n";
        world.plainly(&format!("mkdir scripts; echo old > scripts/env; printf '{text}' > .envrc"));
        let mut output = vec![world.confined(place, &making(&PLANTED))];
        output.push(world.confined(place, "echo evil > scripts/env"));
        for name in PLANTED {
            assert!(!world.work.join(name).exists(), "{name} {user:?} {place:?} {output:?}");
        }
        let old = fs::read_to_string(world.work.join("scripts/env")).unwrap();
        assert_eq!(old, "old\n", "{user:?} {place:?}");
        let output = write(&world, place, "scripts/new");
        assert!(!output.status.success(), "{user:?} {place:?} {output:?}");
        assert!(!world.work.join("scripts/new").exists(), "{user:?} {place:?}");
        let output = write(&world, place, "scripts/other");
        assert!(world.work.join("scripts/other").exists(), "{user:?} {place:?} {output:?}");
    });
}

#[test]
fn packages_that_were_linked_from_a_store_stop_no_work_and_landlock_says_what_it_needs() {
    each_place(|user, place| {
        let world = World::with_git(user);
        let made = world.plainly(
            "d=.claude/worktrees/w/node_modules; mkdir -p $d $REAL/store; for i in $(seq 70); do \
             truncate -s 1M $REAL/store/$i; ln $REAL/store/$i $d/$i; done",
        );
        assert!(made.status.success(), "{made:?}");
        let output = world.confined(place, "echo ran");
        let said = (output.status.code(), text(&output));
        match place.rung {
            Rung::Bubblewrap => assert_eq!(said, (Some(0), "ran\n".into()), "{user:?} {output:?}"),
            Rung::Landlock => {
                assert_eq!(said, (Some(4), String::new()), "{user:?} {output:?}");
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(why.contains("with bubblewrap it would get one"), "{user:?} {why}");
            }
        }
    });
}

#[test]
fn beside_a_hook_of_very_many_words_nothing_runs_and_it_is_said_at_once() {
    each_place(|user, place| {
        let world = World::with_git(user);
        world.plainly(
            "git config core.hooksPath .husky; mkdir .husky; \
             for i in $(seq 10); do echo cd d$i; done > .husky/pre-commit; \
             seq 90000 | sed 's/.*/.\\/s&\\/x/' >> .husky/pre-commit",
        );
        let output = world.confined(place, "echo ran");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("more files than can be looked at"), "{user:?} {place:?} {said}");
        assert_eq!((output.status.code(), text(&output).as_str()), (Some(4), ""), "{place:?}");
    });
}

#[test]
fn no_tool_writes_what_the_settings_of_repositories_lead_to() {
    const BEFORE: &str = "git init -q n; git -C n config core.hooksPath hk; \
        git -C n config core.fsmonitor ./mon.sh; git -C n config include.path ../../inc; \
        git clone -q . $REAL/main; git -C $REAL/main config core.hooksPath .husky; \
        git -C $REAL/main worktree add -q $W/wt";
    each_place(|user, place| {
        let world = World::with_git(user);
        let made = world.plainly(BEFORE);
        assert!(made.status.success(), "{made:?}");
        let is_written = |name: &str| {
            write(&world, place, name);
            world.work.join(name).exists()
        };
        for name in ["n/hk/pre-commit", "n/mon.sh", "inc", "wt/.husky/pre-commit"] {
            assert!(!is_written(name), "{name} {user:?} {place:?}");
        }
        for name in ["n/src/a", "hk/pre-commit", ".husky/pre-commit"] {
            assert!(is_written(name), "{name} {user:?} {place:?}");
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
