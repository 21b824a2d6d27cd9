//! Attacks through files that the host executes or obeys later.

use std::fs;

use contract::sandbox::SandboxError;
use sandbox::Rung;

use crate::rig::{Mode, World, host_shell, rungs};

#[tokio::test]
async fn protected_names_are_neither_created_nor_changed() {
    const SCRIPT: &str = "mkdir -p .git/info && echo '* filter=x' > .git/info/attributes
        for f in .codex/config.toml .claude/settings.json .brynhild/config.yaml .mcp.json \
                 .vscode/settings.json .idea/x.xml .envrc .gitmodules .bashrc; do
            mkdir -p $(dirname $f); echo x > $f
        done; mv .mcp.json other; rm -rf .vscode; ln -s /etc .cursor; echo ok > plain.txt";
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
