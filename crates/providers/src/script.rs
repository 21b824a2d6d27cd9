//! A model that plays a scenario file: its replies, tool calls and failures, and the requests that it
//! expects. For tests, for plugin authors and for the demonstration. It answers
//! through the same trait as any other provider.

mod difference;
mod expectation;
mod playing;
mod position;
mod read;
mod scenario;
mod sent;
mod template;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use contract::provider::{Failure, Model, Provider, ProviderError, ReplyStream, Request};

pub use read::{ScenarioError, load, parse};
pub use scenario::Scenario;

use playing::Playing;
use position::{Cursor, Reached};
use scenario::{Turn, WhenExhausted};
use sent::Sent;

/// A scenario that is part of the program, with the project it plays in.
pub struct Bundled {
    /// The name in place of a path.
    pub name: &'static str,
    pub yaml: &'static str,
    pub prompt: &'static str,
    /// The project's files: path and text.
    pub files: &'static [(&'static str, &'static str)],
}

/// The scenarios that are part of the program.
pub const BUNDLED: [Bundled; 1] = [Bundled {
    name: "demo",
    yaml: include_str!("script/demo/scenario.yaml"),
    prompt: "The tests of this project fail. Find out why, fix it, and show that they pass.",
    files: &[
        ("README.md", include_str!("script/demo/README.md")),
        ("basket.py", include_str!("script/demo/basket.py")),
        ("test_basket.py", include_str!("script/demo/test_basket.py")),
    ],
}];

/// Finds a scenario: one of the program's own by its name, else a file, relative to `cwd`.
pub fn open(model: &str, cwd: &Path) -> Result<Scenario, ScenarioError> {
    match BUNDLED.iter().find(|bundled| bundled.name == model) {
        Some(bundled) => parse(bundled.name, bundled.yaml),
        None => load(&cwd.join(model)),
    }
}

/// Plays one scenario.
pub struct Script {
    scenario: Scenario,
    failures: Mutex<Failures>,
}

/// The error turns that were played since the last reply; a history does not contain them.
#[derive(Clone, Copy, Default)]
struct Failures {
    replies: usize,
    played: u32,
}

impl Script {
    /// Plays `scenario` from its first turn.
    pub fn new(scenario: Scenario) -> Self {
        Self { scenario, failures: Mutex::default() }
    }

    fn failures_after(&self, replies: usize) -> u32 {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.replies == replies { failures.played } else { 0 }
    }

    /// Counts error turns; a turn that replies resets the count.
    fn count(&self, replies: usize, played: u32) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        *failures = Failures { replies, played };
    }

    fn prepare(&self, request: &Request, turn: Chosen<'_>) -> Result<Playing, ProviderError> {
        let sent = Sent::of(&request.history);
        let problems = expectation::check(&turn.turn.expect, &sent, request);
        if !problems.is_empty() {
            let place = self.place(&turn);
            return Err(expectation_failed(
                format!("{place}: what was sent is not as expected\n\n{}", problems.join("\n\n")),
                "correct what is sent, or `expect` of this turn",
            ));
        }
        Playing::prepare(turn.turn, &sent, turn.replies).map_err(|problem| {
            let message = format!("{}: {problem}", self.place(&turn));
            expectation_failed(message, "use the value in a turn that comes after it")
        })
    }

    fn place(&self, turn: &Chosen<'_>) -> String {
        let Cursor { turn: index, played } = turn.cursor;
        let repeat = turn.turn.repeat.get();
        let round = match repeat {
            1 => String::new(),
            _ => format!(", time {} of {repeat}", played.saturating_add(1)),
        };
        format!(
            "scenario {}, turn {} (line {}{round})",
            self.scenario.file,
            index + 1,
            turn.turn.line
        )
    }

    fn choose(&self, cursor: Cursor, replies: usize) -> Chosen<'_> {
        Chosen { turn: &self.scenario.turns[cursor.turn], cursor, replies }
    }

    fn exhausted(&self, request: &Request, replies: usize) -> Result<Playing, ProviderError> {
        let file = &self.scenario.file;
        match &self.scenario.when_exhausted {
            WhenExhausted::Error => {
                let turns = match self.scenario.length() {
                    1 => String::from("1 turn"),
                    length => format!("{length} turns"),
                };
                Err(expectation_failed(
                    format!("scenario {file} has {turns}, and another request came"),
                    "add a turn, or set `when_exhausted`",
                ))
            }
            WhenExhausted::RepeatLast => {
                let turn = self.scenario.turns.len() - 1;
                let played = self.scenario.turns[turn].repeat.get() - 1;
                self.prepare(request, self.choose(Cursor { turn, played }, replies))
            }
            WhenExhausted::Text(text) => {
                Playing::text(text, &Sent::of(&request.history)).map_err(|problem| {
                    let message = format!("scenario {file}, `when_exhausted`: {problem}");
                    expectation_failed(message, "use a value that is always there")
                })
            }
        }
    }
}

/// The turn that answers a request.
#[derive(Clone, Copy)]
struct Chosen<'a> {
    turn: &'a Turn,
    cursor: Cursor,
    replies: usize,
}

#[async_trait]
impl Provider for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    async fn models(&self) -> Result<Vec<Model>, ProviderError> {
        let model = |bundled: &Bundled| Model {
            id: bundled.name.to_owned(),
            tools: Some(true),
            ..Model::default()
        };
        Ok(BUNDLED.iter().map(model).collect())
    }

    async fn stream(&self, request: Request) -> Result<ReplyStream, ProviderError> {
        let reached = Reached::by(&request.history, &self.scenario);
        let replies = reached.replies;
        let failures = self.failures_after(replies).max(reached.errors);
        let playing = match reached.next(failures, &self.scenario) {
            Some(cursor) => self.prepare(&request, self.choose(cursor, replies))?,
            None => self.exhausted(&request, replies)?,
        };
        if !playing.delay.is_zero() {
            tokio::time::sleep(playing.delay).await;
        }
        let failures = if playing.fails() { failures.saturating_add(1) } else { 0 };
        self.count(replies, failures);
        playing.stream(request.delivery)
    }
}

fn expectation_failed(message: String, hint: &str) -> ProviderError {
    ProviderError { kind: Failure::Expectation, message, hint: Some(hint.to_owned()) }
}
