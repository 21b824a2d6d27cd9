//! Coverage of undo: ignored files, the state of git, and changes that are reported without a scan.

use std::fs;
use std::path::Path;
use std::process::Command;

use contract::action::Action;
use contract::event::Direction;
use contract::sandbox::Access;
use contract::snapshots::{Effect, Snapshots};
use files::git::GitDirectories;
use tokio_util::sync::CancellationToken;

use super::super::{UndoReport, git_objects};
use super::fixture::Rig;

#[expect(clippy::disallowed_methods, reason = "git works as it does for users")]
fn git(rig: &Rig, command: &str) -> String {
    let mut git = Command::new("git");
    git.current_dir(rig.path(".")).args(["-c", "user.name=A", "-c", "user.email=a@b.example"]);
    let output = git.args(command.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "git {command}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn repository() -> Rig {
    let rig = Rig::new();
    git(&rig, "init -q -b main");
    rig.file("a.txt", "1\n");
    git(&rig, "add .");
    git(&rig, "commit -q -m first");
    rig
}

/// Everything that git says of the repository.
fn state(rig: &Rig) -> String {
    ["symbolic-ref HEAD", "for-each-ref", "status --porcelain", "ls-files -s", "stash list"]
        .map(|command| git(rig, command))
        .join("--\n")
}

#[test]
fn undo_restores_ignored_files_and_local_databases() {
    let rig = Rig::new();
    rig.file(".gitignore", ".env\n*.db\ndata/\n");
    rig.file(".env", "SECRET=1\n");
    rig.file("data/local.db", "SQLite format 3\0rows");
    let before = rig.tree();
    rig.command("destroy", || {
        fs::remove_file(rig.path(".env")).unwrap();
        rig.file("data/local.db", "SQLite format 3\0");
        rig.file("data/local.db-wal", "log");
    });
    let report = rig.undo(1);
    assert!(report.kept.is_empty(), "{report:?}");
    assert_eq!(rig.tree(), before);
}

#[test]
fn undo_reports_regenerable_directories_that_were_removed() {
    let rig = Rig::new();
    rig.file("a.txt", "1");
    rig.file("node_modules/x/index.js", "x");
    rig.file("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    let told = rig.command("use", || {
        rig.file("node_modules/x/index.js", "changed");
        rig.file("in/__pycache__/a.pyc", "made");
    });
    assert_eq!(told, ["in"]);
    rig.command("remove", || {
        fs::remove_dir_all(rig.path("node_modules")).unwrap();
        rig.file("a.txt", "2");
    });
    let report = rig.undo(1);
    assert_eq!(rig.read("a.txt"), "1");
    let kept: Vec<_> = report.kept.iter().map(|kept| kept.path.as_str()).collect();
    assert_eq!(kept, ["node_modules"]);
    assert!(report.kept[0].why.contains("recreates it"), "{report:?}");
}

#[test]
fn undo_restores_branch_head_and_index_after_a_commit() {
    let rig = repository();
    rig.file("staged.txt", "staged");
    git(&rig, "add staged.txt");
    let before = state(&rig);
    rig.command("commit on a branch", || {
        git(&rig, "switch -q -c topic/one");
        rig.file("a.txt", "2\n");
        git(&rig, "add .");
        git(&rig, "commit -q -m second");
        git(&rig, "tag v1");
        git(&rig, "branch -q -m main trunk");
    });
    // `git status` writes file times into the index; that does not count as a change.
    git(&rig, "status");
    let after = state(&rig);
    let report = rig.undo(1);
    assert!(report.kept.is_empty(), "{report:?}");
    assert_eq!(state(&rig), before);
    assert_eq!(rig.read("a.txt"), "1\n");
    rig.redo();
    assert_eq!(state(&rig), after);
}

#[test]
fn undo_restores_the_stash_and_an_unfinished_merge() {
    let rig = repository();
    git(&rig, "switch -q -c other");
    rig.file("a.txt", "other\n");
    git(&rig, "commit -q -a -m other");
    git(&rig, "switch -q main");
    rig.file("a.txt", "dirty\n");
    let before = state(&rig);
    rig.command("stash", || drop(git(&rig, "stash")));
    let stashed = state(&rig);
    rig.undo(1);
    assert_eq!((state(&rig), rig.read("a.txt")), (before, "dirty\n".into()));
    rig.redo();
    assert_eq!((state(&rig), rig.read("a.txt")), (stashed.clone(), "1\n".into()));
    rig.command("merge", || {
        git(&rig, "stash drop -q");
        git(&rig, "merge -q --no-commit --no-ff other");
    });
    assert!(rig.path(".git/MERGE_HEAD").exists());
    let report = rig.undo(1);
    assert!(report.kept.is_empty(), "{report:?}");
    assert!(!rig.path(".git/MERGE_HEAD").exists());
    assert_eq!(state(&rig), stashed);
}

#[test]
fn undo_leaves_refs_alone_that_the_user_moved_since() {
    let rig = repository();
    rig.command("commit", || {
        rig.file("a.txt", "2\n");
        git(&rig, "commit -q -a -m second");
    });
    rig.file("b.txt", "mine\n");
    git(&rig, "add b.txt");
    git(&rig, "commit -q -m mine");
    let mine = git(&rig, "rev-parse main");
    let report = rig.undo(1);
    assert_eq!(git(&rig, "rev-parse main"), mine);
    let kept: Vec<_> = report.kept.iter().map(|kept| kept.path.as_str()).collect();
    assert_eq!(kept, [".git/index", ".git/refs/heads/main"]);
}

#[test]
fn undo_waits_for_no_running_git_command() {
    let rig = repository();
    rig.command("branch", || drop(git(&rig, "branch topic")));
    rig.file(".git/index.lock", "");
    let report = rig.undo(1);
    assert!(report.kept[0].why.contains("index.lock"), "{report:?}");
    assert!(rig.path(".git/refs/heads/topic").exists());
}

#[test]
fn a_repository_that_a_turn_creates_stays_whole() {
    let rig = Rig::new();
    rig.file("a.txt", "1");
    let told = rig.command("init", || {
        git(&rig, "init -q");
        rig.file("b.txt", "1");
    });
    assert_eq!(told, ["b.txt"]);
    rig.undo(1);
    assert!(rig.path(".git/HEAD").exists());
    rig.command("add", || drop(git(&rig, "add a.txt")));
    rig.undo(1);
    assert_eq!(git(&rig, "status --porcelain"), "?? a.txt\n");
}

#[test]
fn a_git_directory_behind_a_symlink_is_left_alone() {
    let rig = repository();
    let outside = tempfile::tempdir().unwrap();
    let moved = outside.path().join("git");
    fs::rename(rig.path(".git"), &moved).unwrap();
    std::os::unix::fs::symlink(&moved, rig.path(".git")).unwrap();
    assert!(rig.command("branch", || drop(git(&rig, "branch topic"))).is_empty());
}

/// The only line about what was not restored.
fn lost(report: &UndoReport) -> (&str, &str) {
    assert_eq!(report.kept.len(), 1, "{report:?}");
    (&report.kept[0].path, &report.kept[0].why)
}

#[test]
fn undo_reports_commits_that_were_pruned() {
    let rig = repository();
    git(&rig, "switch -q -c side");
    rig.file("a.txt", "side\n");
    git(&rig, "commit -q -a -m side");
    git(&rig, "switch -q main");
    rig.command("prune", || {
        git(&rig, "update-ref -d refs/heads/side");
        git(&rig, "reflog expire --expire=now --expire-unreachable=now --all");
        git(&rig, "gc -q --prune=now");
    });
    let why = "the commits of `side` were removed and cannot be restored";
    let dry = rig.restore(Direction::Undo, 1, (false, true));
    assert_eq!(lost(&dry), (".git", why));
    let report = rig.undo(1);
    assert_eq!(lost(&report), (".git", why));
    // `main` is in a pack.
    assert_eq!(git(&rig, "log --format=%s main"), "first\n");
}

#[test]
fn undo_reports_commits_that_were_removed_with_the_repository() {
    for is_new in [false, true] {
        let rig = repository();
        rig.command("remove", || {
            fs::remove_dir_all(rig.path(".git")).unwrap();
            if is_new {
                git(&rig, "init -q -b main");
            }
        });
        let report = rig.undo(1);
        let told: Vec<_> = report.kept.iter().map(|kept| (&*kept.path, &*kept.why)).collect();
        if is_new {
            let why = "the commits of `main` were removed and cannot be restored";
            assert_eq!(told, [(".git", why)]);
        } else {
            let removed = "the commits were removed and cannot be restored";
            let config = "undo does not cover git's configuration";
            assert_eq!(told, [(".git/config", config), (".git/objects", removed)]);
        }
    }
}

#[test]
fn undo_reports_removed_objects_if_nothing_else_changed() {
    let rig = repository();
    rig.command("remove", || fs::remove_dir_all(rig.path(".git/objects")).unwrap());
    let report = rig.undo(1);
    assert_eq!(lost(&report), (".git/objects", "the commits were removed and cannot be restored"));
}

#[test]
fn objects_are_found_in_packs_and_borrowed_from_alternates() {
    let rig = repository();
    git(&rig, "gc -q");
    let objects = rig.path(".git/objects");
    let name = git(&rig, "rev-parse main");
    let path = Path::new("refs/heads/main");
    let missing = name.replace(|digit: char| digit.is_ascii_digit(), "e");
    assert!(git_objects::lost_refs(&objects, path, name.as_bytes()).is_empty());
    assert_eq!(git_objects::lost_refs(&objects, path, missing.as_bytes()), ["main"]);
    let packed = format!("# comment\n{missing} refs/tags/a\n^{missing}");
    let packed = packed.replace("\n refs", " refs");
    assert_eq!(git_objects::lost_refs(&objects, "packed-refs".as_ref(), packed.as_bytes()), ["a"]);
    let borrower = rig.path("borrower");
    assert_eq!(git_objects::lost_refs(&borrower, path, name.as_bytes()), ["main"]);
    rig.file("borrower/info/alternates", "../.git/objects\n");
    assert!(git_objects::lost_refs(&borrower, path, name.as_bytes()).is_empty());
}

/// A linked worktree on the branch `work` of a repository next to it.
fn linked_worktree() -> Rig {
    let rig = Rig::new();
    git(&rig, "init -q -b main ../main");
    git(&rig, "-C ../main commit -q --allow-empty -m first");
    git(&rig, "-C ../main worktree add -q -b work ../work");
    let common = rig.path("../main/.git").canonicalize().unwrap();
    rig.with_linked_git(GitDirectories { own: common.join("worktrees/work"), common })
}

#[test]
fn undo_restores_the_state_of_a_linked_worktree() {
    let rig = linked_worktree();
    rig.file("staged.txt", "staged");
    git(&rig, "add staged.txt");
    let before = state(&rig);
    for _ in 0..2 {
        rig.command("commit on a branch", || {
            rig.file("a.txt", "1\n");
            git(&rig, "add a.txt");
            git(&rig, "commit -q -m second");
            git(&rig, "tag v1");
            git(&rig, "switch -q -c topic");
            git(&rig, "reset -q --soft HEAD~");
            git(&rig, "stash -q");
        });
        git(&rig, "status");
        let report = rig.undo(1);
        assert!(report.kept.is_empty(), "{report:?}");
        assert_eq!(state(&rig), before);
    }
    assert!(rig.command("nothing", || drop(git(&rig, "status"))).is_empty());
}

#[test]
fn undo_leaves_branches_of_other_worktrees_alone() {
    let rig = linked_worktree();
    rig.command("commit", || {
        git(&rig, "commit -q --allow-empty -m second");
        git(&rig, "-C ../main commit -q --allow-empty -m other");
    });
    let report = rig.undo(1);
    let (path, why) = lost(&report);
    assert!(path.ends_with("main/.git/refs/heads/main"), "{report:?}");
    assert_eq!(why, "another worktree has this branch checked out");
    assert_eq!(git(&rig, "log -1 --format=%s work"), "first\n");
    assert_eq!(git(&rig, "log -1 --format=%s main"), "other\n");
}

#[test]
fn directories_that_replace_each_other_are_undone() {
    let rig = Rig::new();
    rig.file("a/old/x", "1");
    rig.file("b/new/y", "2");
    rig.file("c", "3");
    let before = rig.tree();
    rig.command("look", || {});
    rig.command("swap", || {
        fs::rename(rig.path("a"), rig.path("t")).unwrap();
        fs::rename(rig.path("b"), rig.path("a")).unwrap();
        fs::remove_dir_all(rig.path("t")).unwrap();
        rig.file("a/new/y", "changed");
    });
    let report = rig.undo(1);
    assert!(report.kept.is_empty(), "{report:?}");
    assert_eq!(rig.tree(), before);
}

#[test]
fn a_change_is_found_after_the_tracker_lost_events() {
    let rig = Rig::new();
    rig.file("a", "1");
    rig.file("b", "1");
    rig.command("look", || {});
    rig.command("overflow", || {
        for number in 0..20_000 {
            let path = rig.path(["a", "b"][number % 2]);
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            fs::set_permissions(path, mode).unwrap();
        }
        rig.file("deep/c", "1");
        rig.file("a", "2");
    });
    rig.undo(1);
    assert_eq!(rig.read("a"), "1");
    assert!(!rig.path("deep").exists());
}

#[test]
fn a_call_writes_no_more_in_a_larger_workspace() {
    let written = |files: usize| {
        let rig = Rig::new();
        for number in 0..files {
            rig.file(&format!("{}/{number}", number % 20), &number.to_string());
        }
        rig.command("first", || {});
        let workspace =
            fs::read_dir(rig.store_directory()).unwrap().next().unwrap().unwrap().path();
        let size = |name: &str| {
            let entries = fs::read_dir(&workspace).unwrap().map(|entry| entry.unwrap());
            let named = entries.filter(|it| it.file_name().to_string_lossy().starts_with(name));
            named.map(|entry| entry.metadata().unwrap().len()).sum::<u64>()
        };
        let before = size("tree");
        rig.command("second", || rig.file("0/0", "changed"));
        (size("tree") - before, rig)
    };
    let (small, _rig) = written(20);
    let (large, rig) = written(2_000);
    assert!(large <= small * 2, "{small} and {large} bytes");
    // Another process reads the same from the file.
    let again = rig.restarted();
    assert!(again.command("nothing", || {}).is_empty());
    assert_eq!(again.command("third", || rig.file("0/0", "again")), ["0/0"]);
}

#[test]
fn read_only_plugin_takes_no_snapshot() {
    let rig = Rig::new();
    rig.file("a.txt", "1");
    let effect = |access| {
        let action = Action::Opaque { what: "plugin x: y".into() };
        Effect { actions: vec![action], access }
    };
    rig.keeper().before(&[effect(Access::ReadOnly)], &CancellationToken::new());
    rig.keeper().after();
    assert!(!rig.store_directory().exists());
    for access in [Access::Workspace, Access::Host] {
        rig.keeper().before(&[effect(access)], &CancellationToken::new());
        rig.file("a.txt", &format!("{access:?}"));
        assert_eq!(rig.keeper().after().len(), 1);
    }
}
