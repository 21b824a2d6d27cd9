//! `plugin bench`: the figures of tools, and the tools that are skipped.

use serde_json::Value;
use testkit::Project;

use super::new;
use crate::project;

/// The report of a plugin.
fn bench(project: &Project, directory: &str) -> Value {
    let run = project.brynhild(&["plugin", "bench", directory, "--json"]);
    run.success();
    run.json()
}

fn assert_measured(tool: &Value) {
    for figure in ["start_ms", "first_call_ms", "warm_call_ms", "memory_mb"] {
        for key in ["value", "bare", "ratio"] {
            assert!(tool[figure][key].as_f64().is_some_and(|it| it > 0.0), "{figure}: {tool}");
        }
    }
}

#[test]
fn bench_compares_a_tool_with_a_bare_interpreter() {
    let project = project();
    new(&project, "greeter", "tool");
    let run = project.brynhild(&["plugin", "bench", "greeter"]);
    let lines: Vec<&str> = run.success().stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{run}");
    let titles = ["TOOL", "START", "FIRST CALL", "WARM CALL", "MEMORY"];
    assert!(titles.iter().all(|title| lines[0].contains(title)), "{run}");
    assert!(lines[1].starts_with("greeter  ") && lines[1].ends_with("x)"), "{run}");
    assert!(lines[2].starts_with("x: times `python3"), "{run}");
    assert!(lines[2].contains("a warm call: times a line through a pipe"), "{run}");
}

#[test]
fn bench_measures_executables_and_servers() {
    let project = project();
    for kind in ["chibi", "mcp", "lmao"] {
        let name = format!("{kind}-greeter");
        new(&project, &name, kind);
        let report = bench(&project, &name);
        let tools = report["tools"].as_array().unwrap();
        assert_eq!((tools.len(), &report["skipped"]), (1, &serde_json::json!([])), "{report}");
        assert_measured(&tools[0]);
        let program = tools[0]["program"].as_str().unwrap();
        assert!(program.rsplit('/').next().unwrap().starts_with("python"), "{report}");
    }
}

#[test]
fn bench_takes_arguments_of_scenarios_and_names_skipped() {
    let project = project();
    new(&project, "greeter", "tool");
    let tool = project.read("greeter/tools/greeter.py");
    let without = |name: &str| {
        tool.replace("examples", "samples").replace("\"greeter\"", &format!("\"{name}\""))
    };
    project.file("greeter/tools/greeter.py", without("greeter"));
    project.file("greeter/tools/other.py", without("other"));
    project.file(
        "greeter/tools/broken.py",
        tool.replace("\"greeter\"", "\"broken\"").replace("\"Ann\"", "\" \""),
    );
    let manifest = project.read("greeter/plugin.yaml");
    project.file(
        "greeter/plugin.yaml",
        manifest.replace("tools: [greeter]", "tools: [greeter, other, broken]"),
    );
    let report = bench(&project, "greeter");
    assert_eq!(report["tools"].as_array().unwrap().len(), 1, "{report}");
    assert_measured(&report["tools"][0]);
    let skipped = report["skipped"].to_string();
    assert!(
        skipped.contains("it has no example, and no scenario in `tests` calls it"),
        "{skipped}"
    );
    assert!(skipped.contains("its call failed: the name is empty"), "{skipped}");
}

#[test]
fn bench_explains_a_directory_without_tools() {
    let project = project();
    new(&project, "lint", "skill");
    let run = project.brynhild(&["plugin", "bench", "lint"]);
    assert!(run.code(1).stderr.contains("error: lint has no tools"), "{run}");
    let run = project.brynhild(&["plugin", "bench", "nowhere"]);
    assert!(run.code(2).stderr.contains("there is no directory nowhere"), "{run}");
}
