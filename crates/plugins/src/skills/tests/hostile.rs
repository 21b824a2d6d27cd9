//! Files that try to deceive, to hang or to reach out.

use super::*;

fn only(problems: &[String]) -> &str {
    assert_eq!(problems.len(), 1, "{problems:?}");
    &problems[0]
}

#[test]
fn hidden_characters_are_removed_and_reported() {
    let world = World::new();
    let (skill, problems) = world
        .read("---\r\nname: a\r\ndescription: de\u{200b}sc\r\n---\r\nbo\u{202e}dy\r\nend\u{e0041}");
    let skill = skill.unwrap();
    assert_eq!((skill.description.as_str(), skill.body.as_str()), ("desc", "body\nend"));
    assert!(only(&problems).contains("U+200B in line 3, U+202E in line 5, U+E0041 in line 6"));
}

#[test]
fn escaped_hidden_characters_are_removed() {
    let world = World::new();
    let (skill, problems) = world.read(
        "---\nname: a\ndescription: \"x\\u202ey\"\nlicense: \"\\e[2J\"\nallowed-tools: [\"B\\u200bash\"]\n---\n",
    );
    let skill = skill.unwrap();
    assert_eq!(skill.description, "xy");
    assert_eq!(skill.license.as_deref(), Some("[2J"));
    assert_eq!(skill.allowed_tools, ["Bash"]);
    assert_eq!(problems.len(), 3);
}

#[test]
fn project_symlink_out_of_the_directories_is_refused() {
    let world = World::new();
    world.skill("elsewhere/a", "a");
    world.skill("project/vendor/b", "b");
    fs::create_dir_all(world.path("project/.brynhild/skills")).unwrap();
    let place = world.path("project/.brynhild/skills");
    symlink(world.path("elsewhere/a"), place.join("a")).unwrap();
    symlink("../../vendor/b", place.join("b")).unwrap();
    let (skills, problems) = world.found();
    assert!(skills.is_empty());
    assert_eq!(problems.len(), 2);
    assert!(problems.iter().all(|problem| problem.contains("points outside")));
}

#[test]
fn project_symlink_to_another_skill_is_that_skill() {
    let world = World::new();
    world.skill("project/.agents/skills/a", "a");
    fs::create_dir_all(world.path("project/.claude/skills")).unwrap();
    symlink("../../.agents/skills/a", world.path("project/.claude/skills/a")).unwrap();
    let (skills, problems) = world.found();
    assert_eq!(names(&skills), ["a"]);
    assert_eq!(problems, [""; 0]);
}

#[test]
fn project_skill_directory_outside_is_refused() {
    let world = World::new();
    world.skill("elsewhere/a", "a");
    fs::create_dir_all(world.path("project/.brynhild")).unwrap();
    symlink("../../elsewhere", world.path("project/.brynhild/skills")).unwrap();
    let (skills, problems) = world.found();
    assert!(skills.is_empty());
    assert!(only(&problems).contains("points outside"));
}

#[test]
fn project_skill_file_symlinked_outside_is_refused() {
    let world = World::new();
    let file = world.skill("elsewhere/a", "a");
    fs::create_dir_all(world.path("project/.brynhild/skills/a")).unwrap();
    symlink(file, world.path("project/.brynhild/skills/a/SKILL.md")).unwrap();
    let (skills, problems) = world.found();
    assert!(skills.is_empty());
    assert!(only(&problems).contains("points outside"));
}

#[test]
fn global_symlinks_are_followed() {
    let world = World::new();
    let file = world.skill("elsewhere/a", "a");
    world.skill("elsewhere/b", "b");
    fs::create_dir_all(world.path("global/a")).unwrap();
    symlink(file, world.path("global/a/SKILL.md")).unwrap();
    symlink("../elsewhere/b", world.path("global/b")).unwrap();
    let (skills, problems) = world.found();
    assert_eq!(names(&skills), ["a", "b"]);
    assert_eq!(problems, [""; 0]);
}

#[test]
fn dangling_and_circular_symlinks_are_reported() {
    let world = World::new();
    fs::create_dir_all(world.path("global/circle")).unwrap();
    symlink("nothing", world.path("global/gone")).unwrap();
    symlink("SKILL.md", world.path("global/circle/SKILL.md")).unwrap();
    let (skills, problems) = world.found();
    assert!(skills.is_empty());
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn fifo_in_place_of_a_skill_does_not_block() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let world = World::new();
    fs::create_dir_all(world.path("global/a")).unwrap();
    let pipe = world.path("global/a/SKILL.md");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let (skills, problems) = world.found();
    assert!(skills.is_empty());
    assert!(only(&problems).contains("not a regular file"));
    assert!(only_strict(&world.path("global/a")).contains("not a regular file"));
}

#[cfg(target_os = "linux")]
fn only_strict(directory: &Path) -> String {
    let problems = validate(directory);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].to_string()
}

#[test]
fn a_huge_file_and_a_binary_one_are_refused() {
    let world = World::new();
    let file = world.skill("global/a", "a");
    let file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(100 << 20).unwrap();
    let text = format!("---\nname: b\ndescription: b\n---\n{}", "x".repeat(1 << 20));
    world.write("global/b/SKILL.md", text);
    world.write("global/c/SKILL.md", b"\x7fELF\0\xff");
    let (skills, problems) = world.found();
    assert!(skills.is_empty());
    assert_eq!(problems.len(), 3);
    assert!(problems[1].contains("larger than 1 MiB"));
    assert!(problems[2].contains("not UTF-8"));
}

#[test]
fn number_of_skills_in_a_directory_is_bounded() {
    let world = World::new();
    for index in 0..=ENTRIES_LIMIT {
        fs::create_dir_all(world.path(&format!("global/{index}"))).unwrap();
    }
    let (_, problems) = world.found();
    assert!(only(&problems).contains("only 2000 entries"));
}

#[test]
fn file_in_place_of_a_directory_has_no_skills() {
    let world = World::new();
    world.write("global", "text");
    world.write("project/.brynhild", "text");
    let (skills, problems) = world.found();
    assert!(skills.is_empty());
    assert_eq!(problems, [""; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_whose_name_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let directory = world.path("global").join(std::ffi::OsStr::from_bytes(b"\xff"));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("SKILL.md"), "---\nname: a\ndescription: b\n---\n").unwrap();
    let (skills, problems) = world.found();
    assert!(skills.is_empty());
    assert!(only(&problems).contains("not UTF-8"));
}
