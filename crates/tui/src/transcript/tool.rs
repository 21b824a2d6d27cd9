//! A call of a tool: one line that says what it was and how it went, and a body that opens. Knows
//! kinds of output, no particular tool.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use contract::action::Action;
use contract::event::{Answer, CallOutcome};
use contract::policy::{Decision, Ruling};
use contract::tool::{Display, ToolOutput};
use ratatui_core::style::Style;
use serde_json::Value;

use super::Transcript;
use super::block::{End, excerpt, shortened};
use super::parts::Part;
use crate::diff;
use crate::picture::Picture;
use crate::slice::{Breaks, Slice, slices};
use crate::text::{
    Leads, OF_FRAME, Piece, Row, clean, clipped, columns, counted, fold, line_rows, one_line,
    printed, wrap,
};
use crate::theme::{Role, Theme};

const MAX_PROGRESS_ROWS: usize = 5;
const MAX_PROGRESS_LINES: usize = 500;

pub(crate) struct Tool {
    pub(crate) name: String,
    /// Where it comes from, unless it is built in.
    pub(crate) source: Option<String>,
    summary: String,
    /// Those that may name a file.
    names: Vec<String>,
    arguments: String,
    actions: Vec<String>,
    decided: Option<String>,
    progress: VecDeque<String>,
    state: State,
    /// True if it runs a command, whose last lines tell the result.
    is_command: bool,
    /// True if its result is a state that the user wants to see whole.
    is_state: bool,
    pub(super) picture: Option<Picture>,
    /// The conversation that it holds, with the agent that answers there.
    inner: Option<(String, Box<Transcript>)>,
}

enum State {
    Called,
    Asking,
    Running,
    Ended { outcome: CallOutcome, result: Box<CallResult>, duration_ms: u64 },
}

struct CallResult {
    success: bool,
    /// The text, safe to draw.
    text: String,
    /// Where the standard error of a command is in it.
    errors: Range<usize>,
    change: Option<Change>,
}

/// A change of a file, without the lines that name it.
struct Change {
    path: String,
    unified: String,
    counts: (usize, usize),
}

impl Tool {
    /// A call that was just made.
    pub(crate) fn called(name: &str, args: &Value, source: Option<String>) -> Self {
        Self {
            name: one_line(name),
            source,
            summary: summary(args),
            names: names(args),
            arguments: arguments(args),
            actions: Vec::new(),
            decided: None,
            progress: VecDeque::new(),
            state: State::Called,
            is_command: false,
            is_state: false,
            picture: None,
            inner: None,
        }
    }

    /// The first of its arguments, in a few words.
    pub(super) fn task(&self) -> String {
        const WORDS: usize = 40;
        let first = self.names.first().and_then(|name| name.lines().next());
        clipped(&one_line(first.unwrap_or_default()), WORDS)
    }

    /// The conversation that it holds with an agent.
    pub(super) fn inner_with_agent(&mut self, agent: &str) -> &mut Transcript {
        if self.inner.is_none() {
            // The agent's prompt stands in the conversation; its task says enough.
            self.summary = self.task();
        }
        let (_, inner) = self.inner.get_or_insert_with(|| (agent.to_owned(), Box::default()));
        inner
    }

    /// The conversation that it holds, if it holds one, to be looked at.
    pub(super) fn inner(&self) -> Option<&Transcript> {
        self.inner.as_ref().map(|(_, inner)| inner.as_ref())
    }

    pub(super) fn inner_mut(&mut self) -> Option<&mut Transcript> {
        self.inner.as_mut().map(|(_, inner)| inner.as_mut())
    }

    pub(super) fn judged(&mut self, args: &Value, actions: &[Action], ruling: &Ruling) {
        self.summary = summary(args);
        self.names = names(args);
        self.arguments = arguments(args);
        for action in actions {
            if let Action::Write { path, .. } = action {
                self.changes(path);
            }
        }
        self.is_command = actions.iter().any(|action| matches!(action, Action::Run { .. }));
        self.actions = actions.iter().map(action_text).collect();
        self.decided = ruling.deciding().map(|reason| {
            let word = match ruling.decision {
                Decision::Allow => "allowed",
                Decision::Ask => "asked",
                Decision::Deny => "denied",
            };
            one_line(&format!("{word}: {} ({})", reason.why, reason.origin))
        });
        if ruling.decision == Decision::Allow {
            self.state = State::Running;
        }
    }

    /// It changes a file: what it puts there is seen in the change, so that the name is enough.
    fn changes(&mut self, path: &Path) {
        if let Some(name) = self.names.iter().find(|name| path.ends_with(name)) {
            self.summary = one_line(name);
        }
    }

    pub(super) fn asked(&mut self) {
        self.state = State::Asking;
    }

    pub(super) fn answered(&mut self, answer: &Answer, rules: &[String]) {
        let word = match answer {
            Answer::Once => "You allowed it once".to_owned(),
            Answer::Session => "You allowed it for this session".to_owned(),
            Answer::Project => "You allowed it in this project".to_owned(),
            Answer::Always => "You allowed it always".to_owned(),
            Answer::Deny { reason: Some(reason) } => format!("You denied it: {}", one_line(reason)),
            Answer::Deny { reason: None } => "You denied it".to_owned(),
            Answer::Cancel => "You stopped the turn".to_owned(),
            Answer::Unavailable => "There was no terminal to ask".to_owned(),
        };
        let rules = if rules.is_empty() {
            String::new()
        } else {
            format!("; allowed from now on: {}", one_line(&rules.join("; ")))
        };
        self.decided = Some(format!("{word}{rules}"));
        self.state = State::Running;
    }

    pub(super) fn progressed(&mut self, text: &str) {
        for line in printed(text).lines() {
            self.progress.push_back(line.to_owned());
        }
        while self.progress.len() > MAX_PROGRESS_LINES {
            self.progress.pop_front();
        }
    }

    pub(super) fn ended(&mut self, outcome: CallOutcome, output: &ToolOutput, duration_ms: u64) {
        self.progress = VecDeque::new();
        self.is_state = output.success && output.lasting().is_some_and(|it| it.subject.is_some());
        let change = match &output.display {
            Some(Display::Diff { path, unified }) => {
                self.changes(Path::new(path));
                let unified = clean(unified);
                let counts = diff::counts(&unified);
                Some(Change { path: one_line(path), unified, counts })
            }
            Some(Display::Image { media_type, data }) => {
                self.picture = Picture::new(media_type, data);
                None
            }
            None => None,
        };
        let (text, errors) = result_text(output);
        let result = CallResult { success: output.success, text, errors, change };
        self.state = State::Ended { outcome, result: Box::new(result), duration_ms };
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{} {}\n", self.name, self.arguments);
        match self.result() {
            Some(CallResult { change: Some(change), .. }) => text.push_str(&change.unified),
            Some(result) => text.push_str(&result.text),
            None => text.extend(self.progress.iter().flat_map(|line| [line.as_str(), "\n"])),
        }
        text
    }

    /// The parts that it is laid out by where it is open.
    pub(super) fn parts(&self, width: usize, theme: &Theme) -> Vec<Part> {
        let lead = bar(theme);
        let room = width.saturating_sub(lead.iter().map(|(_, text)| columns(text)).sum());
        let cut = |text: &str| slices(text, Breaks::Columns(room.max(1)));
        let mut parts = vec![Part::Head];
        parts.extend(cut(&self.arguments).into_iter().map(Part::Arguments));
        parts.push(Part::Decision);
        if let Some((_, inner)) = &self.inner {
            parts.extend((0..inner.len()).map(Part::Inner));
        }
        match self.result() {
            Some(CallResult { change: Some(change), .. }) => {
                let spans = diff::spans(diff::body(&change.unified), width, &lead);
                parts.extend(spans.into_iter().map(|span| Part::Change(0, span)));
            }
            Some(result) => parts.extend(cut(&result.text).into_iter().map(Part::Text)),
            None => parts.push(Part::Progress),
        }
        parts
    }

    pub(super) fn part_rows(&self, part: Part, width: usize, theme: &Theme) -> Vec<Row> {
        let lead = bar(theme);
        match part {
            Part::Whole => self.rows(width, theme),
            Part::Head => vec![self.head(Fold::Open, width, theme)],
            Part::Arguments(slice) => {
                verbatim(&self.arguments, slice, theme.style(Role::Text), width, &lead)
            }
            Part::Decision => self.decision(width, theme, &lead),
            Part::Inner(at) => {
                let lead: Vec<Piece> = vec![(theme.style(Role::Accent), INNER.to_owned())];
                let inner = self.inner.as_ref();
                inner.map_or_else(Vec::new, |(_, it)| it.nested_rows(at, width, theme, &lead))
            }
            Part::Progress => self.progress_rows(self.progress.len(), width, theme),
            Part::Text(slice) => self.text_rows(slice, width, theme),
            Part::Change(_, span) => self.change().map_or_else(Vec::new, |it| {
                span.rows((diff::body(&it.unified), &it.path), theme, width, &lead)
            }),
            Part::Description(_) => Vec::new(),
        }
    }

    /// The text of a part to be searched; none if it is little.
    pub(super) fn part_text(&self, part: Part, more: usize) -> Option<&str> {
        match part {
            Part::Arguments(slice) => Some(slice.and_on(&self.arguments, more)),
            Part::Text(slice) => Some(slice.and_on(self.result_text(), more)),
            Part::Change(_, span) => {
                self.change().map(|it| span.slice.and_on(diff::body(&it.unified), more))
            }
            _ => None,
        }
    }

    fn result(&self) -> Option<&CallResult> {
        if let State::Ended { result, .. } = &self.state { Some(result) } else { None }
    }

    fn change(&self) -> Option<&Change> {
        self.result()?.change.as_ref()
    }

    fn result_text(&self) -> &str {
        self.result().map_or("", |result| &result.text)
    }

    /// The rows of a part of its result: of a command, with its errors dimmed.
    fn text_rows(&self, slice: Slice, width: usize, theme: &Theme) -> Vec<Row> {
        let Some(result) = self.result() else { return Vec::new() };
        let lead = bar(theme);
        let [text, soft] = [Role::Text, Role::Soft].map(|role| theme.style(role));
        if !self.is_command {
            return verbatim(&result.text, slice, soft, width, &lead);
        }
        let (leads, mut at) = (Leads::same(lead), slice.from);
        line_rows(slice.of(&result.text), slice.joint, |line| {
            let style = if result.errors.contains(&at) { soft } else { text };
            at += line.len() + 1;
            fold(&[(style, line.to_owned())], width, &leads)
        })
    }

    fn rows(&self, width: usize, theme: &Theme) -> Vec<Row> {
        let mut rows = vec![self.head(Fold::Closed, width, theme)];
        rows.extend(self.inner_head(theme));
        let Some(result) = self.result() else {
            rows.extend(self.progress_rows(MAX_PROGRESS_ROWS, width, theme));
            return rows;
        };
        let lead = bar(theme);
        let end = if result.success && !self.is_command { End::First } else { End::Last };
        let (body, left_out) = if let Some(change) = &result.change {
            // The line above names the file.
            let (shown, left_out) = excerpt(diff::body(&change.unified), end);
            (diff::rows(shown, &change.path, theme, width, &lead), left_out)
        } else {
            let (shown, left_out) = excerpt(&result.text, end);
            let start = if end == End::Last { result.text.len() - shown.len() } else { 0 };
            let slice = Slice { from: start, to: start + shown.len(), ..Slice::whole(shown) };
            let mut rows = self.text_rows(slice, width, theme);
            rows.retain(|row| !self.is_command || !row.text().trim().is_empty());
            (rows, left_out)
        };
        // A change is shown whole unless it is very long: it is what the user wants to see.
        let is_short = left_out == 0 && body.len() <= 40;
        let is_whole = (result.change.is_some() || self.is_state) && is_short;
        rows.extend(shortened(body, (is_whole, left_out), theme, (&lead, end)));
        rows
    }

    fn progress_rows(&self, count: usize, width: usize, theme: &Theme) -> Vec<Row> {
        let leads = Leads::same(bar(theme));
        let soft = theme.style(Role::Soft);
        let lines = self.progress.iter().skip(self.progress.len().saturating_sub(count));
        lines.flat_map(|line| fold(&[(soft, line.clone())], width, &leads)).collect()
    }

    /// How far the conversation is that it holds.
    fn inner_head(&self, theme: &Theme) -> Option<Row> {
        let (agent, inner) = self.inner.as_ref()?;
        let last = inner.last_call().map_or_else(String::new, |name| format!(", last {name}"));
        let steps = counted(inner.len(), "step", "steps");
        let said = (theme.style(Role::Soft), format!("{agent}: {steps}{last}"));
        Some(Row::decoration(&[(theme.style(Role::Accent), INNER.to_owned()), said]))
    }

    fn head(&self, fold: Fold, width: usize, theme: &Theme) -> Row {
        let (mark, role, note) = match &self.state {
            State::Called => ("○", Role::Soft, String::new()),
            State::Asking => ("?", Role::Caution, "needs approval".to_owned()),
            State::Running => ("●", Role::Accent, "running".to_owned()),
            State::Ended { outcome, result, duration_ms } => {
                let (mark, role) =
                    if result.success { ("✓", Role::Good) } else { ("✗", Role::Bad) };
                (mark, role, ending(*outcome, result, *duration_ms))
            }
        };
        let mark = [(theme.style(role), format!("{mark} "))];
        let mut pieces = vec![(theme.style(Role::Strong), self.name.clone())];
        if let Some(source) = &self.source {
            pieces.push((theme.style(Role::Soft), format!(" [{source}]")));
        }
        let used: usize = mark.iter().chain(&pieces).map(|(_, text)| columns(text)).sum();
        let note = if note.is_empty() { note } else { format!("  {note}") };
        let room = width.saturating_sub(used + columns(&note) + 1);
        if fold == Fold::Closed && !self.summary.is_empty() && room > 4 {
            pieces.push((theme.style(Role::Text), format!(" {}", clipped(&self.summary, room))));
        }
        pieces.push((theme.style(Role::Soft).add_modifier(OF_FRAME), note));
        Row::new(&mark, pieces, crate::text::Joint::Line)
    }

    /// Its actions, the origin of the decision, and a rule below.
    fn decision(&self, width: usize, theme: &Theme, lead: &[Piece]) -> Vec<Row> {
        let mut rows = Vec::new();
        let leads = Leads::same(lead.to_vec());
        for line in self.actions.iter().chain(&self.decided) {
            rows.extend(wrap(&[(theme.style(Role::Place), line.clone())], width, &leads));
        }
        let rule: Vec<Piece> =
            vec![(theme.style(Role::Border), format!("  ├{}", "─".repeat(width.clamp(4, 40) - 4)))];
        rows.push(Row::decoration(&rule));
        rows
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fold {
    Open,
    Closed,
}

/// The lead of the rows of an inner conversation.
const INNER: &str = "  ┆ ";

fn bar(theme: &Theme) -> Vec<Piece> {
    vec![(theme.style(Role::Border), "  │ ".to_owned())]
}

fn verbatim(text: &str, slice: Slice, style: Style, width: usize, lead: &[Piece]) -> Vec<Row> {
    let leads = Leads::same(lead.to_vec());
    let fold_line = |line: &str| fold(&[(style, line.to_owned())], width, &leads);
    line_rows(slice.of(text), slice.joint, fold_line)
}

fn ending(outcome: CallOutcome, result: &CallResult, duration_ms: u64) -> String {
    match outcome {
        CallOutcome::Ran => {
            let time = took(duration_ms);
            match &result.change {
                Some(Change { counts: (added, removed), .. }) => {
                    format!("+{added} −{removed}  {time}")
                }
                None => time,
            }
        }
        CallOutcome::Invalid => "not run: invalid".to_owned(),
        CallOutcome::Denied | CallOutcome::Unanswered => "not run: denied".to_owned(),
        CallOutcome::NoSandbox => "not run: no sandbox".to_owned(),
        CallOutcome::Skipped => "not run".to_owned(),
        CallOutcome::Interrupted => "interrupted".to_owned(),
    }
}

/// The text of a result without what separates the streams of a command, and the place of its
/// standard error.
fn result_text(output: &ToolOutput) -> (String, Range<usize>) {
    let stream = |name: &str| {
        let bounds = output.facts.get(name)?.as_array()?;
        let bound = |at: usize| usize::try_from(bounds.get(at)?.as_u64()?).ok();
        output.output.get(bound(0)?..bound(1)?)
    };
    let Some((out, errors)) = stream("stdout").zip(stream("stderr")) else {
        let said = ToolOutput {
            success: output.success,
            output: printed(&output.output),
            error: output.error.as_deref().map(printed),
            ..ToolOutput::default()
        };
        return (said.for_model(), 0..0);
    };
    let [mut text, errors, why] = [out, errors, output.error.as_deref().unwrap_or_default()]
        .map(|it| printed(it).trim_matches('\n').to_owned());
    let between = |text: &str| if text.is_empty() { "" } else { "\n" };
    text.push_str(between(&text));
    let start = text.len();
    text.push_str(&errors);
    let end = text.len();
    if !why.is_empty() {
        text.push_str(between(&text));
        text.push_str(&why);
    }
    (text, start..end)
}

pub(crate) fn took(milliseconds: u64) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds / 1000 % 60),
    }
}

/// The arguments in one line: the first value, and the others with their names.
fn summary(args: &Value) -> String {
    let value = |value: &Value| match value {
        Value::String(text) => {
            let line = text.lines().next().unwrap_or_default();
            let more = if text.lines().nth(1).is_some() { " …" } else { "" };
            format!("{}{more}", contract::text::head(line, 400))
        }
        // A list with objects is shown as a number.
        Value::Array(parts) if parts.iter().any(Value::is_object) => {
            counted(parts.len(), "item", "items")
        }
        other => contract::text::head(&other.to_string(), 400).to_owned(),
    };
    let text = match args {
        Value::Object(map) if map.len() == 1 => map.values().next().map(value).unwrap_or_default(),
        Value::Object(map) => {
            let named = |(at, (name, it)): (usize, (&String, &Value))| match at {
                0 => value(it),
                _ => format!("{name}: {}", value(it)),
            };
            map.iter().enumerate().map(named).collect::<Vec<_>>().join(", ")
        }
        other => value(other),
    };
    one_line(&text)
}

fn names(args: &Value) -> Vec<String> {
    let values = args.as_object().into_iter().flat_map(serde_json::Map::values);
    let texts = values.filter_map(Value::as_str);
    texts.filter(|text| !text.is_empty() && text.len() < 400).map(str::to_owned).collect()
}

/// The arguments in full; texts as they are, not as JSON writes them.
fn arguments(args: &Value) -> String {
    let Value::Object(map) = args else { return clean(&args.to_string()) };
    let mut text = String::new();
    for (name, value) in map {
        let value = match value {
            Value::String(text) => text.clone(),
            other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
        };
        let between = if value.contains('\n') { "\n" } else { " " };
        let _ = writeln!(text, "{}:{between}{}", one_line(name), clean(&value));
    }
    text
}

pub(crate) fn action_text(action: &Action) -> String {
    let shown = |path: &std::path::Path| one_line(&path.display().to_string());
    match action {
        Action::Read { path } => format!("reads {}", shown(path)),
        Action::Write { path, .. } => format!("writes {}", shown(path)),
        Action::Run { cwd, .. } => format!("runs in {}", shown(cwd)),
        Action::LeaveSandbox { .. } => "leaves the sandbox".to_owned(),
        Action::Connect { host } => format!("connects to {}", one_line(host)),
        Action::Opaque { what } => one_line(what),
    }
}
