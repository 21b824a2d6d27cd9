//! Text output. On a terminal: the answer as it arrives, tools and reasoning. Elsewhere: only the
//! answer.

mod nested;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use contract::event::{
    Answer, CallOutcome, Event, EventKind, Level, Outcome, Piece, Subconversation,
};
use contract::id::CallId;
use contract::message::{ToolCall, Usage};
use contract::policy::{Decision, Ruling};
use contract::text::{head, one_line, visible};
use contract::tool::{Display, ToolOutput};
use serde_json::Value;

use crate::output;
use crate::status_line;
use crate::style::{Palette, paint};
use crate::verdict::Verdict;
use crate::view::{ApprovalHint, Questions, View};
use nested::Nesting;

const OUTPUT_LINES: usize = 8;
const FRAME: Duration = Duration::from_millis(30);
const SPINNER: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Lays out the Markdown text of an answer while it arrives, and other text for a terminal.
pub trait Layout {
    fn push(&mut self, text: &str);
    /// The finished blocks, and the rest as a draft that the next call replaces.
    fn redraw(&mut self, columns: usize, rows: usize) -> String;
    /// The finished blocks.
    fn settled(&mut self, columns: usize) -> String;
    /// All the rest.
    fn finish(&mut self) -> String;
    fn has_draft(&self) -> bool;
    /// The control sequence that erases the draft.
    fn erase_draft(&mut self) -> String;
    /// The output of a program without control sequences.
    fn printed(&self, text: &str) -> String;
    fn clipped(&self, text: &str, columns: usize) -> String;
    /// A whole answer, for an output that is not a terminal.
    fn escaped(&self, answer: &str) -> String;
}

#[expect(clippy::struct_excessive_bools, reason = "each is a thing that is shown or not")]
pub struct Options {
    pub is_terminal: bool,
    /// None if nobody can be asked.
    pub questions: Option<Box<dyn Questions>>,
    pub approval_hint: ApprovalHint,
    pub can_redraw: bool,
    /// Tools and timing are shown even without a terminal.
    pub verbose: bool,
    pub show_thinking: bool,
    pub show_cost: bool,
    /// True if the session can be continued.
    pub is_saved: bool,
    /// For standard output.
    pub palette: Palette,
    /// For standard error.
    pub error_palette: Palette,
}

pub struct Plain {
    options: Options,
    palette: Palette,
    layout: Box<dyn Layout>,
    /// The earliest time of the next redraw.
    next_frame: Instant,
    /// More text has arrived since the last redraw.
    is_stale: bool,
    running: BTreeMap<CallId, String>,
    remedies: BTreeMap<CallId, String>,
    nesting: Nesting,
    is_thinking: bool,
    is_after_activity: bool,
    waiting: Option<Waiting>,
}

struct Waiting {
    since: Instant,
    what: String,
    frame: usize,
    is_drawn: bool,
}

impl Plain {
    pub fn new(options: Options, layout: Box<dyn Layout>) -> Self {
        Self {
            palette: options.palette,
            layout,
            options,
            next_frame: Instant::now(),
            running: BTreeMap::new(),
            remedies: BTreeMap::new(),
            nesting: Nesting::default(),
            is_stale: false,
            is_thinking: false,
            is_after_activity: false,
            waiting: None,
        }
    }

    fn shows_activity(&self) -> bool {
        self.options.is_terminal || self.options.verbose
    }

    /// Writes a line about activity: in the answer on a terminal, else on standard error.
    fn activity(&mut self, text: &str) -> io::Result<()> {
        self.erase()?;
        self.is_after_activity = true;
        if self.options.is_terminal {
            writeln!(io::stdout().lock(), "{text}")
        } else {
            writeln!(io::stderr().lock(), "{text}")
        }
    }

    fn wait_for(&mut self, what: impl Into<String>) {
        self.waiting =
            Some(Waiting { since: Instant::now(), what: what.into(), frame: 0, is_drawn: false });
    }

    /// Erases the status line and the draft, which are drawn again.
    fn erase(&mut self) -> io::Result<()> {
        self.erase_waiting()?;
        if self.layout.has_draft() {
            self.is_stale = true;
            let mut out = io::stdout().lock();
            out.write_all(self.layout.erase_draft().as_bytes())?;
            out.flush()?;
        }
        Ok(())
    }

    fn erase_waiting(&mut self) -> io::Result<()> {
        if let Some(waiting) = &mut self.waiting
            && waiting.is_drawn
        {
            waiting.is_drawn = false;
            status_line::drawn(false);
            let mut err = io::stderr().lock();
            err.write_all(b"\r\x1b[K")?;
            err.flush()?;
        }
        Ok(())
    }

    fn piece(&mut self, piece: &Piece) -> io::Result<()> {
        if !self.options.is_terminal {
            return Ok(());
        }
        match piece {
            Piece::Text { text } => {
                self.end_thinking()?;
                self.layout.push(text);
                self.is_stale = true;
                self.relabel("writing");
            }
            Piece::Thinking { text } if self.options.show_thinking => {
                self.settle()?;
                if !self.is_thinking && self.is_spoken() {
                    self.print("Thinking: ")?;
                }
                self.is_thinking = true;
                self.print(&paint(self.palette.soft, &visible(text)))?;
            }
            Piece::Thinking { .. } => self.relabel("thinking"),
            Piece::Call { name } => self.relabel(&format!("writing a call of {name}")),
            Piece::Restart => {
                self.settle()?;
                self.activity(&paint(self.palette.caution, "(the reply was cut off; retrying)"))?;
            }
        }
        Ok(())
    }

    /// Draws the answer: finished blocks for good, the rest as a draft.
    fn advance(&mut self) -> io::Result<()> {
        self.is_stale = false;
        let begun = Instant::now();
        let (columns, rows) = terminal_size();
        let drawn = if self.options.can_redraw {
            self.layout.redraw(columns, rows)
        } else {
            self.layout.settled(columns)
        };
        // A long block that is slow to draw is drawn less often.
        self.next_frame = Instant::now() + FRAME.max(begun.elapsed() * 10);
        if drawn.is_empty() {
            return Ok(());
        }
        self.erase_waiting()?;
        let gap = if std::mem::take(&mut self.is_after_activity) { "\n" } else { "" };
        let mut out = io::stdout().lock();
        out.write_all(format!("{gap}{drawn}").as_bytes())?;
        out.flush()
    }

    /// Draws all of the answer for good.
    fn settle(&mut self) -> io::Result<()> {
        let rendered = self.layout.finish();
        self.print(&rendered)?;
        self.is_stale = false;
        Ok(())
    }

    fn relabel(&mut self, what: &str) {
        if let Some(waiting) = &mut self.waiting {
            what.clone_into(&mut waiting.what);
        }
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.erase()?;
        let mut out = io::stdout().lock();
        if std::mem::take(&mut self.is_after_activity) {
            writeln!(out)?;
        }
        out.write_all(text.as_bytes())
    }

    fn end_thinking(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_thinking) {
            self.print(if self.is_spoken() { "\n\nReply:\n" } else { "\n\n" })?;
        }
        Ok(())
    }

    /// Returns true if words must replace colors.
    fn is_spoken(&self) -> bool {
        !self.options.can_redraw || self.palette.soft == anstyle::Style::new()
    }

    fn finished(
        &mut self,
        name: &str,
        outcome: CallOutcome,
        output: &ToolOutput,
        duration_ms: u64,
    ) -> io::Result<()> {
        let (style, mark) = match outcome {
            CallOutcome::Skipped => (self.palette.soft, "○"),
            _ if output.success => (self.palette.good, "✓"),
            _ => (self.palette.bad, "✗"),
        };
        #[expect(clippy::cast_precision_loss, reason = "shown to a tenth of a second")]
        let seconds = duration_ms as f64 / 1000.0;
        let note = match outcome {
            CallOutcome::Ran => format!("{seconds:.1} s"),
            CallOutcome::Invalid => "not run: invalid".to_owned(),
            CallOutcome::Denied | CallOutcome::Unanswered => "not run: denied".to_owned(),
            CallOutcome::NoSandbox => "not run: no sandbox".to_owned(),
            CallOutcome::Skipped => "dry run".to_owned(),
            CallOutcome::Interrupted => "interrupted".to_owned(),
        };
        let (mark, note) = (paint(style, mark), paint(self.palette.soft, &note));
        self.activity(&format!("{mark} {} {note}", one_line(name)))?;
        let body = match &output.display {
            Some(Display::Diff { unified, .. }) => self.diff(unified),
            Some(Display::Image { .. }) | None => {
                let text = self.layout.printed(&output.for_model());
                self.excerpt(&text)
            }
        };
        self.activity(&body)
    }

    fn inner(&mut self, within: &Subconversation, what: &EventKind) -> io::Result<()> {
        if let EventKind::Notice { level, text, hint, .. } = what {
            let text = format!("{}: {text}", within.agent);
            return self.notice(*level, &text, hint.as_deref());
        }
        let line = self.nesting.line(within, what, self.palette);
        if let Some(line) = line.filter(|_| self.shows_activity()) {
            self.activity(&line)?;
        }
        if let Some(doing) = nested::doing(within, what) {
            match &mut self.waiting {
                Some(waiting) => waiting.what = doing,
                None => self.wait_for(doing),
            }
        }
        Ok(())
    }

    fn diff(&self, unified: &str) -> String {
        let color = |line: &str| match line.chars().next() {
            Some('+') => self.palette.good,
            Some('-') => self.palette.bad,
            _ => self.palette.soft,
        };
        let lines = unified.lines();
        let lines = lines.map(|line| format!("  {}", paint(color(line), &visible(line))));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn excerpt(&self, text: &str) -> String {
        let hidden = text.lines().count().saturating_sub(OUTPUT_LINES);
        let more = (hidden > 0).then(|| format!("… {hidden} more lines"));
        let lines = text.lines().take(OUTPUT_LINES).map(|line| head(line, 400));
        let lines = lines.chain(more.as_deref());
        let lines = lines.map(|line| format!("  {}", paint(self.palette.soft, line)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The hint for a call that `--yes` does not approve.
    fn remedy(&self, ruling: &Ruling, source: Option<&str>, args: &Value) -> Option<String> {
        if ruling.destructive {
            return Some("run it in a terminal, or name the command in an allow rule".to_owned());
        }
        (self.options.approval_hint)(ruling, source?, args)
    }

    fn notice(&mut self, level: Level, text: &str, hint: Option<&str>) -> io::Result<()> {
        self.erase()?;
        let palette = self.options.error_palette;
        let (style, word) = match level {
            Level::Info if !self.shows_activity() => return Ok(()),
            Level::Info => (palette.soft, "note:"),
            Level::Warning => (palette.caution, "warning:"),
            Level::Error => (palette.bad, "error:"),
        };
        let mut err = io::stderr().lock();
        writeln!(err, "{} {}", paint(style, word), visible(text))?;
        if let Some(hint) = hint {
            writeln!(err, "{} {}", paint(palette.code, "hint:"), visible(hint))?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl View for Plain {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        if let EventKind::ToolJudged { call, source, args, ruling, .. } = &event.kind
            && let Some(remedy) = self.remedy(ruling, source.as_deref(), args)
        {
            self.remedies.insert(call.clone(), remedy);
        }
        if let Some(within) = &event.within {
            return self.inner(within, &event.kind);
        }
        match &event.kind {
            EventKind::RequestSent { .. } => self.wait_for("waiting for the model"),
            EventKind::ReplyDelta { piece } => self.piece(piece)?,
            EventKind::ReplyFinished { .. } => {
                self.end_thinking()?;
                self.settle()?;
                self.erase()?;
                self.waiting = None;
            }
            EventKind::ToolCalled { call } => {
                self.running.insert(call.id.clone(), call.name.clone());
                if !self.shows_activity() {
                    return Ok(());
                }
                let line = format!("{} {}", paint(self.palette.code, "●"), summary(call));
                self.activity(&line)?;
            }
            EventKind::ToolJudged { call, ruling, .. } => {
                let name = self.running.get(call).map_or("a tool", String::as_str).to_owned();
                if !self.shows_activity()
                    && ruling.decision == Decision::Deny
                    && let Some(reason) = ruling.deciding()
                {
                    let (origin, why) = (&reason.origin, &reason.why);
                    let text = format!("{name} was blocked by {origin}: {why}");
                    self.notice(Level::Warning, &text, None)?;
                }
                self.wait_for(format!("running {name}"));
            }
            EventKind::ToolProgress { call, text } => {
                let last = head(text.lines().last().unwrap_or_default(), 60);
                let name = self.running.get(call).map_or("a tool", String::as_str);
                self.relabel(&format!("running {name}: {last}"));
            }
            EventKind::ToolFinished { call, name, outcome, output, duration_ms, .. } => {
                self.running.remove(call);
                if self.shows_activity() {
                    self.finished(name, *outcome, output, *duration_ms)?;
                }
                self.erase()?;
                self.waiting = None;
            }
            EventKind::Notice { level, text, hint, .. } => {
                self.notice(*level, text, hint.as_deref())?;
            }
            EventKind::Compacted { dropped, kept, .. } => {
                let text =
                    format!("Conversation compacted: {dropped} messages dropped, {kept} kept");
                self.notice(Level::Warning, &text, None)?;
            }
            _ => {}
        }
        Ok(())
    }

    async fn ask(&mut self, asked: &[Arc<Event>]) -> io::Result<Vec<Answer>> {
        self.erase()?;
        self.waiting = None;
        if let Some(questions) = &self.options.questions {
            return questions.ask(asked).await;
        }
        for event in asked {
            let EventKind::Asked { call, tool, why, .. } = &event.kind else { continue };
            let agent = event.within.as_ref();
            let agent = agent.map_or_else(String::new, |it| format!(" of the agent {}", it.agent));
            let why = if why.is_empty() { String::new() } else { format!(": {why}") };
            let text =
                format!("{tool}{agent} needs approval, and there is no terminal to ask{why}");
            let usual = || "run it in a terminal, allow it by a rule, or pass `--yes`".to_owned();
            let hint = self.remedies.remove(call).unwrap_or_else(usual);
            self.notice(Level::Warning, &text, Some(&hint))?;
        }
        Ok(vec![Answer::Unavailable; asked.len()])
    }

    fn heard(&mut self, line: &str, hint: &str) -> io::Result<()> {
        self.erase()?;
        writeln!(io::stderr().lock(), "> {}", visible(line))?;
        output::hint(hint);
        Ok(())
    }

    fn tick(&mut self) -> io::Result<bool> {
        if !self.options.is_terminal {
            return Ok(false);
        }
        if self.is_stale {
            self.advance()?;
        }
        if self.options.questions.is_some()
            && self.options.can_redraw
            && let Some(waiting) = &mut self.waiting
        {
            let seconds = waiting.since.elapsed().as_secs_f64();
            if status_line::is_wanted() {
                waiting.is_drawn = false;
            } else if seconds >= 0.3 && !self.is_thinking {
                waiting.frame += 1;
                waiting.is_drawn = true;
                status_line::drawn(true);
                let frame = SPINNER[waiting.frame % SPINNER.len()];
                let what = one_line(&waiting.what);
                let time = format!("({seconds:.0} s)");
                // Two spaces and the frame are beside them, and the last column stays free.
                let room = terminal_size().0.saturating_sub(time.len() + 4);
                let line = format!("{frame} {} {time}", self.layout.clipped(&what, room));
                let mut err = io::stderr().lock();
                write!(err, "\r\x1b[K{}", paint(self.palette.soft, &line))?;
                err.flush()?;
            }
        }
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_stale && Instant::now() >= self.next_frame {
            self.advance()?;
        }
        io::stdout().lock().flush()
    }

    fn close(&mut self, verdict: &Verdict) -> io::Result<()> {
        self.settle()?;
        self.erase()?;
        if !self.options.is_terminal && !verdict.response.is_empty() {
            writeln!(io::stdout().lock(), "{}", self.layout.escaped(verdict.response.trim_end()))?;
        }
        match &verdict.outcome {
            Some(Outcome::Finished(finish)) if self.shows_activity() => {
                let line = format!("Finished: {} — {}", finish.status.as_str(), finish.summary);
                self.activity(&paint(self.palette.strong, &visible(&line)))?;
            }
            Some(Outcome::Failed { error, hint }) => {
                self.notice(Level::Error, error, hint.as_deref())?;
            }
            Some(Outcome::Limited { told, .. }) => {
                let text = format!("stopped: a limit was reached: {told}");
                let hint = if self.options.is_saved {
                    "raise it, or run `brynhild chat --continue \"continue\"`"
                } else {
                    "raise it"
                };
                self.notice(Level::Error, &text, Some(hint))?;
            }
            Some(Outcome::Stuck { why }) => {
                let text = format!("stopped: the model is repeating itself: {why}");
                self.notice(Level::Error, &text, Some("say what it should do instead"))?;
            }
            Some(Outcome::Cancelled) => {
                let text = if self.options.is_saved {
                    "interrupted; the session is saved"
                } else {
                    "interrupted"
                };
                self.notice(Level::Warning, text, None)?;
            }
            _ => {}
        }
        if self.options.show_cost && verdict.usage.total_tokens() > 0 {
            self.erase()?;
            let line = paint(self.options.error_palette.soft, &spent(&verdict.usage));
            writeln!(io::stderr().lock(), "{line}")?;
        }
        Ok(())
    }
}

fn summary(call: &ToolCall) -> String {
    let args: Vec<String> = match &call.args {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let first = text.lines().next().unwrap_or_default();
                let short = head(first, 60);
                let more = if short.len() < text.len() { "…" } else { "" };
                format!("{name}: {short}{more}")
            })
            .collect(),
        other => vec![other.to_string()],
    };
    one_line(&format!("{}({})", call.name, args.join(", ")))
}

/// Columns and rows of standard output; 80x24 if it is not a terminal.
pub fn terminal_size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    let or =
        |count: Option<u16>, usual| count.filter(|count| *count > 0).map_or(usual, usize::from);
    (or(size.map(|size| size.ws_col), 80), or(size.map(|size| size.ws_row), 24))
}

fn spent(usage: &Usage) -> String {
    let about = if usage.estimated { "about " } else { "" };
    let cached = usage.cached_tokens.filter(|tokens| *tokens > 0);
    let cached = cached.map_or_else(String::new, |tokens| format!(" ({tokens} cached)"));
    let cost = match (usage.cost_usd, usage.unpriced) {
        (None, false) => String::new(),
        (None, true) => " | cost unknown".to_owned(),
        (Some(cost), false) => format!(" | ${cost:.4}"),
        (Some(cost), true) => format!(" | ${cost:.4} + unknown"),
    };
    let (input, output) = (usage.input_tokens, usage.output_tokens);
    format!("Tokens: {about}{input} in{cached} / {output} out{cost}")
}
