//! Files that nobody names in the text: what git brings back, and names that stand in a file.

use contract::policy::{Decision, Mode};

use crate::sweeps::decisions;

fn check(deny: &[&str], mode: Mode, wanted: Decision, commands: &[&str]) {
    for (command, decision) in decisions(deny, mode, commands) {
        assert_eq!(decision, wanted, "{command} in {mode:?} with {deny:?}");
    }
}

#[test]
fn what_git_brings_back_is_asked_about_where_it_keeps_what_may_not_be_written() {
    let commands = [
        "git stash",
        "git stash pop",
        "git stash apply",
        "git -C src stash pop",
        "git checkout main",
        "git checkout \"$branch\"",
        "git checkout -b new origin/main",
        "git switch main",
        "git merge main",
        "git pull --rebase",
        "git rebase main",
        "git cherry-pick abc",
        "git revert HEAD",
        "git reset --keep HEAD~1",
        "git checkout main -- src/..",
        "git checkout main -- 'h*'",
        "git checkout main 'h*'",
        "git restore --source=HEAD~1 src/../",
        "git restore -s HEAD~1 ':!src'",
    ];
    check(&["Write(hidden/**)"], Mode::Yolo, Decision::Ask, &commands);
    let narrow = [
        "git stash list",
        "git checkout -b new",
        "git switch -c new",
        "git checkout src/a.rs",
        "git checkout main -- src",
        "git checkout main src/a.rs",
        "git checkout HEAD -- \"$f\"",
        "git restore src/a.rs",
        "git restore --source HEAD~1 src",
        "git restore --staged .",
        "git status",
        "git commit -qm x",
        "git fetch",
    ];
    check(&["Write(hidden/**)"], Mode::Yolo, Decision::Allow, &narrow);
    // What git does not keep it leaves alone, unless it is told where to write.
    let others = ["git stash pop", "git checkout main", "git pull"];
    check(&["Write(secret/**)"], Mode::Yolo, Decision::Allow, &others);
    check(&["Write(secret/**)"], Mode::Yolo, Decision::Ask, &["git checkout main -- src/.."]);
    check(&[], Mode::Yolo, Decision::Allow, &others);
    check(&["Read(hidden/**)"], Mode::Yolo, Decision::Allow, &["git pull", "git checkout main"]);
}

#[test]
fn names_that_stand_in_a_file_are_asked_about_where_files_are_denied() {
    let commands = [
        "xargs -a list cat",
        "xargs --arg-file=list cat",
        "xargs -I{} -a list head {}",
        "xargs cat < list",
        "cat list | xargs cat",
        "sort -u list | xargs -n 1 head",
        "cat $(cat list)",
        "cat $(<list)",
        "cat `head -n 1 list`",
        "cat \"$(sed -n 1p list)\"",
        "f=$(cat list); cat \"$f\"",
        "read f < list; cat \"$f\"",
        "mapfile -t a < list; cat \"${a[@]}\"",
        "while read -r f; do cat \"$f\"; done < list",
        "cat list | while read -r f; do wc -l \"$f\"; done",
        "for f in $(cat list); do cp \"$f\" out; done",
        "cat < \"$(cat list)\"",
        "tar cf x.tar -T list",
        "rsync --files-from=list . out",
        "wc --files0-from=list",
    ];
    check(&["Read(/elsewhere/**)"], Mode::Yolo, Decision::Ask, &commands);
    check(&["Write(/elsewhere/**)"], Mode::Yolo, Decision::Ask, &["xargs rm < list"]);
    check(&["Write(/elsewhere/**)"], Mode::Yolo, Decision::Allow, &["cat $(cat list)"]);
    let others = [
        "echo $(cat VERSION)",
        "kill $(cat pid)",
        "docker build -t x:$(cat VERSION) out",
        "head -n $(cat count) README.md",
        "grep -n \"$(cat pattern)\" README.md",
        "grep -f list README.md",
        "cat $(which ls)",
        "printf '%s' README.md | xargs cat",
        "while read -r line; do echo \"$line\"; done < README.md",
        "cat list | xargs echo",
        "sort list | uniq -c | head -n 5",
    ];
    check(&["Read(/elsewhere/**)"], Mode::Yolo, Decision::Allow, &others);
    check(&[], Mode::Yolo, Decision::Allow, &commands);
}

#[test]
fn what_is_left_out_of_an_archive_or_a_search_is_not_read() {
    let asked = ["tar czf x.tgz . --exclude=secret", "rsync -a --exclude=secret/ . out"];
    check(&["Read(secret/**)"], Mode::Yolo, Decision::Ask, &asked);
    let searched = ["grep -rn --exclude-dir=secret x ."];
    check(&["Read(secret/**)"], Mode::Yolo, Decision::Allow, &searched);
    // There the option is the name of the archive.
    let denied = ["tar cf --exclude secret/k", "tar czf x.tgz --exclude-from=secret/k src"];
    check(&["Read(secret/**)"], Mode::Yolo, Decision::Deny, &denied);
}

#[test]
fn what_is_found_and_handed_on_in_one_go_is_read() {
    let denied = [
        "fd . -x cat",
        "fd -t f -X cat",
        "fd -e pem . -x cat {} \\;",
        "fd k secret --exec-batch head",
        "find . | cpio -o",
        "find . -print0 | cpio -0 -o > x.cpio",
        "cpio -o <<< secret/k",
        "pax -w .",
        "pax -wf x.tar secret",
    ];
    let rules = ["Read(secret/**)", "Read(**/*.pem)"];
    check(&rules, Mode::Yolo, Decision::Deny, &denied);
    check(&["Read(.env)"], Mode::Yolo, Decision::Deny, &["fd -H -x cat", "fd -u . -X cat"]);
    let others = [
        "fd -e rs -x wc -l",
        "fd '\\.rs$' -x wc -l",
        "fd . src -x wc -l",
        "fd -x echo",
        "find src | cpio -o",
        "cpio -t < x.cpio",
        "pax -f x.tar",
        "pax -w src",
    ];
    check(&rules, Mode::Yolo, Decision::Allow, &others);
    check(&["Read(.env)"], Mode::Yolo, Decision::Allow, &["fd -x wc -l", "fd -t f -X cat"]);
}

#[test]
fn what_git_brings_back_in_another_repository_is_none_of_the_projects_files() {
    let rule = ["Write(hidden/**)"];
    let others = ["git -C /other checkout main", "cd /other && git pull"];
    check(&rule, Mode::Yolo, Decision::Allow, &others);
    let own = [
        "git -C /w checkout main",
        "git -C /nowhere checkout main",
        "git -C / checkout main",
        "cd /other; git pull",
        "cd /other && cd /w && git pull",
        "git -C $x checkout main",
    ];
    check(&rule, Mode::Yolo, Decision::Ask, &own);
}
