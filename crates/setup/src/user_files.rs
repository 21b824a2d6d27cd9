//! The names in the configuration directory. `docs/reference/files.md` is made of this table.
//! Crates that do not depend on this one repeat a name; a test compares them.

macro_rules! user_files {
    ($($name:ident = $file:literal, $contents:literal;)+) => {
        $(#[doc = $contents] pub const $name: &str = $file;)+
        /// All names, each with its contents.
        pub const ALL: &[(&str, &str)] = &[$(($file, $contents)),+];
    };
}

user_files! {
    CONFIG = "config.yaml", "your [configuration](config.md)";
    CREDENTIALS = "credentials.json", "stored API keys, readable by you only";
    MODEL_ALIASES = "model-aliases.yaml", "names of models";
    HOOKS = "hooks.yaml", "your [hooks](../extend/hooks.md)";
    HOOK_SCRIPTS = "hooks", "scripts of your hooks";
    PLUGINS = "plugins", "your [plugins](../extend/first-plugin.md)";
    PLUGIN_STATES = "plugins.yaml", "plugins that are turned on and off";
    PLUGIN_LOCK = "plugins.lock", "source and hash of installed plugins";
    PLUGIN_DATA = "plugin-data", "data of plugins, by name";
    PLUGIN_PACKAGES = "plugin-packages", "environments of Python packages";
    MARKETPLACES = "marketplaces.json", "marketplaces";
    COMMANDS = "commands", "your [slash commands](../extend/slash-commands.md)";
    SKILLS = "skills", "your [skills](../guides/rules-and-skills.md#skills)";
    RULES = "rules", "your [rules](../guides/rules-and-skills.md#rules)";
    AGENTS = "agents", "your [agents](../guides/agents.md) and roles";
    PROFILES = "profiles", "your [model profiles](profiles.md)";
    THEMES = "themes", "your [themes](../guides/terminal.md#colors)";
    MCP_SERVERS = "mcp.json", "[MCP servers](../guides/mcp.md) that `mcp add` wrote";
    MCP_PINS = "mcp-pins", "what you accepted from MCP servers";
    MCP_CREDENTIALS = "mcp-credentials", "tokens of `mcp login`";
    MCP_DATA = "mcp-data", "data of MCP servers";
    PERMISSIONS = "permissions.jsonl", "remembered answers";
    TRUST = "trust.jsonl", "decisions about projects";
    TRUSTED_COPIES = "trust", "copies of trusted files, to show changes";
    AUDIT = "audit.jsonl", "decisions that gave or refused access";
    SESSIONS = "sessions", "sessions, and snapshots for undo";
    LOGS = "logs", "conversation logs";
    SERVER = "server", "sockets of `serve`, and logins of browsers";
    CACHE = "cache", "can be deleted at any time";
    SANDBOX = "sandbox", "files that sandboxes use";
}
