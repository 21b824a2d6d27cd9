//! The installed git in the sandbox, and the files that a command finds.

use std::fs;
use std::path::PathBuf;

use contract::sandbox::{Access, Blocked, Exit, Network};
use sandbox::Backend;
use tokio::io::AsyncReadExt;

use crate::fixture::{Mode, World, backends, collect, has_bubblewrap, host_shell};

const COMMANDS: [&str; 14] = [
    "echo two > b && git add -A && git commit -qm two",
    "git switch -qc topic && echo t > t && git add t && git commit -qm topic",
    "git checkout -q main && echo m > m && git add m && git commit -qm m && git merge -q topic -m merge",
    "echo x >> a.txt && git stash -q && git stash pop -q && git checkout -q a.txt",
    "git switch -qc side HEAD~1 && echo s > s && git add s && git commit -qm s && git rebase -q main",
    "git switch -q main && git branch -qD side && git branch -qd topic",
    "git tag v1 && git tag -m two v2",
    "git worktree add -q tree && git -C tree log -1 --format=%s && git worktree remove tree",
    "git reset -q --soft HEAD~1 && git commit -qm again",
    "git restore --staged . && git gc -q",
    "git push -q backup main",
    "git fetch -q backup && git switch -qc far backup/main",
    "git switch -q main && git branch -D far && git checkout -q elsewhere",
    "git push -u backup elsewhere",
];

/// The settings that the program generates for commands.
fn with_generated_config(world: &mut World) {
    let (home, work) = (world.home.clone(), world.work.clone());
    let global = sandbox::git_global(Some(&home), &world.profile.env, &world.state(), &[work]);
    let global = global.unwrap();
    world.profile.env.extend(global.env);
    world.profile.read.push(global.directory);
}

#[tokio::test]
async fn git_commands_succeed_in_the_sandbox() {
    for backend in backends() {
        let mut world = World::with_git();
        let remote = world.base().join("remote.git");
        let script = format!(
            "git init -q --bare -b main {0} && git remote add backup {0} && git push -q backup main \
             && git push -q backup main:elsewhere && git fetch -q backup",
            remote.display()
        );
        let made = host_shell(&world, &script);
        assert!(made.status.success(), "{made:?}");
        world.profile.write.push(remote);
        with_generated_config(&mut world);
        for command in COMMANDS {
            let output = world.run(Mode::Confined(backend), command).await;
            assert_eq!(output.exit, Exit::Code(0), "{backend}: {command}: {output:?}");
        }
        let state = host_shell(&world, "git status --porcelain; git fsck --strict --no-dangling");
        assert_eq!(String::from_utf8_lossy(&state.stdout), "", "{backend}");
        let notices = world.notices.lock().unwrap();
        // Landlock cannot refuse the write to the config that follows the push.
        assert_eq!(
            notices.len(),
            usize::from(backend == Backend::Landlock),
            "{backend}: {notices:?}"
        );
    }
}

#[tokio::test]
async fn git_uses_the_repository_identity_and_its_hooks_run_inside() {
    for backend in backends() {
        let mut world = World::with_git();
        let hook = "printf '#!/bin/sh\\necho hook > hooked; echo x > $C\\n' > .git/hooks/pre-commit
            chmod +x .git/hooks/pre-commit; git config commit.gpgSign true";
        assert!(host_shell(&world, hook).status.success());
        with_generated_config(&mut world);
        let script = "echo y > y; git add y; git commit -qm y; git log -1 --format='%an <%ae>'";
        let output = world.run(Mode::Confined(backend), script).await;
        assert_eq!(output.stdout, "a <a@b.c>\n", "{backend}: {output:?}");
        assert!(world.work.join("hooked").exists(), "{backend}: {output:?}");
        let canary = fs::read_to_string(world.home.join("outside/canary.txt")).unwrap();
        assert_eq!(canary, "original", "{backend}");
    }
}

#[tokio::test]
async fn git_config_and_hooks_are_unchanged() {
    for backend in backends() {
        let world = World::with_git();
        let read = |name: &str| fs::read(world.work.join(name)).unwrap_or_default();
        let before = read(".git/config");
        let rename = if backend == Backend::Bubblewrap { "mv .git .g2" } else { "" };
        let script =
            "git config core.fsmonitor evil; echo x >> .git/config; echo x > .git/commondir
            echo x > .git/hooks/pre-commit; echo x > .git/info/attributes
            echo x > .git/config.worktree; mkdir -p .git/objects/info
            echo /x > .git/objects/info/alternates";
        let script = format!("{script}; {rename}");
        let output = world.run(Mode::Confined(backend), &script).await;
        assert_eq!(read(".git/config"), before, "{backend}: {output:?}");
        for name in ["commondir", "hooks/pre-commit", "info/attributes", "config.worktree"] {
            assert!(!world.work.join(".git").join(name).exists(), "{backend}: {name}: {output:?}");
        }
        assert!(!world.work.join(".git/objects/info/alternates").exists(), "{backend}");
        assert!(host_shell(&world, "git status").status.success(), "{backend}");
    }
}

#[tokio::test]
async fn git_commits_in_a_linked_worktree() {
    for backend in backends() {
        let mut world = World::with_git();
        let tree = world.home.join("tree");
        let made = host_shell(&world, "git worktree add -q ../tree");
        assert!(made.status.success(), "{made:?}");
        world.profile.workspace.clone_from(&tree);
        let mut spawn =
            world.spawn("echo n > n && git add n && git commit -qm n && git log --format=%s");
        spawn.cwd.clone_from(&tree);
        let child = world.sandbox(Mode::Confined(backend)).start(&spawn, &world.profile).unwrap();
        let output = collect(child).await;
        assert_eq!(output.stdout, "n\na\n", "{backend}: {output:?}");
    }
}

#[tokio::test]
async fn damaged_git_directory_is_shown_unchanged() {
    for backend in backends() {
        let world = World::new();
        fs::create_dir(world.work.join(".git")).unwrap();
        fs::write(world.work.join(".git/HEAD"), "nonsense").unwrap();
        let output = world.run(Mode::Confined(backend), "echo x > made; ls .git; git status").await;
        assert!(output.stdout.starts_with("HEAD\n"), "{backend}: {output:?}");
        assert_eq!(fs::read_to_string(world.work.join(".git/HEAD")).unwrap(), "nonsense");
        assert!(world.work.join("made").exists());
    }
}

#[tokio::test]
async fn a_command_sees_exactly_the_files_that_exist() {
    const SCRIPT: &str =
        "touch b; ls -A; echo --; git status --short; echo --; git clean -nd; echo --
        tar cf - --exclude=.git . | tar tf - | sort; echo --
        /usr/bin/python3 -c 'import os; print(sorted(os.listdir(\".\")))'";
    for backend in backends() {
        let world = World::with_git();
        let output = world.run(Mode::Confined(backend), SCRIPT).await;
        let wanted = ".git\na.txt\nb\n--\n?? b\n--\nWould remove b\n--\n./\n./a.txt\n./b\n--\n\
                      ['.git', 'a.txt', 'b']\n";
        assert_eq!(output.stdout, wanted, "{backend}: {output:?}");
        let mut child = world.start(Mode::Confined(backend), "touch c; echo; sleep 600").unwrap();
        child.stdout.read_exact(&mut [0]).await.unwrap();
        let during = host_shell(&world, "ls -A");
        assert_eq!(String::from_utf8_lossy(&during.stdout), ".git\na.txt\nb\nc\n", "{backend}");
        child.process.kill();
        child.process.wait().await.unwrap();
        let after = host_shell(&world, "ls -A");
        assert_eq!(String::from_utf8_lossy(&after.stdout), ".git\na.txt\nb\nc\n", "{backend}");
    }
}

#[tokio::test]
async fn a_watcher_outside_sees_only_changes_of_the_command() {
    if !has_bubblewrap() {
        return;
    }
    let world = World::with_git();
    let tracker = files::changes::ChangeTracker::new(world.work.clone());
    let cursor = tracker.cursor();
    world.run(Mode::Confined(Backend::Bubblewrap), "touch b").await;
    let changes = tracker.since(cursor);
    assert_eq!(changes, files::changes::Changes::Paths([world.work.join("b")].into()));
}

#[tokio::test]
async fn created_protected_files_are_quarantined_and_reported() {
    const SCRIPT: &str =
        "echo x > .mcp.json; mkdir .vscode; git init -q sub; git init -q --bare bare";
    for backend in backends() {
        let world = World::with_git();
        let mut child = world.start(Mode::Confined(backend), SCRIPT).unwrap();
        child.process.wait().await.unwrap();
        let planted = [".mcp.json", ".vscode", "bare/HEAD", "sub/.git"];
        let planted = planted.map(|name| world.work.join(name));
        for path in &planted {
            assert!(!path.exists(), "{backend}: {path:?}");
        }
        let wanted = planted.map(Blocked::Write);
        assert_eq!(child.process.blocked(), wanted, "{backend}");
        let notices = world.notices.lock().unwrap();
        assert_eq!(notices.len(), 1, "{backend}: {notices:?}");
        assert!(world.work.join(".brynhild-quarantine/.mcp.json.1").exists(), "{backend}");
    }
}

#[tokio::test]
async fn a_refused_host_is_named_without_network_access() {
    if !has_bubblewrap() {
        return;
    }
    let world = World::new();
    let script = "/usr/bin/python3 -c '
import urllib.request
try: urllib.request.urlopen(\"http://example.org/x\")
except Exception as error: print(error)
try: urllib.request.urlopen(\"https://example.com:8443/x\")
except Exception as error: print(\"refused\")'";
    let mut child = world.start(Mode::Confined(Backend::Bubblewrap), script).unwrap();
    let mut stdout = String::new();
    child.stdout.read_to_string(&mut stdout).await.unwrap();
    child.process.wait().await.unwrap();
    assert_eq!(stdout, "HTTP Error 403: Forbidden\nrefused\n");
    let host = |host: &str, port| Blocked::Host(host.to_owned(), port);
    assert_eq!(child.process.blocked(), [host("example.com", 8443), host("example.org", 80)]);
}

#[tokio::test]
async fn host_access_leaves_the_sandbox_with_the_host_environment() {
    for backend in backends() {
        let mut world = World::new();
        world.profile.access = Access::Host;
        world.profile.network = Network::None;
        let file = world.home.join("outside/made");
        let script = format!("echo $OUTSIDE $W; echo x > {}", file.display());
        let output = world.run(Mode::Confined(backend), &script).await;
        assert_eq!(output.stdout, "yes\n", "{backend}: {output:?}");
        assert!(file.exists(), "{backend}");
    }
}

#[test]
fn enforcement_depends_on_the_sandbox() {
    let world = World::new();
    let enforces = |mode| {
        let found = world.sandbox(mode).enforces();
        (found.confined, found.file_rules)
    };
    assert_eq!(enforces(Mode::Open), (false, false));
    assert_eq!(enforces(Mode::Confined(Backend::Bubblewrap)), (true, true));
    assert_eq!(enforces(Mode::Confined(Backend::Landlock)), (true, false));
}

#[tokio::test]
async fn a_git_symlink_is_refused_with_a_message() {
    for backend in backends() {
        let world = World::new();
        let target = PathBuf::from("../outside");
        std::os::unix::fs::symlink(target, world.work.join(".git")).unwrap();
        let error = world.start(Mode::Confined(backend), "true").err().unwrap().to_string();
        assert!(error.contains(".git is a symlink"), "{backend}: {error}");
    }
}
