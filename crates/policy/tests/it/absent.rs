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
