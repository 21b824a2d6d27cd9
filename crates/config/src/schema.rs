//! Every key that the configuration knows: its kind, its range, and what a project may do with it.
//! This table alone decides on unknown keys, wrong values, environment names and project files.

use serde_json::Value;

/// One known key of a section.
pub(crate) struct Key {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it holds.
    pub(crate) kind: Kind,
    /// What a project may do with it.
    pub(crate) project: Project,
}

/// What a value has to be.
pub(crate) enum Kind {
    /// True or false.
    Switch,
    /// A whole number, bounds included.
    Count {
        /// The smallest.
        least: i64,
        /// The greatest.
        most: i64,
    },
    /// Text.
    Text,
    /// A path; `~` and variables are expanded.
    Path,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list of paths; also as JSON text or separated by colons.
    Paths,
    /// A list of anything.
    List,
    /// Anything.
    Anything,
    /// Anything, in which no number is below nothing.
    Prices,
    /// This, or null.
    Maybe(&'static Kind),
    /// A map with known keys.
    Section(&'static Section),
    /// A map with names of the user's choice.
    Each(Named),
    /// A plain value, or the map that spells it out.
    ShortOr(&'static Kind, &'static Section),
}

/// A map with known keys.
pub(crate) struct Section {
    /// The known keys.
    pub(crate) keys: &'static [Key],
    /// What other names mean.
    pub(crate) others: Others,
}

/// What a name that is not a known key means.
pub(crate) enum Others {
    /// A mistake.
    Unknown,
    /// A name of the user's choice.
    Named(Named),
    /// A setting of something that this program does not know.
    Extra(Project),
}

/// The entries behind names of the user's choice.
pub(crate) struct Named {
    /// What each holds.
    pub(crate) kind: &'static Kind,
    /// What a project may do with each.
    pub(crate) project: Project,
    /// Names whose spelling is known.
    pub(crate) spelling: &'static [&'static str],
}

/// What a project file, or an env file in a project, may do with a key.
#[derive(Clone, Copy)]
pub(crate) enum Project {
    /// Anything: it gives no power and sends nothing elsewhere.
    Free,
    /// Anything, and it is told where the project is not trusted: it sends nothing elsewhere, but
    /// costs money, or changes what a script reads.
    Told,
    /// Nothing.
    Never,
    /// Turn it on.
    On,
    /// Turn it off.
    Off,
    /// Lower it.
    Lower,
    /// Move it to the right in this row; the second word holds where nothing is set.
    Stricter(&'static [&'static str], &'static str),
    /// Add to the list; what is in it stays.
    Adds,
    /// Take away from the list.
    Subset,
    /// Set it where nothing else does.
    Unused,
    /// The keys inside have rules of their own.
    Inside,
    /// This, and no more when the project is trusted: it sends work or keys elsewhere, opens what
    /// the user closed, or decides on trust itself.
    Kept(&'static Project),
}

/// What the user alone sets, whether a project is trusted or not.
const OWN: Project = Project::Kept(&Project::Never);
const OWN_OFF: Project = Project::Kept(&Project::Off);
const OWN_ON: Project = Project::Kept(&Project::On);
const OWN_ADDS: Project = Project::Kept(&Project::Adds);

impl Section {
    /// The known key of a name.
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The names of the known keys.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.keys.iter().map(|key| key.name)
    }

    /// The kind and rule for a name, known or not; none for a mistake.
    pub(crate) fn entry(&self, name: &str) -> Option<(&'static Kind, Project)> {
        match (self.key(name), &self.others) {
            (Some(key), _) => Some((&key.kind, key.project)),
            (None, Others::Named(named)) => Some((named.kind, named.project)),
            (None, Others::Extra(project)) => Some((&Kind::Anything, *project)),
            (None, Others::Unknown) => None,
        }
    }
}

/// The full path of a key with this very name in another section.
pub(crate) fn key_elsewhere(name: &str) -> Option<String> {
    ROOT.keys.iter().find_map(|key| match &key.kind {
        Kind::Section(section) if section.key(name).is_some() => {
            Some(format!("{}.{name}", key.name))
        }
        _ => None,
    })
}

/// Reads a switch in any of its usual forms.
pub fn switch(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(is_on) => Some(*is_on),
        Value::Number(number) => match number.as_i64()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
        Value::String(text) => match text.to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" | "y" | "t" => Some(true),
            "false" | "no" | "off" | "0" | "n" | "f" => Some(false),
            _ => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

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

const TEXT: Kind = Kind::Maybe(&Kind::Text);
const ENDLESS: i64 = i64::MAX;

const fn key(name: &'static str, kind: Kind, project: Project) -> Key {
    Key { name, kind, project }
}

const fn section(name: &'static str, section: &'static Section) -> Key {
    key(name, Kind::Section(section), Project::Inside)
}

const fn each(kind: &'static Kind, project: Project) -> Named {
    Named { kind, project, spelling: &[] }
}

/// The whole configuration.
pub(crate) static ROOT: Section = Section {
    keys: &[
        key("version", Kind::Count { least: 1, most: 1 }, Project::Free),
        section("models", &MODELS),
        section("providers", &PROVIDERS),
        section("behavior", &BEHAVIOR),
        section("sandbox", &SANDBOX),
        section("logging", &LOGGING),
        section("session", &SESSION),
        section("undo", &UNDO),
        section("plugins", &PLUGINS),
        section("tools", &TOOL_SECTION),
        section("agents", &AGENTS),
        section("permissions", &PERMISSIONS),
        section("api", &API),
        key("mcp", Kind::Section(&MCP), Project::Never),
        section("ui", &UI),
        key("openrouter_api_key", TEXT, OWN),
        key("dangerously_skip_permissions", Kind::Switch, OWN_OFF),
        key("dangerously_skip_sandbox", Kind::Switch, OWN_OFF),
        key("allow_home_directory", Kind::Switch, OWN_OFF),
        key("log_file", Kind::Maybe(&Kind::Path), OWN),
    ],
    others: Others::Unknown,
};

static MODELS: Section = Section {
    keys: &[
        key("default", Kind::Text, Project::Told),
        // A name that the user uses means what it means to the user.
        key("aliases", Kind::Each(each(&Kind::Text, Project::Unused)), Project::Inside),
        key("favorites", Kind::Each(each(&FAVORITE_FORM, Project::Free)), Project::Free),
        // Prices and bindings decide on budgets and on what is sent where.
        key("registry", Kind::Each(each(&MODEL_FORM, Project::Never)), Project::Never),
    ],
    others: Others::Unknown,
};

static FAVORITE_FORM: Kind = Kind::ShortOr(&Kind::Switch, &FAVORITE);
static FAVORITE: Section = Section {
    keys: &[key("enabled", Kind::Switch, Project::Free)],
    others: Others::Extra(Project::Free),
};

static MODEL_FORM: Kind = Kind::Section(&MODEL);
static MODEL: Section = Section {
    keys: &[
        key("bindings", Kind::Each(each(&BINDING_FORM, Project::Never)), Project::Never),
        section("descriptor", &DESCRIPTOR),
        key("aliases", Kind::Each(each(&Kind::Anything, Project::Never)), Project::Never),
        key("confidence", Kind::Choice(&["curated", "matched", "synthetic"]), Project::Never),
        key("notes", TEXT, Project::Never),
        key("canonical_id", Kind::Text, Project::Never),
    ],
    others: Others::Unknown,
};

static BINDING_FORM: Kind = Kind::ShortOr(&Kind::Text, &BINDING);
static BINDING: Section = Section {
    keys: &[
        key("model_id", Kind::Text, Project::Never),
        key("max_context", Kind::Maybe(&Kind::Count { least: 1, most: ENDLESS }), Project::Never),
        key("pricing_tiers", Kind::Prices, Project::Never),
        key("alternatives", Kind::Texts, Project::Never),
        key("extra", Kind::Each(each(&Kind::Anything, Project::Never)), Project::Never),
    ],
    others: Others::Unknown,
};

static DESCRIPTOR: Section = Section {
    keys: &[
        key("family", Kind::Text, Project::Never),
        key("series", TEXT, Project::Never),
        key("size", Kind::Anything, Project::Never),
        key("active_size", Kind::Anything, Project::Never),
        key("architecture", Kind::Maybe(&Kind::Choice(&["dense", "moe"])), Project::Never),
        key("context_size", Kind::Maybe(&Kind::Count { least: 1, most: ENDLESS }), Project::Never),
        key("variant", TEXT, Project::Never),
        key("extra", Kind::Each(each(&Kind::Anything, Project::Never)), Project::Never),
    ],
    others: Others::Unknown,
};

static INSTANCE_FORM: Kind = Kind::Section(&INSTANCE);
static PROVIDERS: Section = Section {
    keys: &[
        key("default", Kind::Text, OWN),
        key("instances", Kind::Each(each(&INSTANCE_FORM, Project::Inside)), Project::Inside),
    ],
    others: Others::Named(each(&INSTANCE_FORM, Project::Inside)),
};

static INSTANCE: Section = Section {
    keys: &[
        key("type", Kind::Text, OWN),
        key("enabled", Kind::Switch, OWN_OFF),
        key("base_url", TEXT, OWN),
        key("cache_ttl", Kind::Count { least: 0, most: ENDLESS }, Project::Free),
        key("default_model", TEXT, Project::Told),
        key("api_key_env", TEXT, OWN),
        key("credentials_path", Kind::Maybe(&Kind::Path), OWN),
        key("headers", Kind::Each(each(&Kind::Text, OWN)), OWN),
    ],
    others: Others::Extra(OWN),
};

static BEHAVIOR: Section = Section {
    keys: &[
        key("max_tokens", Kind::Count { least: 1, most: 200_000 }, Project::Lower),
        key("max_tool_rounds", Kind::Count { least: 1, most: 100_000 }, Project::Lower),
        key(
            "mode",
            Kind::Choice(&["read-only", "ask", "normal", "yolo"]),
            Project::Kept(&Project::Stricter(&["yolo", "normal", "ask", "read-only"], "normal")),
        ),
        key(
            "output_format",
            Kind::Choice(&["text", "json", "stream", "stream-json"]),
            Project::Told,
        ),
        key(
            "reasoning_format",
            Kind::Choice(&["auto", "reasoning_field", "thinking_tags", "none"]),
            Project::Free,
        ),
        key("reasoning_level", Kind::Text, Project::Told),
        key("require_finish", Kind::Switch, Project::Free),
        key("show_cost", Kind::Switch, Project::Free),
        key("show_thinking", Kind::Switch, Project::Free),
        key("verbose", Kind::Switch, Project::Free),
    ],
    others: Others::Unknown,
};

static SANDBOX: Section = Section {
    keys: &[
        key("enabled", Kind::Switch, OWN_ON),
        key("allow_network", Kind::Switch, Project::Off),
        key("allowed_paths", Kind::Paths, Project::Subset),
        key("read_paths", Kind::Paths, Project::Subset),
    ],
    others: Others::Unknown,
};

static LOGGING: Section = Section {
    keys: &[
        // The log is evidence: a project may not silence, move or open it.
        key("enabled", Kind::Switch, Project::On),
        key("dir", Kind::Maybe(&Kind::Path), OWN),
        key("level", Kind::Choice(&["debug", "info", "warning", "error"]), Project::Free),
        key("private", Kind::Switch, Project::On),
        key("raw_payloads", Kind::Switch, Project::Off),
    ],
    others: Others::Unknown,
};

static SESSION: Section = Section {
    keys: &[
        key("auto_save", Kind::Switch, Project::On),
        key("history_limit", Kind::Count { least: 0, most: ENDLESS }, Project::Never),
    ],
    others: Others::Unknown,
};

static UNDO: Section = Section {
    keys: &[
        key("enabled", Kind::Switch, Project::On),
        key("max_file_mb", Kind::Count { least: 1, most: 2048 }, Project::Never),
        key("max_total_mb", Kind::Count { least: 1, most: 1 << 20 }, Project::Never),
    ],
    others: Others::Unknown,
};

static PLUGIN_FORM: Kind = Kind::Section(&PLUGIN);
static PLUGINS: Section = Section {
    keys: &[
        key("search_paths", Kind::Paths, OWN),
        key("enabled", Kind::Each(each(&Kind::Switch, Project::Off)), Project::Inside),
        key("python", Kind::Maybe(&Kind::Path), OWN),
    ],
    others: Others::Named(each(&PLUGIN_FORM, Project::Inside)),
};

static PLUGIN: Section = Section {
    keys: &[
        key("enabled", Kind::Switch, Project::Off),
        key("timeout", Kind::Count { least: 1, most: 86_400 }, Project::Never),
        section("sandbox", &GRANTS),
    ],
    others: Others::Extra(Project::Never),
};

static GRANTS: Section = Section {
    keys: &[
        key("network", Kind::Anything, Project::Never),
        key("read", Kind::Paths, Project::Never),
        key("write", Kind::Paths, Project::Never),
        key("env", Kind::Texts, Project::Never),
        key("exec", Kind::Texts, Project::Never),
    ],
    others: Others::Unknown,
};

static TOOL_FORM: Kind = Kind::Section(&TOOL);
static TOOL_SECTION: Section = Section {
    keys: &[key(
        "disabled",
        Kind::Each(Named { kind: &Kind::Switch, project: Project::On, spelling: TOOLS }),
        Project::Inside,
    )],
    others: Others::Named(Named { kind: &TOOL_FORM, project: Project::Inside, spelling: TOOLS }),
};

static TOOL: Section = Section {
    keys: &[
        key(
            "require_approval",
            Kind::Choice(&["always", "once", "never"]),
            Project::Stricter(&["never", "once", "always"], "once"),
        ),
        key("allowed_commands", Kind::Texts, Project::Subset),
        key("blocked_commands", Kind::Texts, OWN_ADDS),
        key("allowed_paths", Kind::Paths, Project::Subset),
    ],
    others: Others::Extra(Project::Never),
};

static AGENTS: Section = Section {
    keys: &[key("max_depth", Kind::Count { least: 0, most: 5 }, Project::Lower)],
    others: Others::Unknown,
};

static PERMISSIONS: Section = Section {
    keys: &[
        key("allow", Kind::List, Project::Never),
        key("ask", Kind::List, OWN_ADDS),
        key("deny", Kind::List, OWN_ADDS),
    ],
    others: Others::Extra(Project::Never),
};

static API: Section = Section {
    keys: &[key("allow_private", Kind::Texts, OWN), key("tools", Kind::Anything, Project::Never)],
    others: Others::Extra(Project::Never),
};

static MCP: Section = Section {
    keys: &[
        key("servers", Kind::Each(each(&Kind::Anything, Project::Never)), Project::Never),
        key("defer_above", Kind::Count { least: 0, most: 100_000 }, Project::Never),
        key("defer_bytes", Kind::Count { least: 0, most: ENDLESS }, Project::Never),
        key("start_wait_sec", Kind::Count { least: 0, most: 600 }, Project::Never),
        key("client_metadata_url", TEXT, OWN),
    ],
    others: Others::Named(each(&Kind::Anything, Project::Never)),
};

static UI: Section = Section {
    keys: &[
        key("theme", Kind::Text, Project::Free),
        key("editing", Kind::Choice(&["emacs", "vim"]), OWN),
        key("mouse", Kind::Switch, OWN),
        key("links", Kind::Switch, OWN),
        key("notify", Kind::Switch, OWN),
        key("keys", Kind::Each(each(&Kind::Anything, OWN)), OWN),
    ],
    others: Others::Extra(Project::Never),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_in_the_wrong_section_is_found_in_the_right_one() {
        assert_eq!(key_elsewhere("max_tokens").as_deref(), Some("behavior.max_tokens"));
        assert_eq!(key_elsewhere("nothing"), None);
    }
}
