//! `logs`: lists, prints and exports conversation logs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::text::visible;
use serde_json::{Map, Value, json};
use sessions::conversation_log::{self, Kind};

use crate::args::{Direction, Indexes, LogsCommand, ThinkingStyle};
use crate::assemble::run_context::RunContext;
use crate::exit::{Exit, Outcome, Problem};
use crate::frontends::export;
use crate::output;

/// Runs a `logs` command.
pub(crate) fn run(run: &RunContext, command: &LogsCommand) -> Outcome {
    match command {
        LogsCommand::List { limit } => list(run, Kind::Conversation, *limit),
        LogsCommand::View { file, raw, summary } => view(run, file.as_deref(), *raw, *summary),
        LogsCommand::Export { file, output, title, thinking_style, no_thinking, .. } => {
            let style = if *no_thinking { ThinkingStyle::Hidden } else { *thinking_style };
            let (lines, _) = conversation_log::read(&locate(run, file.as_deref())?)?;
            let text = conversation_log::markdown(&lines, title.as_deref(), style.into());
            export::write_to(run, output, &text)?;
            Ok(Exit::Done)
        }
        LogsCommand::Raw { list: true, limit, .. } => list(run, Kind::Raw, *limit),
        LogsCommand::Raw { file, index, direction, summary, limit, .. } => {
            let wanted = Wanted { index: index.as_ref(), direction: *direction, limit: *limit };
            raw(run, file.as_deref(), &wanted, *summary)
        }
    }
}

/// Which exchanges are wanted.
struct Wanted<'a> {
    index: Option<&'a Indexes>,
    direction: Option<Direction>,
    limit: usize,
}

/// What went over the wire, one exchange each.
fn raw(run: &RunContext, file: Option<&Path>, wanted: &Wanted<'_>, summary: bool) -> Outcome {
    let path = locate_kind(run, Kind::Raw, file)?;
    let (lines, skipped) = conversation_log::read(&path)?;
    warn_of_damage(&path, skipped);
    let exchanges: Vec<(usize, Value)> = lines
        .into_iter()
        .enumerate()
        .filter(|(number, line)| {
            wanted.index.is_none_or(|chosen| chosen.contains(*number))
                && wanted.direction.is_none_or(|way| line["direction"] == way.as_str())
        })
        .take(wanted.limit)
        .collect();
    if summary {
        return summarize(run, &path, &exchanges);
    }
    if run.wants_json() {
        output::json(&exchanges.iter().map(|(_, line)| line).collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for (number, line) in &exchanges {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let head = format!("{} {} {}", text("timestamp"), text("direction"), text("endpoint"));
        let payload = line["payload"]
            .as_str()
            .map_or_else(|| format!("{:#}", line["payload"]), str::to_owned);
        let head = visible(&head).into_owned();
        output::line(format_args!("== [{number}] {head}\n{}\n", visible(payload.trim_end())))?;
    }
    Ok(Exit::Done)
}

/// One line for each exchange, and how many there are of each direction.
fn summarize(run: &RunContext, path: &Path, exchanges: &[(usize, Value)]) -> Outcome {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut rows = Vec::new();
    for (number, line) in exchanges {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        *counts.entry(text("direction")).or_default() += 1;
        let size =
            line["payload"].as_str().map_or_else(|| line["payload"].to_string().len(), str::len);
        rows.push(json!({
            "index": number,
            "timestamp": line["timestamp"],
            "direction": line["direction"],
            "provider": line["provider"],
            "model": line["model"],
            "endpoint": line["endpoint"],
            "size": size,
            "duration_ms": line["duration_ms"],
        }));
    }
    if run.wants_json() {
        let path = path.display().to_string();
        output::json(&json!({"path": path, "directions": counts, "exchanges": rows}))?;
        return Ok(Exit::Done);
    }
    let titles = ["INDEX", "TIME", "DIRECTION", "MODEL", "ENDPOINT", "BYTES", "MS"];
    let keys = ["index", "timestamp", "direction", "model", "endpoint", "size", "duration_ms"];
    let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut table = vec![titles.map(str::to_owned).to_vec()];
    table.extend(rows.iter().map(|row| keys.iter().map(|key| cell(&row[*key])).collect()));
    output::line(output::table(&table).trim_end())?;
    let counts: Vec<String> = counts.iter().map(|(way, count)| format!("{count} {way}")).collect();
    output::line(format_args!("\n{}: {}", path.display(), visible(&counts.join(", "))))?;
    Ok(Exit::Done)
}

fn warn_of_damage(path: &Path, skipped: u64) {
    if skipped > 0 {
        output::warning(&format!("{skipped} lines of {} are damaged", path.display()));
    }
}

/// The log file that is meant: a path, a name in the log directory, or the newest.
pub(crate) fn locate(run: &RunContext, file: Option<&Path>) -> Result<PathBuf, Problem> {
    locate_kind(run, Kind::Conversation, file)
}

fn locate_kind(run: &RunContext, kind: Kind, file: Option<&Path>) -> Result<PathBuf, Problem> {
    let name = file.map(|file| file.to_string_lossy().into_owned());
    if let Some(file) = file {
        let path = run.environment.cwd.join(file);
        if path.is_file() {
            return Ok(path);
        }
    }
    Ok(conversation_log::locate(&run.log_dir(), kind, name.as_deref())?)
}

fn list(run: &RunContext, kind: Kind, limit: usize) -> Outcome {
    let directory = run.log_dir();
    let mut logs = conversation_log::list(&directory, kind)?;
    logs.truncate(limit);
    if run.wants_json() {
        output::json(&json!({"logs": logs, "log_dir": directory.display().to_string()}))?;
        return Ok(Exit::Done);
    }
    if logs.is_empty() {
        output::told(format_args!("No logs in {}.", directory.display()))?;
    }
    for log in logs {
        let modified = log.modified.0.strftime("%Y-%m-%d %H:%M:%S");
        output::line(format_args!("{modified}  {} bytes  {}", log.size, visible(&log.name)))?;
    }
    Ok(Exit::Done)
}

fn view(run: &RunContext, file: Option<&Path>, raw: bool, summary: bool) -> Outcome {
    let path = locate(run, file)?;
    let (lines, skipped) = conversation_log::read(&path)?;
    warn_of_damage(&path, skipped);
    if summary && run.wants_json() {
        let figures: Map<String, Value> = conversation_log::figures(&lines)
            .into_iter()
            .map(|(name, value)| (name.to_lowercase().replace(' ', "_"), json_figure(value)))
            .collect();
        output::json(&figures)?;
    } else if summary {
        for (name, value) in conversation_log::figures(&lines) {
            output::line(format_args!("{name}: {}", visible(&value)))?;
        }
    } else if run.wants_json() {
        for line in &lines {
            output::json(line)?;
        }
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
