//! Going from branch to branch.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::broker::{BrokerError, Change, Changed};
use sandbox::FileRules;

use super::Rig;

async fn to(rig: &Rig, name: &str) -> Result<Changed, BrokerError> {
    sandbox::broker(rig.settings.clone()).change(&Change::Switch(name.to_owned())).await
}

async fn create(rig: &Rig, name: &str) -> Result<Changed, BrokerError> {
    sandbox::broker(rig.settings.clone()).change(&Change::Create(name.to_owned())).await
}

/// A repository whose branch `other` has another `a.txt` and a folder more.
fn branched() -> Rig {
    let rig = Rig::new();
    rig.shell(
        "git checkout -q -b other && echo two > a.txt && mkdir d && echo b > d/b.txt && git add . \
         && git commit -q -m second && git checkout -q main",
    );
    rig
}

#[tokio::test]
async fn a_branch_is_made_and_left_again() {
    let rig = branched();
    let made = create(&rig, "topic/x").await.unwrap();
    assert_eq!((made.branch.as_deref(), made.files.len()), (Some("topic/x"), 0));
    assert_eq!(rig.shell("git branch --show-current"), "topic/x\n");
    let went = to(&rig, "other").await.unwrap();
    assert_eq!(went.branch.as_deref(), Some("other"));
    assert_eq!(went.files, ["a.txt", "d/b.txt"]);
    assert_eq!(rig.shell("cat a.txt d/b.txt; git branch --show-current"), "two\nb\nother\n");
    assert_eq!(rig.status(), "");
    to(&rig, "main").await.unwrap();
    assert_eq!(rig.shell("cat a.txt; ls; git status --porcelain"), "one\na.txt\n");
    let log = rig.shell("git reflog --format=%gs | head -3");
    assert_eq!(
        log,
        "checkout: moving from other to main\ncheckout: moving from topic/x to other\n\
         checkout: moving from main to topic/x\n"
    );
    rig.shell("git fsck --strict --no-dangling");
    assert!(!rig.settings.workspace.join(".git/HEAD.lock").exists());
}

#[tokio::test]
async fn a_tag_and_a_commit_detach_the_head() {
    let rig = branched();
    rig.shell("git tag -a -m x v1 other");
    let went = to(&rig, "v1").await.unwrap();
    assert_eq!(went.branch, None);
    assert_eq!(went.id.unwrap(), rig.shell("git rev-parse other").trim_end());
    let went = to(&rig, "HEAD~1").await.unwrap();
    assert_eq!(went.id.unwrap(), rig.shell("git rev-parse main").trim_end());
    let short = rig.shell("git rev-parse --short other");
    to(&rig, short.trim_end()).await.unwrap();
    assert_eq!(rig.shell("git rev-parse HEAD"), rig.shell("git rev-parse other"));
    assert_eq!(rig.status(), "");
}

#[tokio::test]
async fn what_is_not_committed_is_never_lost() {
    let rig = branched();
    rig.write("a.txt", "mine\n");
    let error = to(&rig, "other").await.unwrap_err();
    assert!(error.to_string().contains("a.txt"), "{error}");
    assert_eq!(rig.shell("cat a.txt; git branch --show-current; ls"), "mine\nmain\na.txt\n");
    rig.shell("git checkout -q a.txt");
    rig.write("d/b.txt", "untracked\n");
    let error = to(&rig, "other").await.unwrap_err();
    assert!(matches!(error, BrokerError::Refused(_)), "{error}");
    assert_eq!(rig.shell("cat d/b.txt a.txt; git branch --show-current"), "untracked\none\nmain\n");
    // Ignored files are worthless to git, and not to the person.
    rig.shell("echo d >> .git/info/exclude");
    let error = to(&rig, "other").await.unwrap_err();
    assert!(error.to_string().contains("d/b.txt is there and git does not keep it"), "{error}");
    assert_eq!(rig.shell("cat d/b.txt a.txt; git branch --show-current"), "untracked\none\nmain\n");
    rig.shell("rm -r d; mkdir -p d/b.txt/deep; echo mine > d/b.txt/deep/x");
    let error = to(&rig, "other").await.unwrap_err();
    assert!(error.to_string().contains("d/b.txt/deep/x"), "{error}");
    rig.shell("rm -r d");
    rig.write("new.txt", "kept\n");
    rig.shell("git add new.txt");
    to(&rig, "other").await.unwrap();
    assert_eq!(rig.status(), "A  new.txt\n");
}

/// A folder becomes a file and back, links, modes, submodules, line ends by attributes of the other side,
/// empty folders, and what is staged or ignored.
const SHAPES: &str = "
mkdir -p d/e/f many/deep && echo x > d/e/f/x && echo y > many/deep/y && echo same > same && echo go > go.txt
ln -s a.txt link && echo staged > staged && echo ignored > .gitignore && echo run > run && chmod +x run
git add . && git commit -q -m shapes && git checkout -q -b other
git rm -rq d many link go.txt && echo file > d && mkdir -p link many && echo in > link/in && ln -s ../link many/to
echo '*.crlf text eol=crlf' > .gitattributes && printf 'one\\ntwo\\n' > x.crlf && chmod -x run && echo more >> run
echo new > 'a b\n*'$'\\n' && chmod +x same && echo 'both' > staged
git add . && git update-index --add --cacheinfo 160000,$(printf '%040d' 7),sub && mkdir sub
git commit -q -m 'all of it' && git checkout -q main
echo both > staged && git add staged && echo own > untracked && echo kept > ignored
";

#[tokio::test]
async fn a_switch_leaves_what_git_itself_would_leave() {
    let (ours, theirs) = (Rig::new(), Rig::new());
    for rig in [&ours, &theirs] {
        rig.shell(SHAPES);
    }
    let look = "git status --porcelain; git branch --show-current; find . -path ./.git -prune -o \
                -printf '%P %y %m %l\\n' | sort; git ls-files -s; find . -path ./.git -prune -o \
                -type f -print0 | sort -z | xargs -0 sha1sum";
    assert_eq!(ours.shell(look), theirs.shell(look));
    for name in ["other", "main", "other"] {
        to(&ours, name).await.unwrap();
        theirs.shell(&format!("git checkout -q {name}"));
        assert_eq!(ours.shell(look), theirs.shell(look), "{name}");
    }
    ours.shell("git diff-files --quiet && git fsck --strict --no-dangling");
}

#[tokio::test]
async fn names_that_are_none_are_refused_and_change_nothing() {
    let rig = branched();
    for name in ["nowhere", "-f", "../../config", "main:a.txt", "HEAD@{1}", "", "main --detach"] {
        assert!(to(&rig, name).await.is_err(), "{name:?}");
    }
    for name in ["main", "HEAD", "a b", "-x", "other/y", "../x", ""] {
        assert!(create(&rig, name).await.is_err(), "{name:?}");
    }
    assert_eq!(rig.shell("git branch --format='%(refname:short)'"), "main\nother\n");
    assert_eq!(rig.shell("git branch --show-current"), "main\n");
    let unborn = Rig::unborn();
    create(&unborn, "first").await.unwrap();
    assert_eq!(unborn.shell("git branch --show-current"), "first\n");
}

#[tokio::test]
async fn nothing_of_the_repository_runs_and_nothing_protected_changes() {
    let rig = branched();
    rig.script(".git/hooks/post-checkout", "#!/bin/sh\ntouch $MARKS/hook\n");
    rig.shell(
        "git config filter.x.smudge 'touch $MARKS/smudge; cat' && git config core.fsmonitor \
         'touch $MARKS/monitor' && echo '*.txt filter=x' > .git/info/attributes",
    );
    fs::remove_dir_all(rig.marks()).unwrap();
    let went = to(&rig, "other").await.unwrap();
    assert_eq!(rig.fired(), [] as [&str; 0]);
    assert!(went.notes.iter().any(|note| note.contains("post-checkout")), "{went:?}");
    rig.shell(
        "rm .git/hooks/post-checkout .git/info/attributes; git config --unset core.fsmonitor",
    );
    for folder in [".vscode", "packages/a/.vscode"] {
        rig.shell(&format!(
            "git checkout -q -B tasks main && mkdir -p {folder} && echo {{}} > {folder}/tasks.json \
             && git add . && git commit -q -m tasks && git checkout -q main"
        ));
        let error = to(&rig, "tasks").await.unwrap_err();
        assert!(error.to_string().contains(".vscode is protected"), "{error}");
        assert!(!rig.settings.workspace.join(folder).exists());
    }
}

#[tokio::test]
async fn a_branch_of_another_working_tree_is_left_to_it() {
    let rig = branched();
    rig.shell("git worktree add -q ../second other");
    let error = to(&rig, "other").await.unwrap_err();
    assert!(error.to_string().contains("already"), "{error}");
}

/// Denies to write what lies in folders of this name.
#[derive(Debug)]
struct Kept(&'static str);

impl FileRules for Kept {
    fn hides(&self, _path: &Path) -> bool {
        false
    }

    fn keeps(&self, path: &Path) -> bool {
        path.iter().any(|part| part == self.0)
    }

    fn binds(&self, _path: &Path) -> bool {
        false
    }

    fn may_mean_below(&self, _folder: &Path) -> bool {
        true
    }

    fn starts(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

#[tokio::test]
async fn what_rules_deny_to_write_no_switch_changes() {
    let mut rig = branched();
    rig.settings.rules = Some(Arc::new(Kept("d")));
    let error = to(&rig, "other").await.unwrap_err().to_string();
    assert!(error.contains("d/b.txt differs there, and a rule denies it"), "{error}");
    assert_eq!(rig.shell("cat a.txt; ls; git branch --show-current"), "one\na.txt\nmain\n");
}

#[tokio::test]
async fn what_programs_would_obey_no_switch_puts_in_place() {
    let rig = branched();
    rig.shell("mkdir hk && echo true > hk/pre-commit && git add . && git commit -q -m hooks");
    rig.shell("git config core.hooksPath hk && git config core.fsmonitor ./new/monitor.sh");
    let bare = "mkdir -p b/objects b/refs b/w && touch b/objects/x b/refs/x b/w/x && echo 'ref: refs/heads/x' > b/HEAD";
    for (script, why) in [
        ("echo \"toolchain = { path = '/w/evil' }\" > rust-toolchain.toml", "names a path"),
        ("mkdir sub && echo 'nodejs path:./evil' > sub/.tool-versions", "names a path"),
        (
            &format!(
                "{bare} && printf '[core]\\nbare=false\\nworktree=w\\nfsmonitor=x\\n' > b/config"
            ),
            "b differs there, and it would be a repository",
        ),
        ("echo evil > hk/pre-commit", "make it run this"),
        ("mkdir new && echo evil > new/monitor.sh", "new/monitor.sh differs there, and settings"),
    ] {
        rig.shell(&format!(
            "git checkout -q -B evil main && {script} && git add -f . && git commit -q -m e --no-verify \
             && git checkout -q main"
        ));
        let error = to(&rig, "evil").await.unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("use git itself"), "{script}: {error}");
        assert_eq!(rig.shell("git branch --show-current; git status --porcelain"), "main\n");
    }
    for script in ["echo 1.90 > rust-toolchain", "mkdir other && echo x > other/monitor.sh"] {
        rig.shell(&format!(
            "git checkout -q -B fine main && {script} && git add -f . && git commit -q -m f --no-verify \
             && git checkout -q main"
        ));
        to(&rig, "fine").await.unwrap();
        rig.shell("git checkout -q main");
    }
}

/// What is on the first branch, and what the other one puts there.
const BY_LINKS: [(&str, &str); 16] = [
    (
        "mkdir vs sub && echo {} > vs/tasks.json && ln -s ../vs sub/.vscode",
        "echo evil > vs/tasks.json",
    ),
    ("mkdir sub && echo true > sub/e && ln -s e sub/.envrc", "echo evil > sub/e"),
    ("echo true > env.txt && ln -s env.txt .envrc", "echo evil > env.txt"),
    ("mkdir sub && ln -s ../a sub/.envrc && ln -s b a && echo 1 > b", "echo evil > c; ln -sf c a"),
    ("git config core.hooksPath \"$PWD\"", "echo evil > pre-commit"),
    ("ln -s tc rust-toolchain.toml", "echo 'path = \"/w/evil\"' > tc"),
    ("git config core.hooksPath x/hk", "mkdir -p y/hk && echo evil > y/hk/pre-commit && ln -s y x"),
    (
        "git config core.hooksPath x/hk && mkdir -p x/hk && echo true > x/hk/pre-commit",
        "git mv x y && ln -s y x",
    ),
    (
        "git config core.fsmonitor tools/fsm && mkdir tools && echo true > tools/fsm",
        "git rm -qr tools && mkdir t2 && echo evil > t2/fsm && ln -s t2 tools",
    ),
    ("git config core.fsmonitor tools/fsm", "mkdir t2 && echo evil > t2/fsm && ln -s t2 tools"),
    ("git config include.path ../gc/cfg", "mkdir g2 && echo evil > g2/cfg && ln -s g2 gc"),
    (
        "printf '#!/bin/sh\\nsh scripts/check.sh\\n' > .git/hooks/pre-commit",
        "mkdir s2 && echo evil > s2/check.sh && ln -s s2 scripts",
    ),
    (
        "echo '. scripts/env.sh' > .envrc && mkdir scripts && echo true > scripts/env.sh",
        "git rm -qr scripts && mkdir s2 && echo evil > s2/env.sh && ln -s s2 scripts",
    ),
    ("ln -s tc rust-toolchain.toml && echo x=1 > tc", "echo 'path = \"/w/evil\"' > tc"),
    (
        "ln -s tc rust-toolchain.toml && echo x=1 > tc",
        "rm tc && ln -s t2 tc && echo 'path = \"/w/evil\"' > t2",
    ),
    (
        "echo 'path = \"/w/evil\"' > tc",
        "ln -s ../tc sub && mkdir d && ln -s ../tc d/rust-toolchain.toml",
    ),
];

#[tokio::test]
async fn no_switch_puts_links_on_the_way_to_what_programs_obey() {
    for (first, script) in BY_LINKS {
        let rig = branched();
        rig.shell(&format!(
            "{first} && git add -f . && git commit -q --allow-empty --no-verify -m a && git checkout -q -b evil \
             && {script} && git add -f . && git commit -q --no-verify -m e && git checkout -q main"
        ));
        let error = to(&rig, "evil").await.unwrap_err().to_string();
        assert!(error.contains("use git itself"), "{script}: {error}");
        assert_eq!(rig.shell("git branch --show-current"), "main\n", "{script}");
    }
    for (first, script) in [
        ("ln -s tc rust-toolchain.toml && echo x=1 > tc", "echo x=2 > tc && ln -s tc other"),
        ("echo 1 > tc", "ln -s tc rust-toolchain"),
        ("git config core.hooksPath x/hk && mkdir y", "echo x > y/z && ln -s y xx"),
    ] {
        let rig = branched();
        rig.shell(&format!(
            "{first} && git add -f . && git commit -q --allow-empty --no-verify -m a && git checkout -q -b fine \
             && {script} && git add -f . && git commit -q --no-verify -m e && git checkout -q main"
        ));
        to(&rig, "fine").await.unwrap();
    }
}
