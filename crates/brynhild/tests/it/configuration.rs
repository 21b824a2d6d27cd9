//! Configuration end to end: layers, mistakes, what a project may do, and the effect of every key.

mod conversation_keys;
mod display;
mod examples;
mod layers;
mod mistakes;
mod model_keys;
mod project_files;
mod storage_keys;

use serde_json::Value;
use testkit::{Project, Run};

/// The value at a dotted path, as `config show` tells it.
fn value(project: &Project, path: &str) -> Value {
    let run = project.brynhild(&["config", "show", "--json"]);
    run.success();
    at(&run.json(), path)
}

fn at(tree: &Value, path: &str) -> Value {
    let pointer = format!("/{}", path.replace('.', "/"));
    tree.pointer(&pointer).cloned().unwrap_or_default()
}

/// The warnings of a run, without the word that marks them.
fn warnings(run: &Run) -> Vec<&str> {
    // Which sandbox a machine has is not what is tested here.
    let is_about_sandbox = |line: &&str| line.starts_with("the sandbox is ");
    let warnings = run.stderr.lines().filter_map(|line| line.strip_prefix("warning: "));
    warnings.filter(|line| !is_about_sandbox(line)).collect()
}
