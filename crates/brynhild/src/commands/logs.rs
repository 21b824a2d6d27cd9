//! `logs`: lists, prints and exports conversation logs.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use args::{Direction, Indexes, LogsCommand, ThinkingStyle};
use assemble::exit::{Exit, Outcome, Problem};
use assemble::output;
use assemble::run_context::RunContext;
use serde_json::{Map, Value, json};
use sessions::conversation_log::{self, Kind};

use super::session::thinking;
use super::text;
use crate::frontends::export;

pub(crate) fn run(run: &RunContext, command: &LogsCommand) -> Outcome {
    match command {
        LogsCommand::List { limit, all } => list(run, Kind::Conversation, *limit, *all),
        LogsCommand::View { file, raw, summary } => view(run, file.as_deref(), *raw, *summary),
        LogsCommand::Export { file, output, title, thinking_style, no_thinking, .. } => {
            let style = if *no_thinking { ThinkingStyle::Hidden } else { *thinking_style };
            let (lines, _) = conversation_log::read(&locate(run, file.as_deref())?)?;
            let text = conversation_log::markdown(&lines, title.as_deref(), thinking(style));
            export::write_to(run, output, &text)?;
            Ok(Exit::Done)
        }
        LogsCommand::Raw { list: true, limit, .. } => list(run, Kind::Raw, *limit, true),
        LogsCommand::Raw { file, index, direction, summary, limit, .. } => {
            let filter =
                ExchangeFilter { index: index.as_ref(), direction: *direction, limit: *limit };
            raw(run, file.as_deref(), &filter, *summary)
        }
    }
}

struct ExchangeFilter<'a> {
    index: Option<&'a Indexes>,
    direction: Option<Direction>,
    limit: usize,
}

fn raw(
    run: &RunContext,
    file: Option<&Path>,
    filter: &ExchangeFilter<'_>,
    summary: bool,
) -> Outcome {
    let path = locate_kind(run, Kind::Raw, file)?;
    let exchanges = (0..).zip(read(&path)?).filter(|(number, line)| {
        filter.index.is_none_or(|chosen| chosen.contains(*number))
            && filter.direction.is_none_or(|direction| line["direction"] == direction.as_str())
    });
    let exchanges: Vec<(usize, Value)> = exchanges.take(filter.limit).collect();
    if summary {
        return summarize(run, &path, &exchanges);
    }
    let words = exchanges.iter().map(|(number, line)| conversation_log::exchange(*number, line));
    let words: String = words.collect();
    run.report(&exchanges.iter().map(|(_, line)| line).collect::<Vec<_>>(), words)
}

/// One line for each exchange, and a count for each direction.
fn summarize(run: &RunContext, path: &Path, exchanges: &[(usize, Value)]) -> Outcome {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut rows = Vec::new();
    for (number, line) in exchanges {
        *counts.entry(text(line, "direction")).or_default() += 1;
        rows.push(conversation_log::summary(*number, line));
    }
    let titles = ["INDEX", "TIME", "DIRECTION", "MODEL", "ENDPOINT", "BYTES", "MS"];
    let keys = ["index", "timestamp", "direction", "model", "endpoint", "size", "duration_ms"];
    let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let table =
        output::titled_table(titles, rows.iter().map(|row| keys.map(|key| cell(&row[key]))));
    let path = path.display().to_string();
    let summary: Vec<String> =
        counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let words = format!("{table}\n{path}: {}", summary.join(", "));
    run.report(&json!({"path": path, "directions": counts, "exchanges": rows}), words)
}

fn read(path: &Path) -> Result<Vec<Value>, Problem> {
    let (lines, skipped) = conversation_log::read(path)?;
    if skipped > 0 {
        output::warning(&format!("{skipped} lines of {} are damaged", path.display()));
    }
    Ok(lines)
}

/// Finds a log file: a path, a name in the log directory, or the newest.
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

fn list(run: &RunContext, kind: Kind, limit: usize, all: bool) -> Outcome {
    let directory = run.log_dir();
    let mut logs = conversation_log::list(&directory, kind)?;
    // Without a home directory no session is known.
    if let Some(store) = run.store().ok().filter(|_| !all) {
        let here = run.place().display().to_string();
        let sessions = store.list()?;
        let sessions = sessions.into_iter().filter(|session| session.cwd == here);
        let sessions: HashSet<String> = sessions.map(|session| session.id.to_string()).collect();
        logs.retain(|log| {
            conversation_log::session_of(&log.path).is_some_and(|id| sessions.contains(&id))
        });
    }
    logs.truncate(limit);
    let directory = directory.display().to_string();
    let data = json!({"logs": logs, "log_dir": directory});
    if logs.is_empty() {
        let hint = if all { "" } else { " of this project; `--all` lists the others" };
        return run.report(&data, format_args!("No logs in {directory}{hint}."));
    }
    let lines = logs.iter().map(|log| {
        let modified = log.modified.0.strftime("%Y-%m-%d %H:%M:%S");
        format!("{modified}  {} bytes  {}\n", log.size, log.name)
    });
    run.report(&data, lines.collect::<String>())
}

fn view(run: &RunContext, file: Option<&Path>, raw: bool, summary: bool) -> Outcome {
    let lines = read(&locate(run, file)?)?;
    if summary && run.wants_json() {
        let figures: Map<String, Value> = conversation_log::figures(&lines)
            .into_iter()
            .map(|(name, value)| {
                (name.to_lowercase().replace(' ', "_"), conversation_log::json_figure(value))
            })
            .collect();
        output::json(&figures)?;
    } else if summary {
        for (name, value) in conversation_log::figures(&lines) {
            output::text(format_args!("{name}: {value}"))?;
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
        output::text(text)?;
    }
    Ok(Exit::Done)
}
