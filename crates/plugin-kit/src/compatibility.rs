//! The compatibility report of a plugin directory: which system it belongs to, what works, and what
//! does not and why.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

/// How much of one plugin works.
#[derive(Debug, Default)]
pub struct Compatibility {
    pub name: String,
    pub system: String,
    pub works: Vec<String>,
    /// Parts that work with a restriction.
    pub partly: Vec<String>,
    /// Parts that do not work, with the reason.
    pub fails: Vec<String>,
    /// True if no part of it can be used.
    pub is_unusable: bool,
}

impl Compatibility {
    pub fn verdict(&self) -> &'static str {
        if self.is_unusable {
            "does not work"
        } else if self.partly.is_empty() && self.fails.is_empty() {
            "works"
        } else {
            "works partly"
        }
    }

    /// The report of a plugin that could not be loaded for some reason, or that was loaded.
    #[must_use]
    pub fn with_failure(mut self, failure: Option<String>) -> Self {
        if let Some(failure) = failure {
            // The report of a plugin that failed tells nothing that works.
            self.works.clear();
            self.fails.insert(0, failure);
        }
        self.is_unusable = self.works.is_empty() && !self.fails.is_empty();
        self
    }

    /// The report for people.
    pub fn text(&self) -> String {
        let mut text = format!("{} ({}): {}\n", self.name, self.system, self.verdict());
        let parts = [
            ("works", &self.works),
            ("works partly", &self.partly),
            ("does not work", &self.fails),
        ];
        for (heading, lines) in parts.iter().filter(|(_, lines)| !lines.is_empty()) {
            let _ = writeln!(text, "  {heading}:");
            for line in *lines {
                let _ = writeln!(text, "    {}", line.replace('\n', "\n      "));
            }
        }
        text
    }

    /// The report for programs.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "system": self.system,
            "verdict": self.verdict(),
            "works": self.works,
            "works_partly": self.partly,
            "does_not_work": self.fails,
        })
    }
}

/// The reason why a directory has no plugin, with what to do.
pub fn explain_missing(directory: &Path) -> (String, &'static str) {
    let shown = directory.display();
    let has = |path: &str| directory.join(path).exists();
    if !directory.exists() {
        return (format!("{shown} does not exist"), "name the directory of a plugin");
    }
    if has(".claude-plugin/marketplace.json") {
        let text = format!("{shown} is a marketplace of plugins, not a plugin");
        return (text, "`brynhild plugin marketplace add` adds it");
    }
    if has("package.json") || has("pyproject.toml") {
        let text = format!("{shown} is a package without a plugin that this program knows");
        return (text, "`brynhild mcp add` adds it if it is an MCP server");
    }
    (
        format!("{shown} has no plugin of a known system"),
        "a plugin has `plugin.yaml`, `.claude-plugin/plugin.json`, `plugin.json`, `tool.py`, \
         `role.yaml`, or an executable with the name of its directory",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdict_follows_from_the_parts() {
        let mut report =
            Compatibility { name: "p".into(), system: "chibi".into(), ..Default::default() };
        assert_eq!(report.verdict(), "works");
        report.fails.push("hook x: no such event".to_owned());
        assert_eq!(report.verdict(), "works partly");
        let expected = "p (chibi): works partly\n  does not work:\n    hook x: no such event\n";
        assert_eq!(report.text(), expected);
        report.is_unusable = true;
        assert_eq!(report.to_json()["verdict"], "does not work");
    }
}
