//! The permission rule that narrows a handler to some calls of a tool.

use serde_json::Value;

use crate::hooks::pattern::Pattern;

/// The one permission rule of `if`. Where it cannot be told whether it fits, it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PermissionRule {
    tool: String,
    within: Option<String>,
}

impl PermissionRule {
    pub(crate) fn new(text: &str) -> Self {
        match text.trim().split_once('(') {
            Some((tool, rest)) => Self {
                tool: tool.trim().to_owned(),
                within: Some(rest.trim_end().trim_end_matches(')').to_owned()),
            },
            None => Self { tool: text.trim().to_owned(), within: None },
        }
    }

    pub(crate) fn fits(&self, names: &[String], input: &Value) -> bool {
        if !names.contains(&self.tool) {
            return false;
        }
        let (Some(within), "Bash") = (&self.within, self.tool.as_str()) else { return true };
        let Some(command) = input.get("command").and_then(Value::as_str) else { return true };
        let Some(pattern) = pattern(within) else { return true };
        // A command that hides another one cannot be told apart by its words.
        if command.contains(['`', '(']) {
            return true;
        }
        let parts = command.split(['&', '|', ';', '\n']).map(str::trim);
        parts.filter(|part| !part.is_empty()).any(|part| pattern.fits(part))
    }
}

/// The pattern of a rule for commands: `*` is anything, `:*` and a last ` *` begin with a word.
fn pattern(rule: &str) -> Option<Pattern> {
    let prefix = rule.strip_suffix(":*").or_else(|| rule.strip_suffix(" *"));
    let (rule, end) = prefix.map_or((rule, "$"), |prefix| (prefix, r"(\s|$)"));
    Pattern::glob(rule, &['*'], end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_narrows_and_fails_open() {
        let fits = |rule: &str, command: &str| {
            PermissionRule::new(rule).fits(&["Bash".to_owned()], &json!({"command": command}))
        };
        assert!(fits("Bash(git *)", "git push") && !fits("Bash(git *)", "gitk"));
        assert!(fits("Bash(git push:*)", "cd x && git push -f"));
        assert!(!fits("Bash(git push:*)", "git pull") && !fits("Edit(*.ts)", "git pull"));
        assert!(fits("Bash(rm *)", "echo $(rm x)"));
        assert!(fits("Bash", "anything"));
    }
}
