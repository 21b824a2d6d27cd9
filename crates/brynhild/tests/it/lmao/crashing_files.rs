//! Files that end or hold up the Python of their directory, from start to start.

use super::*;

/// A plugin whose file ends the process that loads it.
fn deadly(project: &Project, name: &str) {
    let text = format!("import os\nos._exit(3)\n{}", text(&manifest(name), ECHO));
    write(&directory(project).join(name), &text);
}

#[test]
fn neighbor_settings_do_not_reload_a_crashing_file() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(&project, "good", &manifest("good_one"), ECHO);
    plugin(&project, "granted", &manifest("granted_one"), ECHO);
    project.config("plugins: {granted: {timeout: 60}}\n");
    project.brynhild(&["tools", "list"]).success();
    deadly(&project, "a-deadly");
    for tool in ["good_one", "good_one", "granted_one", "good_one"] {
        let run = exec(&project, tool, &json!({"target": ""}), &[]);
        assert!(run.success().stderr.contains("a-deadly/tool.py: it was not loaded"), "{run}");
    }
}

#[test]
fn each_crashing_file_is_named_and_others_work() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let names: Vec<String> = (1..=10).map(|number| format!("bad{number}")).collect();
    for name in &names {
        deadly(&project, name);
    }
    plugin(&project, "good", &manifest("good_one"), ECHO);
    for _ in 0..2 {
        let run = exec(&project, "good_one", &json!({"target": ""}), &[]);
        run.success();
        for name in &names {
            let words = format!("{name}/tool.py: it was not loaded");
            assert_eq!(run.stderr.matches(&words).count(), 1, "{name}: {run}");
        }
    }
}

#[test]
fn late_file_is_retried_with_more_time() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let waits = "import os, time\nwhile not os.path.exists('flag'):\n    time.sleep(0.05)\n";
    let slow = format!("{waits}{}", text(&manifest("slow_one"), ECHO));
    write(&directory(&project).join("slow"), &slow);
    let listed = |seconds: u32| {
        project.config(&format!("plugins: {{slow: {{timeout: {seconds}}}}}\n"));
        let run = project.brynhild(&["tools", "list"]);
        (run.success().stdout.contains("slow_one"), run.stderr.contains("within 5 s"))
    };
    assert_eq!(listed(5), (false, true));
    project.file("flag", "");
    assert_eq!(listed(5), (false, true), "nothing of the plugin has changed");
    assert_eq!(listed(60), (true, false));
}
