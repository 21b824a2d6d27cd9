//! `stats`: what sessions took, in tokens, money and calls.

use std::collections::BTreeMap;

use args::{StatsArgs, StatsOrder};
use contract::id::Timestamp;
use contract::tool::ToolSpec;
use serde_json::{Value, json};
use sessions::statistics::{Figures, SessionFigures, Spent, Used};
use tools::tool_search;

use crate::assemble::assembly::Assembly;
use crate::assemble::pricing;
use crate::assemble::setup::{self, ToolListing};
use crate::exit::{Outcome, Problem};
use crate::frontends::usage_tables::{
    Kind, Row, spent_cells, spent_data, spent_row, spent_rows, used_rows,
};
use crate::output;

pub(crate) async fn run(assembly: &Assembly, args: &StatsArgs) -> Outcome {
    let mut sessions = assembly.store()?.figures()?;
    pricing::complete(assembly, &mut sessions);
    let first = args.days.map(first_day).unwrap_or_default();
    let mut total = Figures::default();
    for session in &sessions {
        total.add(&session.since(&first));
    }
    let (rows, kind) = match args.by {
        StatsOrder::Model => (spent_rows(&total.models), Kind::Spent),
        StatsOrder::Session => (by_session(&sessions, &first), Kind::Spent),
        StatsOrder::Day => (by_day(&sessions, &first), Kind::Spent),
        StatsOrder::Plugin | StatsOrder::Tool if sessions.is_empty() => (Vec::new(), Kind::Used),
        StatsOrder::Plugin => {
            (by_plugin(&total, &read_of(assembly, |it| &it.source).await?), Kind::Used)
        }
        StatsOrder::Tool => {
            let read = read_of(assembly, |it| &it.name).await?;
            (used_rows(&total.tools, &total.spent(), Some(&read)), Kind::Used)
        }
    };
    let data: Vec<&Value> = rows.iter().map(|row| &row.data).collect();
    let spent = json!({"turns": total.turns, "spent": spent_data("", &total.spent())});
    let data = json!({"days": args.days, "total": spent, "rows": data});
    if rows.is_empty() {
        return assembly.report(&data, empty_message(args, sessions.is_empty()));
    }
    let sum = matches!(kind, Kind::Spent).then(|| spent_cells("total", &total.spent()));
    let rows = rows.into_iter().map(|row| row.cells);
    assembly.report(&data, output::table([kind.heading()].into_iter().chain(rows).chain(sum)))
}

fn empty_message(args: &StatsArgs, has_no_session: bool) -> String {
    if has_no_session {
        return "No sessions yet, so nothing to count. `brynhild chat PROMPT` starts one."
            .to_owned();
    }
    let what = match args.by {
        StatsOrder::Plugin => "No call of a plugin's tool",
        StatsOrder::Tool => "No call of a tool",
        StatsOrder::Model | StatsOrder::Session | StatsOrder::Day => "No reply of a model",
    };
    match args.days {
        Some(1) => format!("{what} today."),
        Some(days) => format!("{what} in the last {days} days."),
        None => format!("{what} in any session."),
    }
}

/// The first of the last `days` days, today included.
fn first_day(days: u32) -> String {
    let hours = 24 * i64::from(days.saturating_sub(1));
    let first = Timestamp::now().0.checked_sub(jiff::SignedDuration::from_hours(hours));
    first.map_or_else(|_| String::new(), |first| first.strftime("%Y-%m-%d").to_string())
}

fn by_session(sessions: &[SessionFigures], first: &str) -> Vec<Row> {
    let row = |session: &SessionFigures| {
        let spent = session.since(first).spent();
        (spent.replies > 0).then(|| spent_row(session.id.as_str(), &spent))
    };
    sessions.iter().filter_map(row).collect()
}

fn by_day(sessions: &[SessionFigures], first: &str) -> Vec<Row> {
    let mut days: BTreeMap<String, Spent> = BTreeMap::new();
    for session in sessions {
        for (day, figures) in session.days.iter().filter(|(day, _)| day.as_str() >= first) {
            days.entry(day.clone()).or_default().add(&figures.spent());
        }
    }
    days.retain(|_, spent| spent.replies > 0);
    spent_rows(&days)
}

/// The approximate tokens of each request that describe the present tools.
async fn read_of(
    assembly: &Assembly,
    by: impl Fn(&ToolSpec) -> &String,
) -> Result<BTreeMap<String, usize>, Problem> {
    let mut read = BTreeMap::new();
    for spec in setup::known_tools(assembly, ToolListing::List).await?.specs().iter() {
        *read.entry(by(spec).clone()).or_default() += tool_search::tokens(spec);
    }
    Ok(read)
}

/// Usage of plugins, with those that were never called.
fn by_plugin(total: &Figures, read: &BTreeMap<String, usize>) -> Vec<Row> {
    let mut plugins = total.plugins();
    for name in read.keys() {
        let unused = || Used { plugin: Some(name.clone()), ..Used::default() };
        plugins.entry(name.clone()).or_insert_with(unused);
    }
    used_rows(&plugins, &total.spent(), Some(read))
}
