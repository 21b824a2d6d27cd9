//! `stats`: what sessions took, in tokens, money and calls.

use std::collections::BTreeMap;

use args::{StatsArgs, StatsOrder};
use assemble::assembly::Assembly;
use assemble::exit::{Outcome, Problem};
use assemble::setup::{self, ToolListing};
use assemble::{output, pricing};
use contract::tool::ToolSpec;
use serde_json::{Value, json};
use statistics::Figures;
use statistics::tables::{
    Kind, by_day, by_plugin, by_session, first_day, nothing_counted, spent_cells, spent_data,
    spent_rows, used_rows,
};
use tools::tool_search;

pub(crate) async fn run(assembly: &Assembly, args: &StatsArgs) -> Outcome {
    let store = assembly.store()?;
    let sessions = pricing::figures(assembly, &store, store.ids()?);
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
        let what = match args.by {
            StatsOrder::Plugin => "call of a plugin's tool",
            StatsOrder::Tool => "call of a tool",
            StatsOrder::Model | StatsOrder::Session | StatsOrder::Day => "reply of a model",
        };
        return assembly.report(&data, nothing_counted(what, args.days, sessions.is_empty()));
    }
    let sum = matches!(kind, Kind::Spent).then(|| spent_cells("total", &total.spent()));
    let rows = rows.into_iter().map(|row| row.cells);
    assembly.report(&data, output::table([kind.heading()].into_iter().chain(rows).chain(sum)))
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
