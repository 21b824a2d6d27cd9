//! Tables of tokens, money and calls, for `stats` and `/cost`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::figures::{Figures, Spent, Used};
use crate::session::SessionFigures;
use contract::id::Timestamp;
use serde_json::{Value, json};

/// Writes rows as a table with columns.
pub type Table = fn(Vec<Vec<String>>) -> String;

/// The kind of a table.
#[derive(Clone, Copy)]
pub enum Kind {
    Spent,
    Used,
}

impl Kind {
    pub fn heading(self) -> Vec<String> {
        let names = match self {
            Self::Spent => "|REPLIES|IN|CACHE READ|CACHE WRITE|OUT|REASONING|COST",
            Self::Used => "|PLUGIN|CALLS|FAILED|SECONDS|CHARACTERS|TOKENS|COST|EACH REQUEST",
        };
        names.split('|').map(str::to_owned).collect()
    }
}

pub struct Row {
    pub cells: Vec<String>,
    pub data: Value,
}

pub fn spent_rows(spent: &BTreeMap<String, Spent>) -> Vec<Row> {
    spent.iter().map(|(name, spent)| spent_row(name, spent)).collect()
}

pub fn spent_row(name: &str, spent: &Spent) -> Row {
    Row { cells: spent_cells(name, spent), data: spent_data(name, spent) }
}

pub fn spent_cells(name: &str, spent: &Spent) -> Vec<String> {
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

/// A cost in words: an unknown cost is never shown as zero.
pub fn money(spent: &Spent) -> String {
    match (spent.cost_usd, spent.unpriced_replies) {
        (None, 0) => "-".to_owned(),
        (None, _) => "unknown".to_owned(),
        (Some(cost), 0) => format!("${cost:.4}"),
        (Some(cost), count) => format!("${cost:.4} + unknown ({count})"),
    }
}

pub fn spent_data(name: &str, spent: &Spent) -> Value {
    let mut data = json!(spent);
    if let Some(fields) = data.as_object_mut() {
        fields.remove("unpriced");
    }
    if !name.is_empty() {
        data["name"] = name.into();
    }
    data
}

/// The cost of calls and tool descriptions. The price of one result is unknown, so the average
/// token price is used.
pub fn used_rows(
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

/// The figures of a session, for a narrow terminal.
pub fn conversation(session: &SessionFigures, table: Table) -> String {
    let upright = |rows: &[Vec<String>]| upright(rows, table);
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

/// A table with rows and columns swapped, for narrow terminals. If it is still too wide, each row
/// is a table.
fn upright(rows: &[Vec<String>], table: Table) -> String {
    const NARROW: usize = 36;
    let Some((heading, rows)) = rows.split_first() else { return String::new() };
    let turned = |rows: &[Vec<String>]| -> Vec<Vec<String>> {
        let cell = |row: &Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
        let line = |(at, name): (usize, &String)| {
            std::iter::once(name.clone()).chain(rows.iter().map(|row| cell(row, at))).collect()
        };
        heading.iter().enumerate().map(line).collect()
    };
    let whole = table(turned(rows)).trim_start_matches('\n').to_owned();
    if whole.lines().all(|line| line.chars().count() <= NARROW) {
        return whole;
    }
    let each = rows.iter().map(|row| table(turned(std::slice::from_ref(row))));
    each.collect::<Vec<_>>().join("\n").trim_end().to_owned() + "\n"
}

/// The first of the last `days` days, today included.
pub fn first_day(days: u32) -> String {
    let hours = 24 * i64::from(days.saturating_sub(1));
    let first = Timestamp::now().0.checked_sub(jiff::SignedDuration::from_hours(hours));
    first.map_or_else(|_| String::new(), |first| first.strftime("%Y-%m-%d").to_string())
}

/// The text in the place of a table without rows: no `what` in some days.
pub fn nothing_counted(what: &str, days: Option<u32>, has_no_session: bool) -> String {
    match days {
        _ if has_no_session => {
            "No sessions yet, so nothing to count. `brynhild chat PROMPT` starts one.".to_owned()
        }
        Some(1) => format!("No {what} today."),
        Some(days) => format!("No {what} in the last {days} days."),
        None => format!("No {what} in any session."),
    }
}

/// The usage of each session from a day on.
pub fn by_session(sessions: &[SessionFigures], first: &str) -> Vec<Row> {
    let row = |session: &SessionFigures| {
        let spent = session.since(first).spent();
        (spent.replies > 0).then(|| spent_row(session.id.as_str(), &spent))
    };
    sessions.iter().filter_map(row).collect()
}

/// The usage on each day, from one on.
pub fn by_day(sessions: &[SessionFigures], first: &str) -> Vec<Row> {
    let mut days: BTreeMap<String, Spent> = BTreeMap::new();
    for session in sessions {
        for (day, figures) in session.days.iter().filter(|(day, _)| day.as_str() >= first) {
            days.entry(day.clone()).or_default().add(&figures.spent());
        }
    }
    days.retain(|_, spent| spent.replies > 0);
    spent_rows(&days)
}

/// Usage of plugins, with those that were never called.
pub fn by_plugin(total: &Figures, read: &BTreeMap<String, usize>) -> Vec<Row> {
    let mut plugins = total.plugins();
    for name in read.keys() {
        let unused = || Used { plugin: Some(name.clone()), ..Used::default() };
        plugins.entry(name.clone()).or_insert_with(unused);
    }
    used_rows(&plugins, &total.spent(), Some(read))
}
