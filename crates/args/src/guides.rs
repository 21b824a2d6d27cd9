//! The guides that `brynhild help TOPIC` prints: pages of `docs` that are part of the program.

macro_rules! guides {
    ($($name:literal: $path:literal),+ $(,)?) => {
        /// The end of the program's help.
        pub(crate) const AFTER_HELP: &str = concat!(
            "No model yet? `brynhild demo` runs a whole task with a model that is built in.\n\
             `brynhild help TOPIC` prints a guide:",
            $(" ", $name),+
        );
        const GUIDES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../docs/", $path, ".md")))),+];
    };
}

guides! {
    "quickstart": "start/quickstart",
    "agents": "guides/agents",
    "ci": "guides/ci",
    "editors": "guides/editors",
    "mcp": "guides/mcp",
    "models": "guides/models",
    "permissions": "guides/permissions",
    "rules": "guides/rules-and-skills",
    "sandbox": "guides/sandbox",
    "server": "guides/server",
    "sessions": "guides/sessions-and-undo",
    "teams": "guides/teams",
    "terminal": "guides/terminal",
    "trust": "guides/trust",
    "extend": "extend/overview",
    "hooks": "extend/hooks",
    "troubleshooting": "help/troubleshooting",
}

/// The text of a guide, without the comments that prepare its examples for tests.
pub fn guide(topic: &str) -> Option<String> {
    let (_, text) = GUIDES.iter().find(|(name, _)| *name == topic)?;
    let mut parts = text.split("<!--");
    let mut guide = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        guide.push_str(part.split_once("-->\n").map_or(part, |(_, rest)| rest.trim_start()));
    }
    Some(guide)
}
