//! `init`: writes the beginning of a tool, role, plugin or skill. Overwrites nothing.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::args::{InitArgs, Template};
use crate::assemble::run_context::RunContext;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// The placeholder of the name in a template.
const NAME_PLACEHOLDER: &str = "__NAME__";

/// A file to write: its path below the output directory, and its text.
struct Draft {
    path: String,
    text: &'static str,
}

pub(crate) fn run(run: &RunContext, args: &InitArgs) -> Outcome {
    let name = checked_name(args)?;
    let directory = run.environment.cwd.join(args.output.as_deref().unwrap_or(Path::new("")));
    let drafts = drafts(args.template, &name);
    for draft in &drafts {
        let path = directory.join(&draft.path);
        if path.symlink_metadata().is_ok() {
            let text = format!("{} is there already and stays as it is", path.display());
            return Err(Problem::misuse(text).hint("choose another `--name` or `--output`"));
        }
    }
    let mut written: Vec<PathBuf> = Vec::new();
    for draft in &drafts {
        let path = directory.join(&draft.path);
        write(&path, &draft.text.replace(NAME_PLACEHOLDER, &name))?;
        written.push(path);
    }
    if run.wants_json() {
        let paths: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        output::json(&json!({"name": name, "files": paths}))?;
        return Ok(Exit::Done);
    }
    for path in &written {
        output::text(format_args!("Written: {}", path.display()))?;
    }
    output::hint(&next_step(args.template, &name, args.output.as_deref()));
    Ok(Exit::Done)
}

/// The name, checked for the template.
fn checked_name(args: &InitArgs) -> Result<String, Problem> {
    let name = args.name.trim();
    if args.template == Template::Tool {
        let name = name.replace('-', "_");
        let mut characters = name.chars();
        let begins = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if begins && characters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Ok(name);
        }
        return Err(Problem::misuse(format!("{:?} cannot be the name of a module", args.name))
            .hint("use letters, digits and underscores, and begin with a letter"));
    }
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_fine = (2..=64).contains(&name.len())
        && name.chars().all(inside)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    if is_fine {
        return Ok(name.to_owned());
    }
    Err(Problem::misuse(format!("{:?} cannot be its name", args.name)).hint(
        "use 2 to 64 lower-case letters, digits and hyphens, with no hyphen at the ends and no two \
         in a row",
    ))
}

fn drafts(template: Template, name: &str) -> Vec<Draft> {
    let one = |path: String, text| vec![Draft { path, text }];
    match template {
        Template::Tool => one(format!("{name}.py"), include_str!("init/tool.py")),
        Template::Api => one(format!("{name}.yaml"), include_str!("init/api.yaml")),
        Template::Role => one(format!("{name}.yaml"), include_str!("init/role.yaml")),
        Template::Skill => one(format!("{name}/SKILL.md"), include_str!("init/skill.md")),
        Template::Plugin => vec![
            Draft { path: format!("{name}/plugin.yaml"), text: include_str!("init/plugin.yaml") },
            Draft {
                path: format!("{name}/tools/greeting.py"),
                text: include_str!("init/plugin_tool.py"),
            },
            Draft {
                path: format!("{name}/commands/greet.md"),
                text: include_str!("init/plugin_command.md"),
            },
        ],
    }
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::File::create_new(path))
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    written.map_err(|error| Problem::failed(format!("cannot write {}: {error}", path.display())))
}

fn next_step(template: Template, name: &str, directory: Option<&Path>) -> String {
    let at = |path: String| directory.unwrap_or(Path::new("")).join(path).display().to_string();
    match template {
        Template::Tool => {
            format!("a role beside it uses it by `tools: [{{type: custom, module: {name}}}]`")
        }
        Template::Api | Template::Role => {
            format!("`brynhild run {} -p PROMPT` plays it", at(format!("{name}.yaml")))
        }
        Template::Plugin => {
            let directory = at(name.to_owned());
            format!(
                "`brynhild trust --plugin-dir {directory}` trusts it where it lies in a project, and \
                 `brynhild tools list --plugin-dir {directory}` shows its tool"
            )
        }
        Template::Skill => {
            format!("`brynhild skill validate {}` checks it", at(name.to_owned()))
        }
    }
}
