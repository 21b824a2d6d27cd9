//! `logs`: lists, prints and exports conversation logs.

use std::path::{Path, PathBuf};

use contract::text::visible;
use serde_json::{Map, Value, json};
use sessions::conversation_log::{self, Kind};

use crate::args::{LogsCommand, ThinkingStyle};
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::world::World;

/// Runs a `logs` command.
pub(crate) fn run(world: &World, command: &LogsCommand) -> Outcome {
    match command {
        LogsCommand::List { limit } => list(world, *limit),
        LogsCommand::View { file, raw, summary } => view(world, file.as_deref(), *raw, *summary),
        LogsCommand::Export { file, output, title, thinking_style, no_thinking, .. } => {
            let style = if *no_thinking { ThinkingStyle::Hidden } else { *thinking_style };
            let (lines, _) = conversation_log::read(&locate(world, file.as_deref())?)?;
            let text = conversation_log::markdown(&lines, title.as_deref(), style.into());
            super::session::write_to(output, &text)?;
            Ok(Exit::Done)
        }
        LogsCommand::Raw { file, direction, limit } => {
            raw(world, file.as_deref(), direction.as_deref(), *limit)
        }
    }
}

/// What went over the wire, one exchange each.
fn raw(world: &World, file: Option<&Path>, direction: Option<&str>, limit: usize) -> Outcome {
    let path = locate_kind(world, Kind::Raw, file)?;
    let (mut lines, _) = conversation_log::read(&path)?;
    lines.retain(|line| direction.is_none_or(|wanted| line["direction"] == wanted));
    lines.truncate(limit);
    if world.wants_json() {
        output::json(&lines)?;
        return Ok(Exit::Done);
    }
    for line in &lines {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let head = format!("{} {} {}", text("timestamp"), text("direction"), text("endpoint"));
        let payload = line["payload"]
            .as_str()
            .map_or_else(|| format!("{:#}", line["payload"]), str::to_owned);
        output::line(format_args!("== {}\n{}\n", visible(&head), visible(payload.trim_end())))?;
    }
    Ok(Exit::Done)
}

/// The log file that is meant: a path, a name in the log folder, or the newest.
pub(crate) fn locate(world: &World, file: Option<&Path>) -> Result<PathBuf, Problem> {
    locate_kind(world, Kind::Conversation, file)
}

fn locate_kind(world: &World, kind: Kind, file: Option<&Path>) -> Result<PathBuf, Problem> {
    let name = file.map(|file| file.to_string_lossy().into_owned());
    if let Some(file) = file {
        let path = world.environment.cwd.join(file);
        if path.is_file() {
            return Ok(path);
        }
    }
    Ok(conversation_log::locate(&world.log_dir(), kind, name.as_deref())?)
}

fn list(world: &World, limit: usize) -> Outcome {
    let folder = world.log_dir();
    let mut logs = conversation_log::list(&folder, Kind::Conversation)?;
    logs.truncate(limit);
    if world.wants_json() {
        output::json(&json!({"logs": logs, "log_dir": folder.display().to_string()}))?;
        return Ok(Exit::Done);
    }
    if logs.is_empty() {
        output::line(format_args!("No logs in {}.", folder.display()))?;
    }
    for log in logs {
        output::line(format_args!("{}  {} bytes  {}", log.modified, log.size, visible(&log.name)))?;
    }
    Ok(Exit::Done)
}

fn view(world: &World, file: Option<&Path>, raw: bool, summary: bool) -> Outcome {
    let path = locate(world, file)?;
    let (lines, skipped) = conversation_log::read(&path)?;
    if skipped > 0 {
        output::warning(&format!("{skipped} lines of {} are damaged", path.display()));
    }
    if summary && world.wants_json() {
        let figures: Map<String, Value> = conversation_log::figures(&lines)
            .into_iter()
            .map(|(name, value)| (name.to_lowercase().replace(' ', "_"), json_figure(value)))
            .collect();
        output::json(&figures)?;
    } else if summary {
        for (name, value) in conversation_log::figures(&lines) {
            output::line(format_args!("{name}: {}", visible(&value)))?;
        }
    } else if world.wants_json() {
        output::json(&lines)?;
    } else if raw {
        for line in &lines {
            output::line(line)?;
        }
    } else {
        let text = conversation_log::markdown(&lines, None, sessions::export::Thinking::Summary);
        output::line(visible(text.trim_end()))?;
    }
    Ok(Exit::Done)
}

/// A figure as a number where it is one; money is shown with a sign before it.
fn json_figure(figure: String) -> Value {
    let number = figure.trim_start_matches('$').parse::<serde_json::Number>();
    number.map_or(Value::String(figure), Value::Number)
}
