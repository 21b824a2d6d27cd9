//! `permissions`: what was approved beyond a session, listed and taken back.

use contract::text::visible;
use serde_json::{Value, json};

use crate::args::PermissionsCommand;
use crate::assemble::permissions::remembered::{Remembered, RememberedRules};
use crate::assemble::run_context::RunContext;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::output::question;

/// Runs a `permissions` command.
pub(crate) async fn run(run: &RunContext, command: Option<PermissionsCommand>) -> Outcome {
    let memories = RememberedRules::new(run.config_dir()?);
    match command.unwrap_or(PermissionsCommand::List) {
        PermissionsCommand::List => list(run, &memories.read().map_err(broken)?),
        PermissionsCommand::Revoke { rule } => revoke(run, &memories, &rule),
        PermissionsCommand::Clear => clear(run, &memories).await,
    }
}

fn broken(problem: String) -> Problem {
    Problem::misuse(problem).hint("repair or remove the file; nothing in it holds until then")
}

fn list(run: &RunContext, all: &[Remembered]) -> Outcome {
    if run.wants_json() {
        let rows: Vec<Value> = all.iter().enumerate().map(row).collect();
        output::json(&rows)?;
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        output::line("No permission is remembered.")?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = all
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            let day = entry.at.to_string().chars().take(10).collect();
            vec![(index + 1).to_string(), entry.rule.clone(), place(entry), day]
        })
        .collect();
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

fn row((index, entry): (usize, &Remembered)) -> Value {
    let path = |path: &std::path::PathBuf| path.display().to_string();
    json!({
        "number": index + 1,
        "rule": entry.rule,
        "tool": entry.tool,
        "source": entry.source,
        "project": entry.project.as_ref().map(path),
        "at": entry.at,
    })
}

/// Where a rule holds, in words.
fn place(entry: &Remembered) -> String {
    match &entry.project {
        Some(project) => project.display().to_string(),
        None => String::from("every project"),
    }
}

fn revoke(run: &RunContext, memories: &RememberedRules, rule: &str) -> Outcome {
    let gone = memories.change(|all| take(all, rule)).map_err(broken)?;
    if gone.is_empty() {
        return Err(Problem::misuse(format!("no remembered permission is `{rule}`"))
            .hint("`brynhild permissions` lists them with their numbers"));
    }
    told(run, &gone)
}

/// Takes one rule out by its number, or all of these words.
fn take(all: &mut Vec<Remembered>, rule: &str) -> Vec<Remembered> {
    let position = rule.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match position {
        Some(position) if position < all.len() => vec![all.remove(position)],
        Some(_) => Vec::new(),
        None => all.extract_if(.., |entry| entry.rule == rule).collect(),
    }
}

async fn clear(run: &RunContext, memories: &RememberedRules) -> Outcome {
    let count = memories.read().map_err(broken)?.len();
    if count > 0 && !run.global.yes && !is_confirmed(run, count).await? {
        output::line("Nothing was forgotten.")?;
        return Ok(Exit::Failed);
    }
    let gone = memories.change(std::mem::take).map_err(broken)?;
    told(run, &gone)
}

async fn is_confirmed(run: &RunContext, count: usize) -> Result<bool, Problem> {
    let terminal = run.environment.terminal;
    if !(terminal.stdin && terminal.stderr) {
        let problem = Problem::new(
            Exit::PermissionNeeded,
            format!("nobody can be asked whether {count} permissions are to be forgotten"),
        );
        return Err(problem.hint("pass `--yes`"));
    }
    let answer = question::line(&format!("Forget {count} permissions? [y]es, [N]o: ")).await?;
    let answer = answer.unwrap_or_default();
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn told(run: &RunContext, gone: &[Remembered]) -> Outcome {
    if run.wants_json() {
        let rules: Vec<&str> = gone.iter().map(|entry| entry.rule.as_str()).collect();
        output::json(&json!({ "revoked": rules }))?;
        return Ok(Exit::Done);
    }
    if gone.is_empty() {
        output::line("No permission is remembered.")?;
    }
    for entry in gone {
        let text = format!("Revoked: {} ({})", entry.rule, place(entry));
        output::line(visible(&text))?;
    }
    Ok(Exit::Done)
}
