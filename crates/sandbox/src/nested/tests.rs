//! What is found before a command, and what counts as planted after it.

use super::*;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What was planted, and whether that is not all.
fn found(before: &Nested, root: &Path) -> (Vec<PathBuf>, bool) {
    let planted = before.planted(root);
    (planted.paths, planted.is_cut)
}

/// Returns once the file system's clock tells what is written from now on from what was before.
pub(crate) fn pass_time() {
    let now = || tempfile::tempfile().unwrap().metadata().unwrap().modified().unwrap();
    let begun = now();
    while now() < begun + 2 * LAG {
        std::thread::yield_now();
    }
}

#[test]
fn what_is_planted_is_found_and_what_git_makes_is_not() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path();
    write(root, "old/.vscode/settings.json", "{}");
    write(root, "old/.git/config", "[core]\nbare = false\n");
    let before = look(root, None);
    assert_eq!(before.names.len(), 2);
    write(root, "old/.git/index", "x");
    write(root, "made/.git/config", "[core]\nbare = false\n");
    write(root, "node_modules/x/.vscode/settings.json", "{}");
    for name in &BARE[..3] {
        write(root, &format!("bare/{name}"), "");
    }
    assert_eq!(before.planted(root).paths, Vec::<PathBuf>::new());
    write(root, "bare/config", "[core]\nfsmonitor = x\n");
    write(root, "evil/.git/config", "[core]\nfsmonitor = x\n");
    write(root, "a/b/.mcp.json", "{}");
    write(root, "other/HEAD", "");
    write(root, "other/commondir", "../a");
    let names = ["a/b/.mcp.json", "evil/.git", "bare/HEAD", "other/HEAD"];
    assert_eq!(before.planted(root).paths, names.map(|name| root.join(name)));
}

#[test]
fn what_the_settings_of_a_nested_repository_lead_to_is_known_and_watched() {
    let base = tempfile::tempdir().unwrap();
    let root = &base.path().canonicalize().unwrap();
    let settings = "[core]\nhooksPath = .husky\nfsmonitor = ./mon\n[include]\npath = ../more\n";
    write(root, "a/lib/.git/config", settings);
    write(root, "a/lib/more", "[core]\nbare = false\n");
    write(root, "plain/.git/config", "[core]\nbare = false\n");
    let before = look(root, None);
    let pointers = ["a/lib/.husky", "a/lib/more"].map(|name| root.join(name));
    assert_eq!(before.further.iter().cloned().collect::<Vec<_>>(), pointers);
    assert!(before.planted(root).paths.is_empty());
    write(root, "a/lib/.husky/pre-commit", "x");
    write(root, "a/lib/mon", "x");
    write(root, "made/.git/config", "[core]\nbare = false\n");
    write(root, "made/.husky/pre-commit", "x");
    let wanted = ["a/lib/.husky", "a/lib/mon"].map(|name| root.join(name));
    assert_eq!(before.planted(root).paths, wanted);
}

#[test]
fn a_link_that_leads_elsewhere_afterwards_is_planted() {
    let base = tempfile::tempdir().unwrap();
    let link = base.path().join("a/.vscode");
    fs::create_dir(base.path().join("a")).unwrap();
    std::os::unix::fs::symlink("../.vscode", &link).unwrap();
    let before = look(base.path(), None);
    assert!(before.planted(base.path()).paths.is_empty());
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("evil", &link).unwrap();
    assert_eq!(before.planted(base.path()).paths, [link]);
}

#[test]
fn very_many_files_and_folders_hide_nothing() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path();
    write(root, "z/old/.git/config", "[core]\nfsmonitor = user\n");
    let deep = "1/2/3/4/5/6/7/8";
    let before = look(root, None);
    for number in 0..2 * ENTRIES[0] {
        write(root, &format!("0/{number}"), "");
    }
    write(root, "zz/.git/config", "[core]\nfsmonitor = x\n");
    write(root, &format!("{deep}/.git/config"), "[core]\nfsmonitor = x\n");
    let wanted = [&format!("{deep}/.git"), "zz/.git"].map(|name| root.join(name));
    assert_eq!(found(&before, root), (wanted.to_vec(), false));
}

#[test]
fn in_a_very_large_tree_what_was_prepared_before_is_seen_when_it_is_moved() {
    const EVIL: &str = "[core]\nfsmonitor = x\n";
    let base = tempfile::tempdir().unwrap();
    let root = &base.path().canonicalize().unwrap();
    for number in 0..2 * ENTRIES[0] {
        write(root, &format!("0/{number}"), "");
    }
    write(root, "z/mine/.git/config", EVIL);
    write(root, "z/made/dotgit/config", EVIL);
    for part in ["objects/x", "refs/x", "config", "H"] {
        write(root, &format!("z/bare/{part}"), EVIL);
        write(root, &format!("z/own/{part}"), EVIL);
    }
    write(root, "z/own/HEAD", "");
    write(root, "node_modules/e/.git/config", EVIL);
    pass_time();
    let before = look(root, None);
    assert!(before.is_cut);
    let rename = |from: &str, to: &str| fs::rename(root.join(from), root.join(to)).unwrap();
    write(root, "z/made/dotgit/index", "");
    rename("z/made/dotgit", "z/made/.git");
    rename("z/bare/H", "z/bare/HEAD");
    rename("node_modules/e", "e");
    write(root, "z/mine/.git/index", "");
    write(root, "z/mine/new", "");
    let wanted = ["e/.git", "z/made/.git", "z/bare/HEAD"].map(|name| root.join(name));
    assert_eq!(found(&before, root), (wanted.to_vec(), false));
    // What stood there is exchanged for something prepared.
    let before = look(root, None);
    rename("z/mine", "z/gone");
    rename("z/made", "z/mine");
    let wanted = ["z/gone/.git", "z/mine/.git"].map(|name| root.join(name));
    let planted = before.planted(root).paths;
    assert!(wanted.iter().all(|path| planted.contains(path)), "{planted:?}");
}

#[test]
fn in_a_very_large_tree_what_was_there_stays_and_what_is_changed_goes() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path();
    for number in 0..2 * ENTRIES[0] {
        write(root, &format!("0/{number}"), "");
    }
    for name in ["z/one", "z/two", "z/three"] {
        write(root, &format!("{name}/.git/config"), "[core]\nfsmonitor = user\n");
    }
    write(root, "z/five/.vscode/tasks.json", "");
    pass_time();
    let before = look(root, None);
    assert!(before.is_cut);
    write(root, "z/one/.git/config", "[core]\nfsmonitor = x\n");
    write(root, "z/two/.git/index", "x");
    write(root, "z/two/made", "x");
    write(root, "z/four/.mcp.json", "x");
    // What was there is overwritten, which the folder itself does not show.
    write(root, "z/five/.vscode/tasks.json", "x");
    let wanted = ["z/five/.vscode", "z/four/.mcp.json", "z/one/.git"];
    let wanted = wanted.map(|name| root.join(name));
    assert_eq!(found(&before, root), (wanted.to_vec(), false));
}

#[test]
fn in_a_very_large_tree_a_folder_that_is_moved_brings_no_protected_name_along() {
    let base = tempfile::tempdir().unwrap();
    let root = &base.path().canonicalize().unwrap();
    for number in 0..2 * ENTRIES[0] {
        write(root, &format!("0/{number}"), "");
    }
    for path in [
        "z/mine/.vscode/tasks.json",
        "z/mine/sub/.mcp.json",
        "node_modules/e/.vscode/tasks.json",
        "node_modules/e/deep/.mcp.json",
        "gh/hooks/a.json",
    ] {
        write(root, path, "{}");
    }
    pass_time();
    let before = look(root, None);
    assert!(before.is_cut);
    for (from, to) in [("node_modules/e", "e"), ("gh", ".github")] {
        fs::rename(root.join(from), root.join(to)).unwrap();
    }
    for path in ["z/mine/new", "z/mine/sub/new", "z/new"] {
        write(root, path, "");
    }
    let wanted = [".github/hooks", "e/.vscode", "e/deep/.mcp.json"].map(|name| root.join(name));
    assert_eq!(found(&before, root), (wanted.to_vec(), false));
    for folder in ["e", ".github"] {
        fs::remove_dir_all(root.join(folder)).unwrap();
    }
    // What the person adds between two commands stays.
    write(root, "z/mine/other/.mcp.json", "{}");
    write(root, "z/mine/.zed/settings.json", "{}");
    pass_time();
    let before = look(root, None);
    write(root, "z/mine/newer", "");
    assert_eq!(found(&before, root), (Vec::new(), false));
}

#[test]
fn in_a_very_large_tree_no_number_of_files_hides_one_that_is_overwritten() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path();
    for number in 0..2 * ENTRIES[0] {
        write(root, &format!("0/{number}"), "");
    }
    for number in 0..2000 {
        write(root, &format!("z/.vscode/{number}"), "");
    }
    pass_time();
    let before = look(root, None);
    assert!(before.is_cut && before.planted(root).paths.is_empty());
    let last = fs::read_dir(root.join("z/.vscode")).unwrap().last().unwrap().unwrap();
    fs::write(last.path(), "x").unwrap();
    assert_eq!(found(&before, root), (vec![root.join("z/.vscode")], false));
}

#[test]
fn what_holds_more_than_is_compared_cannot_be_told() {
    let base = tempfile::tempdir().unwrap();
    for name in ["a/one", "a/b/two", "c"] {
        write(base.path(), name, "");
    }
    let holds = |most| holds(base.path(), most, &|_| false);
    assert_eq!([0, 2, 4, 5].map(holds), [true, true, true, false]);
}

#[test]
fn in_a_very_large_tree_repositories_that_the_person_makes_between_two_commands_stay() {
    const MINE: &str = "[core]\nfsmonitor = user\n";
    let base = tempfile::tempdir().unwrap();
    let root = &base.path().canonicalize().unwrap();
    for number in 0..2 * ENTRIES[0] {
        write(root, &format!("0/{number}"), "");
    }
    assert!(look(root, None).planted(root).paths.is_empty());
    write(root, "z/y/clone/.git/config", MINE);
    write(root, "node_modules/e/.git/config", MINE);
    pass_time();
    let before = look(root, None);
    assert!(before.is_cut && !before.is_boundless);
    // The next command works in it.
    write(root, "z/y/clone/.git/index", "");
    write(root, "z/y/clone/new", "");
    assert_eq!(found(&before, root), (Vec::new(), false));
    fs::rename(root.join("node_modules/e/.git"), root.join("z/y/.git")).unwrap();
    assert_eq!(found(&before, root), (vec![root.join("z/y/.git")], false));
}

#[test]
fn where_not_even_a_whole_look_sees_all_times_tell_what_was_put_there() {
    const MINE: &str = "[core]\nfsmonitor = user\n";
    let base = tempfile::tempdir().unwrap();
    let root = &base.path().canonicalize().unwrap();
    for name in ["z/old/.git/config", "z/used/.git/config", "z/made/dotgit/config"] {
        write(root, name, MINE);
    }
    write(root, "node_modules/e/.git/config", MINE);
    write(root, "node_modules/f/g/.mcp.json", "{}");
    for name in [".git/config", ".vscode/tasks.json", ".envrc", ".mcp.json"] {
        write(root, &format!("z/lib/{name}"), MINE);
    }
    for (folder, head) in [("z/bare", "HEAD"), ("z/half", "H")] {
        for name in ["config", "objects/x", "refs/heads/x", head] {
            write(root, &format!("{folder}/{name}"), MINE);
        }
    }
    pass_time();
    let before = look(root, None);
    let since = before.since;
    let is_near = |(path, _): &(PathBuf, u64)| path.parent() == Some(root);
    let folders = before.folders.into_iter().filter(is_near).collect();
    let before = Nested { folders, is_cut: true, is_boundless: true, since, ..Nested::default() };
    write(root, "z/used/.git/index", "");
    // A command works where nobody had looked.
    for name in ["z/lib/new", "z/bare/refs/heads/new"] {
        write(root, name, "");
    }
    assert_eq!(before.planted(root).paths, Vec::<PathBuf>::new());
    fs::rename(root.join("node_modules/f"), root.join("z/lib/f")).unwrap();
    fs::rename(root.join("z/half/H"), root.join("z/half/HEAD")).unwrap();
    fs::rename(root.join("z/made/dotgit"), root.join("z/made/.git")).unwrap();
    fs::rename(root.join("node_modules/e"), root.join("e")).unwrap();
    let wanted = ["e/.git", "z/lib/f/g/.mcp.json", "z/made/.git", "z/half/HEAD"];
    assert_eq!(before.planted(root).paths, wanted.map(|name| root.join(name)));
}

#[test]
fn what_was_put_away_keeps_no_command_from_running() {
    let base = tempfile::tempdir().unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    for (folder, is_unclear) in [(".brynhild-quarantine/x_.git.1", false), ("x/y", true)] {
        let folder = base.path().join(folder);
        for part in ["HEAD", "objects/x", "refs/x"] {
            write(&folder, part, "");
        }
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("config"), mode).unwrap();
        assert_eq!(look(base.path(), None).is_unclear, is_unclear, "{}", folder.display());
    }
}
