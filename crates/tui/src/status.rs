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

#[derive(Default)]
pub(crate) struct Status {
    pub(crate) model: String,
    pub(crate) mode: Mode,
    pub(crate) facts: Facts,
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
    /// Names of the tools that run.
    tools: Vec<(contract::id::CallId, String)>,
}

struct Activity {
    what: String,
    since: Instant,
}

impl Status {
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
        *self = Self { facts, ..Self::default() };
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
        let left = self.left(now, note, (width / 3).max(8));
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
        let mut right = self.right();
        let free = usize::from(area.right().saturating_sub(x)).saturating_sub(2);
        let wide = |right: &[(Role, String)]| {
            let texts: usize = right.iter().map(|(_, text)| columns(text)).sum();
            texts + 3 * right.len().saturating_sub(1)
        };
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
        if !self.model.is_empty() {
            left.push((Role::Status, clipped(&self.model, room)));
        }
        let (role, mode) = match self.mode {
            Mode::ReadOnly => (Role::Good, "read-only"),
            Mode::Ask => (Role::Status, "ask"),
            Mode::Normal => (Role::Status, "normal"),
            Mode::Yolo => (Role::Caution, "yolo"),
        };
        left.push((role, mode.to_owned()));
        match &self.facts.confinement {
            Confinement::None => left.push((Role::Bad, "no sandbox".to_owned())),
            Confinement::Sandboxed(network) if self.mode != Mode::ReadOnly => {
                left.push((Role::Status, sandboxed(network, self.mode)));
            }
            Confinement::Sandboxed(_) | Confinement::Unknown => {}
        }
        left
    }

    /// The right side: failures and usage, the most important first.
    fn right(&self) -> Vec<(Role, String)> {
        let mut right = Vec::new();
        let mut say = |text: String| right.push((Role::Status, text));
        if !self.jobs.is_empty() {
            say(counted(self.jobs.len(), "job", "jobs"));
        }
        match self.facts.context_window.filter(|window| *window > 0) {
            Some(window) if self.context > 0 => {
                say(format!("context {}%", (self.context * 100 / window).min(100)));
            }
            _ => {}
        }
        let usage = &self.usage;
        if usage.total_tokens() > 0 {
            let (sent, got) = (short(usage.input_tokens), short(usage.output_tokens));
            say(format!("{sent} in, {got} out"));
        }
        if let Some(cost) = usage.cost_usd {
            say(money(cost));
        }
        let parts = self.facts.parts;
        if parts.servers > 0 {
            say(counted(parts.servers, "server", "servers"));
        }
        if parts.plugins > 0 {
            say(counted(parts.plugins, "plugin", "plugins"));
        }
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

/// The sandbox in words: which network its commands reach without a question.
fn sandboxed(network: &Network, mode: Mode) -> String {
    match network {
        // Connections run without a question, whatever the configuration names.
        _ if mode == Mode::Yolo => "sandboxed".to_owned(),
        Network::Hosts(hosts) if !hosts.names.is_empty() => {
            format!("sandboxed, {}", counted(hosts.names.len(), "host", "hosts"))
        }
        Network::None | Network::Hosts(_) => "sandboxed, no network".to_owned(),
        Network::Host => "sandboxed, network".to_owned(),
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
    fn numbers_are_short() {
        assert_eq!([money(0.0021), money(12.345)], ["$0.0021", "$12.35"]);
        assert_eq!([short(999), short(12_345), short(3_210_000)], ["999", "12.3k", "3.2M"]);
    }
}
