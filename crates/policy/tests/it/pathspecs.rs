//! Paths with words of git's own before them are those that a rule names, or all that git keeps.

use contract::policy::{Decision, Mode};

use crate::sweeps::decisions;

#[test]
fn a_path_from_the_top_is_the_one_that_a_rule_names() {
    let commands = [
        "git rm -r :/secret",
        "git rm -r ':/:secret'",
        "git rm -r ':(top)secret'",
        "git rm -r ':(icase)SECRET'",
        "git rm -r ':(literal)secret/k'",
        "git rm -r '::secret'",
        "cd src && git rm -r :/secret",
        "cd d/1/2; git rm -r ':(top)secret'",
        "git -C src rm -r :/secret",
        "git checkout HEAD -- :/secret",
        "git restore ':(top)secret/k'",
        "env git rm -r :/secret",
    ];
    for (command, decision) in decisions(&["Write(/w/secret/**)"], Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Deny, "{command}");
    }
    let shown =
        ["git diff -- :/secret", "git show HEAD -- ':(top)secret/k'", "git log -p :/secret"];
    for (command, decision) in decisions(&["Read(/w/secret/**)"], Mode::Yolo, &shown) {
        assert_eq!(decision, Decision::Deny, "{command}");
    }
}

#[test]
fn words_that_may_mean_all_other_files_ask() {
    let commands = [
        "git rm -r :",
        "git rm -r :/",
        "git rm -r ':!src'",
        "git rm -r ':^src'",
        "git rm -r ':/!src'",
        "git rm -r ':(exclude)src'",
        "git rm -r ':(attr:x)src'",
        "git rm -r ':(prefix:0)secret'",
        "git rm -r ':(glob)secret/**'",
        "git rm -r ':(top,glob)sec*/k'",
        "git rm -r '*k'",
        r"git rm -r 'sec\ret'",
        r"git rm sec\\ret/k",
        r"git rm 'sec\re't/*",
        r"git restore 'sec\ret/k'",
        r"git restore -s HEAD 'sec\ret/k'",
        r"git checkout HEAD -- 'sec\ret/k'",
        r"git restore ':/sec\ret/k'",
        "git checkout HEAD -- ':!src'",
        "git restore ':(exclude)src'",
    ];
    for (command, decision) in decisions(&["Write(/w/secret/**)"], Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Ask, "{command}");
    }
    let others = ["git rm -r src", "git log :/fix", "git show ':/fix the secret'"];
    for (command, decision) in decisions(&["Write(/w/secret/**)"], Mode::Yolo, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn git_works_where_it_is_told_to_go() {
    let here = [
        "cd /other && git -C ../w stash",
        "cd /other && git -C ../w pull",
        "cd /other && git -C /w/src merge x",
        "cd /other && git -C .. -C w rebase main",
        "cd /other && git -C \"$X\" stash",
        "git stash",
    ];
    for (command, decision) in decisions(&["Write(/w/keys/**)"], Mode::Yolo, &here) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
    let elsewhere =
        ["git -C /other pull --rebase", "cd /other && git stash", "git -C /other stash"];
    for (command, decision) in decisions(&["Write(/w/keys/**)"], Mode::Yolo, &elsewhere) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}
