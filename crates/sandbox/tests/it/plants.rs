//! Attacks through files that the host executes or obeys later.

use std::fs;
use std::time::Duration;

use contract::sandbox::{Exit, SandboxError};
use sandbox::Rung;

use crate::rig::{Mode, World, host_shell, rungs};

#[tokio::test]
async fn protected_names_are_neither_created_nor_changed() {
    const SCRIPT: &str = "echo ok > plain.txt
        mkdir -p .git/info && echo '* filter=x' > .git/info/attributes
        for f in .codex/config.toml .claude/settings.json .brynhild/config.yaml .mcp.json \
                 .vscode/settings.json .idea/x.xml .envrc .gitmodules .bashrc; do
            mkdir -p $(dirname $f); echo x > $f
        done; mv .mcp.json other; rm -rf .vscode; ln -s /etc .cursor";
    for rung in rungs() {
        let world = World::with_git();
        fs::create_dir(world.work.join(".claude")).unwrap();
        fs::write(world.work.join(".claude/settings.json"), "mine").unwrap();
        let output = world.run(Mode::Confined(rung), SCRIPT).await;
        let left = |name: &str| fs::symlink_metadata(world.work.join(name)).is_ok();
        for name in [
            ".git/info/attributes",
            ".codex",
            ".brynhild",
            ".mcp.json",
            ".vscode",
            ".idea",
            ".envrc",
            ".gitmodules",
            ".bashrc",
            ".cursor",
        ] {
            assert!(!left(name), "P08-P10 {rung}: {name} {output:?}");
        }
        let mine = fs::read_to_string(world.work.join(".claude/settings.json")).unwrap();
        assert_eq!(mine, "mine", "P09 {rung}");
        assert!(left("plain.txt"), "{rung}: {output:?}");
        if rung == Rung::Bubblewrap {
            let status = host_shell(&world, "git status --porcelain");
            let status = String::from_utf8(status.stdout).unwrap();
            assert_eq!(status, "?? .claude/\n?? plain.txt\n", "U16");
        } else {
            assert!(!world.notices.lock().unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn what_names_a_program_to_an_editor_debugger_or_package_manager_is_put_away() {
    for rung in rungs() {
        for name in [".vim/coc-settings.json", ".yarnrc.yml", ".yarnrc", ".pdbrc"] {
            let world = World::with_git();
            let script = format!("mkdir .vim; echo x > {name}");
            let output = world.run(Mode::Confined(rung), &script).await;
            assert!(!world.work.join(name).exists(), "{rung}: {name} {output:?}");
            assert!(!world.notices.lock().unwrap().is_empty(), "{rung}: {name}");
        }
    }
}

/// Changes that would outlast the look at them, if nobody looked before the command ends.
const LASTING: [&str; 6] = [
    "echo x > .envrc",
    "mkdir .vscode",
    "echo x >> .git/config",
    "echo x > new && mv new .git/hooks/pre-commit",
    "mv .git elsewhere",
    "/usr/bin/python3 -c '
import mmap, time
file = open(\".git/config\", \"r+b\")
memory = mmap.mmap(file.fileno(), 0)
time.sleep(0.1)
memory[0:1] = b\"#\"
time.sleep(600)'",
];

#[tokio::test]
async fn what_landlock_cannot_refuse_ends_the_command_at_once() {
    if !rungs().contains(&Rung::Landlock) {
        return;
    }
    for change in LASTING {
        let world = World::with_git();
        let before = fs::read(world.work.join(".git/config")).unwrap();
        let script = format!("{change}; sleep 600; touch later");
        let output = world.run(Mode::Confined(Rung::Landlock), &script).await;
        assert_eq!(output.exit, Exit::Signal(9), "{change}: {output:?}");
        assert!(output.stderr.contains("the command was ended, because"), "{change}: {output:?}");
        assert!(!world.work.join("later").exists(), "{change}");
        for planted in [".envrc", ".vscode", ".git/hooks/pre-commit"] {
            assert!(!world.work.join(planted).exists(), "{change}");
        }
        assert_eq!(fs::read(world.work.join(".git/config")).unwrap(), before, "{change}");
    }
}

#[tokio::test]
async fn what_is_undone_is_never_undone_through_a_link() {
    for rung in rungs() {
        for change in [
            "rm -rf .git; ln -s $REAL/outside .git",
            "rm -rf .git/info; ln -s $REAL/outside .git/info",
            "rm -rf .git/objects; mkdir .git/objects; ln -s $REAL/outside .git/objects/info",
        ] {
            let world = World::with_git();
            for name in ["config", "attributes", "alternates"] {
                fs::write(world.home.join("outside").join(name), "secret").unwrap();
            }
            fs::create_dir_all(world.work.join(".git/info")).unwrap();
            fs::write(world.work.join(".git/info/attributes"), "mine").unwrap();
            let before = world.surroundings();
            let output = world.run(Mode::Confined(rung), change).await;
            assert_eq!(world.surroundings(), before, "{rung}: {change}: {output:?}");
            let attributes = fs::read(world.work.join(".git/info/attributes"));
            assert_eq!(attributes.ok().as_deref(), Some(&b"mine"[..]), "{rung}: {change}");
            let quarantine = world.work.join(".brynhild-quarantine");
            let words = host_shell(&world, &format!("grep -rs secret {}", quarantine.display()));
            assert!(words.stdout.is_empty(), "{rung}: {change}");
        }
    }
}

#[tokio::test]
async fn what_leaves_protected_names_alone_is_left_alone() {
    let script =
        "for i in 1 2 3 4 5 6 7 8 9; do echo $i > file$i; mv file$i other$i; git status >/dev/null
        done; git log -1 --format=%s; cat .git/config > copy; sleep 0.6; echo done";
    for rung in rungs() {
        let world = World::with_git();
        let output = world.run(Mode::Confined(rung), script).await;
        assert_eq!(output.stdout, "a\ndone\n", "{rung}: {output:?}");
        assert!(world.notices.lock().unwrap().is_empty(), "{rung}");
    }
}

#[tokio::test]
async fn a_planted_repository_is_reported() {
    for rung in rungs() {
        let world = World::new();
        let script = "mkdir objects refs; echo 'ref: refs/heads/x' > HEAD";
        world.run(Mode::Confined(rung), script).await;
        let notices = world.notices.lock().unwrap().join("\n");
        assert!(notices.contains("HEAD"), "{rung}: {notices}");
        assert!(world.work.join(".brynhild-quarantine/HEAD.1").exists());
    }
}

#[tokio::test]
async fn a_link_at_a_protected_name_is_refused() {
    for rung in rungs() {
        let world = World::new();
        std::os::unix::fs::symlink(world.home.join("outside"), world.work.join(".vscode")).unwrap();
        match world.start(Mode::Confined(rung), "true") {
            Err(SandboxError::Refused(words)) => assert!(words.contains(".vscode"), "H1 {words}"),
            other => panic!("H1 {rung}: {:?}", other.map(|_| ())),
        }
    }
}

#[tokio::test]
async fn a_workspace_that_is_a_link_is_its_target() {
    for rung in rungs() {
        let mut world = World::new();
        let link = world.base().join("link");
        std::os::unix::fs::symlink(&world.work, &link).unwrap();
        world.profile.workspace.clone_from(&link);
        let mut spawn = world.spawn("echo x > made; pwd -P");
        spawn.cwd = link;
        let child = world.sandbox(Mode::Confined(rung)).start(&spawn, &world.profile).unwrap();
        let output = crate::rig::collect(child).await;
        assert_eq!(output.stdout.trim(), world.work.to_str().unwrap(), "H2 {rung}");
        assert!(world.work.join("made").exists(), "H2 {rung}: {output:?}");
    }
}

#[tokio::test]
async fn git_works_in_a_linked_worktree_and_cannot_be_redirected() {
    let world = World::with_git();
    let script = "git worktree add -q ../tree && cd ../tree && git status";
    assert!(host_shell(&world, script).status.success());
    let tree = world.home.join("tree");
    for rung in rungs() {
        let mut profile = world.profile.clone();
        profile.workspace.clone_from(&tree);
        let mut spawn = world.spawn("git status --porcelain && git log --oneline; echo x > .git");
        spawn.cwd.clone_from(&tree);
        let before = fs::read_to_string(tree.join(".git")).unwrap();
        let child = world.sandbox(Mode::Confined(rung)).start(&spawn, &profile).unwrap();
        let output = crate::rig::collect(child).await;
        assert!(output.stdout.contains(" a\n"), "H6 {rung}: {output:?}");
        assert_eq!(fs::read_to_string(tree.join(".git")).unwrap(), before, "H6 {rung}");
    }
}

#[tokio::test]
async fn a_planted_partial_clone_that_would_make_git_reach_out_does_not_stay() {
    let script = "git init -q plain && git init -q x && git -C x config remote.o.promisor true &&
        git -C x config remote.o.url http://127.0.0.1:1/x &&
        git -C x config core.repositoryformatversion 1 &&
        git -C x config extensions.partialclone o";
    for rung in rungs() {
        let world = World::with_git();
        let output = world.run(Mode::Confined(rung), script).await;
        let is_there = |name: &str| world.work.join(name).exists();
        assert!(is_there("plain/.git") && !is_there("x/.git"), "{rung}: {output:?}");
        let notices = world.notices.lock().unwrap().join("\n");
        assert!(notices.contains("moved to"), "{rung}: {notices}");
    }
}

#[tokio::test]
async fn the_git_file_of_a_submodule_stays() {
    for rung in rungs() {
        let world = World::with_git();
        let script =
            "git -c protocol.file.allow=always submodule add -q $W sub && git commit -qm s";
        let made = host_shell(&world, script);
        assert!(made.status.success(), "{made:?}");
        let before = fs::read_to_string(world.work.join("sub/.git")).unwrap();
        let attack =
            "git -C sub status --porcelain; mv sub/.git x; echo 'gitdir: ../ev' > sub/.git";
        world.run(Mode::Confined(rung), attack).await;
        let after = fs::read_to_string(world.work.join("sub/.git")).unwrap();
        assert_eq!(after, before, "H6 {rung}");
    }
}

#[tokio::test]
async fn a_submodule_that_is_not_checked_out_breaks_no_git_and_takes_no_repository() {
    for rung in rungs() {
        let world = World::with_git();
        let script = "git -c protocol.file.allow=always submodule add -q $W libs/sub && git commit \
                      -qm s && git submodule deinit -f libs/sub";
        let made = host_shell(&world, script);
        assert!(made.status.success(), "{made:?}");
        let look =
            "git status --porcelain && git diff --stat && git submodule status && ls -A libs/sub";
        let output = world.run(Mode::Confined(rung), look).await;
        assert_eq!(output.exit, Exit::Code(0), "{rung}: {output:?}");
        // Meanwhile the person's own git works too.
        let mut child = world.start(Mode::Confined(rung), "tail -f /dev/null").unwrap();
        let beside = host_shell(&world, "git status --porcelain");
        assert!(beside.status.success(), "{rung}: {beside:?}");
        child.process.kill();
        child.process.wait().await.unwrap();
        let attack = "git init -q libs/sub; git -C libs/sub config core.fsmonitor 'touch x'";
        world.run(Mode::Confined(rung), attack).await;
        assert!(!world.work.join("libs/sub/.git").exists(), "{rung}");
    }
}

/// Ways to hide from the owner's own eyes a repository that runs something.
const HIDDEN: [&str; 11] = [
    "chmod 311 evil",
    "chmod 000 evil",
    "chmod 444 evil",
    "chmod 311 evil/.git",
    "mkdir over; mv evil over/evil; chmod 444 over over/evil",
    // Nor does one stay because it cannot be moved away.
    "chmod 555 evil",
    "chmod 555 evil evil/.git",
    "mkdir .brynhild-quarantine; chmod 555 .brynhild-quarantine",
    "mkdir .brynhild-quarantine; chmod 000 .brynhild-quarantine; chmod 555 evil .",
    "chmod 555 evil .",
    "d=$(printf %0200d 1); mkdir -p $d/$d; mv evil $d/$d",
];

#[tokio::test]
async fn closed_folders_hide_no_repository() {
    let evil = "mkdir evil; git init -q evil; git -C evil config core.fsmonitor 'touch x; false'";
    let hook = "mkdir evil; git init -q evil; mkdir -p evil/.git/hooks
        echo 'touch x' > evil/.git/hooks/post-index-change; chmod 311 evil/.git/hooks";
    let hidden = HIDDEN.map(|hide| format!("{evil}; {hide}"));
    for rung in rungs() {
        for script in hidden.iter().map(String::as_str).chain([hook]) {
            let world = World::with_git();
            let output = world.run(Mode::Confined(rung), script).await;
            let left = "chmod -R u+rwX .; find . -path './.brynhild*' -prune -o -name .git -print";
            let left = host_shell(&world, left);
            let left = String::from_utf8_lossy(&left.stdout);
            assert_eq!(left, "./.git\n", "{rung}: {script}: {output:?}");
            let notices = world.notices.lock().unwrap().join("\n");
            assert!(notices.contains("moved to"), "{rung}: {script}: {notices}");
        }
    }
}

/// One command prepares it where nobody looks, the next one moves it.
#[tokio::test]
async fn in_a_large_project_nothing_comes_out_of_a_folder_that_is_not_searched() {
    let prepare = "mkdir -p node_modules/e/.vscode gh/hooks; echo x > node_modules/e/.vscode/x
        echo x > gh/hooks/a.json; echo x > node_modules/e/.mcp.json; git init -q node_modules/e
        git -C node_modules/e config core.fsmonitor 'touch x; false'";
    for rung in rungs() {
        let world = World::with_git();
        let own = "mkdir -p many own/.zed; echo x > own/.zed/x; cd many; touch $(seq 4000)";
        assert!(host_shell(&world, own).status.success());
        world.run(Mode::Confined(rung), prepare).await;
        let output =
            world.run(Mode::Confined(rung), "mv node_modules/e e; mv gh .github; echo x > own/x");
        let output = output.await;
        let is_there = |name: &str| world.work.join(name).exists();
        for name in ["e/.git", "e/.vscode", "e/.mcp.json", ".github/hooks"] {
            assert!(!is_there(name), "{rung}: {name}: {output:?}");
        }
        assert!(is_there("e") && is_there("own/.zed/x"), "{rung}: {output:?}");
    }
}

#[tokio::test]
async fn closed_folders_of_the_user_stay_closed() {
    for rung in rungs() {
        let world = World::with_git();
        assert!(host_shell(&world, "mkdir mine; touch mine/x; chmod 000 mine").status.success());
        let output = world.run(Mode::Confined(rung), "echo x > made; ls mine").await;
        assert!(world.notices.lock().unwrap().is_empty(), "{rung}: {output:?}");
        let mode = host_shell(&world, "stat -c %a mine; chmod 700 mine");
        assert_eq!(String::from_utf8_lossy(&mode.stdout), "0\n", "{rung}");
    }
}

/// A drop box can be entered and not listed, so that what lies in it could be obeyed.
#[tokio::test]
async fn folders_that_were_looked_through_have_the_rights_they_had() {
    let own = "mkdir -p drop/in/repo; git init -q drop/in/repo
        git -C drop/in/repo config core.fsmonitor 'touch x; false'; mkdir -p drop/open
        chmod 311 drop/in drop";
    let script = "mkdir made; chmod 000 made; git init -q drop/open
        git -C drop/open config core.fsmonitor 'touch x; false'";
    for rung in rungs() {
        let world = World::with_git();
        assert!(host_shell(&world, own).status.success());
        // Until the clock tells what was made before from what comes now.
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_millis(50) {
            std::thread::yield_now();
        }
        let output = world.run(Mode::Confined(rung), script).await;
        let found =
            "stat -c %a drop drop/in made; chmod -R u+rwX .; ls -d drop/*/.git drop/*/*/.git";
        let found = host_shell(&world, found);
        let found = String::from_utf8_lossy(&found.stdout);
        assert_eq!(found, "311\n311\n0\ndrop/in/repo/.git\n", "{rung}: {output:?}");
        let notices = world.notices.lock().unwrap().join("\n");
        assert!(notices.contains("drop/open/.git"), "{rung}: {notices}");
    }
}

/// What the person has, what the command does, what is named there, and what goes.
const BEHIND_LINKS: [(&str, &str, &str, &str); 6] = [
    (
        "hook scripts/check.sh",
        "mkdir s2; ln -s s2 scripts; echo x > s2/check.sh",
        "scripts/check.sh",
        "scripts",
    ),
    (
        "hook scripts/check.sh; mkdir scripts; echo 1 > scripts/other",
        "mv scripts s2; ln -s s2 scripts; echo x > s2/check.sh",
        "scripts/check.sh",
        "scripts",
    ),
    // Links that were there stay, and so does what was there before behind others.
    (
        "hook scripts/check.sh; mkdir s3; ln -s s3 s2; ln -s s2 scripts",
        "echo x > s3/check.sh",
        "scripts/check.sh",
        "s3/check.sh",
    ),
    (
        "hook scripts/check.sh; mkdir s3; echo x > s3/check.sh; ln -s s2 scripts",
        "ln -s s3 s2",
        "scripts/check.sh",
        "s2",
    ),
    (
        "echo '[ -f local/env.sh ] && . local/env.sh' > .envrc",
        "mkdir l2; ln -s l2 local; echo x > l2/env.sh",
        "local/env.sh",
        "local",
    ),
    (
        "git config core.fsmonitor tools/fsm; mkdir ../outside/t; echo x > ../outside/t/fsm",
        "ln -s ../outside/t tools",
        "tools/fsm",
        "tools",
    ),
];

/// Returns once the file system's clock surely tells what comes from what was there.
fn pass_time() {
    let now = || tempfile::tempfile().unwrap().metadata().unwrap().modified().unwrap();
    let begun = now();
    while now() < begun + Duration::from_millis(40) {
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn what_is_planted_behind_a_link_on_the_way_is_put_away() {
    const HOOK: &str = "hook() { printf '#!/bin/sh\nsh %s\n' $1 > .git/hooks/pre-commit; }";
    for rung in rungs() {
        for (before, change, named, moved) in BEHIND_LINKS {
            let world = World::with_git();
            let made = host_shell(&world, &format!("{HOOK}\n{before}"));
            assert!(made.status.success(), "{before}: {made:?}");
            pass_time();
            let output = world.run(Mode::Confined(rung), change).await;
            let notices = world.notices.lock().unwrap().join("\n");
            assert!(!world.work.join(named).exists(), "{rung}: {change}: {notices} {output:?}");
            let is_there = fs::symlink_metadata(world.work.join(moved)).is_ok();
            assert!(!is_there && notices.contains(&format!("{moved}`")), "{rung}: {notices}");
            assert!(!notices.contains("could not"), "{rung}: {change}: {notices}");
        }
    }
}

#[tokio::test]
async fn what_a_protected_name_further_down_leads_to_is_kept_too() {
    const BEFORE: &str = "mkdir sub vs; ln -s ../vs sub/.vscode; echo mine > vs/tasks.json
        ln -s e sub/.envrc; echo mine > sub/e; ln -s ../m sub/.mcp.json";
    // Landlock ends the command as soon as it does what cannot be refused.
    const CHANGE: &str = "for f in plain vs/tasks.json sub/e m; do echo evil > $f; done";
    for rung in rungs() {
        let world = World::with_git();
        assert!(host_shell(&world, BEFORE).status.success());
        let output = world.run(Mode::Confined(rung), CHANGE).await;
        let read = |name: &str| fs::read_to_string(world.work.join(name)).unwrap_or_default();
        let found = ["vs/tasks.json", "sub/e", "m", "plain"].map(read);
        assert_eq!(found, ["mine\n", "mine\n", "", "evil\n"], "{rung}: {output:?}");
        // Of all that lies around a link nobody can tell what is obeyed.
        assert!(host_shell(&world, "ln -s .. sub/.claude").status.success());
        let refused = world.start(Mode::Confined(rung), "true").err().unwrap().to_string();
        assert!(refused.contains("is a link to a folder that it lies in"), "{refused}");
    }
}
