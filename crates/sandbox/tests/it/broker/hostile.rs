//! Repositories that want their programs run, or a commit to go elsewhere. First plain git falls for
//! them, then the broker must not.

use std::fs;
use std::os::unix::fs::symlink;

use contract::broker::BrokerError;
use sandbox::Rung;

use super::{Rig, commit};

const HOOKS: &str = "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit \
     prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push \
     pre-receive update proc-receive post-receive post-update reference-transaction \
     push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman \
     post-index-change";

/// Settings whose value is a program; each leaves a mark of its own.
const PROGRAMS: &str = r#"
run() { git config "$1" "touch '$MARKS/$1'; cat; false"; }
for key in core.fsmonitor core.sshCommand core.pager core.editor core.askPass core.gitProxy \
    core.alternateRefsCommand sequence.editor credential.helper diff.external diff.x.textconv \
    diff.x.command merge.x.driver filter.x.clean filter.x.smudge filter.x.process gpg.program \
    gpg.ssh.program gpg.x509.program pager.commit pager.add pager.diff-files pager.config \
    interactive.diffFilter man.x.cmd browser.x.cmd trailer.x.command uploadpack.packObjectsHook \
    remote.origin.uploadpack; do run "$key"; done
for name in add commit update-index write-tree commit-tree diff-files ls-files config; do
    git config "alias.$name" "!touch '$MARKS/alias.$name'"
done
git config commit.gpgSign true
git config attr.tree HEAD
git config core.hooksPath .hooks
git config core.attributesFile "$PWD/evil.attributes"
git config core.worktree /
printf '[core]\n\tfsmonitor = touch "%s/included"; false\n' "$MARKS" > "$PWD/.git/included"
git config include.path included
git config extensions.worktreeConfig true
cp .git/included .git/config.worktree
echo '* filter=x diff=x merge=x' | tee .gitattributes .git/info/attributes > evil.attributes
"#;

fn hostile() -> Rig {
    let rig = Rig::new();
    for name in HOOKS.split_whitespace() {
        let text = format!("#!/bin/sh\ntouch '{}/hook.{name}'\n", rig.marks().display());
        rig.script(&format!(".git/hooks/{name}"), &text);
        rig.script(&format!(".hooks/{name}"), &text);
    }
    rig.write("a.txt", "two\n");
    rig.shell(PROGRAMS);
    rig
}

#[tokio::test]
async fn plain_git_runs_what_the_repository_chose_and_the_broker_does_not() {
    let plain = hostile();
    plain.try_shell("git --work-tree=. status; git --work-tree=. add -A; git config commit.gpgSign false; git --work-tree=. commit -m x");
    let fired = plain.fired();
    for name in ["included", "filter.x.process", "hook.pre-commit", "hook.post-index-change"] {
        assert!(fired.iter().any(|mark| mark == name), "{name} did not fire: {fired:?}");
    }

    let rig = hostile();
    rig.commit("safe", &[]).await.unwrap();
    rig.write("a.txt", "three\n");
    let committed = rig.commit("safe again", &["a.txt"]).await.unwrap();
    assert_eq!(rig.fired(), Vec::<String>::new());
    let notes = committed.notes.join("\n");
    for words in ["not signed", "no hooks", "without filters: x"] {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    rig.shell("rm .git/config .git/config.worktree; git init -q");
    assert_eq!(rig.shell("git cat-file blob HEAD:a.txt"), "three\n");
    rig.shell("git fsck --strict --no-dangling");
}

#[tokio::test]
async fn the_settings_of_a_submodule_run_nothing_either() {
    let make = || {
        let rig = Rig::new();
        rig.shell(
            "git init -q -b main ../module && cd ../module && echo m > m && git add . && \
             git commit -q -m module && cd - && \
             git -c protocol.file.allow=always submodule --quiet add ../module sub && \
             git commit -q -m with && git -C sub config core.fsmonitor \"touch $MARKS/sub; false\" \
             && git -C sub config filter.x.clean \"touch $MARKS/filter; cat\" && \
             echo '* filter=x' > sub/.gitattributes && echo two > a.txt && echo x > sub/m",
        );
        rig
    };
    let plain = make();
    plain.shell("git add -A");
    assert!(!plain.fired().is_empty());
    let rig = make();
    assert_eq!(rig.commit("above", &[]).await.unwrap().files, ["a.txt"]);
    commit(&rig.at("sub"), "inside", &[]).await.unwrap();
    assert_eq!(rig.fired(), Vec::<String>::new());
}

#[tokio::test]
async fn a_git_in_the_workspace_or_on_the_path_is_not_the_one_that_runs() {
    let rig = Rig::new();
    rig.script("git", &format!("#!/bin/sh\ntouch {}/git\n", rig.marks().display()));
    let mut settings = rig.settings.clone();
    let path = rig.settings.workspace.display().to_string();
    for name in ["PATH", "GIT_EXEC_PATH", "GIT_DIR", "GIT_SSH_COMMAND", "GIT_CONFIG_PARAMETERS"] {
        settings.env.insert(name.into(), path.clone());
    }
    commit(&settings, "mine", &[]).await.unwrap();
    assert_eq!(rig.fired(), Vec::<String>::new());
}

#[tokio::test]
async fn nothing_outside_of_the_workspace_is_committed() {
    let rig = Rig::new();
    fs::create_dir(rig.home().join(".ssh")).unwrap();
    fs::write(rig.home().join(".ssh/id"), "SECRET").unwrap();
    symlink(rig.home().join(".ssh"), rig.settings.workspace.join("link")).unwrap();
    symlink(rig.home().join(".ssh/id"), rig.settings.workspace.join("file")).unwrap();
    let outside = rig.home().join(".ssh/id").display().to_string();
    for path in ["../.ssh/id", "x/../../.ssh/id", "link/id", &outside, ".git/config", "/"] {
        let error = rig.refused(&[path]).await;
        assert!(matches!(error, BrokerError::Refused(_)), "{path}: {error}");
    }
    rig.committed("links", &[]).await;
    assert_eq!(rig.shell("git cat-file blob HEAD:file"), outside);
    let option = rig.refused(&["--upload-pack=touch x"]).await;
    assert!(option.to_string().contains("no such file"), "{option}");
}

#[tokio::test]
async fn git_itself_reads_nothing_outside_of_the_repository() {
    if !crate::rig::rungs().contains(&Rung::Landlock) {
        return;
    }
    let rig = Rig::new();
    rig.shell("git gc -q && mkdir ../packs && mv .git/objects/pack/* ../packs");
    rig.shell("ln -s \"$PWD\"/../packs/* .git/objects/pack/ && git fsck");
    rig.write("a.txt", "two\n");
    let error = rig.refused(&[]).await.to_string();
    assert!(error.contains("`git "), "{error}");
    // What lies within is read through the same links.
    rig.shell("mv ../packs .git/ && ln -sf \"$PWD\"/.git/packs/* .git/objects/pack/");
    rig.committed("within", &[]).await;
}

#[tokio::test]
async fn pointers_that_lead_elsewhere_are_refused() {
    let victim = Rig::new();
    let theirs = victim.settings.workspace.join(".git").display().to_string();
    let attacks: [(&str, String); 9] = [
        ("a .git file", format!("rm -rf .git; echo 'gitdir: {theirs}' > .git")),
        ("a .git link", format!("rm -rf .git; ln -s {theirs} .git")),
        ("commondir", format!("echo {theirs} > .git/commondir")),
        (
            "a forged worktree",
            format!(
                "mv .git ../w && mkdir -p ../w && echo {theirs} > ../w/commondir && \
                 echo $PWD/.git > ../w/gitdir && echo \"gitdir: $PWD/../w\" > .git"
            ),
        ),
        ("a repository in the workspace", "mv .git g && git -C . config -f g/config core.worktree $PWD && echo 'gitdir: g' > .git".into()),
        ("objects", format!("rm -rf .git/objects; ln -s {theirs}/objects .git/objects")),
        ("a folder of objects", "rm -rf .git/objects/aa; ln -s $HOME .git/objects/aa".into()),
        ("branches", format!("rm -rf .git/refs/heads; ln -s {theirs}/refs/heads .git/refs/heads")),
        ("HEAD", "echo 'ref: refs/heads/../../config' > .git/HEAD".into()),
    ];
    let before = victim.shell("git rev-parse HEAD; git reflog; find .git | sort");
    for (name, attack) in attacks {
        let rig = Rig::new();
        rig.shell(&attack);
        rig.write("a.txt", "two\n");
        let error = rig.commit("attack", &[]).await.unwrap_err();
        assert!(matches!(error, BrokerError::Refused(_)), "{name}: {error}");
        assert_eq!(victim.shell("git rev-parse HEAD; git reflog; find .git | sort"), before);
    }
}

#[tokio::test]
async fn a_file_that_must_be_filtered_is_not_stored_without() {
    let rig = Rig::new();
    rig.write(".gitattributes", "secret* filter=crypt\n*.bin filter=lfs\n");
    rig.committed("attributes", &[]).await;
    rig.shell("git config filter.crypt.clean 'tr a-z b-za'; git config filter.crypt.required true");
    rig.shell("git config --global filter.lfs.process 'git-lfs filter-process'");
    for name in ["secret.txt", "large.bin"] {
        rig.write(name, "x");
        let error = rig.refused(&[name]).await;
        assert!(error.to_string().contains("has to go through the filter"), "{error}");
    }
    rig.write("plain.txt", "x");
    rig.committed("plain", &["plain.txt"]).await;
}

#[tokio::test]
async fn pipes_and_devices_in_a_repository_do_not_hold_it_up() {
    for place in [
        "config",
        "index",
        "packed-refs",
        "refs/heads/main",
        "info/exclude",
        "objects/info/alternates",
    ] {
        let rig = Rig::new();
        rig.shell(&format!("rm -f .git/{place}; mkfifo .git/{place}"));
        rig.write("a.txt", "two\n");
        let result = rig.commit("pipe", &[]).await;
        assert_eq!(result.is_ok(), place == "packed-refs", "{place}: {result:?}");
    }
}

#[tokio::test]
async fn the_repository_of_another_user_is_refused_unless_declared_safe() {
    if !crate::rig::is_root() {
        crate::rig::skip("a repository of another user: only root can make one");
        return;
    }
    let rig = Rig::new();
    rig.shell("chown -R 12345 .git");
    rig.write("a.txt", "two\n");
    let error = rig.commit("theirs", &[]).await.unwrap_err();
    assert!(error.to_string().contains("safe.directory"), "{error}");
    rig.shell("git config --global --add safe.directory \"$PWD\"");
    rig.commit("declared", &[]).await.unwrap();
}

#[tokio::test]
async fn a_pipe_that_git_would_wait_for_is_named() {
    for name in [".gitignore", "deep/er/.gitattributes"] {
        let rig = Rig::new();
        rig.write("deep/er/file", "x");
        rig.shell(&format!("mkfifo {name}"));
        let error = rig.commit("waiting", &[]).await.unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("is a pipe"), "{error}");
        assert!(!rig.settings.workspace.join(".git/index.lock").exists());
    }
}

#[tokio::test]
async fn a_pipe_in_a_repository_within_it_is_named() {
    for name in ["n/.git/HEAD", "n/.git/commondir"] {
        let rig = Rig::new();
        rig.write("a.txt", "two\n");
        rig.shell(&format!("git init -q -b main n; rm -f {name}; mkfifo {name}"));
        let error = rig.commit("waiting", &[]).await.unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("is a pipe"), "{error}");
        assert!(!rig.settings.workspace.join(".git/index.lock").exists());
    }
}
