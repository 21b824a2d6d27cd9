//! Hosts that rules keep from every process, whoever starts it: what only the way out can hold.

use contract::policy::Decision;

use crate::file_rules::is_for_processes;
use crate::rules::{HostPattern, Rule, Target};

/// The rules that deny hosts to every process.
#[derive(Clone, Debug)]
pub struct HostRules(Vec<(HostPattern, String)>);

impl HostRules {
    /// Those of `rules`; nothing where none denies a host.
    pub fn of(rules: &[Rule]) -> Option<Self> {
        let denied = |rule: &Rule| match &rule.matcher.target {
            Target::Host(pattern) if is_for_processes(rule) => {
                Some((pattern.clone(), rule.text.clone()))
            }
            Target::Host(_)
            | Target::Path(..)
            | Target::Anything
            | Target::AnyCommand
            | Target::Command(_)
            | Target::Outside(_)
            | Target::What(_) => None,
        };
        let rules: Vec<_> = rules.iter().filter_map(denied).collect();
        (!rules.is_empty()).then_some(Self(rules))
    }

    /// The rule that denies a host, which may end in a port.
    pub fn denying(&self, host: &str) -> Option<&str> {
        let denies = |pattern: &HostPattern| pattern.matches(host, Decision::Deny);
        self.0.iter().find(|(pattern, _)| denies(pattern)).map(|(_, text)| text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::{self, Scope};

    fn rules(value: &serde_json::Value) -> Option<HostRules> {
        let parsed = rules::parse(value, Scope::User, |_| String::from("test")).unwrap();
        HostRules::of(&parsed.rules)
    }

    #[test]
    fn only_deny_rules_for_all_tools_or_commands_apply() {
        assert!(rules(&json!({"allow": ["Host(a.test)"], "ask": ["Host(b.test)"]})).is_none());
        assert!(rules(&json!({"deny": [{"tool": "x", "host": "a.test"}, "Read(a)"]})).is_none());
        let held = rules(&json!({"deny": ["Host(a.test)", "Host(127.0.0.1)", "Host(b.test:81)"]}));
        let held = held.unwrap();
        for host in ["a.test:443", "x.a.test:80", "A.test", "127.0.0.1:80", "b.test:81"] {
            assert!(held.denying(host).is_some(), "{host}");
        }
        assert_eq!(held.denying("a.test:443"), Some("Host(a.test)"));
        for host in ["b.test:443", "aa.test:443", "[::1]:80", "127.0.0.2:80"] {
            assert_eq!(held.denying(host), None, "{host}");
        }
        let all = rules(&json!({"deny": ["Host(*)"]})).unwrap();
        assert!(all.denying("a.test:443").is_some());
    }
}
