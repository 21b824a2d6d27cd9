use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

mod hostile;
mod strict;

/// A home with `global`, `custom` and a project whose places are `.brynhild`, `.agents`, `.claude`.
struct World(TempDir);

impl World {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn skill(&self, directory: &str, name: &str) -> PathBuf {
        let text = format!("---\nname: {name}\ndescription: from {directory}\n---\nbody\n");
        self.write(&format!("{directory}/SKILL.md"), text)
    }

    fn discover(&self) -> FoundSkills {
        discover(
            &Places {
                global: vec![self.path("global")],
                custom: vec![self.path("custom")],
                project: [".brynhild", ".agents", ".claude"]
                    .map(|directory| self.path(&format!("project/{directory}/skills")))
                    .to_vec(),
                cache: Some(self.path("cache/skills.json")),
            },
            &Contributions::default(),
        )
    }

    /// Skills besides the built-in ones, without the message about a missing custom directory.
    fn found(&self) -> (Vec<Skill>, Vec<String>) {
        fs::create_dir_all(self.path("custom")).unwrap();
        let found = self.discover();
        let own = |skill: &Skill| skill.source != "builtin";
        (
            found.skills.into_iter().filter(own).collect(),
            found.problems.iter().map(ToString::to_string).collect(),
        )
    }

    /// The one skill made of a text, and the problems.
    fn read(&self, text: &str) -> (Option<Skill>, Vec<String>) {
        self.write("global/directory/SKILL.md", text);
        let (mut skills, problems) = self.found();
        assert!(skills.len() <= 1);
        (skills.pop(), problems)
    }
}

fn names(skills: &[Skill]) -> Vec<&str> {
    skills.iter().map(|skill| skill.name.as_str()).collect()
}

#[test]
fn built_in_skills_pass_the_strict_check() {
    let found = discover(&Places::default(), &Contributions::default());
    assert_eq!(names(&found.skills), ["commit-helper", "skill-creator"]);
    assert_eq!(found.problems, []);
    for skill in &found.skills {
        assert_eq!(skill.source, "builtin");
        assert!((40..=100).contains(&body_lines(skill)), "{}", skill.name);
        assert!(references(skill).is_empty() && scripts(skill).is_empty());
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("skills");
        assert_eq!(validate(&directory.join(&skill.name)), []);
    }
}

#[test]
fn later_directory_overrides_a_skill_with_a_notice() {
    let world = World::new();
    for (place, source) in
        [("global", "global"), ("custom", "custom"), ("project/.brynhild/skills", "project")]
    {
        world.skill(&format!("{place}/commit-helper"), "commit-helper");
        let (skills, problems) = world.found();
        assert_eq!(skills[0].source, source);
        assert_eq!(skills.len(), 1);
        assert!(problems.last().unwrap().contains("takes the place of the "));
    }
    let (_, problems) = world.found();
    assert!(problems[0].ends_with("the builtin skill `commit-helper`"));
    assert!(problems[2].contains("the custom skill `commit-helper` /"));
}

#[test]
fn later_project_directories_override_earlier_ones() {
    let world = World::new();
    world.skill("project/.brynhild/skills/a", "same");
    world.skill("project/.claude/skills/a", "same");
    world.skill("project/.agents/skills/b", "other");
    let (skills, problems) = world.found();
    assert_eq!(names(&skills), ["other", "same"]);
    assert!(skills[1].description.contains(".claude"));
    assert_eq!(problems.len(), 1);
}

#[test]
fn only_direct_subdirectories_are_skills() {
    let world = World::new();
    world.skill("global/a", "a");
    world.skill("global/a/nested", "nested");
    world.skill("global/plain/deeper", "deeper");
    world.write("global/README.md", "text");
    world.write("global/empty/notes.md", "text");
    world.skill("project/node_modules/x/.brynhild/skills/e", "evil");
    let (skills, problems) = world.found();
    assert_eq!(names(&skills), ["a"]);
    assert_eq!(problems, [""; 0]);
}

#[test]
fn custom_skill_path_may_be_a_skill_and_must_exist() {
    let world = World::new();
    world.skill("custom", "itself");
    assert_eq!(names(&world.found().0), ["itself"]);
    fs::remove_dir_all(world.path("custom")).unwrap();
    let found = world.discover();
    assert_eq!(found.problems.len(), 1);
    assert!(found.problems[0].hint.contains("BRYNHILD_SKILL_PATH"));
}

#[test]
fn a_whole_skill_is_read() {
    let world = World::new();
    let (skill, problems) = world.read(
        "---\nname: other-name\ndescription: >\n  Two\n  lines\nlicense: MIT\nallowed-tools:\n  - Read\n  \
         - Bash(git log:*)\nmetadata:\n  version: 1\nwhen_to_use: always\n---\n\n# Title\n\nText\n",
    );
    assert_eq!(problems, [""; 0]);
    assert_eq!(
        skill.unwrap(),
        Skill {
            name: "other-name".into(),
            description: "Two lines".into(),
            source: "global".into(),
            license: Some("MIT".into()),
            allowed_tools: vec!["Read".into(), "Bash(git log:*)".into()],
            body: "# Title\n\nText".into(),
            directory: Some(world.path("global/directory")),
        }
    );
}

#[test]
fn allowed_tools_may_be_text() {
    let world = World::new();
    for text in ["Read, Bash(git add *, x),Grep", "Read Bash(git add *, x) Grep"] {
        let (skill, problems) =
            world.read(&format!("---\nname: a\ndescription: b\nallowed-tools: {text}\n---\n"));
        assert_eq!(skill.unwrap().allowed_tools, ["Read", "Bash(git add *, x)", "Grep"]);
        assert_eq!(problems, [""; 0]);
    }
}

#[test]
fn invalid_allowed_tools_are_left_out() {
    let world = World::new();
    for (text, tools) in [("{a: b}", 0), ("[Read, 5]", 1), ("5", 0)] {
        let (skill, problems) =
            world.read(&format!("---\nname: a\ndescription: b\nallowed-tools: {text}\n---\n"));
        assert_eq!(skill.unwrap().allowed_tools.len(), tools);
        assert!(problems[0].contains("line 4: `allowed-tools`"), "{problems:?}");
    }
}

#[test]
fn skill_without_a_name_is_named_after_its_directory() {
    let (skill, problems) = World::new().read("---\ndescription: b\n---\n");
    assert_eq!(skill.unwrap().name, "directory");
    assert_eq!(problems.len(), 1);
}

#[test]
fn unquoted_values_are_read_and_reported() {
    let (skill, problems) =
        World::new().read("---\nname: a\ndescription: Use when: it rains\n---\n");
    assert_eq!(skill.unwrap().description, "Use when: it rains");
    assert!(problems[0].contains("SKILL.md: line 3: "), "{problems:?}");
}

#[test]
fn invalid_name_is_replaced_by_the_directory_name() {
    for (keys, expected) in [
        ("description: b\nname: A", "line 3: the name \"A\" has other"),
        ("name: a b\ndescription: b", "line 2: the name \"a b\" has other"),
        ("name: -a\ndescription: b", "begins or ends"),
        ("name: ''\ndescription: b", "is empty"),
    ] {
        let (skill, problems) = World::new().read(&format!("---\n{keys}\n---\nbody"));
        let name = skill.unwrap().name;
        let used = format!("its directory's is used: {name}");
        assert!(problems[0].contains(expected) && problems[0].contains(&used), "{problems:?}");
    }
}

#[test]
fn broken_skills_are_skipped_with_line_and_reason() {
    let world = World::new();
    let long = "x".repeat(65);
    for (keys, expected) in [
        ("name: 5\ndescription: b", "line 2: `name` is not text"),
        ("name: a", "`description` is missing"),
        ("name: a\ndescription:", "line 3: `description` is missing"),
        ("name: a\ndescription: ' '", "line 3: `description` is empty"),
        ("name: a\ndescription: 5", "line 3: `description` is not text"),
        ("name: a\ndescription: [", "line 3: "),
    ] {
        let (skill, problems) = world.read(&format!("---\n{keys}\n---\nbody"));
        assert!(skill.is_none(), "{keys}");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(expected), "{problems:?}");
    }
    let (skill, _) = world.read(&format!(
        "---\nname: {}\ndescription: {}\n---\n",
        "x".repeat(64),
        "ü".repeat(1024)
    ));
    assert!(skill.is_some());
    let longer = "ü".repeat(1025);
    let (skill, problems) = world.read(&format!("---\nname: a\ndescription: {longer}\n---\n"));
    assert_eq!(skill.unwrap().description, "ü".repeat(1024));
    assert!(problems[0].contains("line 3: `description` is longer than 1024"), "{problems:?}");
    for name in [long.as_str(), "uni-é"] {
        let (skill, problems) = world.read(&format!("---\nname: {name}\ndescription: b\n---\n"));
        assert_eq!(skill.unwrap().name, name);
        assert_eq!(problems.len(), usize::from(name == long), "{problems:?}");
    }
}

#[test]
fn references_and_scripts_are_listed() {
    let world = World::new();
    world.skill("global/a", "a");
    for file in [
        "references/two.txt",
        "references/one.md",
        "references/.hidden",
        "references/directory/deep.md",
        "notes.md",
        ".secret.md",
        "data.csv",
        "scripts/run.sh",
        "scripts/.cache",
    ] {
        world.write(&format!("global/a/{file}"), "x");
    }
    symlink("../notes.md", world.path("global/a/references/near.md")).unwrap();
    world.write("outside.md", "x");
    symlink("../../../outside.md", world.path("global/a/references/far.md")).unwrap();
    symlink("/etc/passwd", world.path("global/a/scripts/passwd")).unwrap();
    let (skills, _) = world.found();
    let shown = |paths: Vec<PathBuf>| -> Vec<String> {
        paths.iter().map(|path| path.display().to_string()).collect()
    };
    assert_eq!(
        shown(references(&skills[0])),
        ["notes.md", "references/near.md", "references/one.md", "references/two.txt"]
    );
    assert_eq!(shown(scripts(&skills[0])), ["scripts/run.sh"]);
}

#[test]
fn a_long_body_exceeds_the_limit() {
    let world = World::new();
    let front = "---\nname: a\ndescription: b\n---\n";
    let (skill, _) = world.read(&format!("{front}{}", "x\n".repeat(500)));
    assert_eq!(body_lines(skill.as_ref().unwrap()), 500);
    assert!(!exceeds_limit(&skill.unwrap()));
    let (skill, _) = world.read(&format!("{front}{}", "x\n".repeat(501)));
    assert!(exceeds_limit(&skill.unwrap()));
}

#[test]
fn the_prompt_names_each_skill_on_one_line_sorted() {
    let world = World::new();
    world.skill("global/b", "b");
    world.write(
        "global/a/SKILL.md",
        "---\nname: a\ndescription: |\n  One.\n\n  ## Heading\n  **evil**: x\n---\n",
    );
    let (mut skills, _) = world.found();
    skills.reverse();
    assert_eq!(
        prompt_block(&skills),
        "## Available Skills\n\n**a**: One. ## Heading **evil**: x\n**b**: from global/b\n\n\
         When a task fits one of these, call the `LearnSkill` tool with the skill's name first, \
         then work by the instructions it returns."
    );
    assert_eq!(prompt_block(&[]), "");
}

#[test]
fn activation_contains_the_body() {
    let world = World::new();
    world.skill("global/a", "a");
    assert_eq!(
        activation(&world.found().0[0]),
        "[System: The following skill has been activated]\n\n\
         Work by the instructions of the skill `a` for the request it was activated for.\n\n\
         <skill name=\"a\">\nbody\n</skill>"
    );
}

#[test]
fn activation_is_found_in_a_message() {
    let world = World::new();
    world.skill("global/a", "a");
    let message = format!("{}\n\nmake tea", activation(&world.found().0[0]));
    let found = find_activation(&message);
    assert_eq!(found, Some(("<skill name=\"a\">\nbody\n</skill>", "make tea")));
    assert_eq!(find_activation("<skill name=\"a\">\nbody\n</skill>"), None);
}

#[test]
fn skills_are_cached_until_they_change() {
    let world = World::new();
    world.skill("global/a", "a");
    let (first, _) = world.found();
    let cache = fs::read_to_string(world.path("cache/skills.json")).unwrap();
    assert!(cache.contains("from global/a"), "{cache}");
    fs::write(world.path("cache/skills.json"), cache.replace("\"from global/a\"", "\"kept\""))
        .unwrap();
    assert_eq!(world.found().0[0].description, "kept");
    world.write("global/a/SKILL.md", "---\nname: a\ndescription: changed\n---\nbody\n");
    assert_eq!(world.found().0[0].description, "changed");
    fs::write(world.path("cache/skills.json"), "broken").unwrap();
    assert_eq!(world.found().0.len(), first.len());
}
