//! Attacks through files that the host executes or obeys later.

use std::fs;

use contract::sandbox::{Exit, SandboxError};
use sandbox::Backend;

use crate::fixture::{Mode, World, backends, host_shell};

#[tokio::test]
async fn protected_names_are_neither_created_nor_changed() {
    const SCRIPT: &str = "echo ok > plain.txt
        mkdir -p .git/info && echo '* filter=x' > .git/info/attributes
        for f in .codex/config.toml .claude/settings.json .brynhild/config.yaml .mcp.json \
                 .vscode/settings.json .idea/x.xml .envrc .gitmodules .bashrc; do
            mkdir -p $(dirname $f); echo x > $f
        done; mv .mcp.json other; rm -rf .vscode; ln -s /etc .cursor";
    for backend in backends() {
        let world = World::with_git();
        fs::create_dir(world.work.join(".claude")).unwrap();
        fs::write(world.work.join(".claude/settings.json"), "mine").unwrap();
        let output = world.run(Mode::Confined(backend), SCRIPT).await;
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
            assert!(!left(name), "P08-P10 {backend}: {name} {output:?}");
        }
        let mine = fs::read_to_string(world.work.join(".claude/settings.json")).unwrap();
        assert_eq!(mine, "mine", "P09 {backend}");
        assert!(left("plain.txt"), "{backend}: {output:?}");
        if backend == Backend::Bubblewrap {
            let status = host_shell(&world, "git status --porcelain");
            let status = String::from_utf8(status.stdout).unwrap();
            assert_eq!(status, "?? .claude/\n?? other\n?? plain.txt\n", "U16");
        } else {
            assert!(!world.notices.lock().unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn created_tool_settings_are_quarantined() {
    for backend in backends() {
        for name in [".vim/coc-settings.json", ".yarnrc.yml", ".yarnrc", ".pdbrc"] {
            let world = World::with_git();
            let script = format!("mkdir .vim; echo x > {name}");
            let output = world.run(Mode::Confined(backend), &script).await;
            assert!(!world.work.join(name).exists(), "{backend}: {name} {output:?}");
            assert!(!world.notices.lock().unwrap().is_empty(), "{backend}: {name}");
        }
    }
}

#[tokio::test]
async fn restoring_files_follows_no_symlink() {
    for backend in backends() {
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
            let output = world.run(Mode::Confined(backend), change).await;
            assert_eq!(world.surroundings(), before, "{backend}: {change}: {output:?}");
            let quarantine = world.work.join(".brynhild-quarantine");
            let words = host_shell(&world, &format!("grep -rs secret {}", quarantine.display()));
            assert!(words.stdout.is_empty(), "{backend}: {change}");
        }
    }
}

#[tokio::test]
async fn ordinary_changes_are_not_quarantined() {
    let script =
        "for i in 1 2 3 4 5 6 7 8 9; do echo $i > file$i; mv file$i other$i; git status >/dev/null
        done; git log -1 --format=%s; cat .git/config > copy; echo done";
    for backend in backends() {
        let world = World::with_git();
        let output = world.run(Mode::Confined(backend), script).await;
        assert_eq!(output.stdout, "a\ndone\n", "{backend}: {output:?}");
        assert!(world.notices.lock().unwrap().is_empty(), "{backend}");
    }
}

#[tokio::test]
async fn created_bare_repository_is_quarantined() {
    for backend in backends() {
        let world = World::new();
        let script = "mkdir objects refs; echo 'ref: refs/heads/x' > HEAD";
        world.run(Mode::Confined(backend), script).await;
        let notices = world.notices.lock().unwrap().join("\n");
        assert!(notices.contains("HEAD"), "{backend}: {notices}");
        assert!(world.work.join(".brynhild-quarantine/HEAD.1").exists());
    }
}

#[tokio::test]
async fn symlink_at_a_protected_name_is_refused() {
    for backend in backends() {
        let world = World::new();
        std::os::unix::fs::symlink(world.home.join("outside"), world.work.join(".vscode")).unwrap();
        match world.start(Mode::Confined(backend), "true") {
            Err(SandboxError::Refused(words)) => assert!(words.contains(".vscode"), "H1 {words}"),
            other => panic!("H1 {backend}: {:?}", other.map(|_| ())),
        }
    }
}

#[tokio::test]
async fn workspace_symlink_is_resolved() {
    for backend in backends() {
        let mut world = World::new();
        let link = world.base().join("link");
        std::os::unix::fs::symlink(&world.work, &link).unwrap();
        world.profile.workspace.clone_from(&link);
        let mut spawn = world.spawn("echo x > made; pwd -P");
        spawn.cwd = link;
        let child = world.sandbox(Mode::Confined(backend)).start(&spawn, &world.profile).unwrap();
        let output = crate::fixture::collect(child).await;
        assert_eq!(output.stdout.trim(), world.work.to_str().unwrap(), "H2 {backend}");
        assert!(world.work.join("made").exists(), "H2 {backend}: {output:?}");
    }
}

#[tokio::test]
async fn git_works_in_a_linked_worktree_and_cannot_be_redirected() {
    let world = World::with_git();
    let script = "git worktree add -q ../tree && cd ../tree && git status";
    assert!(host_shell(&world, script).status.success());
    let tree = world.home.join("tree");
    for backend in backends() {
        let mut profile = world.profile.clone();
        profile.workspace.clone_from(&tree);
        let mut spawn = world.spawn("git status --porcelain && git log --oneline; echo x > .git");
        spawn.cwd.clone_from(&tree);
        let before = fs::read_to_string(tree.join(".git")).unwrap();
        let child = world.sandbox(Mode::Confined(backend)).start(&spawn, &profile).unwrap();
        let output = crate::fixture::collect(child).await;
        assert!(output.stdout.contains(" a\n"), "H6 {backend}: {output:?}");
        assert_eq!(fs::read_to_string(tree.join(".git")).unwrap(), before, "H6 {backend}");
    }
}

#[tokio::test]
async fn the_git_file_of_a_submodule_stays() {
    for backend in backends() {
        let world = World::with_git();
        let script =
            "git -c protocol.file.allow=always submodule add -q $W sub && git commit -qm s";
        let made = host_shell(&world, script);
        assert!(made.status.success(), "{made:?}");
        let before = fs::read_to_string(world.work.join("sub/.git")).unwrap();
        let attack =
            "git -C sub status --porcelain; mv sub/.git x; echo 'gitdir: ../ev' > sub/.git";
        world.run(Mode::Confined(backend), attack).await;
        let after = fs::read_to_string(world.work.join("sub/.git")).unwrap();
        assert_eq!(after, before, "H6 {backend}");
    }
}

#[tokio::test]
async fn uninitialized_submodule_takes_no_repository() {
    for backend in backends() {
        let world = World::with_git();
        let script = "git -c protocol.file.allow=always submodule add -q $W libs/sub && git commit \
                      -qm s && git submodule deinit -f libs/sub";
        let made = host_shell(&world, script);
        assert!(made.status.success(), "{made:?}");
        let look =
            "git status --porcelain && git diff --stat && git submodule status && ls -A libs/sub";
        let output = world.run(Mode::Confined(backend), look).await;
        assert_eq!(output.exit, Exit::Code(0), "{backend}: {output:?}");
        // Meanwhile the user's own git works too.
        let mut child = world.start(Mode::Confined(backend), "tail -f /dev/null").unwrap();
        let beside = host_shell(&world, "git status --porcelain");
        assert!(beside.status.success(), "{backend}: {beside:?}");
        child.process.kill();
        child.process.wait().await.unwrap();
        let attack = "git init -q libs/sub; git -C libs/sub config core.fsmonitor 'touch x'";
        world.run(Mode::Confined(backend), attack).await;
        assert!(!world.work.join("libs/sub/.git").exists(), "{backend}");
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
async fn closed_directories_hide_no_repository() {
    let evil = "mkdir evil; git init -q evil; git -C evil config core.fsmonitor 'touch x; false'";
    let hook = "mkdir evil; git init -q evil; mkdir -p evil/.git/hooks
        echo 'touch x' > evil/.git/hooks/post-index-change; chmod 311 evil/.git/hooks";
    let hidden = HIDDEN.map(|hide| format!("{evil}; {hide}"));
    for backend in backends() {
        for script in hidden.iter().map(String::as_str).chain([hook]) {
            let world = World::with_git();
            let output = world.run(Mode::Confined(backend), script).await;
            let left = "chmod -R u+rwX .; find . -path './.brynhild*' -prune -o -name .git -print";
            let left = host_shell(&world, left);
            let left = String::from_utf8_lossy(&left.stdout);
            assert_eq!(left, "./.git\n", "{backend}: {script}: {output:?}");
            let notices = world.notices.lock().unwrap().join("\n");
            assert!(notices.contains("moved to"), "{backend}: {script}: {notices}");
        }
    }
}

/// One command prepares it in an unsearched directory, the next one moves it.
#[tokio::test]
async fn moves_from_unsearched_directories_are_quarantined() {
    let prepare = "mkdir -p node_modules/e/.vscode gh/hooks; echo x > node_modules/e/.vscode/x
        echo x > gh/hooks/a.json; echo x > node_modules/e/.mcp.json; git init -q node_modules/e
        git -C node_modules/e config core.fsmonitor 'touch x; false'";
    for backend in backends() {
        let world = World::with_git();
        let own = "mkdir -p many own/.zed; echo x > own/.zed/x; cd many; touch $(seq 4000)";
        assert!(host_shell(&world, own).status.success());
        world.run(Mode::Confined(backend), prepare).await;
        let output = world
            .run(Mode::Confined(backend), "mv node_modules/e e; mv gh .github; echo x > own/x");
        let output = output.await;
        let is_there = |name: &str| world.work.join(name).exists();
        for name in ["e/.git", "e/.vscode", "e/.mcp.json", ".github/hooks"] {
            assert!(!is_there(name), "{backend}: {name}: {output:?}");
        }
        assert!(is_there("e") && is_there("own/.zed/x"), "{backend}: {output:?}");
    }
}

#[tokio::test]
async fn closed_directories_of_the_user_stay_closed() {
    for backend in backends() {
        let world = World::with_git();
        assert!(host_shell(&world, "mkdir mine; touch mine/x; chmod 000 mine").status.success());
        let output = world.run(Mode::Confined(backend), "echo x > made; ls mine").await;
        assert!(world.notices.lock().unwrap().is_empty(), "{backend}: {output:?}");
        let mode = host_shell(&world, "stat -c %a mine; chmod 700 mine");
        assert_eq!(String::from_utf8_lossy(&mode.stdout), "0\n", "{backend}");
    }
}
