//! The kit for authors of plugins, through the shipped program.

mod bench;
mod check;
mod dev;
mod grant;
mod new;
mod testing;
mod tracebacks;

use testkit::{Project, Run};

/// All kinds of `plugin new`.
const KINDS: [&str; 11] = [
    "tool", "hook", "command", "skill", "provider", "agent", "chibi", "lmao", "role", "api", "mcp",
];

fn new(project: &Project, name: &str, kind: &str) -> Run {
    let run = project.brynhild(&["plugin", "new", name, "--kind", kind]);
    run.success();
    run
}
