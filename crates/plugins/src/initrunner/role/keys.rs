//! The keys of roles.

pub(super) const METADATA: [&str; 9] = [
    "name",
    "description",
    "tags",
    "author",
    "team",
    "version",
    "dependencies",
    "bundle",
    "spec_version",
];

pub(super) const SUPPORTED: [&str; 11] = [
    "role",
    "prompt",
    "model",
    "output",
    "tools",
    "skills",
    "deps_schema",
    "guardrails",
    "execution",
    "resources",
    "security",
];

/// Keys that are known and do nothing here.
pub(super) const UNSUPPORTED: [&str; 11] = [
    "memory",
    "triggers",
    "sinks",
    "ingest",
    "autonomy",
    "reasoning",
    "observability",
    "capabilities",
    "auto_skills",
    "tool_search",
    "daemon",
];

/// Keys of compositions of several agents.
pub(super) const COMPOSED: [&str; 8] = [
    "agents",
    "run",
    "debate",
    "ensemble",
    "handoff_max_chars",
    "shared_memory",
    "shared_documents",
    "durability",
];

pub(super) const IDLE_EXECUTION: [&str; 4] =
    ["end_strategy", "max_concurrency", "http_retries", "http_retry_max_wait"];

pub(super) const IDLE_GUARDRAILS: [&str; 13] = [
    "per_request_input_tokens_limit",
    "session_token_budget",
    "run_token_budget",
    "daemon_token_budget",
    "daemon_daily_token_budget",
    "daemon_daily_cost_budget",
    "daemon_weekly_cost_budget",
    "budget_timezone",
    "max_iterations",
    "autonomous_token_budget",
    "autonomous_timeout_seconds",
    "retry_policy",
    "circuit_breaker",
];
