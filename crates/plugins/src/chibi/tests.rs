use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::json;

use super::*;
use crate::plugin::Place;
use crate::tests::fixture::surroundings;

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn names(search: &Search) -> Vec<&str> {
    search.candidates.iter().map(|candidate| candidate.plugin.name()).collect()
}

fn settings(base: &Path) -> Settings {
    Settings {
        schema_cache: base.join("kept.json"),
        data: base.join("data"),
        sandbox: Arc::new(testkit::Plain::default()),
        surroundings: surroundings(base),
        home: base.join("home/.chibi"),
        is_verbose: false,
        is_confined: true,
        on_output: Arc::new(|_, _| {}),
        console: None,
    }
}

async fn opened(base: &Path) -> Plugins {
    let directories = Directories::default();
    let found = find(&base.join("plugins"), Place::Global, &directories);
    Plugins::open(found.candidates, settings(base), Mode::Normal, &directories).await
}

#[test]
fn executables_and_their_directories_are_plugins() {
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("plugins");
    script(&directory.join("one"), "");
    script(&directory.join("two.py"), "");
    script(&directory.join("three/three"), "");
    script(&directory.join("off.disabled"), "");
    script(&directory.join("off2.disabled/off2.disabled"), "");
    script(&directory.join("odd/other"), "");
    script(&directory.join("ours/ours"), "");
    script(&base.path().join("elsewhere"), "");
    fs::write(directory.join("ours/plugin.yaml"), "name: ours\n").unwrap();
    fs::write(directory.join("README.md"), "words").unwrap();
    symlink(base.path().join("elsewhere"), directory.join("link")).unwrap();
    symlink("one", directory.join("same")).unwrap();
    let search = find(&directory, Place::Global, &Directories::default());
    assert_eq!(names(&search), ["one", "same", "three", "two"]);
    let problems: Vec<String> = search.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert!(problems[0].contains("points outside the plugin directory"), "{problems:#?}");
    assert!(problems[1].contains("there is no executable `odd`"), "{problems:#?}");
    let own = find(&directory.join("three"), Place::Flag, &Directories::default());
    assert_eq!(names(&own), ["three"]);
    assert!(
        find(&directory.join("ours"), Place::Flag, &Directories::default()).candidates.is_empty()
    );
}

#[test]
fn schema_is_an_object_or_list_with_faults_reported() {
    let file = Path::new("/p");
    let one = json!({"name": "a b", "description": "d", "parallel": false, "ends_turn": "yes",
        "hooks": ["pre_tool", "on_context_switch"], "summary_params": ["x"], "type": "odd"});
    let schema = Schema::read(file, &one);
    let tool = &schema.tools[0];
    assert_eq!((tool.name.as_str(), tool.own_name.as_str()), ("a_b", "a b"));
    assert_eq!((tool.parallel, tool.flow), (false, schema::Flow::Runs));
    assert_eq!(tool.hooks, ["pre_tool"]);
    assert_eq!(schema.problems[0].what, "Unknown hook 'on_context_switch' in tool 'a b'");
    let list = json!([one, {"name": "x"}, 3, {"name": "y", "description": "", "parameters": []}]);
    let schema = Schema::read(file, &list);
    assert_eq!((schema.tools.len(), schema.problems.len()), (1, 4), "{:#?}", schema.problems);
    let told = |what: &str| schema.problems.iter().any(|problem| problem.what == what);
    assert!(told("entry 3 of what `--schema` lists is not an object"), "{:#?}", schema.problems);
    for nothing in [json!([]), json!(null), json!("x")] {
        assert_eq!(Schema::read(file, &nothing).problems.len(), 1);
    }
}

#[tokio::test]
async fn description_is_cached_by_content() {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("plugins/p");
    let said = "echo x >> ../runs; echo '{\"name\": \"p\", \"description\": \"d\"}'\n";
    script(&file, said);
    let runs = || fs::read_to_string(base.path().join("runs")).unwrap().len() / 2;
    assert_eq!(opened(base.path()).await.tools().len(), 1);
    assert_eq!(opened(base.path()).await.tools().len(), 1);
    assert_eq!(runs(), 1);
    script(&file, said);
    assert_eq!(opened(base.path()).await.tools().len(), 1);
    assert_eq!(runs(), 1, "the times differ, the content does not");
    script(&file, &format!("{said}#"));
    assert_eq!(opened(base.path()).await.tools().len(), 1);
    assert_eq!(runs(), 2);
}

#[tokio::test]
async fn failed_plugin_is_retried_after_a_change() {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("plugins/p");
    script(&file, "echo x >> ../runs; echo why >&2; exit 3\n");
    let runs = || fs::read_to_string(base.path().join("runs")).unwrap().len() / 2;
    for _ in 0..2 {
        let plugins = opened(base.path()).await;
        assert_eq!(plugins.problems.len(), 1);
        assert_eq!(plugins.problems[0].what, "`--schema` ended with exit code 3: why");
    }
    assert_eq!(runs(), 1);
    script(&file, "echo x >> ../runs; echo why >&2; exit 3\n");
    opened(base.path()).await;
    assert_eq!(runs(), 2);
}

#[test]
fn hook_points_are_unique() {
    let mut names: Vec<&str> = POINTS.iter().map(|point| point.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 33);
}

#[cfg(target_os = "linux")]
#[test]
fn fifos_in_place_of_executables_are_reported() {
    use rustix::fs::{CWD, FileType, Mode as Bits, mknodat};
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("apart")).unwrap();
    let pipe = |name: &str, bits: Bits| {
        mknodat(CWD, directory.path().join(name), FileType::Fifo, bits, 0).unwrap();
    };
    pipe("alone", Bits::RWXU);
    pipe("apart/apart", Bits::RWXU);
    pipe("no-executable", Bits::RUSR | Bits::WUSR);
    let search = find(directory.path(), Place::Global, &Directories::default());
    let told: Vec<String> = search.problems.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    for (words, name) in told.iter().zip(["alone", "apart/apart"]) {
        assert!(words.contains(name) && words.contains("not a regular file"), "{words}");
    }
}

#[test]
fn reference_lists_the_support_of_every_hook() {
    use std::fmt::Write as _;
    let mut text = String::from("| hook | support | reason |\n|---|---|---|\n");
    for point in &point::POINTS {
        let (support, reason) = match point.support {
            point::Support::Decides(..) => ("yes", ""),
            point::Support::Notified(_, why) => ("partly", why),
            point::Support::Unsupported(why) => ("no", why),
        };
        writeln!(text, "| `{}` | {support} | {reason} |", point.name).unwrap();
    }
    crate::tests::fixture::check_reference("plugin-systems.md", "chibi", &text);
}
