//! Ordinary commits.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use contract::broker::BrokerError;

use super::{Rig, commit};

#[tokio::test]
async fn the_first_commit_and_the_second() {
    let rig = Rig::unborn();
    rig.write("a.txt", "one\n");
    rig.write("src/b.txt", "two\n");
    let first = rig.committed("first\n\nwith a body", &[]).await;
    assert_eq!(first.branch.as_deref(), Some("main"));
    assert_eq!(first.files, ["a.txt", "src/b.txt"]);
    assert!(first.notes.is_empty(), "{first:?}");
    rig.write("a.txt", "changed\n");
    let second = rig.committed("second", &[]).await;
    assert_eq!(second.files, ["a.txt"]);
    assert_eq!(rig.status(), "");
    let log = rig.shell("git log --format='%an <%ae> %cn %s|%b'");
    assert_eq!(
        log,
        "Úna User <una@example.org> Úna User second|\n\
         Úna User <una@example.org> Úna User first|with a body\n\n"
    );
    let log = rig.shell("git reflog --format='%gd %gs'; git reflog main --format='%gd %gs'");
    assert_eq!(
        log,
        "HEAD@{0} commit: second\nHEAD@{1} commit (initial): first\n\
         main@{0} commit: second\nmain@{1} commit (initial): first\n"
    );
}

#[tokio::test]
async fn nothing_to_commit_is_said_and_changes_nothing() {
    let rig = Rig::new();
    assert!(matches!(rig.refused(&[]).await, BrokerError::NothingToCommit(_)));
    assert!(matches!(rig.refused(&["a.txt"]).await, BrokerError::NothingToCommit(_)));
    let unborn = Rig::unborn();
    assert!(matches!(unborn.refused(&[]).await, BrokerError::NothingToCommit(_)));
    let bare = Rig::bare();
    assert!(matches!(bare.refused(&[]).await, BrokerError::NotARepository(_)));
}

#[tokio::test]
async fn named_paths_are_committed_and_nothing_else() {
    let rig = Rig::new();
    rig.shell("echo staged > staged.txt && git add staged.txt");
    rig.write("a.txt", "two\n");
    rig.write("dir/b.txt", "b\n");
    rig.write("dir/c.txt", "c\n");
    rig.write("other.txt", "o\n");
    let committed = rig.committed("some", &["dir", "a.txt"]).await;
    assert_eq!(committed.files, ["a.txt", "dir/b.txt", "dir/c.txt"]);
    assert_eq!(rig.status(), "A  staged.txt\n?? other.txt\n");
    let all = rig.committed("rest", &[]).await;
    assert_eq!(all.files, ["other.txt", "staged.txt"]);
    assert_eq!(rig.status(), "");
}

#[tokio::test]
async fn deletions_are_committed_whoever_staged_them() {
    let rig = Rig::new();
    rig.shell("mkdir d; touch b d/c e f && git add . && git commit -qm more");
    rig.shell("git rm -q b; rm -r d e");
    let committed = rig.committed("gone", &["b", "d"]).await;
    assert_eq!(committed.files, ["b", "d/c"]);
    assert_eq!(rig.status(), " D e\n");
    assert_eq!(rig.committed("all", &[]).await.files, ["e"]);
    rig.shell("rm f && mkdir f && touch f/g");
    assert_eq!(rig.committed("a file becomes a folder", &[]).await.files, ["f", "f/g"]);
    rig.shell("rm -r f && ln -s /etc f");
    assert_eq!(rig.committed("a folder becomes a link", &[]).await.files, ["f", "f/g"]);
    assert_eq!(rig.shell("git ls-tree HEAD f").split(' ').next(), Some("120000"));
    assert_eq!(rig.status(), "");
}

#[tokio::test]
async fn modes_links_and_strange_names_are_kept() {
    let rig = Rig::new();
    let strange = ["a b", "-rf", "new\nline", "*", ":(top)x", "ünï", "\"q\"", "--", "a\\b"];
    for name in strange {
        rig.write(name, "x");
    }
    rig.script("run.sh", "#!/bin/sh\n");
    std::os::unix::fs::symlink("/etc/passwd", rig.settings.workspace.join("link")).unwrap();
    let named = rig.committed("strange", &["-rf", "*", ":(top)x"]).await;
    assert_eq!(named.files, ["*", "-rf", ":(top)x"]);
    let all = rig.committed("all", &[]).await;
    assert_eq!(all.files.len(), strange.len() - 3 + 2, "{all:?}");
    assert_eq!(rig.status(), "");
    assert_eq!(rig.shell("git ls-tree HEAD run.sh").split(' ').next(), Some("100755"));
    assert_eq!(rig.shell("git cat-file blob HEAD:link"), "/etc/passwd");
    let path = rig.settings.workspace.join("run.sh");
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(rig.committed("mode", &["run.sh"]).await.files, ["run.sh"]);
}

#[tokio::test]
async fn ignored_files_stay_out_whoever_ignores_them() {
    let rig = Rig::new();
    rig.write(".gitignore", "*.log\n");
    rig.write(".git/info/exclude", "local\n");
    fs::create_dir_all(rig.home().join(".config/git")).unwrap();
    fs::write(rig.home().join(".config/git/ignore"), "mine\n").unwrap();
    for name in ["x.log", "local", "mine", "kept", ".brynhild-quarantine/HEAD"] {
        rig.write(name, "x");
    }
    let error = rig.refused(&["x.log"]).await;
    assert!(error.to_string().contains("x.log is ignored"), "{error}");
    assert_eq!(rig.committed("kept", &[]).await.files, [".gitignore", "kept"]);
    fs::write(rig.home().join("own"), "yours\n").unwrap();
    rig.shell("git config --global core.excludesFile '~/own'");
    rig.write("yours", "x");
    rig.write("mine2", "x");
    assert_eq!(rig.committed("own", &[]).await.files, ["mine", "mine2"]);
}

#[tokio::test]
async fn line_ends_are_converted_as_the_repository_says() {
    let rig = Rig::new();
    rig.write(".gitattributes", "*.txt text=auto\n");
    rig.write("dos.txt", "one\r\ntwo\r\n");
    rig.committed("text", &[]).await;
    assert_eq!(rig.shell("git cat-file blob HEAD:dos.txt"), "one\ntwo\n");
    rig.shell("git config core.autocrlf input");
    rig.write("other", "one\r\n");
    rig.committed("input", &[]).await;
    assert_eq!(rig.shell("git cat-file blob HEAD:other"), "one\n");
    rig.shell("git config core.autocrlf false");
    rig.write("third", "one\r\n");
    rig.committed("false", &[]).await;
    assert_eq!(rig.shell("git cat-file blob HEAD:third"), "one\r\n");
}

#[tokio::test]
async fn a_message_goes_in_as_it_is() {
    let rig = Rig::new();
    for (number, message) in
        ["'$(touch x)' `id` \\n \"q\" %s", "-m --amend", "# not a comment", "ünï 漢 🎉"]
            .into_iter()
            .enumerate()
    {
        rig.write("n", number.to_string());
        rig.committed(&format!("{message}\n\n\n# body  \n"), &[]).await;
        assert_eq!(rig.shell("git log -1 --format=%B"), format!("{message}\n\n# body\n\n"));
    }
    rig.write("n", "last");
    for bad in ["", "\n \n", "a\0b"] {
        let error = rig.commit(bad, &[]).await.unwrap_err();
        assert!(matches!(error, BrokerError::Refused(_)), "{error}");
    }
}

#[tokio::test]
async fn the_author_is_the_users_never_the_repositorys() {
    let rig = Rig::new();
    rig.shell("git config user.name Mallory; git config user.email mallory@example.org");
    rig.write("a.txt", "two\n");
    let committed = rig.committed("mine", &[]).await;
    assert!(committed.notes.iter().any(|note| note.contains("user.email")), "{committed:?}");
    assert_eq!(rig.shell("git log -1 --format='%an %ce'"), "Úna User una@example.org\n");

    let work = rig.settings.workspace.display().to_string();
    fs::write(rig.home().join("work.inc"), "[user]\n\temail = una@work.example\n").unwrap();
    rig.shell(&format!("git config --global 'includeIf.gitdir:{work}/.path' '~/work.inc'"));
    rig.write("a.txt", "three\n");
    rig.committed("at work", &[]).await;
    assert_eq!(rig.shell("git log -1 --format=%ae"), "una@work.example\n");

    fs::remove_file(rig.home().join(".gitconfig")).unwrap();
    rig.write("a.txt", "four\n");
    assert!(matches!(rig.refused(&[]).await, BrokerError::NoIdentity));
    let mut settings = rig.settings.clone();
    for (name, value) in [("GIT_AUTHOR_NAME", "Env"), ("GIT_AUTHOR_EMAIL", "env@example.org")] {
        settings.env.insert(name.into(), value.into());
    }
    commit(&settings, "by variables", &[]).await.unwrap();
    assert_eq!(rig.shell("git log -1 --format='%an %ae %cn'"), "Env env@example.org Env\n");
}

#[tokio::test]
async fn a_change_within_one_tick_of_the_index_is_seen() {
    let rig = Rig::new();
    rig.shell("git config core.trustctime false");
    rig.shell("touch -d 2020-01-01T00:00:00 a.txt && git add a.txt && git update-index --refresh");
    rig.shell("touch -d 2020-01-01T00:00:00 .git/index");
    rig.shell("printf 'two\\n' > a.txt && touch -d 2020-01-01T00:00:00 a.txt");
    let committed = rig.committed("seen", &[]).await;
    assert_eq!(committed.files, ["a.txt"]);
    assert_eq!(rig.shell("git cat-file blob HEAD:a.txt"), "two\n");
}

#[tokio::test]
async fn two_at_once_make_two_commits_or_one_and_a_clear_word() {
    let rig = Rig::new();
    for round in 0..5 {
        rig.write("x", format!("x{round}"));
        rig.write("y", format!("y{round}"));
        let before = rig.shell("git rev-list --count HEAD");
        let (one, two) = tokio::join!(rig.commit("x", &["x"]), rig.commit("y", &["y"]));
        let results = [one, two];
        let made = results.iter().filter(|result| result.is_ok()).count();
        for error in results.into_iter().filter_map(Result::err) {
            assert!(matches!(error, BrokerError::Locked(_)), "{error}");
        }
        let after = rig.shell("git rev-list --count HEAD");
        let count = |text: &str| text.trim_end().parse::<usize>().unwrap();
        assert!(made >= 1 && count(&after) == count(&before) + made, "{made}");
        rig.shell("git fsck --strict --no-dangling");
    }
}

#[tokio::test]
async fn dropped_half_way_it_leaves_nothing_behind() {
    let rig = Rig::new();
    rig.write("a.txt", "two\n");
    let before = rig.shell("git rev-parse HEAD; git status --porcelain");
    {
        let mut commit = Box::pin(rig.commit("dropped", &[]));
        let index = rig.settings.workspace.join(".git/index.lock");
        while !index.exists() {
            let step = std::time::Duration::from_micros(200);
            let _ = tokio::time::timeout(step, &mut commit).await.map(Result::unwrap);
        }
    }
    assert!(!rig.settings.workspace.join(".git/index.lock").exists());
    assert_eq!(fs::read_dir(&rig.settings.state).unwrap().count(), 0);
    assert_eq!(rig.shell("git rev-parse HEAD; git status --porcelain"), before);
    rig.committed("after it", &[]).await;
}
