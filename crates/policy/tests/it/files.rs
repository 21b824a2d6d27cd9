//! Files that a command names by expansions, through links and the folders of processes, or writes
//! through another program: what rules say of them.

use std::path::{Path, PathBuf};

use contract::policy::{Action, Decision, Mode, Policy};
use contract::tool::Risk;
use policy::Settings;
use policy::ground::{Ground, Look, Sought, Width};
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, rules, run, tool};

const FILES: &[&str] = &[
    "/w/secret/k",
    "/w/src/a.rs",
    "/w/locked/f",
    "/w/d1/e/x",
    "/w/show/x",
    "/etc/passwd",
    "/w/passwd",
    "/w/plain",
];

const LINKS: &[(&str, &str)] = &[
    ("/w/y1", "/w/d1/e"),
    ("/w/s1", "/w/secret"),
    ("/w/c.txt", "/w/a.pem"),
    ("/w/a.pem", "/w/plain"),
    ("/w/chain", "/w/y1/b.pem"),
    ("/w/d1/e/b.pem", "/w/plain"),
];

/// A disk with a few files and links; a repository with the files of another folder at `/w/sub`.
struct Linked;

/// Where a path leads by one link.
fn led(path: &Path) -> Option<PathBuf> {
    LINKS.iter().find_map(|(link, end)| {
        let rest = path.strip_prefix(link).ok()?;
        Some(if rest.as_os_str().is_empty() { end.into() } else { Path::new(end).join(rest) })
    })
}

impl Look for Linked {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let end = self.links(path).last().and_then(|last| led(last));
        let end = end.unwrap_or_else(|| path.to_owned());
        FILES.iter().any(|file| Path::new(file).starts_with(&end)).then_some(end)
    }

    fn links(&self, path: &Path) -> Vec<PathBuf> {
        let first = led(path).map(|_| path.to_owned());
        std::iter::successors(first, |path| led(path).filter(|next| led(next).is_some())).collect()
    }

    fn names(&self, _folder: &Path) -> Option<Vec<String>> {
        None
    }

    fn git_elsewhere(&self, folder: &Path) -> Option<String> {
        folder.starts_with("/w/sub").then(|| String::from("`core.worktree`"))
    }

    fn git_keeps(&self, folder: &Path, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        self.seek(folder, Width::Everything, wanted)
    }

    fn leads_to_program(&self, path: &Path, added: Option<Vec<&str>>) -> Option<String> {
        let leads = added.is_none_or(|lines| lines.iter().any(|line| line.contains("path")));
        (path.ends_with("version") && leads).then(|| String::from("it names a path"))
    }

    fn is_own(&self, _program: &str) -> bool {
        true
    }

    fn seek(&self, folder: &Path, _width: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let mut files = FILES.iter().map(Path::new).filter(|path| path.starts_with(folder));
        files.find(|path| wanted(path)).map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }
}

fn check(deny: &[&str], wanted: Decision, commands: &[&str]) {
    let rules = rules(&json!({ "deny": deny }), Scope::User);
    let judge = policy::policy(Settings { rules, ground: Ground::new(Linked), ..bare() });
    let mut wrong = Vec::new();
    for command in commands {
        let ruling = run(&judge, command, Mode::Yolo);
        if ruling.decision != wanted {
            wrong.push(format!("{command}: {:?}", ruling.deciding()));
        }
    }
    assert!(wrong.is_empty(), "wanted {wanted:?}:\n{}", wrong.join("\n"));
}

#[test]
fn a_link_of_a_denied_name_on_the_way_is_denied() {
    let read = [
        "cat c.txt",
        "cat < c.txt",
        "cat ./c.txt",
        "cat c.*",
        "head -n1 /w/c.txt",
        "cat chain",
        "cat src/../c.txt",
        "cat y1/../../c.txt",
        "wc -l chain",
        "cp c.txt x",
        "cd src && cat ../c.txt",
        "f=c.txt; cat $f",
    ];
    check(&["Read(**/*.pem)"], Decision::Deny, &read);
    let written =
        ["echo x > c.txt", "echo x | tee -a c.txt", "sed -i s/a/b/ c.txt", "cp src/a.rs chain"];
    check(&["Write(**/*.pem)"], Decision::Deny, &written);
    check(&["Read(**/*.pem)", "Write(**/*.pem)"], Decision::Allow, &["cat plain", "cat y1/x"]);
}

const SECRET: &[&str] = &["Read(secret/**)"];

#[test]
fn an_expansion_in_a_word_hides_no_denied_file() {
    let commands = [
        "cat $(pwd)/secret/k",
        "cat \"$(git rev-parse --show-toplevel)/secret/k\"",
        "cat ${NOPE}secret/k",
        "cat $NOPE./secret/k",
        "cat secret/$Y",
        "cat sec${NOPE}ret/k",
        "cat $OLDPWD/secret/k",
        "cat ~-/secret/k",
        "cat $PWD/secret/k",
        "cat --file=$(pwd)/secret/k",
        "cat src/$X/secret/k",
        "cat < $X/secret/k",
        "cat $X/../secret/k",
        "cat $X/secret/{k,l}",
        "cat $X/sec*/k",
        "rm $(pwd)/secret/k",
        "ls | xargs -I{} cat secret/{}",
        "f=secret/k; cat \"$f\"",
        "for f in secret/k src/a.rs; do cat \"$f\"; done",
        "cat s1/$X",
    ];
    check(SECRET, Decision::Deny, &commands);
    check(&["Read(**/*.pem)"], Decision::Deny, &["cat $X.pem", "cat \"$HOME/$X/server.pem\""]);
    let writes = ["echo x > $(pwd)/locked/a", "cp pub $(pwd)/locked/", "tee ${X}locked/a"];
    check(&["Write(locked/**)"], Decision::Deny, &writes);
}

#[test]
fn a_word_that_tells_nothing_of_a_denied_file_is_not_taken_for_it() {
    let commands = [
        "cat \"$f\"",
        "for f in src/*; do wc -l \"$f\"; done",
        "cp \"$a\" \"$b\"",
        "echo $HOME",
        "cd \"$(git rev-parse --show-toplevel)\" && ls",
        "cat \"$dir/main.rs\"",
        "cat src/$x",
        "cat \"$a-$b.txt\"",
        "echo \"$a.$b\" \"${x}s\"",
        "sed -i \"s/$a/secret/\" src/a.rs",
        "git commit -m \"$(cat message)\"",
        "cat \"$d/secrets.md\"",
        "cat /proc/cpuinfo /proc/self/status /dev/null",
        "x=$(find src -name a.rs); cat $x",
        "for f in $(find . -name '*.rs'); do wc -l $f; done",
        "for f in $(git ls-files '*.rs'); do wc -l $f; done",
        "echo $(git rev-parse HEAD)",
        "ln -s src/a.rs b; cat b src/a.rs",
    ];
    check(SECRET, Decision::Allow, &commands);
    check(&["Read(.env)", "Read(**/*.pem)"], Decision::Allow, &["cat \"$a.$b\"", "cat \"$f.txt\""]);
}

#[test]
fn no_way_back_out_of_a_link_and_no_folder_of_a_process_hides_a_denied_file() {
    let commands = [
        "cat y1/../../secret/k",
        "cat y1/../../secret/*",
        "cat s1/*",
        "cd y1; cat ../../secret/k",
        "ln -s d1/e y2; cat y2/../../secret/k",
        "ln -s . q; cat q/secret/k",
        "ln -s .. up; cat up/w/secret/k",
        "cat /proc/$$/cwd/secret/k",
        "cat /proc/2/cwd/secret/k",
        "cat /proc/*/cwd/secret/k",
        "cat /proc/self/root/w/secret/k",
        "cat /dev/fd/../cwd/secret/k",
        "cd /proc/2; cat cwd/secret/k",
        "cat $(find . -name k)",
        "x=$(find .); cat $x",
        "for f in $(find .); do cat $f; done",
        "find . | while read f; do cat \"$f\"; done",
        "while read f; do cat \"$f\"; done < <(find .)",
    ];
    check(SECRET, Decision::Deny, &commands);
    check(SECRET, Decision::Ask, &["for f in $(git ls-files); do cat $f; done"]);
}

#[test]
fn what_git_is_shown_by_a_revision_is_not_narrowed_by_a_folder_of_its_name() {
    let commands = [
        "git show src --",
        "git log -p src --",
        "git archive src",
        "git archive -o x.tar src",
        "git grep TOP src --",
        "git -C src show src --",
        "git -C d1 show src",
        "git log -p --full-diff -- src",
        "git show HEAD:src/a.rs master",
        "git stash show -p",
        "git bundle create x src",
        "git format-patch src",
        "git log -G ^TOP",
        "git log -STOP",
        "git diff -S TOP --name-only HEAD",
        "git log --pickaxe-regex -S T.P",
        "git add -p",
        "git add -i",
        "git add -Ap",
        "git checkout -p",
        "git reset -p",
        "git restore --patch",
        "git commit -p",
        "git commit -pm x",
        "git bisect view -p",
        "git rebase --show-current-patch",
        "git am --show-current-patch=diff",
        "git rerere diff",
        "git request-pull -p HEAD .",
    ];
    check(SECRET, Decision::Ask, &commands);
    let others = [
        "git show HEAD -- src",
        "git log -p -- src",
        "git show HEAD:src/a.rs",
        "git -C src show HEAD -- a.rs",
        "git grep 'std::fs' src",
        "git log -S TOP -- src",
        "git fetch -p",
        "git apply -p1 x",
        "git rebase -i HEAD~2",
        "git add -A",
        "git commit -m p",
        "git checkout -b topic-p",
        "git log --oneline",
    ];
    check(SECRET, Decision::Allow, &others);
}

#[test]
fn git_is_told_of_another_folder_in_whatever_quotes_and_however_often() {
    let commands = [
        "export GIT_WORK\\_TREE=/etc; git diff -- passwd",
        "export GIT_DI''R=x; git diff -- passwd",
        "set -a; GIT_WORK\\_TREE=/etc; git diff -- passwd",
        "set -a; GIT_DI\"\"R=$x; git diff -- passwd",
        "declare -x 'GIT_WORK_TREE'=/etc; git diff",
        "export GIT_${X}_TREE=/etc; git diff -- passwd",
        "git -C . -C . -C . -C . -C . -C . -C sub diff -- src",
        "git -C a -C b -C c -C d -C e -C f -C g -C h diff -- src",
    ];
    check(SECRET, Decision::Ask, &commands);
    check(SECRET, Decision::Allow, &["git -C src -C . status", "export X=1; git diff -- src"]);
}

#[test]
fn what_another_program_is_given_to_write_is_held_against_rules_for_writing() {
    let commands = [
        "find . -name f -delete",
        "find . -name f -exec sed -i s/L/E/ {} +",
        "find . -name f -exec cp a {} \\;",
        "find . -name f | xargs sed -i s/L/E/",
        "find . -name f | xargs rm",
        "rm $(find . -name f)",
        "TMPDIR=locked mktemp",
    ];
    check(&["Write(locked/**)"], Decision::Deny, &commands);
    let others = [
        "find . -name f -exec cat {} +",
        "find . -name f | xargs grep L",
        "find . -name '*.o' -delete",
        "find src -name f -exec sed -i s/L/E/ {} +",
        "cat $(find . -name f)",
    ];
    check(&["Write(locked/**)"], Decision::Allow, &others);
}

#[test]
fn the_commands_of_tools_are_no_programs() {
    let commands = ["npm rm pkg", "hg rm x", "svn rm x", "ollama rm m", "npm --silent rm pkg"];
    check(&["Bash(rm:*)"], Decision::Allow, &commands);
    check(&["Bash(curl:*)"], Decision::Ask, &["./with-keys curl x"]);
    check(&["Bash(rm:*)"], Decision::Deny, &["npm exec rm x"]);
}

#[test]
fn a_file_that_leads_to_a_program_is_not_written() {
    let judge = policy::policy(Settings { ground: Ground::new(Linked), ..bare() });
    let writer = tool("Write", true, Risk::Mutating);
    let decide = |name: &str, diff: Option<&str>| {
        let (path, diff) = (Path::new("/w").join(name), diff.map(str::to_owned));
        judge.judge(&writer, &[Action::Write { path, diff }], Mode::Yolo).decision
    };
    let head = "--- a/f\n+++ b/path\n@@ -1 +1 @@\n-channel = \"x\"\n";
    for (line, wanted) in [
        ("+channel = \"1.90\"", Decision::Allow),
        ("-path = \"evil\"", Decision::Allow),
        (" path = \"theirs\"", Decision::Allow),
        ("+path = \"evil\"", Decision::Deny),
    ] {
        assert_eq!(decide("version", Some(&format!("{head}{line}\n"))), wanted, "{line}");
    }
    assert_eq!(decide("version", None), Decision::Deny);
    assert_eq!(decide("other", None), Decision::Allow);
}
