use super::*;

fn at(home: &Path) -> User {
    User { home: Some(home.to_owned()), ..User::default() }
}

#[test]
fn included_settings_hooks_and_programs_of_the_project_are_found() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path();
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        ".git/config",
        "[core]\n\thooksPath = .husky\n\tbare = false\n[include]\n\tpath = ../tools/gitconfig\n\
         [remote \"origin\"]\n\turl = ./tools/x\n[branch \"m\"]\n\tmerge = refs/heads/m\n",
    );
    write("tools/gitconfig", "[filter \"f\"]\n\tclean = sh tools/clean.sh %f\n");
    write("tools/clean.sh", "cat");
    write("tools/x", "");
    let wanted = [".husky", "tools/clean.sh", "tools/gitconfig"].map(|name| root.join(name));
    assert_eq!(git_pointers(root, None), wanted);
}

#[test]
fn hooks_of_the_user_s_settings_and_those_above_made_ones_are_found() {
    let base = tempfile::tempdir().unwrap();
    let (root, home) = (base.path().join("w"), base.path().join("home"));
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join(".gitconfig"), "[include]\n\tpath = ~/more\n").unwrap();
    fs::write(home.join("more"), "[core]\n\thooksPath = .githooks\n").unwrap();
    fs::write(root.join(".git/config"), "[core]\n\thooksPath = .husky/_\n").unwrap();
    let wanted = [".githooks", ".husky"].map(|name| root.join(name));
    assert_eq!(git_pointers(&root, Some(&at(&home))), wanted);
}

#[test]
fn settings_that_the_environment_names_are_the_user_s() {
    let base = tempfile::tempdir().unwrap();
    let (root, folder) = (base.path().join("w"), base.path().join("folder"));
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::create_dir_all(folder.join("git")).unwrap();
    let settings = |hooks: &str| format!("[core]\n\thooksPath = {hooks}\n");
    fs::write(folder.join("git/config"), settings(".one")).unwrap();
    fs::write(folder.join("global"), settings(".two")).unwrap();
    fs::write(root.join("system"), settings(".three")).unwrap();
    let text = |path: &Path| path.display().to_string();
    let variables = [
        ("XDG_CONFIG_HOME", text(&folder)),
        ("GIT_CONFIG_GLOBAL", text(&folder.join("global"))),
        ("GIT_CONFIG_SYSTEM", text(&root.join("system"))),
        ("GIT_CONFIG_COUNT", "1".to_owned()),
        ("GIT_CONFIG_KEY_0", "core.hooksPath".to_owned()),
        ("GIT_CONFIG_VALUE_0", ".four".to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let user = User::new(None, &variables.into_iter().collect());
    let wanted = [".four", ".one", ".three", ".two", "system"].map(|name| root.join(name));
    assert_eq!(git_pointers(&root, Some(&user)), wanted);
}

#[test]
fn links_of_the_git_directory_and_scripts_that_hooks_name_are_found() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    for folder in [".git/hooks", ".git/info", "scripts", "src", ".config/brynhild"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for file in ["scripts/pc", "scripts/check.sh", "cfg", "at", "src/a.rs"] {
        fs::write(root.join(file), "").unwrap();
    }
    let link = |target: &str, path: &str| {
        std::os::unix::fs::symlink(target, root.join(path)).unwrap();
    };
    link("../../scripts/pc", ".git/hooks/pre-commit");
    link("../cfg", ".git/config");
    link("../../at", ".git/info/attributes");
    let hook = "#!/bin/sh\nexec ./scripts/check.sh src/ src/a.rs\n";
    fs::write(root.join(".git/hooks/pre-push"), hook).unwrap();
    let own = [".config/brynhild", ".config/git", ".gitconfig"];
    let named = ["at", "cfg", "scripts/check.sh", "scripts/pc"];
    let wanted: Vec<_> = own.iter().chain(&named).map(|name| root.join(name)).collect();
    assert_eq!(git_pointers(&root, Some(&at(&root))), wanted);
}

/// Whether a missing file counts, with this as the settings and this as a hook.
fn is_named(settings: &str, hook: &str, file: &str) -> bool {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    let place = |text: &str| text.replace("ROOT", &root.display().to_string());
    fs::write(root.join(".git/config"), place(settings)).unwrap();
    fs::write(root.join(".git/hooks/pre-commit"), place(hook)).unwrap();
    names(&root, None, &root.join(file))
}

#[test]
fn a_file_is_found_by_the_usual_spellings_in_settings_though_it_is_missing() {
    for (settings, file) in [
        ("[core]\nfsmonitor = sh scripts/fsm.sh", "scripts/fsm.sh"),
        ("[core]\nfsmonitor = sh \\\"scripts/fsm.sh\\\"", "scripts/fsm.sh"),
        ("[core]\nfsmonitor = sh fsm.sh", "fsm.sh"),
        ("[core]\nfsmonitor = ROOT/fsm", "fsm"),
        ("[branch \"a]b\"]\nmerge = x\n[core]\nfsmonitor = ./fsm", "fsm"),
        ("[core\nfsmonitor = ./fsm", "fsm"),
        ("[alias]\na = x \\\n[core\n[core]\nhooksPath = h", "h/pre-commit"),
        ("[init]\ntemplateDir = tools/template", "tools/template/hooks/x"),
        ("[core]\nhooksPath = .husky # shared", ".husky/pre-commit"),
        ("[core]\nhooksPath = .hus\"ky\" ; x", ".husky/pre-commit"),
        ("[core]\nhooksPath = \".hus\\\n\\\"ky\"", ".hus\"ky/pre-commit"),
        ("[color][core] hooksPath = h", "h/pre-commit"),
        ("[user] [core]\nfsmonitor = ./fsm", "fsm"),
        ("[core]\nnotesRef = x \\\n[color]\nfsmonitor = ./fsm", "fsm"),
        ("[core]\nhooksPath = a\tb", "a b/pre-commit"),
        ("[core]\nhooksPath = :(optional)h", "h/pre-commit"),
        ("[core]\nhooksPath = \"h", "h/pre-commit"),
        ("\u{feff}[core]\nhooksPath = h", "h/pre-commit"),
    ] {
        assert!(is_named(settings, "", file), "{settings}");
    }
    for (settings, file) in [
        ("[core]\nfsmonitor = sh -c fsm.sh", "fsm.sh"),
        ("[alias]\nlint = !eslint src/", "src/new.js"),
        ("[safe]\ndirectory = ROOT/src", "src"),
        ("[core]\neditor = code", "code"),
    ] {
        assert!(!is_named(settings, "", file), "{settings}");
    }
}

#[test]
fn a_script_is_found_by_the_usual_spellings_in_hooks_though_it_is_missing() {
    for (hook, file) in [
        ("exec ./scripts/check", "scripts/check"),
        ("\"$(git rev-parse --show-toplevel)/scripts/check\"", "scripts/check"),
        ("\"$TOP/scripts/check\" x", "scripts/check"),
        ("\"$(dirname \"$0\")/../../scripts/check\"", "scripts/check"),
        ("ROOT/scripts/check", "scripts/check"),
        ("sh check.sh", "check.sh"),
        ("python3 -u check.py", "check.py"),
        ("cd scripts && ./check", "scripts/check"),
        ("cd scripts && bash -e check", "scripts/check"),
    ] {
        assert!(is_named("", hook, file), "{hook}");
    }
    for (hook, file) in [
        ("python3 -m pytest tests", "pytest"),
        ("npx eslint index.js", "index.js"),
        ("exec check", "check"),
    ] {
        assert!(!is_named("", hook, file), "{hook}");
    }
}

#[test]
fn a_hook_of_very_many_words_is_not_followed_for_ever_and_names_every_script() {
    let words: Vec<String> = (0..MOST_PATHS).map(|it| format!("cd d{it}; ./s{it}/x")).collect();
    let hook = words.join("\n");
    assert!(is_named("", &hook, "other.sh") && is_named("", &hook, "other"));
    assert!(!is_named("", &hook, "src/new.rs"));
    // The same word again and again is one word.
    let hook = "./scripts/x\n".repeat(MOST_PATHS);
    assert!(is_named("", &hook, "scripts/x") && !is_named("", &hook, "other.sh"));
}

#[test]
fn hooks_that_are_not_all_read_leave_it_open_what_they_name() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    let hooks = root.join(".git/hooks");
    let is_cut = || Pointers::of(&root, &root, None).is_cut;
    fs::create_dir_all(root.join("scripts")).unwrap();
    fs::create_dir_all(&hooks).unwrap();
    for number in 0..MOST_HOOKS {
        fs::write(hooks.join(format!("{number}")), format!("./scripts/{number}.sh")).unwrap();
        fs::write(hooks.join(format!("{number}.sample")), "").unwrap();
        fs::write(root.join(format!("scripts/{number}.sh")), "").unwrap();
    }
    assert_eq!(git_pointers(&root, None).len(), MOST_HOOKS);
    assert!(!is_cut());
    fs::write(hooks.join("more"), "").unwrap();
    assert!(is_cut());
    fs::remove_dir_all(&hooks).unwrap();
    assert!(!is_cut());
    std::os::unix::fs::symlink("hooks", &hooks).unwrap();
    assert!(is_cut());
}

#[test]
fn settings_that_are_not_all_read_leave_it_open_what_they_name() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    let config = root.join(".git/config");
    let is_cut = |text: &str| {
        fs::write(&config, text).unwrap();
        Pointers::of(&root, &root, None).is_cut
    };
    // Each of them again and again, without an end.
    assert!(!is_cut(&"[include]\npath = config\n".repeat(1000)));
    assert!(!is_cut("[include]\npath = ../nothing\n"));
    assert!(!is_cut("[include]\npath = /dev/null\n"));
    fs::create_dir(root.join("folder")).unwrap();
    assert!(!is_cut("[include]\npath = ../folder\n"));
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), mode).unwrap();
    assert!(is_cut("[include]\npath = ../pipe\n"));
    let many = |number| format!("[include]\npath = ../{number}\n");
    assert!(is_cut(&(0..=MOST_FILES).map(many).collect::<String>()));
    fs::OpenOptions::new().write(true).open(&config).unwrap().set_len(MOST_BYTES + 1).unwrap();
    assert!(Pointers::of(&root, &root, None).is_cut);
}

#[test]
fn what_the_repository_of_a_linked_worktree_names_counts_for_its_own_files() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    let (git, tree) = (base.join("main/.git"), base.join("tree"));
    fs::create_dir_all(git.join("worktrees/w")).unwrap();
    fs::create_dir_all(git.join("hooks")).unwrap();
    fs::create_dir_all(&tree).unwrap();
    fs::write(git.join("config"), "[core]\nhooksPath = .husky\nfsmonitor = ./mon\n").unwrap();
    fs::write(git.join("hooks/pre-push"), "exec ./scripts/check.sh\n").unwrap();
    fs::write(git.join("worktrees/w/commondir"), "../..\n").unwrap();
    fs::write(tree.join(".git"), format!("gitdir: {}\n", git.join("worktrees/w").display()))
        .unwrap();
    assert_eq!(git_pointers(&tree, None), [tree.join(".husky")]);
    for name in [".husky/pre-commit", "mon", "scripts/check.sh"] {
        assert!(names(&tree, None, &tree.join(name)), "{name}");
    }
    assert!(!names(&tree, None, &tree.join("other")));
}

#[test]
fn a_folder_counts_only_where_git_takes_a_folder() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    for folder in [".git", "src", "hooks"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("src/run"), "").unwrap();
    let root_text = root.display();
    let text = format!(
        "[alias]\n\tlint = !eslint src/\n\tgo = !./src/run src\n[safe]\n\tdirectory = \
         {root_text}/src\n[core]\n\thooksPath = hooks\n"
    );
    fs::write(root.join(".git/config"), text).unwrap();
    assert_eq!(git_pointers(&root, None), ["hooks", "src/run"].map(|name| root.join(name)));
}

#[test]
fn settings_are_followed_as_deep_as_git_follows_them() {
    let base = tempfile::tempdir().unwrap();
    let root = &base.path().canonicalize().unwrap();
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::write(root.join(".git/config"), "[include]\npath = ../1\n").unwrap();
    for number in 1..10 {
        let text = format!("[include]\npath = {}\n", number + 1);
        fs::write(root.join(number.to_string()), text).unwrap();
    }
    fs::write(root.join("10"), "[core]\nhooksPath = .husky\n").unwrap();
    let found = Pointers::of(root, root, None);
    assert!(found.paths.contains(&root.join(".husky")) && !found.is_cut);
}
