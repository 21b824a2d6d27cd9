//! What searches of whole folders come upon: rules and names of secrets hold for it all the same.

use std::path::{Path, PathBuf};

use contract::policy::{Action, Decision, Hidden, Mode, Policy};
use contract::tool::Risk;
use policy::ground::{Ground, Look, Sought, Width};
use policy::rules::Scope;
use policy::{Search, Settings};
use serde_json::json;

use crate::setting::{bare, bash, command, rules, run, tool};

const FILES: &[&str] = &[
    "/w/README.md",
    "/w/secret/k",
    "/w/src/a.rs",
    "/w/.env",
    "/w/keys/server.pem",
    "/w/src/b.rs",
    "/w/old/rust-toolchain.toml",
    "/usr/bin/ls",
    "/other/.git/HEAD",
    "/w/d/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32/x",
];

/// What git keeps of them: a secret among it, and one that is ignored all the same.
const KEPT: &[&str] = &["/w/README.md", "/w/keys/server.pem", "/w/src/a.rs", "/w/hidden/kept"];

/// A disk with a few files, a repository with another working tree at `/w/away`, and `/w/link` that leads to one of them.
struct Fixed;

impl Look for Fixed {
    fn seek(&self, folder: &Path, width: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let is_seen = |path: &&Path| {
            let is_hidden = matches!(width, Width::Visible | Width::Found);
            path.starts_with(folder) && !(is_hidden && path.ends_with(".env"))
        };
        let mut files = FILES.iter().map(Path::new).filter(is_seen);
        files.find(|path| wanted(path)).map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        if path == Path::new("/w/link") {
            return Some(PathBuf::from("/w/secret/k"));
        }
        let is_there = FILES.iter().any(|file| Path::new(file).starts_with(path));
        is_there.then(|| path.to_owned())
    }

    fn names(&self, _folder: &Path) -> Option<Vec<String>> {
        None
    }

    fn git_elsewhere(&self, folder: &Path) -> Option<String> {
        folder.starts_with("/w/away").then(|| String::from("`core.worktree`"))
    }

    fn git_keeps(&self, _folder: &Path, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let mut files = KEPT.iter().map(Path::new);
        files.find(|path| wanted(path)).map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }

    fn is_own(&self, program: &str) -> bool {
        ["cargo", "python3", "make", "bash", "java", "php", "go"].contains(&program)
    }
}

pub(crate) fn decisions(deny: &[&str], mode: Mode, commands: &[&str]) -> Vec<(String, Decision)> {
    let rules = rules(&json!({ "deny": deny }), Scope::User);
    let judge = policy::policy(Settings { rules, ground: Ground::new(Fixed), ..bare() });
    let judged = |text: &&str| ((*text).to_owned(), run(&judge, text, mode).decision);
    commands.iter().map(judged).collect()
}

#[test]
fn a_search_that_comes_upon_a_denied_file_is_denied_in_every_mode() {
    let commands = [
        "grep -r s .",
        "grep -r s",
        "grep -R -A 3 s .",
        "grep --recursive s ./",
        "timeout 5 grep -nr s .",
        "rg s",
        "rg s .",
        "rg -g k s",
        "rg s *",
        "diff -r src .",
        "cat link",
        "git show :secret/k",
        "git show :0:secret/k",
        "git show HEAD:secret/k",
        "git cat-file -p :secret/k",
    ];
    for mode in [Mode::Normal, Mode::Yolo] {
        for (command, decision) in decisions(&["Read(secret/**)"], mode, &commands) {
            assert_eq!(decision, Decision::Deny, "{command} in {mode:?}");
        }
    }
    let elsewhere = ["grep -r s src", "rg s src", "rg -g '*.rs' s", "git show HEAD:src/a.rs"];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Normal, &elsewhere) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn what_one_program_finds_and_another_shows_is_come_upon_too() {
    let commands = [
        "find . -type f -exec cat {} +",
        "find . -type f | xargs cat",
        "find . -type f -print0 | xargs -0 head",
        "ls -R | xargs cat",
        "find -exec base64 {} \\;",
    ];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Deny, "{command}");
    }
    let others = [
        "find . -name '*.rs' -exec cat {} +",
        "find src -type f | xargs cat",
        "find . -type f | xargs ls -l",
        "ls | xargs wc -l",
    ];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Yolo, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn a_patch_or_an_archive_that_could_write_a_denied_file_is_asked_about() {
    let commands = [
        "patch -p1 < f.diff",
        "patch -p0 -i f.diff",
        "git apply f.diff",
        "git -C . apply f.diff",
        "git apply --stat --apply f.diff",
        "git am f.mbox",
        "cd src && git am f.mbox",
        "tar xf a.tar",
        "tar -xzf a.tgz -C .",
        "tar --extract --file=a.tar",
        "bsdtar -xf a.zip",
        "cd src && tar xPf a.tar",
        "unzip a.zip",
        "unzip -o a.zip -d .",
        "cpio -i < a.cpio",
        "cd src && cpio -idm < a.cpio",
        "7z x a.7z",
        "cat a.tar | tar x",
        "timeout 5 tar xf a.tar",
    ];
    for rule in ["Write(secret/**)", "Edit(secret/k)", "Write(**/k)", "Write(none/**)"] {
        for (command, decision) in decisions(&[rule], Mode::Yolo, &commands) {
            assert_eq!(decision, Decision::Ask, "{rule}: {command}");
        }
    }
    for rule in ["Read(secret/**)", "Write(**/none)", "Write(/etc/**)"] {
        for (command, decision) in decisions(&[rule], Mode::Yolo, &commands) {
            assert_eq!(decision, Decision::Allow, "{rule}: {command}");
        }
    }
    let others = [
        "tar xf a.tar -C src",
        "unzip a.zip -d src",
        "git apply --directory=src f.diff",
        "git -C src apply f.diff",
        "git apply --check f.diff",
        "git apply --stat f.diff",
        "patch --dry-run -p1 < f.diff",
        "tar czf a.tgz src",
        "tar tf a.tar",
        "unzip -l a.zip",
        "unzip -p a.zip x",
        "cpio -it < a.cpio",
        "7z l a.7z",
        "ar rcs lib.a x.o",
    ];
    for (command, decision) in decisions(&["Write(secret/**)"], Mode::Yolo, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn a_copy_of_all_that_is_in_a_folder_could_write_a_denied_file() {
    let commands = [
        "cp -r src/. .",
        "cp -a src/* .",
        "cp -r -t . src/.",
        "rsync -a src/ .",
        "rsync -a src/* ./",
        "git rm -r .",
        "git rm -rf -- .",
    ];
    for (command, decision) in decisions(&["Write(secret/**)"], Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Ask, "{command}");
    }
    let others = ["cp -r src .", "cp -r src/. new", "cp a .", "rsync -a src .", "git rm -r src"];
    for (command, decision) in decisions(&["Write(secret/**)"], Mode::Yolo, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn what_is_packed_or_copied_as_a_whole_is_come_upon() {
    let commands = [
        "tar cf x.tar .",
        "tar -czf x.tgz .",
        "tar --create --file=x.tar .",
        "tar cf - . | cat",
        "zip -r x.zip .",
        "7z a x.7z .",
        "gzip -cr .",
        "cp -r . /tmp/x",
        "rsync -a . /tmp/x",
        "scp -r . h:",
    ];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Deny, "{command}");
    }
    let asked = decisions(&["Read(secret/**)"], Mode::Yolo, &["tar cf x.tar --exclude=k* ."]);
    assert_eq!(asked[0].1, Decision::Ask);
    let others = [
        "tar czf x.tgz src",
        "zip -r x.zip src",
        "cp -r src new",
        "cp -r new newer",
        "cp -r \"$a\" \"$b\"",
        "cp README.md x",
        "rsync -a src/ new/",
    ];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Yolo, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn what_is_written_by_text_that_others_run_is_denied() {
    let commands = [
        "echo 'echo a > secret/k' | sh",
        "printf 'echo>secret/k' | sh",
        "echo echo a \\> secret/k | sh",
        "echo 'echo a > secret/k' > s; sh s",
        "python3 -c \"import os; os.system('echo a > secret/k')\"",
        "make -f - <<< 'x:;echo a > secret/k'",
        "make --eval='x:;echo a > secret/k'",
        "echo 'x:;echo a > secret/k' > Makefile; make",
        "echo > $(printf %s/%s secret k)",
        "echo secret/k | while read x; do echo > $x; done",
        "printf 'a\\nsecret/k\\n' | while read x; do echo > $x; done",
        "while read x; do echo > $x; done <<E\na\nsecret/k\nE",
        "find . -type f | while read f; do echo x > \"$f\"; done",
        "for f in $(find . -type f); do : > $f; done",
    ];
    for (command, decision) in decisions(&["Write(secret/**)"], Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Deny, "{command}");
    }
    let others = [
        "echo 'see secret/k' | cat",
        "echo 'cat secret/k' | sh",
        "find src -type f | while read f; do echo x > \"$f\"; done",
        "find . -name '*.md' | while read f; do echo x > \"$f.bak\"; done",
    ];
    for (command, decision) in decisions(&["Write(secret/**)"], Mode::Yolo, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn what_git_keeps_of_a_denied_file_is_asked_about_in_every_mode() {
    let commands = ["git diff", "git grep s", "git log -p", "git show HEAD", "git diff HEAD -- ."];
    for mode in [Mode::Normal, Mode::Yolo] {
        for (command, decision) in decisions(&["Read(secret/**)"], mode, &commands) {
            assert_eq!(decision, Decision::Ask, "{command} in {mode:?}");
        }
    }
    let others = ["git diff --stat", "git log", "git diff -- src", "git status"];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Normal, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn every_way_to_have_git_show_contents_is_asked_about() {
    let commands = [
        "git log -U0",
        "git log --unified=3",
        "git log --unified",
        "git log --binary",
        "git log --patch-with-stat",
        "git log --patch-with-raw",
        "git log --check",
        "git log -c",
        "git log --cc",
        "git log --dd",
        "git log --remerge-diff",
        "git log -wp",
        "git log -wU0",
        "git log --pat",
        "git log --uni",
        "git log --stat -p",
        "git diff --stat -p",
        "git diff --name-only --patch",
        "git stash list -p",
        "git reflog -p",
        "git status -v",
        "git status -vv",
        "git status --verbose",
        "git range-diff a..b c..d",
        "git --work-tree . log -p",
        "git --namespace x log -p",
        "git cat-file -p 1234abcd",
        "git cat-file blob 1234abcd",
        "git cat-file --batch",
        "git show 1234abcd",
        "git show 1234abcd -- src",
        "git show 1234abcd:k",
        "git show x-1-g1234abcd",
        "git show 1234abcd^{blob}",
        "git diff 1234abcd HEAD:src/a.rs",
        "git diff 1234abcd..5678abcd src",
        "git diff 1234abcd src/a.rs",
        "git diff -- ':(glob)s*/k' src",
        "git diff -- ':!src' src",
        "git log -p -- 's*' src",
        "git grep -e s 1234abcd src",
    ];
    for mode in [Mode::Normal, Mode::Yolo] {
        for (command, decision) in decisions(&["Read(secret/**)"], mode, &commands) {
            assert_eq!(decision, Decision::Ask, "{command} in {mode:?}");
        }
    }
    let others = [
        "git log --stat",
        "git log --oneline -n5 --patience",
        "git log --pretty=oneline",
        "git cat-file -t 1234abcd",
        "git cat-file -p HEAD",
        "git diff main -- src",
        "git grep feed src",
        "git stash list",
        "git status -s",
        "git status --short --branch",
    ];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Normal, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn a_denied_file_that_git_keeps_although_it_is_ignored_is_asked_about() {
    for mode in [Mode::Normal, Mode::Yolo] {
        for (command, decision) in
            decisions(&["Read(hidden/**)"], mode, &["git grep x", "git diff"])
        {
            assert_eq!(decision, Decision::Ask, "{command} in {mode:?}");
        }
    }
}

#[test]
fn git_with_files_of_another_folder_asks_where_files_are_denied() {
    let commands = [
        "cd away && git diff",
        "git -C away blame k",
        "git -C away status",
        "timeout 5 git -C ./away grep x",
        "git --work-tree=/etc diff -- passwd",
        "git --work-tree /etc diff -- passwd",
        "git -c core.workTree=/etc diff -- passwd",
        "git --git-dir=x/.git diff",
        "GIT_WORK_TREE=/etc git diff -- passwd",
        "GIT_WORK_TREE=/etc; export GIT_WORK_TREE; git diff -- passwd",
        "env GIT_DIR=x git blame k",
    ];
    for (command, decision) in decisions(&["Read(/etc/passwd)"], Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Ask, "{command}");
    }
    for (command, decision) in decisions(&[], Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
    let others = ["git status", "git blame README.md", "git -C src status", "cd away && ls"];
    for (command, decision) in decisions(&["Read(/etc/passwd)"], Mode::Yolo, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn a_narrow_search_says_nothing_of_a_wide_one_in_the_same_folder() {
    let commands = [
        "grep -r --include=*.md s . ; grep -r s .",
        "grep -r --exclude-dir=secret s . ; grep -r s .",
        "rg -g '*.md' s; rg -uu s",
        "git diff; git grep --untracked s",
        "find . -name '*.md' -exec cat {} + ; find . -exec cat {} +",
    ];
    for mode in [Mode::Normal, Mode::Yolo] {
        for (command, decision) in decisions(&["Read(secret/**)"], mode, &commands) {
            assert_eq!(decision, Decision::Deny, "{command} in {mode:?}");
        }
    }
}

#[test]
fn a_search_of_too_many_folders_is_asked_about() {
    let deep = |count: usize| {
        let folders = (1..=count).map(|last| {
            let parts: Vec<String> = (1..=last).map(|part| part.to_string()).collect();
            format!("d/{}", parts.join("/"))
        });
        format!("grep -r s {}", folders.collect::<Vec<_>>().join(" "))
    };
    let (few, many) = (deep(32), format!("{} ./", deep(32)));
    let rule = ["Read(secret/**)"];
    assert_eq!(decisions(&rule, Mode::Yolo, &[&few])[0].1, Decision::Allow);
    assert_eq!(decisions(&rule, Mode::Yolo, &[&many])[0].1, Decision::Ask);
    // Without a rule only a secret could be among them, and the mode says that nobody minds.
    assert_eq!(decisions(&[], Mode::Normal, &[&many])[0].1, Decision::Ask);
    assert_eq!(decisions(&[], Mode::Yolo, &[&many])[0].1, Decision::Allow);
}

#[test]
fn a_search_that_comes_upon_a_secret_asks() {
    let commands = [
        "grep -r x .",
        "rg x",
        "rg --hidden -g .env x",
        "rg -uu x",
        "diff -r src .",
        "git grep --untracked x",
        "git grep --untracked -h ''",
        "rg x --iglob '.ENV'",
        "rg x --iglob '*.ENV'",
        "rg x --iglob '.Env*'",
        "rg --glob-case-insensitive -g .ENV x",
        "rg -g '{.env,x}' KEY",
        "rg -g '{*.rs,.env}' KEY src .",
        "git diff",
        "git grep x",
        "git show HEAD",
        "git show 1234abcd",
        "git show :0:.env",
        "git cat-file -p 1234abcd",
        "git log -p",
        "git log -p -- keys",
    ];
    for (command, decision) in decisions(&[], Mode::Normal, &commands) {
        assert_eq!(decision, Decision::Ask, "{command}");
    }
    let others = [
        "grep -r x src",
        "grep -r --include='*.rs' x .",
        "rg -g '*.rs' x",
        "rg --files",
        "grep x README.md",
        "git diff -- src",
        "git grep x -- src",
        "git diff --stat",
        "git log",
        "rg -g '*.{rs,md}' x src",
    ];
    for (command, decision) in decisions(&[], Mode::Normal, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn tools_leave_out_what_they_would_not_get_by_itself() {
    let list = json!({"deny": ["Read(secret/**)"], "allow": ["Read(keys/server.pem)"]});
    let rules = rules(&list, Scope::User);
    let judge = policy::policy(Settings { rules, ..bare() });
    let view = judge.view(&tool("Grep", false, Risk::ReadOnly));
    let hidden = |path: &str| view.hidden(Path::new(path));
    assert_eq!(hidden("/w/secret/k"), Some(Hidden::Ruled));
    assert_eq!(hidden("/w/.env"), Some(Hidden::Secret));
    assert_eq!(hidden("/w/keys/server.pem"), None);
    assert_eq!(hidden("/w/src/a.rs"), None);
}

#[test]
fn a_program_of_the_system_may_say_its_version_unless_the_project_chooses_it() {
    let judge = policy::policy(Settings { ground: Ground::new(Fixed), ..bare() });
    for (text, wanted) in [
        ("cargo --version", Decision::Allow),
        ("cargo -V && python3 -V; python3 --version", Decision::Allow),
        ("make --version | head -1", Decision::Allow),
        ("timeout 5 bash --version", Decision::Allow),
        ("cd src && cargo --version", Decision::Allow),
        ("cd old && cargo --version", Decision::Ask),
        ("cargo --version --verbose && cargo -vV", Decision::Allow),
        ("java -version && java --version && php --version && php -v", Decision::Allow),
        ("java -version x", Decision::Ask),
        // A line of `go.mod` chooses which one runs.
        ("go version", Decision::Ask),
        ("cargo --version x", Decision::Ask),
        ("cargo -v", Decision::Ask),
        ("make -v", Decision::Ask),
        ("./python3 --version", Decision::Ask),
        ("X=1 python3 --version", Decision::Ask),
        ("node --version", Decision::Ask),
        ("python3 --version x", Decision::Ask),
    ] {
        assert_eq!(run(&judge, text, Mode::Normal).decision, wanted, "{text}");
    }
}

#[test]
fn other_spellings_of_a_search_of_folders_are_one_too() {
    for text in ["grep -d recurse x .", "grep -drecurse x .", "diff src secret", "diff . src"] {
        let judged = decisions(&["Read(secret/**)"], Mode::Yolo, &[text]);
        assert_eq!(judged[0].1, Decision::Deny, "{text}");
    }
}

#[test]
fn a_way_up_is_followed_where_no_link_is_in_the_way() {
    let commands =
        ["cd src && ls && cd ..", "cat ./src/../README.md", "cd src && cat ../README.md"];
    for (command, decision) in decisions(&[], Mode::Normal, &commands) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
    let others = [
        "cat link/../x",
        "cat none/../README.md",
        "cd src && cd ../..",
        "cd src/../..",
        "git -C none status",
        "git -C link status",
        "git -C src show HEAD:.env",
        "git -C src grep x",
        "git -C src diff -- ../../x",
    ];
    for (command, decision) in decisions(&[], Mode::Normal, &others) {
        assert_eq!(decision, Decision::Ask, "{command}");
    }
}

#[test]
fn a_search_path_that_a_call_does_not_get_proves_nothing() {
    let search = Search {
        doubtful: Some("node_modules/.bin".into()),
        sure: Some("/usr/bin".into()),
        ..Search::default()
    };
    let judge = policy::policy(Settings { search, ground: Ground::new(Fixed), ..bare() });
    let looks = judge.judge(&bash(), &[command("ls")], Mode::Normal);
    assert_eq!((looks.decision, looks.search_path.as_deref()), (Decision::Allow, Some("/usr/bin")));
    let write = Action::Write { path: "/w/x".into(), diff: None };
    let both = judge.judge(&bash(), &[command("ls"), write], Mode::Normal);
    assert_eq!((both.decision, both.search_path), (Decision::Ask, None));
    let why = "a command was judged by another search path than it would get";
    assert!(both.reasons.iter().any(|reason| reason.why == why), "{:?}", both.reasons);
}

#[test]
fn what_rg_leaves_out_counts_only_where_that_is_certain() {
    let denied = [
        "rg --hidden x",
        "rg -. x",
        "rg -uu x",
        "rg --no-ignore-dot x",
        "rg --no-ignore-files x",
        "rg --no-ignore-exclude x",
        "rg --unrestricted x",
        "rg --ignore-file-case-insensitive x",
        "RIPGREP_CONFIG_PATH=c rg x",
        "export RIPGREP_CONFIG_PATH=c; rg x",
        "echo '!.env' > .ignore; rg x",
        "printf '!.env' | tee .rg''ignore; rg x",
        "mv .gitignore old && rg x",
        "F=-uu; rg $F x",
    ];
    for (command, decision) in decisions(&["Read(.env)"], Mode::Yolo, &denied) {
        assert_eq!(decision, Decision::Deny, "{command}");
    }
    let others =
        ["rg x", "rg x .gitignore", "cat .gitignore; rg x", "git add .gitignore && rg -n x src"];
    for (command, decision) in decisions(&["Read(.env)"], Mode::Yolo, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}
