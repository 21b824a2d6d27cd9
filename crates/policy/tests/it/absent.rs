//! Searches of what is not there: nothing denied comes of them.

use contract::policy::{Decision, Mode};

use crate::sweeps::decisions;

#[test]
fn a_search_of_a_place_that_is_not_there_comes_upon_nothing() {
    let absent = [
        "grep -rn x nothere",
        "grep -rn 'git push' .github",
        "rg x nothere",
        "cd src && grep -r x nothere",
        "grep -r x nothere | head -3",
    ];
    for (command, decision) in decisions(&["Read(.env)", "Read(secret/**)"], Mode::Normal, &absent)
    {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
    let unsure = [
        "grep -rn x nothere .",
        "grep -r x",
        "mv secret nothere; grep -r x nothere",
        "ln -s . nothere && grep -r x nothere",
        "make && grep -r x nothere",
        "grep -r x $NOTHERE",
        "grep -rn --frobnicate x nothere",
    ];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Normal, &unsure) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn what_is_done_to_files_of_a_folder_that_is_not_there_is_done_to_none() {
    let absent = [
        "find dist -type f -delete",
        "find nothere -type f -exec chmod 644 {} +",
        "find ./nothere -exec cat {} +",
        "rg -l foo nothere | xargs sed -i s/a/b/",
        "grep -rl foo nothere | xargs sed -i s/a/b/",
        "find nothere -type f | xargs cat",
    ];
    let deny = ["Read(.env)", "Write(secret/**)", "Read(secret/**)"];
    for (command, decision) in decisions(&deny, Mode::Yolo, &absent) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
    let unsure = [
        "find dist . -type f -delete",
        "find -type f -delete",
        "find $DIST -type f -delete",
        "find dis* . -type f -delete",
        "mv secret dist; find dist -type f -delete",
        "ln -s secret dist && find dist/ -type f -delete",
        "make && find dist -type f -exec cat {} +",
        "rg -l foo nothere . | xargs sed -i s/a/b/",
        "cp -r secret nothere && grep -rl foo nothere | xargs cat",
    ];
    for (command, decision) in decisions(&deny, Mode::Yolo, &unsure) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
}
