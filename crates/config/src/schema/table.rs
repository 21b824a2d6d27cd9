//! The table of keys.

use super::{KnownKey, NamedEntries, OtherKeys, Section};
use super::{ProjectRule as Rule, ValueKind as Kind};

/// The built-in tools, as they are spelled, and the word for all of them.
pub const TOOLS: &[&str] = &[
    "Bash",
    "Read",
    "Write",
    "Edit",
    "Grep",
    "Glob",
    "Inspect",
    "LearnSkill",
    "TodoWrite",
    "Task",
    "Finish",
    "__builtin__",
];

const STATUS_PLACEHOLDERS: &[&str] =
    &["directory", "branch", "model", "mode", "sandbox", "session", "context", "tokens", "cost"];

const TEXT: Kind = Kind::Maybe(&Kind::Text);
const SIZE: Kind = count(1, NO_LIMIT);
const NO_LIMIT: i64 = i64::MAX;

const USER_ONLY: Rule = Rule::Always(&Rule::Nothing);
const ONLY_OFF: Rule = Rule::Always(&Rule::TurnOff);
const ONLY_ON: Rule = Rule::Always(&Rule::TurnOn);
const ONLY_ADD: Rule = Rule::Always(&Rule::Add);

const fn key(name: &'static str, kind: Kind, project: Rule) -> KnownKey {
    KnownKey { name, kind, project }
}

const fn section(name: &'static str, section: &'static Section) -> KnownKey {
    key(name, Kind::Section(section), Rule::Inside)
}

const fn closed(keys: &'static [KnownKey]) -> Section {
    Section { keys, others: OtherKeys::Unknown }
}

const fn count(least: i64, most: i64) -> Kind {
    Kind::Count { least, most }
}

const fn each(kind: &'static Kind, project: Rule) -> Kind {
    Kind::Each(named(kind, project, &[]))
}

const fn named(
    kind: &'static Kind,
    project: Rule,
    spelling: &'static [&'static str],
) -> NamedEntries {
    NamedEntries { kind, project, spelling }
}

/// The whole configuration.
pub(crate) static ROOT: Section = closed(&[
    key("version", count(1, 1), Rule::Free),
    section("models", &MODELS),
    section("providers", &PROVIDERS),
    section("behavior", &BEHAVIOR),
    section("sandbox", &SANDBOX),
    section("logging", &LOGGING),
    section("session", &SESSION),
    section("undo", &UNDO),
    section("plugins", &PLUGINS),
    section("tools", &TOOL_SETTINGS),
    section("agents", &AGENTS),
    section("permissions", &PERMISSIONS),
    section("api", &API),
    section("web", &WEB),
    key("mcp", Kind::Section(&MCP), Rule::Nothing),
    section("ui", &UI),
    key("openrouter_api_key", TEXT, USER_ONLY),
    key("dangerously_skip_permissions", Kind::Switch, ONLY_OFF),
    key("dangerously_skip_sandbox", Kind::Switch, ONLY_OFF),
    key("allow_home_directory", Kind::Switch, ONLY_OFF),
    key("log_file", Kind::Maybe(&Kind::Path), USER_ONLY),
]);

static MODELS: Section = closed(&[
    key("default", Kind::Text, Rule::Announced),
    key("fallback", Kind::Texts, USER_ONLY),
    // A name that the user uses means what it means to the user.
    key("aliases", each(&Kind::Text, Rule::IfUnset), Rule::Inside),
    key("favorites", each(&Kind::ShortOr(&Kind::Switch, &FAVORITE), Rule::Free), Rule::Free),
    // Prices and bindings decide on budgets and on what is sent where.
    key("registry", each(&Kind::Section(&MODEL), Rule::Nothing), Rule::Nothing),
]);

static FAVORITE: Section = Section {
    keys: &[key("enabled", Kind::Switch, Rule::Free)],
    others: OtherKeys::Extra(Rule::Free),
};

static MODEL: Section = closed(&[
    key("bindings", each(&Kind::ShortOr(&Kind::Text, &BINDING), Rule::Nothing), Rule::Nothing),
    section("descriptor", &DESCRIPTOR),
    key("aliases", each(&Kind::Anything, Rule::Nothing), Rule::Nothing),
    key("confidence", Kind::Choice(&["curated", "matched", "synthetic"]), Rule::Nothing),
    key("notes", TEXT, Rule::Nothing),
    key("canonical_id", Kind::Text, Rule::Nothing),
]);

static BINDING: Section = closed(&[
    key("model_id", Kind::Text, Rule::Nothing),
    key("max_context", Kind::Maybe(&SIZE), Rule::Nothing),
    key("pricing_tiers", Kind::Prices, Rule::Nothing),
    key("alternatives", Kind::Texts, Rule::Nothing),
    key("extra", each(&Kind::Anything, Rule::Nothing), Rule::Nothing),
]);

static DESCRIPTOR: Section = closed(&[
    key("family", Kind::Text, Rule::Nothing),
    key("series", TEXT, Rule::Nothing),
    key("size", Kind::Anything, Rule::Nothing),
    key("active_size", Kind::Anything, Rule::Nothing),
    key("architecture", Kind::Maybe(&Kind::Choice(&["dense", "moe"])), Rule::Nothing),
    key("context_size", Kind::Maybe(&SIZE), Rule::Nothing),
    key("variant", TEXT, Rule::Nothing),
    key("extra", each(&Kind::Anything, Rule::Nothing), Rule::Nothing),
]);

static PROVIDERS: Section = Section {
    keys: &[
        key("default", Kind::Text, USER_ONLY),
        key("instances", each(&Kind::Section(&INSTANCE), Rule::Inside), Rule::Inside),
    ],
    others: OtherKeys::Named(named(&Kind::Section(&INSTANCE), Rule::Inside, &[])),
};

static INSTANCE: Section = Section {
    keys: &[
        key("type", Kind::Text, USER_ONLY),
        key("enabled", Kind::Switch, ONLY_OFF),
        key("base_url", TEXT, USER_ONLY),
        key("cache_ttl", count(0, NO_LIMIT), Rule::Free),
        key("default_model", TEXT, Rule::Announced),
        key("api", Kind::Choice(&["chat", "responses"]), USER_ONLY),
        key("api_key_env", TEXT, USER_ONLY),
        key("credentials_path", Kind::Maybe(&Kind::Path), USER_ONLY),
        key("headers", each(&Kind::Text, USER_ONLY), USER_ONLY),
    ],
    others: OtherKeys::Extra(USER_ONLY),
};

static BEHAVIOR: Section = closed(&[
    key("max_tokens", count(1, 200_000), Rule::Lower),
    key("max_tool_rounds", count(1, 100_000), Rule::Lower),
    key(
        "mode",
        Kind::Choice(&["read-only", "ask", "normal", "yolo"]),
        Rule::Always(&Rule::Stricter(&["yolo", "normal", "ask", "read-only"], "normal")),
    ),
    key("output_format", Kind::Choice(&["text", "json", "stream", "stream-json"]), Rule::Announced),
    key(
        "reasoning_format",
        Kind::Choice(&["auto", "reasoning_field", "thinking_tags", "none"]),
        Rule::Free,
    ),
    key("reasoning_level", Kind::Text, Rule::Announced),
    key("require_finish", Kind::Switch, Rule::Free),
    key("show_cost", Kind::Switch, Rule::Free),
    key("show_thinking", Kind::Switch, Rule::Free),
    key("verbose", Kind::Switch, Rule::Free),
]);

static SANDBOX: Section = closed(&[
    key("enabled", Kind::Switch, ONLY_ON),
    key("allow_network", Kind::Switch, Rule::TurnOff),
    key("allowed_paths", Kind::Paths, Rule::Narrow),
    key("read_paths", Kind::Paths, Rule::Narrow),
]);

static LOGGING: Section = closed(&[
    // The log is evidence: a project may not silence, move or open it.
    key("enabled", Kind::Switch, Rule::TurnOn),
    key("dir", Kind::Maybe(&Kind::Path), USER_ONLY),
    key("level", Kind::Choice(&["debug", "info", "warning", "error"]), Rule::Free),
    key("private", Kind::Switch, Rule::TurnOn),
    key("raw_payloads", Kind::Switch, Rule::TurnOff),
]);

static SESSION: Section = closed(&[
    key("auto_save", Kind::Switch, Rule::TurnOn),
    key("history_limit", count(0, NO_LIMIT), Rule::Nothing),
]);

static UNDO: Section = closed(&[
    key("enabled", Kind::Switch, Rule::TurnOn),
    key("max_file_mb", count(1, 2048), Rule::Nothing),
    key("max_total_mb", count(1, 1 << 20), Rule::Nothing),
]);

static PLUGINS: Section = Section {
    keys: &[
        key("search_paths", Kind::Paths, USER_ONLY),
        key("enabled", each(&Kind::Switch, Rule::TurnOff), Rule::Inside),
        key("python", Kind::Maybe(&Kind::Path), USER_ONLY),
    ],
    others: OtherKeys::Named(named(&Kind::Section(&PLUGIN), Rule::Inside, &[])),
};

static PLUGIN: Section = Section {
    keys: &[
        key("enabled", Kind::Switch, Rule::TurnOff),
        key("timeout", count(1, 86_400), Rule::Nothing),
        section("sandbox", &GRANTS),
    ],
    others: OtherKeys::Extra(Rule::Nothing),
};

static GRANTS: Section = closed(&[
    key("network", Kind::Anything, Rule::Nothing),
    key("read", Kind::Paths, Rule::Nothing),
    key("write", Kind::Paths, Rule::Nothing),
    key("env", Kind::Texts, Rule::Nothing),
    key("exec", Kind::Texts, Rule::Nothing),
]);

static TOOL_SETTINGS: Section = Section {
    keys: &[key("disabled", Kind::Each(named(&Kind::Switch, Rule::TurnOn, TOOLS)), Rule::Inside)],
    others: OtherKeys::Named(named(&Kind::Section(&TOOL), Rule::Inside, TOOLS)),
};

static TOOL: Section = Section {
    keys: &[
        key(
            "require_approval",
            Kind::Choice(&["always", "once", "never"]),
            Rule::Stricter(&["never", "once", "always"], "once"),
        ),
        key("allowed_commands", Kind::Texts, Rule::Narrow),
        key("blocked_commands", Kind::Texts, ONLY_ADD),
        key("allowed_paths", Kind::Paths, Rule::Narrow),
    ],
    others: OtherKeys::Extra(Rule::Nothing),
};

static AGENTS: Section = closed(&[key("max_depth", count(0, 5), Rule::Lower)]);

static PERMISSIONS: Section = Section {
    keys: &[
        key("allow", Kind::List, Rule::Nothing),
        key("ask", Kind::List, ONLY_ADD),
        key("deny", Kind::List, ONLY_ADD),
    ],
    others: OtherKeys::Extra(Rule::Nothing),
};

static API: Section = Section {
    keys: &[
        key("allow_private", Kind::Texts, USER_ONLY),
        key("tools", Kind::Anything, Rule::Nothing),
    ],
    others: OtherKeys::Extra(Rule::Nothing),
};

static WEB: Section = closed(&[
    key("search", Kind::Maybe(&Kind::Choice(&["brave", "tavily", "searxng"])), USER_ONLY),
    key("search_key_env", TEXT, USER_ONLY),
    key("search_url", TEXT, USER_ONLY),
]);

static MCP: Section = Section {
    keys: &[
        key("servers", each(&Kind::Anything, Rule::Nothing), Rule::Nothing),
        key("defer_above", count(0, 100_000), Rule::Nothing),
        key("defer_bytes", count(0, NO_LIMIT), Rule::Nothing),
        key("start_wait_sec", count(0, 600), Rule::Nothing),
        key("client_metadata_url", TEXT, USER_ONLY),
    ],
    others: OtherKeys::Named(named(&Kind::Anything, Rule::Nothing, &[])),
};

static UI: Section = Section {
    keys: &[
        key("theme", Kind::Text, Rule::Free),
        key("editing", Kind::Choice(&["emacs", "vim"]), USER_ONLY),
        key("mouse", Kind::Switch, USER_ONLY),
        key("links", Kind::Switch, USER_ONLY),
        key("notify", Kind::Switch, USER_ONLY),
        key("status_line", Kind::Maybe(&Kind::Template(STATUS_PLACEHOLDERS)), USER_ONLY),
        key("keys", each(&Kind::Anything, USER_ONLY), USER_ONLY),
    ],
    others: OtherKeys::Extra(Rule::Nothing),
};
