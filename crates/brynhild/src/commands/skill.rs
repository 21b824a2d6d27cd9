//! `skill`: lists, shows and checks skills.

use std::path::{Path, PathBuf};

use contract::skill::Skill;
use contract::text::{head, visible};
use serde_json::{Value, json};

use crate::args::SkillCommand;
use crate::assemble;
use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// Runs a `skill` command.
pub(crate) fn run(assembly: &Assembly, command: &SkillCommand) -> Outcome {
    match command {
        SkillCommand::List => list(assembly),
        SkillCommand::Show { name, body } => show(assembly, name, *body),
        SkillCommand::Validate { path } => validate(assembly, path),
    }
}

fn describe(skill: &Skill) -> Value {
    let shown = |paths: Vec<PathBuf>| {
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
    };
    json!({
        "name": skill.name,
        "description": skill.description,
        "path": skill.directory.as_ref().map(|directory| directory.display().to_string()),
        "source": skill.source,
        "license": skill.license,
        "allowed_tools": skill.allowed_tools,
        "body_lines": plugins::skills::body_lines(skill),
        "exceeds_limit": plugins::skills::exceeds_limit(skill),
        "reference_files": shown(plugins::skills::references(skill)),
        "scripts": shown(plugins::skills::scripts(skill)),
    })
}

fn list(assembly: &Assembly) -> Outcome {
    let root = assembly.place();
    let skills = assemble::skills(assembly, root);
    if assembly.wants_json() {
        let rows: Vec<Value> = skills.iter().map(describe).collect();
        let root = root.display().to_string();
        let object = json!({"project_root": root, "skill_count": rows.len(), "skills": rows});
        output::json(&object)?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = skills
        .iter()
        .map(|skill| {
            let description = head(&skill.description, 80).to_owned();
            vec![skill.name.clone(), skill.source.clone(), description]
        })
        .collect();
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

fn show(assembly: &Assembly, name: &str, body: bool) -> Outcome {
    let skills = assemble::skills(assembly, assembly.place());
    let skill = skills.iter().find(|skill| skill.name == name.to_lowercase());
    let skill = skill.ok_or_else(|| {
        Problem::failed(format!("Skill not found: {name}")).hint("`brynhild skill list` shows all")
    })?;
    if assembly.wants_json() {
        let mut object = describe(skill);
        if body {
            object["body"] = json!(skill.body);
        }
        output::json(&object)?;
        return Ok(Exit::Done);
    }
    output::told(format_args!("{} ({})", skill.name, skill.source))?;
    output::line(visible(&skill.description))?;
    if let Some(directory) = &skill.directory {
        output::told(format_args!("in {}", directory.display()))?;
    }
    if body {
        output::line(format_args!("\n{}", visible(skill.body.trim_end())))?;
    }
    Ok(Exit::Done)
}

fn validate(run: &RunContext, path: &Path) -> Outcome {
    let directory = run.environment.cwd.join(path);
    let problems = plugins::skills::validate(&directory);
    let exit = if problems.is_empty() { Exit::Done } else { Exit::Failed };
    if run.wants_json() {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        output::json(
            &json!({"path": path.display().to_string(), "valid": problems.is_empty(), "problems": texts}),
        )?;
        return Ok(exit);
    }
    if problems.is_empty() {
        output::told(format_args!("{} is a valid skill.", path.display()))?;
    }
    for problem in problems {
        output::error(&problem.to_string());
        output::hint(&problem.hint);
    }
    Ok(exit)
}
