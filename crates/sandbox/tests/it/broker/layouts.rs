//! Repositories of every shape, and states in which no commit may be made.

use std::fs;

use contract::broker::BrokerError;

use super::{Rig, commit};

#[tokio::test]
async fn packed_and_nested_branches_move() {
    let rig = Rig::new();
    rig.shell("git checkout -q -b feature/deep/x && git pack-refs --all --prune && git gc -q");
    assert!(!rig.settings.workspace.join(".git/refs/heads/feature/deep/x").exists());
    rig.write("a.txt", "two\n");
    let committed = rig.committed("packed", &[]).await;
    assert_eq!(committed.branch.as_deref(), Some("feature/deep/x"));
    assert_eq!(rig.shell("git log -1 --format=%s main"), "first\n");
    rig.shell("git checkout -q --orphan feature/deep && git pack-refs --all");
    let error = rig.commit("clash", &[]).await.unwrap_err();
    assert!(error.to_string().contains("feature/deep/x"), "{error}");
}

#[tokio::test]
async fn a_detached_head_moves_and_no_branch_does() {
    let rig = Rig::new();
    rig.shell("git checkout -q --detach");
    rig.write("a.txt", "two\n");
    let committed = rig.committed("detached", &[]).await;
    assert_eq!(committed.branch, None);
    assert_eq!(rig.shell("git log -1 --format=%s main"), "first\n");
    assert_eq!(rig.shell("cat .git/HEAD").trim_end(), committed.id);
    assert_eq!(rig.shell("git reflog -1 --format=%gs"), "commit: detached\n");
}

#[tokio::test]
async fn a_linked_worktree_commits_to_its_own_branch() {
    let rig = Rig::new();
    rig.shell("git worktree add -q ../linked -b side");
    rig.write("../linked/new.txt", "x\n");
    let settings = rig.at("../linked");
    let committed = commit(&settings, "side work", &[]).await.unwrap();
    assert_eq!(committed.branch.as_deref(), Some("side"));
    assert_eq!(rig.shell("git log -1 --format=%s side; git -C ../linked status -s"), "side work\n");
    assert_eq!(rig.shell("git log -1 --format=%s main; git status -s"), "first\n");
    let log = rig.shell("git -C ../linked reflog -1 --format=%gs; git reflog -1 side --format=%gs");
    assert_eq!(log, "commit: side work\ncommit: side work\n");
    rig.shell("git fsck --strict --no-dangling");
}

#[tokio::test]
async fn a_submodule_commits_to_itself_and_is_not_entered_from_above() {
    let rig = Rig::new();
    rig.shell(
        "git init -q -b main ../module && cd ../module && echo m > m && git add . && \
         git commit -q -m module && cd - && \
         git -c protocol.file.allow=always submodule --quiet add ../module sub && \
         git commit -q -m with && echo changed > sub/m",
    );
    assert!(matches!(rig.refused(&[]).await, BrokerError::NothingToCommit(_)));
    let error = rig.refused(&["sub/m"]).await;
    assert!(error.to_string().contains("another repository"), "{error}");
    let committed = commit(&rig.at("sub"), "inside", &[]).await.unwrap();
    assert_eq!(committed.files, ["m"]);
    assert_eq!(rig.shell("git -C sub log -1 --format=%s; git -C sub status -s"), "inside\n");
    let recorded = rig.committed("above", &["sub"]).await;
    assert_eq!(recorded.files, ["sub"]);
    assert_eq!(rig.shell("git ls-tree HEAD sub").split_whitespace().nth(2).unwrap(), committed.id);
    assert_eq!(rig.status(), "");
    rig.shell("git init -q nested && echo n > nested/n && echo two > a.txt");
    rig.shell("echo three > sub/m && git -C sub commit -qam three");
    let committed = rig.committed("all of it", &[]).await;
    assert_eq!(committed.files, ["a.txt", "sub"]);
    assert!(committed.notes[0].contains("nested is a repository of its own"), "{committed:?}");
}

#[tokio::test]
async fn a_workspace_below_the_root_commits_only_itself() {
    let rig = Rig::new();
    rig.write("part/x", "x");
    rig.write("a.txt", "two\n");
    let committed = commit(&rig.at("part"), "part", &[]).await.unwrap();
    assert_eq!(committed.files, ["part/x"]);
    assert_eq!(rig.status(), " M a.txt\n");
    let error = commit(&rig.at("part"), "out", &["../a.txt"]).await.unwrap_err();
    assert!(matches!(error, BrokerError::Refused(_)), "{error}");
    let error = commit(&rig.at("part"), "none", &[]).await.unwrap_err();
    assert!(matches!(error, BrokerError::NothingToCommit(_)), "{error}");
}

#[tokio::test]
async fn other_kinds_of_ids_and_indexes_work() {
    let rig = Rig::bare();
    rig.shell("git init -q -b main --object-format=sha256 .");
    rig.write("a.txt", "one\n");
    assert_eq!(rig.committed("long", &[]).await.id.len(), 64);
    rig.write("b.txt", "two\n");
    rig.write("c.txt", "three\n");
    assert_eq!(rig.committed("longer", &["b.txt"]).await.files, ["b.txt"]);

    let rig = Rig::new();
    rig.shell("git update-index --split-index --untracked-cache && git status -s");
    rig.write("b.txt", "two\n");
    assert_eq!(rig.committed("split", &[]).await.files, ["b.txt"]);
    rig.shell("mkdir d && touch d/x && git add . && git commit -qm d");
    rig.shell("git sparse-checkout set --no-cone a.txt && echo two > a.txt");
    assert_eq!(rig.committed("sparse", &[]).await.files, ["a.txt"]);
    assert_eq!(rig.shell("git ls-tree -r --name-only HEAD"), "a.txt\nb.txt\nd/x\n");
    assert_eq!(rig.status(), "");
    rig.shell("git clone -q --depth 1 file://$PWD ../shallow");
    rig.write("../shallow/a.txt", "shallow\n");
    commit(&rig.at("../shallow"), "on top", &[]).await.unwrap();
    assert_eq!(rig.shell("git -C ../shallow log --format=%s"), "on top\nsparse\n");
}

#[tokio::test]
async fn borrowed_objects_and_shared_folders_work() {
    let rig = Rig::new();
    rig.shell("git clone -q -s . ../first && git clone -q -s ../first ../second && cd ../second && git config core.sharedRepository group");
    rig.write("../second/a.txt", "two\n");
    let settings = rig.at("../second");
    commit(&settings, "on top", &[]).await.unwrap();
    assert_eq!(rig.shell("git -C ../second log --format=%s"), "on top\nfirst\n");
    rig.shell("find ../second/.git/objects -perm -2070 -name '??' | grep .");
}

#[tokio::test]
async fn while_something_else_is_going_on_there_is_no_commit() {
    let rig = Rig::new();
    rig.shell(
        "git checkout -q -b other && echo other > a.txt && git commit -qam other && \
         git checkout -q main && echo main > a.txt && git commit -qam main",
    );
    for (start, end, words) in [
        ("git merge -q other", "git merge --abort", "a merge is in progress"),
        ("git cherry-pick other", "git cherry-pick --abort", "a cherry-pick is in progress"),
        ("git rebase -q other", "git rebase --abort", "a rebase is in progress"),
        ("git checkout -q -m other", "git checkout -q -f main", ""),
    ] {
        if words.is_empty() {
            rig.shell("echo third > a.txt");
        }
        rig.try_shell(start);
        let error = rig.refused(&[]).await;
        assert!(matches!(error, BrokerError::InProgress(_)), "{start}: {error}");
        assert!(error.to_string().contains(words), "{error}");
        rig.shell(end);
    }
    rig.write("a.txt", "after\n");
    rig.write(".git/index.lock", "");
    let error = rig.commit("locked", &[]).await.unwrap_err();
    assert!(error.to_string().contains(".git/index.lock exists"), "{error}");
    fs::remove_file(rig.settings.workspace.join(".git/index.lock")).unwrap();
    rig.write(".git/refs/heads/main.lock", "");
    assert!(matches!(rig.commit("locked", &[]).await, Err(BrokerError::Locked(_))));
    fs::remove_file(rig.settings.workspace.join(".git/refs/heads/main.lock")).unwrap();
    rig.committed("free", &[]).await;
}

#[tokio::test]
async fn a_pointer_is_not_taken_from_a_repository_elsewhere() {
    let rig = Rig::new();
    rig.shell(
        "git init -q -b main ../module && cd ../module && echo m > m && git add . && \
         git commit -q -m module && git commit -q --allow-empty -m more && cd - && \
         git -c protocol.file.allow=always submodule --quiet add ../module sub && \
         git commit -q -m with && git -C ../module commit -q --allow-empty -m elsewhere && \
         echo 'gitdir: ../../module/.git' > sub/.git",
    );
    assert!(matches!(rig.refused(&[]).await, BrokerError::NothingToCommit(_)));
}
