//! The line at the bottom: what runs and for how long, who answers, how free tools are, what was
//! used. What does not fit is left out, the least important first.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use contract::event::{Event, EventKind, Piece};
use contract::message::Usage;
use contract::policy::Mode;
use contract::sandbox::Network;
use ratatui_core::layout::{Position, Rect};

use crate::canvas::Canvas;
use crate::host::{Confinement, Facts};
use crate::text::{clipped, columns, counted, narrow, one_line};
use crate::theme::Role;

const SPINNER: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long one picture of the spinner stands.
pub(crate) const SPINNER_FRAME: Duration = Duration::from_millis(125);

/// Narrower screens do not show the directory and the branch.
const MIN_WIDTH_WITH_PLACE: usize = 80;

#[derive(Default)]
pub(crate) struct Status {
    pub(crate) model: String,
    pub(crate) mode: Mode,
    pub(crate) facts: Facts,
    pub(crate) effort: Option<String>,
    usage: Usage,
    context: u64,
    activity: Option<Activity>,
    /// When the turn began.
    turn: Option<Instant>,
    /// Since when the conversation is being opened.
    opening: Option<Instant>,
    /// Since when the user is asked something.
    asking: Option<Instant>,
    /// Background commands that run, by their numbers.
    jobs: BTreeSet<u32>,
    /// The user's template, in place of the usual parts.
    template: Option<String>,
    /// Names of the tools that run.
    tools: Vec<(contract::id::CallId, String)>,
}

struct Activity {
    what: String,
    since: Instant,
}

impl Status {
    pub(crate) fn new(template: Option<String>) -> Self {
        Self { template, ..Self::default() }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.turn.is_some()
    }

    pub(crate) fn turn_time(&self, now: Instant) -> Option<Duration> {
        self.turn.map(|since| now.saturating_duration_since(since))
    }

    /// Takes note that a turn has been asked for.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.turn.get_or_insert(now);
        self.doing("waiting for the model", now);
    }

    /// Begins again; what is known of the surroundings stays.
    pub(crate) fn reset(&mut self) {
        let facts = std::mem::take(&mut self.facts);
        *self = Self { facts, ..Self::new(self.template.take()) };
    }

    pub(crate) fn end(&mut self) {
        self.turn = None;
        self.activity = None;
        self.tools.clear();
    }

    /// Takes note that no background command runs: they end with the session that started them.
    pub(crate) fn end_jobs(&mut self) {
        self.jobs.clear();
    }

    /// Sets whether the conversation is being opened.
    pub(crate) fn set_opening(&mut self, is_opening: bool, now: Instant) {
        self.opening = is_opening.then(|| self.opening.unwrap_or(now));
    }

    /// Sets whether a question is open: whatever else goes on, somebody waits for the user.
    pub(crate) fn set_asking(&mut self, is_asking: bool, now: Instant) {
        self.asking = is_asking.then(|| self.asking.unwrap_or(now));
    }

    fn doing(&mut self, what: &str, now: Instant) {
        if self.activity.as_ref().is_none_or(|activity| activity.what != what) {
            self.activity = Some(Activity { what: what.to_owned(), since: now });
        }
    }

    pub(crate) fn take(&mut self, event: &Event, now: Instant) {
        if event.within.is_some() {
            return self.take_within(&event.kind, now);
        }
        match &event.kind {
            EventKind::Configured { model, mode, .. } => {
                self.model = one_line(model);
                self.mode = *mode;
            }
            EventKind::TurnStarted { .. } | EventKind::RequestSent { .. } => self.begin(now),
            EventKind::ReplyDelta { piece } => {
                let what = match piece {
                    Piece::Text { .. } => "writing".to_owned(),
                    Piece::Thinking { .. } => "thinking".to_owned(),
                    Piece::Call { name } => format!("calling {}", one_line(name)),
                    Piece::Restart => "retrying".to_owned(),
                };
                self.doing(&what, now);
            }
            EventKind::ReplyFinished { usage, .. } => {
                self.context = usage.total_tokens();
                self.usage.add(usage);
            }
            EventKind::ToolCalled { call } => {
                self.turn.get_or_insert(now);
                self.tools.push((call.id.clone(), one_line(&call.name)));
            }
            EventKind::ToolJudged { .. } | EventKind::Answered { .. } => self.running(now),
            EventKind::ToolFinished { call, .. } => {
                self.tools.retain(|(id, _)| id != call);
                self.running(now);
            }
            EventKind::Compacted { usage, kept, .. } => {
                self.usage.add(usage);
                if *kept == 0 {
                    self.context = 0;
                }
            }
            EventKind::TurnFinished { .. } => self.end(),
            EventKind::JobStarted { job, .. } => {
                self.jobs.insert(*job);
            }
            EventKind::JobFinished { job, .. } => {
                self.jobs.remove(job);
            }
            _ => {}
        }
    }

    /// Folds in what happens in a conversation that a call holds: it costs.
    fn take_within(&mut self, what: &EventKind, now: Instant) {
        match what {
            EventKind::ReplyFinished { usage, .. } | EventKind::Compacted { usage, .. } => {
                self.usage.add(usage);
            }
            EventKind::Answered { .. } => self.running(now),
            _ => {}
        }
    }

    fn running(&mut self, now: Instant) {
        let names: Vec<&str> = self.tools.iter().map(|(_, name)| name.as_str()).collect();
        let what = if names.is_empty() {
            "waiting for the model".to_owned()
        } else {
            format!("running {}", names.join(", "))
        };
        self.doing(&what, now);
    }

    pub(crate) fn draw(&self, area: Rect, canvas: &mut Canvas<'_>, now: Instant, note: &str) {
        let width = usize::from(area.width);
        let mut right = self.right();
        let mut left = self.left(now, note, (width / 3).max(8));
        let wide = |parts: &[(Role, String)]| {
            let texts: usize = parts.iter().map(|(_, text)| columns(text)).sum();
            texts + 3 * parts.len().saturating_sub(1)
        };
        if let Some(words) = self.sandbox_words() {
            left.push((Role::Status, words));
            if wide(&left) + 2 + wide(&right) > width {
                left.pop();
            }
        }
        right.extend(self.minor_parts());
        let mut x = area.x;
        for (number, (role, text)) in left.iter().enumerate() {
            let room = width.saturating_sub(usize::from(x - area.x));
            let text = if number == 0 { text.clone() } else { format!(" · {text}") };
            if number > 0 && columns(&text) > room {
                break;
            }
            let text = clipped(&text, room);
            x += canvas.text(Position { x, y: area.y }, &text, *role, area.right() - x);
        }
        // The right side takes what is left.
        let free = usize::from(area.right().saturating_sub(x)).saturating_sub(2);
        while wide(&right) > free && !right.is_empty() {
            right.pop();
        }
        let mut x = area.right().saturating_sub(narrow(wide(&right)));
        for (number, (role, text)) in right.iter().enumerate() {
            let between = if number == 0 { "" } else { " · " };
            x += canvas.text(Position { x, y: area.y }, between, Role::Status, area.right() - x);
            x += canvas.text(Position { x, y: area.y }, text, *role, area.right() - x);
        }
    }

    /// The left side, with the model's name in at most so many columns.
    fn left(&self, now: Instant, note: &str, room: usize) -> Vec<(Role, String)> {
        let mut left = Vec::new();
        if !note.is_empty() {
            left.push((Role::Caution, note.to_owned()));
        }
        let asking = self.asking.map(|since| ("waiting for your answer", since));
        let activity = self.activity.as_ref().map(|it| (it.what.as_str(), it.since));
        // Most open at once, and nobody needs to hear of it.
        let is_late = |since: &Instant| now.saturating_duration_since(*since).as_secs() > 0;
        let opening =
            self.opening.filter(is_late).map(|since| ("starting plugins and servers", since));
        if let Some((what, since)) = asking.or(activity).or(opening) {
            let time = now.saturating_duration_since(since);
            let picture =
                usize::try_from(time.as_millis() / SPINNER_FRAME.as_millis()).unwrap_or(0);
            let spinner = SPINNER[picture % SPINNER.len()];
            left.push((Role::Accent, format!("{spinner} {what} {} s", time.as_secs())));
        }
        if let Some(template) = &self.template {
            left.push((Role::Status, self.filled(template)));
            return left;
        }
        if let Some(place) = self.place().filter(|_| 3 * room >= MIN_WIDTH_WITH_PLACE) {
            left.push((Role::Status, clipped(&place, room)));
        }
        if !self.model.is_empty() {
            left.push((Role::Status, clipped(&self.model, room)));
        }
        if let Some(effort) = &self.effort {
            left.push((Role::Status, format!("effort {}", one_line(effort))));
        }
        let (role, mode) = match self.mode {
            Mode::ReadOnly => (Role::Good, "read-only"),
            Mode::Ask => (Role::Status, "ask"),
            Mode::Normal => (Role::Status, "normal"),
            Mode::Yolo => (Role::Caution, "yolo"),
        };
        left.push((role, mode.to_owned()));
        if self.facts.confinement == Confinement::None {
            left.push((Role::Bad, "no sandbox".to_owned()));
        }
        left
    }

    /// The sandbox in short: which network its commands reach without a question.
    fn sandbox_words(&self) -> Option<String> {
        let Confinement::Sandboxed(network) = &self.facts.confinement else { return None };
        Some(match network {
            _ if self.mode == Mode::ReadOnly || self.template.is_some() => return None,
            // Connections run without a question, whatever the configuration names.
            _ if self.mode == Mode::Yolo => "sandboxed".to_owned(),
            Network::Hosts(hosts) if !hosts.names.is_empty() => {
                format!("sandboxed, {}", counted(hosts.names.len(), "host", "hosts"))
            }
            Network::None | Network::Hosts(_) => "sandboxed, no network".to_owned(),
            Network::Host => "sandboxed, network".to_owned(),
        })
    }

    /// The last part of the directory, and the branch.
    fn place(&self) -> Option<String> {
        let name = self.facts.directory.rsplit('/').next().filter(|name| !name.is_empty())?;
        Some(one_line(&match &self.facts.branch {
            Some(branch) => format!("{name} · {branch}"),
            None => name.to_owned(),
        }))
    }

    /// The template with its placeholders replaced; braces around anything else stay.
    fn filled(&self, template: &str) -> String {
        let (mut text, mut rest) = (String::new(), template);
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let found = after.split_once('}');
            let found = found.and_then(|(name, after)| Some((self.placeholder(name)?, after)));
            let (value, after) = found.unwrap_or_else(|| ("{".to_owned(), after));
            text.push_str(&value);
            rest = after;
        }
        one_line((text + rest).trim())
    }

    fn placeholder(&self, name: &str) -> Option<String> {
        Some(match name {
            "directory" => self.facts.directory.clone(),
            "branch" => self.facts.branch.clone().unwrap_or_default(),
            "model" => self.model.clone(),
            "mode" => self.mode.as_str().to_owned(),
            "sandbox" => self.facts.confinement.description(self.mode).unwrap_or_default(),
            "session" => self.facts.session.clone(),
            "context" => self.context_share().unwrap_or_default(),
            "tokens" => self.tokens().unwrap_or_default(),
            "cost" => self.cost().unwrap_or_default(),
            _ => return None,
        })
    }

    fn context_share(&self) -> Option<String> {
        let window = self.facts.context_window.filter(|window| *window > 0)?;
        let percent = (self.context * 100 / window).min(100);
        (self.context > 0).then(|| format!("context {percent}%"))
    }

    fn tokens(&self) -> Option<String> {
        let (sent, got) = (short(self.usage.input_tokens), short(self.usage.output_tokens));
        (self.usage.total_tokens() > 0).then(|| format!("{sent} in, {got} out"))
    }

    fn cost(&self) -> Option<String> {
        // A model without a known price took part.
        let more = if self.usage.unpriced { "+" } else { "" };
        self.usage.cost_usd.map(|cost| format!("{}{more}", money(cost)))
    }

    /// The right side: failures, context and cost, the most important first.
    fn right(&self) -> Vec<(Role, String)> {
        let mut right = Vec::new();
        if self.template.is_some() {
            return self.alerts(right);
        }
        let mut say = |text: String| right.push((Role::Status, text));
        if !self.jobs.is_empty() {
            say(counted(self.jobs.len(), "job", "jobs"));
        }
        self.context_share().into_iter().chain(self.cost()).for_each(&mut say);
        self.alerts(right)
    }

    /// The parts of the right side that are left out first.
    fn minor_parts(&self) -> Vec<(Role, String)> {
        if self.template.is_some() {
            return Vec::new();
        }
        let mut minor: Vec<String> = self.tokens().into_iter().collect();
        let parts = self.facts.parts;
        if parts.servers > 0 {
            minor.push(counted(parts.servers, "server", "servers"));
        }
        if parts.plugins > 0 {
            minor.push(counted(parts.plugins, "plugin", "plugins"));
        }
        minor.into_iter().map(|text| (Role::Status, text)).collect()
    }

    /// Servers that start and parts that failed, before the rest.
    fn alerts(&self, mut right: Vec<(Role, String)>) -> Vec<(Role, String)> {
        let parts = self.facts.parts;
        if parts.starting > 0 {
            let servers = counted(parts.starting, "server", "servers");
            right.insert(0, (Role::Soft, format!("{servers} starting")));
        }
        if parts.failed > 0 {
            right.insert(0, (Role::Bad, format!("{} failed", parts.failed)));
        }
        right
    }
}

fn money(dollars: f64) -> String {
    if dollars < 0.1 { format!("${dollars:.4}") } else { format!("${dollars:.2}") }
}

fn short(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        1000..1_000_000 => format!("{}.{}k", number / 1000, number % 1000 / 100),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_shortens_numbers_and_amounts() {
        assert_eq!([money(0.0021), money(12.345)], ["$0.0021", "$12.35"]);
        assert_eq!([short(999), short(12_345), short(3_210_000)], ["999", "12.3k", "3.2M"]);
    }
}
