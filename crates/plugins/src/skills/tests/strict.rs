//! The check for authors.

use super::*;

fn check(keys: &str) -> Vec<String> {
    let world = World::new();
    let text = format!("---\n{keys}\n---\nbody\n");
    world.write("right/SKILL.md", text);
    let problems = validate(&world.path("right"));
    assert!(problems.iter().all(|problem| !problem.hint.is_empty()));
    problems.into_iter().map(|problem| problem.what).collect()
}

const GOOD: &str = "name: right\ndescription: does things";

#[test]
fn valid_skill_has_no_problems() {
    for more in [
        "",
        "\nlicense: MIT\ncompatibility: needs git\nmetadata:\n  author: me\nallowed-tools: Read Bash(git log, x)",
        "\nallowed-tools: [Read, Write]",
    ] {
        assert_eq!(check(&format!("{GOOD}{more}")), [""; 0], "{more}");
    }
}

#[test]
fn skill_file_itself_can_be_checked() {
    let world = World::new();
    let file = world.skill("right", "right");
    assert_eq!(validate(&file), []);
}

#[test]
fn each_fault_is_reported_with_its_line() {
    for (keys, expected) in [
        ("description: x", "`name` is missing or not text"),
        ("name: 5\ndescription: x", "line 2: `name` is missing or not text"),
        ("name: wrong\ndescription: x", "line 2: the name \"wrong\" differs"),
        ("name: right", "`description` is missing or not text"),
        ("name: right\ndescription: ''", "line 3: `description` is empty"),
        ("name: right\ndescription: a: b", "line 3: mapping values"),
        ("name: right\nname: right\ndescription: a", "line 3: duplicate key name"),
    ] {
        let problems = check(keys);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(expected), "{problems:?}");
    }
}

#[test]
fn optional_keys_are_checked() {
    for (key, expected) in [
        ("license: 5", "line 4: `license` is not text"),
        ("compatibility: [a]", "line 4: `compatibility` is not text"),
        ("metadata: text", "line 4: `metadata` is not a mapping"),
        ("metadata: {version: 1}", "line 4: `metadata` has values"),
        ("allowed-tools: Read, Write", "line 4: `allowed-tools` is separated by commas"),
        ("allowed-tools: Read,Write", "line 4: `allowed-tools` is separated by commas"),
        ("allowed-tools: [5]", "line 4: `allowed-tools` has entries"),
        ("allowed-tools: 5", "line 4: `allowed-tools` is neither"),
        ("version: '1'", "line 4: `version` is not a key of a skill"),
    ] {
        let problems = check(&format!("{GOOD}\n{key}"));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(expected), "{problems:?}");
    }
    let long = format!("{GOOD}\ncompatibility: {}", "x".repeat(501));
    assert!(check(&long)[0].contains("longer than 500"));
}

#[test]
fn a_name_may_not_have_two_hyphens_in_a_row() {
    let problems = check("name: a--b\ndescription: x");
    assert!(problems[0].contains("two hyphens"));
}

#[test]
fn too_long_description_is_reported() {
    let problems = check(&format!("name: right\ndescription: {}", "x".repeat(1025)));
    assert_eq!(problems, ["line 3: `description` has 1025 characters"]);
}

#[test]
fn hidden_characters_are_reported() {
    assert!(check("name: right\ndescription: \"a\\u202eb\"")[0].contains("U+202E"));
    assert!(check("name: right\ndescription: a\u{200b}b")[0].contains("U+200B in line 3"));
}

#[test]
fn an_empty_and_an_overlong_body_are_reported() {
    let world = World::new();
    world.write("right/SKILL.md", format!("---\n{GOOD}\n---\n"));
    assert_eq!(validate(&world.path("right"))[0].what, "the body is empty");
    let text = format!("---\n{GOOD}\n---\n{}", "x\n".repeat(501));
    world.write("right/SKILL.md", text);
    assert!(validate(&world.path("right"))[0].what.contains("501 lines"));
}

#[test]
fn a_path_without_a_skill_is_reported() {
    let world = World::new();
    for path in [world.path("nothing"), world.path(".")] {
        assert!(validate(&path)[0].what.contains("no `SKILL.md`"));
    }
}
