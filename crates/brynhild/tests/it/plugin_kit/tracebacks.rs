//! Tracebacks of Python plugins.

use super::new;
use crate::{has_bubblewrap, project};

#[test]
fn traceback_has_the_hint_first_and_own_frames_only() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    new(&project, "greeter", "tool");
    let tool = project.read("greeter/tools/greeter.py");
    let write =
        "__import__('pathlib').Path(__file__).with_name('x').write_text('a')\n        return ";
    let raising = format!("{write}ToolResult(success=True");
    let tool = tool.replace("return ToolResult(success=True", &raising);
    project.file("greeter/tools/greeter.py", tool);
    let args =
        ["--plugin-dir", "greeter", "tools", "exec", "greeter", "--input", "{\"name\": \"A\"}"];
    let run = project.brynhild(&args);
    let lines: Vec<&str> =
        run.code(1).stderr.lines().filter_map(|it| it.strip_prefix("plugin greeter: ")).collect();
    let at = |words: &str| lines.iter().position(|line| line.contains(words));
    let (hint, frame) = (at("the plugin `greeter` runs confined"), at("greeter.py"));
    assert!(hint.is_some() && hint < frame, "{run}");
    assert!(at("lib/python").is_none(), "{run}");
    assert!(at("frames of other files; `--verbose` shows them").is_some(), "{run}");
    let run = project.brynhild(&[&["--verbose"], args.as_slice()].concat());
    assert!(run.code(1).stderr.contains("lib/python"), "{run}");
}
