//! Denied files that are reached through links, patterns, listings and scripts, and commands that are
//! none of that: what rules say of both.

use std::path::{Path, PathBuf};

use contract::policy::{Decision, Mode};
use policy::Settings;
use policy::ground::{Ground, Look, Sought, Width};
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, rules, run};

const FILES: &[&str] = &[
    "/w/secret/k",
    "/w/src/a.rs",
    "/w/src/lib/b.rs",
    "/w/locked/f",
    "/w/d1/e/x",
    "/w/README.md",
    "/w/.env",
    "/w/s/x",
];

const LINKS: &[(&str, &str)] =
    &[("/w/y1", "/w/d1/e"), ("/w/s1", "/w/secret"), ("/w/here", "/w"), ("/w/src/up", "/w/secret")];

/// A disk with a few files and links; git keeps all of them.
struct Disk;

impl Disk {
    /// Where a path leads, one link after the other.
    fn end(path: &Path) -> PathBuf {
        let mut end = path.to_owned();
        for _ in 0..8 {
            let led = LINKS.iter().find_map(|(link, target)| {
                let rest = end.strip_prefix(link).ok()?;
                Some(Path::new(target).join(rest).components().collect())
            });
            match led {
                Some(led) => end = led,
                None => return end,
            }
        }
        end
    }
}

impl Look for Disk {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let end = Self::end(path);
        FILES.iter().any(|file| Path::new(file).starts_with(&end)).then_some(end)
    }

    fn names(&self, folder: &Path) -> Option<Vec<String>> {
        let folder = Self::end(folder);
        let all = FILES.iter().copied().chain(LINKS.iter().map(|(link, _)| *link));
        let below = all.filter_map(|path| Path::new(path).strip_prefix(&folder).ok());
        let first = below.filter_map(|rest| rest.components().next());
        let mut names: Vec<String> =
            first.map(|name| name.as_os_str().to_string_lossy().into_owned()).collect();
        names.sort();
        names.dedup();
        (!names.is_empty()).then_some(names)
    }

    fn git_keeps(&self, _folder: &Path, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let mut files = FILES.iter().map(Path::new);
        files.find(|path| wanted(path)).map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }

    fn is_own(&self, _program: &str) -> bool {
        true
    }

    fn seek(&self, folder: &Path, _width: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let real = Self::end(folder);
        let below = FILES.iter().filter_map(|file| Path::new(file).strip_prefix(&real).ok());
        let mut files = below.map(|rest| folder.join(rest));
        files.find(|path| wanted(path)).map_or(Sought::Nothing, Sought::Found)
    }
}

fn check_in(mode: Mode, deny: &[&str], wanted: Decision, commands: &[impl AsRef<str>]) {
    let rules = rules(&json!({ "deny": deny }), Scope::User);
    let judge = policy::policy(Settings { rules, ground: Ground::new(Disk), ..bare() });
    let mut wrong = Vec::new();
    for command in commands.iter().map(AsRef::as_ref) {
        let ruling = run(&judge, command, mode);
        if ruling.decision != wanted {
            let shown: String = command.chars().take(80).collect();
            wrong.push(format!("{shown}: {:?}", ruling.deciding()));
        }
    }
    assert!(wrong.is_empty(), "{deny:?} wanted {wanted:?}:\n{}", wrong.join("\n"));
}

fn check(deny: &[&str], wanted: Decision, commands: &[impl AsRef<str>]) {
    check_in(Mode::Yolo, deny, wanted, commands);
}

const SECRET: &[&str] = &["Read(secret/**)"];
const LOCKED: &[&str] = &["Write(locked/**)"];

#[test]
fn stars_of_cases_tests_and_sums_are_no_files() {
    let commands = [
        "case x in a) echo 1;; *) echo 2;; esac",
        "case x in s*) echo 1;; esac",
        "echo $((2 * 3))",
        "x=$(( 2 * (3 + 1) )); echo $x",
        "(( n = 2 * 3 ))",
        "if [[ $x == s* ]]; then echo 1; fi",
        "[[ $x != s* && $y == *s* ]] || echo 1",
        "while [[ ! $x == s* ]]; do break; done",
        "[[ $x == a* || ! $x == s* ]] && echo 1",
        "for f in *; do echo $f; done",
        "ls *",
        "wc -l *",
        "cp -r src/* out",
        "for d in */; do (cd \"$d\" && make); done",
        "python3 -c 'print(2 * 3)'",
        "python3 - <<'E'\nprint(2 * 3, *a, **b)\nE",
    ];
    for rule in ["Read(.env)", "Read(secret/**)", "Read(**/*.pem)", "Write(secret/**)"] {
        check(&[rule], Decision::Allow, &commands);
    }
    let dots =
        ["cat .e*", "cat .*", "cat [.]env", "shopt -s dotglob; cat *", "GLOBIGNORE=x; cat *"];
    check(&["Read(.env)"], Decision::Deny, &dots);
    check(
        &["Read(.env)"],
        Decision::Deny,
        &["shopt -s dot''glob; cat *nv", "shopt -s $x; cat *nv"],
    );
    let meant = [
        "cat s*/k",
        "cat */k",
        "cat */*",
        "cd */; cat k",
        "case x in s*) cat s*/k;; esac",
        "[[ $x == s* ]] && cat s*/k",
        "cat [[ a == s*/k ]]",
        "sh -c '[[ a || cat s*/k ]]'",
        "sh -c '[[ a\ncat s*/k'",
        "cat s*t",
        "x=(s*/k); cat \"${x[@]}\"",
    ];
    check(SECRET, Decision::Deny, &meant);
    check(LOCKED, Decision::Deny, &["rm -rf *", "mv * /tmp/x", "chmod -R 777 *"]);
    check(&["Read(*.md)"], Decision::Deny, &["cat *", "for f in *; do cat $f; done"]);
}

#[test]
fn what_is_the_value_of_an_option_of_git_narrows_nothing() {
    let commands = [
        "git grep -e src",
        "git grep -n -e src",
        "git grep -f src/a.rs",
        "git grep -ne src",
        "git log -p --grep src",
        "git log -p --author src",
        "git log -p --since src",
        "git diff -O src",
        "git diff -S src",
        "git diff --word-diff-regex src",
        "git log -p --exclude src --all",
        "git show --unheard HEAD HEAD:src/a.rs",
    ];
    for mode in [Mode::Normal, Mode::Yolo] {
        check_in(mode, SECRET, Decision::Ask, &commands);
    }
    let others = [
        "git grep -n TODO src",
        "git grep -e TODO src",
        "git grep -A 3 TODO src",
        "git grep -in TODO src",
        "git grep -l TODO -- src",
        "git log -p src",
        "git log -p -n 5 src",
        "git log -L 1,2:src/a.rs",
        "git log -5 -p src",
        "git log -p --since yesterday src",
        "git log -p --author me -- src",
        "git diff --cached src/a.rs",
        "git diff -w --no-color src",
        "git diff HEAD -- src",
        "git diff --word-diff src/a.rs",
    ];
    check(SECRET, Decision::Allow, &others);
}

#[test]
fn a_search_that_begins_at_a_link_is_one_of_where_it_leads() {
    let commands =
        ["grep -r k here/", "grep -r k here", "rg k here", "grep -r k s1", "rg k src/up/"];
    for mode in [Mode::Normal, Mode::Yolo] {
        check_in(mode, SECRET, Decision::Deny, &commands);
    }
    let others = [
        "find here/ -exec cat {} +",
        "find here/ -name k | xargs cat",
        "rg k here/src/..",
        "rg k y1/../..",
    ];
    check(SECRET, Decision::Deny, &others);
    check(SECRET, Decision::Ask, &["git -C here/src grep k -- ..", "git grep k -- here"]);
    check(
        SECRET,
        Decision::Allow,
        &["grep -r k here/src/lib", "rg k y1", "find y1 -exec cat {} +"],
    );
}

#[test]
fn patterns_and_gaps_before_a_link_hide_no_denied_file() {
    let commands = [
        "cat s?/k",
        "cat s[1]/k",
        "cat ?1/k",
        "cat \"$PWD\"/s?/k",
        "cat h*/s1/k",
        "cat src/*p/k",
        "cat */up/k",
        "cd s?; cat k",
        "cd sec*; cat k",
        "cat ./$X/s1/k",
        "cd $X/s1; cat k",
        "cat $X/s?/k",
        "cat < s?/k",
    ];
    check(SECRET, Decision::Deny, &commands);
    // In a long text most patterns stand for nothing, and the names in a folder are listed to tell.
    let before: Vec<String> = (0..40).map(|at| format!("cat n{at}*; ls m[{at}]x/y; ")).collect();
    let before = before.concat();
    let late = commands.map(|command| format!("{before}{command}"));
    check(SECRET, Decision::Deny, &late);
    check(SECRET, Decision::Deny, &[format!("{before}cat S?/k"), format!("{before}cat **/k")]);
    check(SECRET, Decision::Allow, &[format!("{before}cat y?/x")]);
    let others = [
        "cat y?/x",
        "cat d*/e/x",
        "cd $X/src; cat a.rs",
        "cat ./$X/src/a.rs",
        "cd y?; cat x",
        "cd sr*; ls",
        "ls src/*",
        "cat \"$d\"/*",
        "cat \"$d\"/*.rs",
    ];
    check(SECRET, Decision::Allow, &others);
}

#[test]
fn a_pattern_behind_a_gap_is_no_file_of_the_folder_itself() {
    let commands = ["cat \"$d\"/*.md", "wc -l \"$d\"/*", "cat \"$d\"/R*"];
    check(&["Read(README.md)"], Decision::Allow, &commands);
}

#[test]
fn a_folder_that_is_gone_to_by_its_true_path_is_where_links_lead() {
    let commands = [
        "cd -P y1/.. && cat ../secret/k",
        "cd y1; cd -P ..; cat ../secret/k",
        "set -P; cd y1/..; cat ../secret/k",
        "set -o physical; cd y1/..; cat ../secret/k",
        "env -C y1/.. cat ../secret/k",
    ];
    check(SECRET, Decision::Deny, &commands);
    check(SECRET, Decision::Allow, &["cd y1/.. && cat src/a.rs", "cd -P src && cat a.rs"]);
}

#[test]
fn names_that_are_printed_and_then_redirected_are_held_against_rules() {
    let commands = [
        "for f in $(find . -type f); do cat < $f; done",
        "find . -type f | while read f; do cat < \"$f\"; done",
        "find . -type f | while read f; do echo \"$(<$f)\"; done",
        "cat < $(find . -name k)",
    ];
    check(SECRET, Decision::Deny, &commands);
    let writes =
        ["for f in $(find . -type f); do echo x > $f; done", "echo x >> $(find . -name f)"];
    check(LOCKED, Decision::Deny, &writes);
    let others = ["for f in $(find src -type f); do cat < $f; done", "wc -l < <(find . -type f)"];
    check(SECRET, Decision::Allow, &others);
    check(SECRET, Decision::Allow, &["for f in $(find . -type f); do echo x > $f; done"]);
    check(LOCKED, Decision::Allow, &["for f in $(find . -type f); do cat < $f; done"]);
}

#[test]
fn whatever_of_git_prints_names_lists_files() {
    let commands = [
        "git ls-tree -r --name-only HEAD | xargs cat",
        "for f in $(git ls-tree -r HEAD --name-only); do cat $f; done",
        "git diff --name-only HEAD~1 | xargs cat",
        "git status --porcelain | awk '{print $2}' | xargs cat",
        "git log --name-only --format= | xargs cat",
        "git grep -l x -- src | xargs cat; git show --name-only | xargs head",
    ];
    check(SECRET, Decision::Ask, &commands);
    let others = [
        "cat $(git rev-parse --show-toplevel)/README.md",
        "git show -s $(git log -1 --format=%H)",
        "echo $(git diff --name-only)",
        "wc -l $(git diff --name-only -- '*.rs')",
        "cat notes-$(git branch --show-current).md",
        "git branch --show-current",
        "git checkout $(git describe --tags)",
    ];
    check(SECRET, Decision::Allow, &others);
}

#[test]
fn files_that_a_script_of_sed_names_are_found_without_a_blank() {
    let reads = [
        "sed rsecret/k src/a.rs",
        "sed -n '$rsecret/k' src/a.rs",
        "sed -e '/x/Rsecret/k' src/a.rs",
        "sed -ersecret/k src/a.rs",
        "sed --expression=1rsecret/k src/a.rs",
        "sed 'p\nr secret/k' src/a.rs",
    ];
    check(SECRET, Decision::Deny, &reads);
    let writes = [
        "sed 'wlocked/f' src/a.rs",
        "sed 's/a/b/wlocked/f' src/a.rs",
        "sed 's/a/b/gwlocked/f' src/a.rs",
        "sed 'sXaXbXwlocked/f' src/a.rs",
    ];
    check(LOCKED, Decision::Deny, &writes);
    let others =
        ["sed 's/word/secret/' src/a.rs", "sed -i s/r/secret/ src/a.rs", "sed -n 1,5p src/a.rs"];
    check(SECRET, Decision::Allow, &others);
}

#[test]
fn what_is_more_than_can_be_followed_asks_where_files_are_denied() {
    let many = |count: usize, word: &str| {
        (0..count).map(|at| word.replace('#', &at.to_string())).collect::<Vec<_>>().join(" ")
    };
    let commands = [
        format!("ln -s {} src; ln -s . zz; cat zz/secret/k", many(20, "a#")),
        format!("cat {}x; cat y1/../../secret/k", "../".repeat(300)),
        format!("ls {}; cat s1/k", many(4200, "a#")),
        format!("head {}; cat s1/k", many(40_000, "a#")),
        format!("ls {}; cat --file=s1/k", many(600, "--x=a#")),
        format!("{} y=$(find .); cat $y", "x=$(find src); cat $x; ".repeat(40)),
        format!("while read {} f; do cat $f; done < <(find .)", many(40, "a#")),
        format!("while read {} f; do cat $f; done < <(find .)", many(2000, "a#")),
    ];
    check(SECRET, Decision::Deny, &commands);
    let more = [
        format!("ln -s {} src; ln -s . zz; cat zz/secret/k", many(2000, "a#")),
        format!("cat {}x; cat y1/../../secret/k", "../".repeat(9000)),
        format!("head {}; cat s1/k", many(40_000, ".a#")),
    ];
    check(SECRET, Decision::Ask, &more);
    let listed = [
        format!("find {} . | xargs cat", "src/a.rs ".repeat(80)),
        format!("cat $(find {} .)", "src/a.rs ".repeat(80)),
        format!("for f in $(find {} .); do cat < $f; done", "src/a.rs ".repeat(80)),
    ];
    check(SECRET, Decision::Ask, &listed);
    check(LOCKED, Decision::Ask, &listed);
    check(&["Bash(curl:*)"], Decision::Allow, &listed);
    check(&["Bash(curl:*)"], Decision::Allow, &more);
    let calm = [
        format!("echo {}", many(4200, "a#")),
        format!("ls {} | wc -l", "src/a.rs ".repeat(80)),
        format!("cat {}x", "../".repeat(40)),
    ];
    check(SECRET, Decision::Allow, &calm);
}
