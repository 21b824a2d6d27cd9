//! `stats`: what sessions took, in tokens, money and calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use contract::id::Timestamp;
use contract::tool::ToolSpec;
use serde_json::{Value, json};
use sessions::statistics::{Figures, SessionFigures, Spent, Used};
use tools::tool_search;

use crate::args::{StatsArgs, StatsOrder};
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::pricing;
use crate::setup::{self, Glance};
use crate::world::World;

/// Shows what sessions took.
pub(crate) async fn run(world: &World, args: &StatsArgs) -> Outcome {
    let mut sessions = world.store()?.figures()?;
    pricing::complete(world, &mut sessions);
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
            (by_plugin(&total, &read_of(world, |it| &it.source).await?), Kind::Used)
        }
        StatsOrder::Tool => {
            let read = read_of(world, |it| &it.name).await?;
            (used_rows(&total.tools, &total.spent(), Some(&read)), Kind::Used)
        }
    };
    if world.wants_json() {
        let rows: Vec<&Value> = rows.iter().map(|row| &row.data).collect();
        let total = json!({"turns": total.turns, "spent": spent_data("", &total.spent())});
        output::json(&json!({"days": args.days, "total": total, "rows": rows}))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        output::line(nothing(args, sessions.is_empty()))?;
        return Ok(Exit::Done);
    }
    let mut table = vec![kind.heading()];
    table.extend(rows.into_iter().map(|row| row.cells));
    if matches!(kind, Kind::Spent) {
        table.push(spent_cells("total", &total.spent()));
    }
    std::io::stdout().lock().write_all(output::table(&table).as_bytes())?;
    Ok(Exit::Done)
}

/// What is said where there is nothing to show.
fn nothing(args: &StatsArgs, has_no_session: bool) -> String {
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

/// What a table is about.
#[derive(Clone, Copy)]
enum Kind {
    Spent,
    Used,
}

impl Kind {
    fn heading(self) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Spent => {
                &["", "REPLIES", "IN", "CACHE READ", "CACHE WRITE", "OUT", "REASONING", "COST"]
            }
            Self::Used => &[
                "",
                "PLUGIN",
                "CALLS",
                "FAILED",
                "SECONDS",
                "CHARACTERS",
                "TOKENS",
                "COST",
                "EACH REQUEST",
            ],
        };
        names.iter().map(|name| (*name).to_owned()).collect()
    }
}

struct Row {
    cells: Vec<String>,
    data: Value,
}

/// The first of so many days, today included.
fn first_day(days: u32) -> String {
    let hours = 24 * i64::from(days.saturating_sub(1));
    let first = Timestamp::now().0.checked_sub(jiff::SignedDuration::from_hours(hours));
    first.map_or_else(|_| String::new(), |first| first.strftime("%Y-%m-%d").to_string())
}

fn spent_rows(spent: &BTreeMap<String, Spent>) -> Vec<Row> {
    spent.iter().map(|(name, spent)| spent_row(name, spent)).collect()
}

fn spent_row(name: &str, spent: &Spent) -> Row {
    Row { cells: spent_cells(name, spent), data: spent_data(name, spent) }
}

fn spent_cells(name: &str, spent: &Spent) -> Vec<String> {
    vec![
        name.to_owned(),
        spent.replies.to_string(),
        spent.input_tokens.to_string(),
        spent.cache_read_tokens.to_string(),
        spent.cache_write_tokens.to_string(),
        spent.output_tokens.to_string(),
        spent.reasoning_tokens.to_string(),
        money(spent),
    ]
}

/// Money in words: what nobody told is unknown, and never nothing.
pub(crate) fn money(spent: &Spent) -> String {
    match (spent.cost_usd, spent.unpriced_replies) {
        (None, 0) => "-".to_owned(),
        (None, _) => "unknown".to_owned(),
        (Some(cost), 0) => format!("${cost:.4}"),
        (Some(cost), count) => format!("${cost:.4} + unknown ({count})"),
    }
}

fn spent_data(name: &str, spent: &Spent) -> Value {
    let mut data = json!(spent);
    if let Some(fields) = data.as_object_mut() {
        fields.remove("unpriced");
    }
    if !name.is_empty() {
        data["name"] = name.into();
    }
    data
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

/// About how many tokens each request spends on telling the model of tools, as they are by now.
async fn read_of(
    world: &World,
    by: impl Fn(&ToolSpec) -> &String,
) -> Result<BTreeMap<String, usize>, Problem> {
    let mut read = BTreeMap::new();
    for spec in setup::known_tools(world, Glance::List).await?.specs().iter() {
        *read.entry(by(spec).clone()).or_default() += tool_search::tokens(spec);
    }
    Ok(read)
}

/// What calls of plugins took, and what plugins take that nobody called.
fn by_plugin(total: &Figures, read: &BTreeMap<String, usize>) -> Vec<Row> {
    let mut plugins = total.plugins();
    for name in read.keys() {
        let unused = || Used { plugin: Some(name.clone()), ..Used::default() };
        plugins.entry(name.clone()).or_insert_with(unused);
    }
    used_rows(&plugins, &total.spent(), Some(read))
}

/// What calls took, and what the model reads of the tools in each request. Nobody tells what the
/// tokens of one result cost; they are taken for as dear as those of all replies together.
fn used_rows(
    used: &BTreeMap<String, Used>,
    spent: &Spent,
    read: Option<&BTreeMap<String, usize>>,
) -> Vec<Row> {
    let all = spent.input_tokens + spent.output_tokens;
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    let share = |tokens: u64| {
        spent.cost_usd.filter(|_| all > 0).map(|cost| cost * tokens as f64 / all as f64)
    };
    let row = |(name, used): (&String, &Used)| {
        let cost = share(used.tokens());
        let mut data = json!(used);
        data["name"] = name.as_str().into();
        data["estimated_tokens"] = used.tokens().into();
        data["estimated_cost_usd"] = cost.into();
        let plugin = used.plugin.clone().unwrap_or_else(|| "builtin".to_owned());
        let mut cells = vec![
            name.clone(),
            plugin,
            used.calls.to_string(),
            used.failures.to_string(),
            format!("{}.{:03}", used.duration_ms / 1000, used.duration_ms % 1000),
            used.characters.to_string(),
            format!("~{}", used.tokens()),
            cost.map_or_else(|| "unknown".to_owned(), |cost| format!("~${cost:.4}")),
        ];
        if let Some(read) = read {
            let tokens = read.get(name);
            data["description_tokens"] = json!(tokens);
            cells.push(tokens.map_or_else(|| "-".to_owned(), |tokens| format!("~{tokens}")));
        }
        Row { cells, data }
    };
    used.iter().map(row).collect()
}

/// What a conversation took, for `/cost`.
pub(crate) fn conversation(session: &SessionFigures) -> String {
    let total = session.total();
    let heading = Kind::Spent.heading();
    let mut text = String::new();
    for (name, spent) in &total.models {
        let _ = writeln!(text, "{name}");
        // The figures of a single model are those of the session.
        if total.models.len() > 1 {
            let _ = writeln!(text, "{}", upright(&[heading.clone(), spent_cells("", spent)]));
        }
    }
    let all = spent_cells("session", &total.spent());
    text.push_str(&upright(&[heading, all, spent_cells("last turn", &session.last_turn)]));
    let plugins = total.plugins();
    if !plugins.is_empty() {
        let mut table = vec![Kind::Used.heading()];
        table[0].remove(1);
        table[0].pop();
        for row in used_rows(&plugins, &total.spent(), None) {
            let mut cells = row.cells;
            cells.remove(1);
            table.push(cells);
        }
        text.push('\n');
        text.push_str(&upright(&table));
    }
    text
}

/// A table of a heading and rows, turned so that it fits a narrow terminal: what was a row is a
/// column, and where those are too wide together, each stands by itself.
fn upright(table: &[Vec<String>]) -> String {
    /// What a terminal of 40 columns has for it.
    const NARROW: usize = 36;
    let Some((heading, rows)) = table.split_first() else { return String::new() };
    let turned = |rows: &[Vec<String>]| -> Vec<Vec<String>> {
        let cell = |row: &Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
        let line = |(at, name): (usize, &String)| {
            std::iter::once(name.clone()).chain(rows.iter().map(|row| cell(row, at))).collect()
        };
        heading.iter().enumerate().map(line).collect()
    };
    let whole = output::table(&turned(rows)).trim_start_matches('\n').to_owned();
    if whole.lines().all(|line| line.chars().count() <= NARROW) {
        return whole;
    }
    let mut text = String::new();
    for row in rows {
        text.push_str(&output::table(&turned(std::slice::from_ref(row))));
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}
