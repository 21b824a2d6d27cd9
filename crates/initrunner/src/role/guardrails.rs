//! The key `guardrails` of a role.

use std::time::Duration;

use serde_json::Value;

use super::Fields;

const KEYS: &[&str] = &[
    "max_tokens_per_run",
    "max_tool_calls",
    "timeout_seconds",
    "max_request_limit",
    "input_tokens_limit",
    "total_tokens_limit",
    "cost_limit",
    "max_iterations",
    "autonomous_token_budget",
    "autonomous_timeout_seconds",
    "per_request_input_tokens_limit",
    "session_token_budget",
    "run_token_budget",
];

const DAEMON_ONLY: &[&str] = &[
    "daemon_token_budget",
    "daemon_daily_token_budget",
    "daemon_daily_cost_budget",
    "daemon_weekly_cost_budget",
    "budget_timezone",
    "retry_policy",
    "circuit_breaker",
];

const TEAM_ONLY: &[&str] = &["team_token_budget", "team_timeout_seconds"];

pub(super) const DAEMON_NOTE: &str = "it only matters for the daemon, and does nothing here";

#[derive(Clone, Debug, PartialEq)]
pub struct Guardrails {
    pub output_tokens: u64,
    pub input_tokens: Option<u64>,
    pub total_tokens: Option<u64>,
    /// Input tokens of one request.
    pub request_input_tokens: Option<u64>,
    /// Tokens of a run with its delegates, both ways.
    pub run_tokens: Option<u64>,
    /// Tokens of an interactive session, both ways.
    session_tokens: Option<u64>,
    pub tool_calls: u64,
    pub requests: u32,
    pub time: Duration,
    pub cost: Option<f64>,
    /// Iterations of an autonomous run.
    pub iterations: u32,
    /// Tokens of an autonomous run, both ways.
    pub autonomous_tokens: Option<u64>,
    pub autonomous_time: Option<Duration>,
}

impl Default for Guardrails {
    fn default() -> Self {
        Self {
            output_tokens: 50_000,
            input_tokens: None,
            total_tokens: None,
            request_input_tokens: None,
            run_tokens: None,
            session_tokens: None,
            tool_calls: 20,
            requests: 30,
            time: Duration::from_mins(5),
            cost: None,
            iterations: 10,
            autonomous_tokens: None,
            autonomous_time: None,
        }
    }
}

/// The state of an interactive session that has used much of its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionBudget {
    /// With a warning for the user.
    Low(String),
    Exhausted,
}

impl Guardrails {
    /// Checks the tokens that an interactive session has used.
    pub fn session_budget(&self, used: u64) -> Option<SessionBudget> {
        let limit = self.session_tokens?;
        match used.saturating_mul(100) / limit {
            0..80 => None,
            percent @ 80..100 => {
                let text = format!("{percent}% of session token budget consumed ({used}/{limit})");
                Some(SessionBudget::Low(text))
            }
            _ => Some(SessionBudget::Exhausted),
        }
    }

    pub(super) fn read(value: Option<&Value>, fields: &mut Fields) -> Self {
        const ENDLESS: (u64, u64) = (1, u64::MAX);
        let usual = Self::default();
        let Some(from) = fields.mapping(value, "guardrails") else { return usual };
        for key in from.keys().map(String::as_str).filter(|key| !KEYS.contains(key)) {
            let path = format!("guardrails.{key}");
            if TEAM_ONLY.contains(&key) {
                fields.error(&path, format!("{key} is only valid when 'agents' is set"));
            } else if DAEMON_ONLY.contains(&key) {
                fields.warning(&path, DAEMON_NOTE);
            } else {
                fields.warning(&path, "it is not known and is ignored");
            }
        }
        let mut count = |key: &str, range| fields.count(from, &format!("guardrails.{key}"), range);
        let tool_calls = count("max_tool_calls", (0, u64::MAX)).unwrap_or(usual.tool_calls);
        let requests = count("max_request_limit", (1, 100_000));
        let requests = requests.unwrap_or_else(|| tool_calls.saturating_add(10).max(30));
        let iterations = count("max_iterations", (1, 100_000));
        let counted = Self {
            output_tokens: count("max_tokens_per_run", ENDLESS).unwrap_or(usual.output_tokens),
            input_tokens: count("input_tokens_limit", ENDLESS),
            total_tokens: count("total_tokens_limit", ENDLESS),
            request_input_tokens: count("per_request_input_tokens_limit", ENDLESS),
            run_tokens: count("run_token_budget", ENDLESS),
            session_tokens: count("session_token_budget", ENDLESS),
            tool_calls,
            requests: u32::try_from(requests).unwrap_or(u32::MAX),
            iterations: iterations
                .map_or(usual.iterations, |it| u32::try_from(it).unwrap_or(u32::MAX)),
            autonomous_tokens: count("autonomous_token_budget", ENDLESS),
            ..usual
        };
        let mut time = |key: &str| {
            let seconds = fields.number(from, &format!("guardrails.{key}"), (0.001, 1e9));
            seconds.map(Duration::from_secs_f64)
        };
        Self {
            time: time("timeout_seconds").unwrap_or(counted.time),
            autonomous_time: time("autonomous_timeout_seconds"),
            cost: fields.number(from, "guardrails.cost_limit", (0.0, 1e9)),
            ..counted
        }
    }
}
