//! `plugin new`: writes a plugin to begin with.

use std::path::Path;

use args::PluginNewArgs;
use assemble::exit::{Outcome, Problem};
use assemble::run_context::RunContext;
use plugin_kit::template::TEMPLATES;
use serde_json::json;

pub(super) fn run(run: &RunContext, args: &PluginNewArgs) -> Outcome {
    let template = TEMPLATES.iter().find(|it| it.kind == args.kind);
    let template = template.ok_or_else(|| Problem::misuse("there is no such kind"))?;
    let parent = args.output.as_deref().unwrap_or(Path::new(""));
    let name = args.name.trim();
    let written = template.write(name, &run.environment.cwd.join(parent)).map_err(|error| {
        let hint = error.hint().map(str::to_owned);
        Problem { hint, ..Problem::misuse(error.to_string()) }
    })?;
    let next = template.next_commands(name, &parent.join(name));
    let files = written.iter().map(|path| format!("Written: {}\n", path.display()));
    let commands = next.iter().map(|command| format!("    {command}\n"));
    let text = files.chain(["\nNext:\n".to_owned()]).chain(commands).collect::<String>();
    run.report(&json!({"name": name, "kind": args.kind, "files": written, "next": next}), text)
}
