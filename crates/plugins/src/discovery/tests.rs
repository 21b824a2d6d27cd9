use std::os::unix::fs::symlink;

use super::*;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn add(root: &Path, directory: &str, name: &str, version: &str) {
    write(
        root,
        &format!("{directory}/plugin.yaml"),
        &format!("name: {name}\nversion: '{version}'\n"),
    );
}

fn found(places: &[(PathBuf, Place)]) -> FoundPlugins {
    let (directories, mut index) = (Directories::default(), Index::default());
    discover(places, (&directories, &mut index), &|_, _| Trust::Given)
}

fn versions(found: &FoundPlugins) -> Vec<String> {
    found.plugins.iter().map(|it| format!("{} {}", it.name(), it.manifest.version)).collect()
}

#[test]
fn later_directories_override_earlier_ones() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for place in ["global", "configured", "environment", "project", "flag"] {
        add(root, &format!("{place}/same"), "same", place);
        add(root, &format!("{place}/{place}"), place, "1");
    }
    let at = |name: &str| root.join(name);
    let mut places = vec![
        (at("global"), Place::Global),
        (at("configured"), Place::Configured),
        (at("environment"), Place::Environment),
        (at("project"), Place::Project),
        (at("flag"), Place::Flag),
    ];
    let winner = |places: &[(PathBuf, Place)]| {
        let found = found(places);
        found.plugins.iter().find(|it| it.name() == "same").unwrap().manifest.version.clone()
    };
    assert_eq!(found(&places).plugins.len(), 6);
    assert_eq!(winner(&places), "flag");
    places.pop();
    assert_eq!(winner(&places), "project");
    places.pop();
    assert_eq!(winner(&places), "environment");
    places.pop();
    assert_eq!(winner(&places), "configured");
    places.pop();
    assert_eq!(winner(&places), "global");
}

#[test]
fn named_plugin_directory_is_loaded_itself() {
    let directory = tempfile::tempdir().unwrap();
    add(directory.path(), "one", "one", "1");
    let places = [(directory.path().join("one"), Place::Environment)];
    assert_eq!(versions(&found(&places)), ["one 1"]);
}

#[test]
fn symlinked_directories_are_followed_once() {
    let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    add(elsewhere.path(), "real", "linked", "1");
    symlink(elsewhere.path().join("real"), directory.path().join("link")).unwrap();
    symlink("nowhere", directory.path().join("dangling")).unwrap();
    let places = [(directory.path().to_path_buf(), Place::Global)];
    let found = found(&places);
    assert_eq!(versions(&found), ["linked 1"]);
    assert_eq!(found.plugins[0].root, elsewhere.path().canonicalize().unwrap().join("real"));
}

#[test]
fn invalid_plugin_is_reported_if_named() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    add(root, "good", "good", "1");
    write(root, "broken/plugin.yaml", "name: [");
    write(root, "ending/plugin.yml", "name: x");
    write(root, "notes/README.md", "nothing");
    write(root, "file", "nothing");
    let places = [
        (root.to_path_buf(), Place::Global),
        (root.join("none"), Place::Environment),
        (root.join("notes"), Place::Flag),
    ];
    let found = found(&places);
    assert_eq!(versions(&found), ["good 1"]);
    let words: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
    assert_eq!(words.len(), 4, "{words:?}");
    assert!(words[0].contains("broken/plugin.yaml: the plugin is left out: line 1"), "{words:?}");
    assert!(words[1].ends_with("ending: the manifest is called `plugin.yml`"), "{words:?}");
    assert!(words[2].ends_with("none: this directory for plugins does not exist"), "{words:?}");
    assert!(words[3].ends_with("notes: there is no plugin in this directory"), "{words:?}");
}

#[test]
fn untrusted_plugin_is_listed_unread() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    add(root, "global/mine", "mine", "1");
    write(root, "project/mine/plugin.yaml", "name: [ never parsed");
    add(root, "project/theirs", "something-else", "9");
    let places = [(root.join("global"), Place::Global), (root.join("project"), Place::Project)];
    let (directories, mut index) = (Directories::default(), Index::default());
    let found = discover(&places, (&directories, &mut index), &|_, place| match place {
        Place::Project => Trust::Missing,
        _ => Trust::Given,
    });
    assert_eq!(found.problems, []);
    assert_eq!(versions(&found), ["mine 1", "theirs "]);
    assert!(found.plugins[0].is_active() && !found.plugins[1].is_active());
}

#[test]
fn named_directory_without_manifest_is_a_plugin() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "My Things/skills/a/SKILL.md", "");
    let places = [(directory.path().join("My Things"), Place::Flag)];
    let found = found(&places);
    assert_eq!(versions(&found), ["my-things 0.0.0"]);
    assert!(found.problems.is_empty() && found.notes.len() == 1);
    let places = [(directory.path().to_path_buf(), Place::Global)];
    assert!(super::tests::found(&places).plugins.is_empty());
}

#[test]
fn directory_of_tool_type_files_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "types/redis.py", "@register_tool('redis', Config)\n");
    let places = [(directory.path().join("types"), Place::Flag)];
    let found = found(&places);
    assert!(found.plugins.is_empty() && found.problems.is_empty(), "{:?}", found.problems);
}
