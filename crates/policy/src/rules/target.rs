//! Patterns for files and hosts.

use std::path::Path;

use contract::policy::Decision;

use crate::glob::{Reading, meet, paths_meet};
use crate::paths::{Places, normalize};

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// It is read.
    Read,
    /// It is created, changed or removed.
    Write,
    /// Either.
    Any,
}

impl Touch {
    /// Whether a rule about this speaks of `other`.
    pub(crate) fn includes(self, other: Self) -> bool {
        self == Self::Any || self == other
    }
}

/// A pattern for files: absolute, under the home (`~/`), or in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern(String);

impl PathPattern {
    /// Reads a pattern. A trailing slash means all that is beneath.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix("./").unwrap_or(text);
        if text.is_empty() || text.split('/').any(|component| component == "..") {
            return None;
        }
        Some(Self(match text.strip_suffix('/') {
            Some(folder) => format!("{folder}/**"),
            None => text.to_owned(),
        }))
    }

    /// Whether a rule of this decision speaks of `path`, an absolute path that is a pattern itself
    /// where `reading` says so.
    pub(crate) fn matches(
        &self,
        path: (&Path, Reading),
        places: &Places,
        decision: Decision,
    ) -> bool {
        let (path, reading) = path;
        let normal = normalize(path);
        let text = normal.to_string_lossy();
        let root = match self.0.strip_prefix("~/") {
            Some(rest) => places.home.as_ref().map(|home| format!("{}/{rest}", home.display())),
            None if self.0.starts_with('/') => Some(self.0.clone()),
            None => Some(format!("{}/{}", places.workspace.display(), self.0)),
        };
        let Some(full) = root else { return false };
        let fits = |pattern: &str| paths_meet(pattern, (&text, reading));
        match decision {
            Decision::Allow => fits(&full),
            Decision::Ask | Decision::Deny => {
                // A bare name means that name anywhere, and a folder means what is in it.
                let bare = !self.0.contains('/');
                fits(&full)
                    || fits(&format!("{full}/**"))
                    || (bare
                        && (fits(&format!("**/{}", self.0)) || fits(&format!("**/{}/**", self.0))))
            }
        }
    }

    /// Whether `text` could be a part of a matching path: a quick look before the full one.
    pub(crate) fn could_be(&self, text: &str) -> bool {
        let literal = self.0.rsplit('/').find(|name| !name.contains(['*', '?']));
        match literal {
            Some(name) => text.contains(name) || text.contains(['*', '?', '[', '~']),
            None => true,
        }
    }

    /// The pattern as it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A pattern for hosts: a name, or `*.` and a name for all beneath it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPattern(String);

impl HostPattern {
    /// Reads a pattern.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let body = text.strip_prefix("*.").unwrap_or(&text);
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
        (text == "*" || (!body.is_empty() && body.chars().all(plain))).then_some(Self(text))
    }

    /// Whether a rule of this decision speaks of `host`, which may end in a port.
    pub(crate) fn matches(&self, host: &str, decision: Decision) -> bool {
        match decision {
            Decision::Allow => {
                let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
                if !host.chars().all(plain) {
                    return false;
                }
                let lower = host.to_ascii_lowercase();
                // Only the ports of the web belong to a host's bare name.
                let name = lower
                    .strip_suffix(":443")
                    .or_else(|| lower.strip_suffix(":80"))
                    .filter(|name| !name.ends_with(':') && !self.0.contains(':'))
                    .unwrap_or(&lower);
                self.0 == "*" || self.fits(name)
            }
            Decision::Ask | Decision::Deny => {
                let host = host.rsplit('@').next().unwrap_or(host);
                let lower = host.to_ascii_lowercase();
                let name = match lower.rsplit_once(':') {
                    Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
                    Some(_) | None => &lower,
                };
                let name = name.trim_end_matches('.');
                self.0 == "*"
                    || self.0 == lower
                    || self.fits(name)
                    || name.ends_with(&format!(".{}", self.0))
            }
        }
    }

    fn fits(&self, name: &str) -> bool {
        match self.0.strip_prefix("*.") {
            Some(domain) => {
                meet((&format!("*?.{domain}"), Reading::Rule), (name, Reading::Literal))
            }
            None => self.0 == name,
        }
    }

    /// The pattern as it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(pattern: &str, host: &str, decision: Decision) -> bool {
        HostPattern::parse(pattern).unwrap().matches(host, decision)
    }

    #[test]
    fn an_allowed_host_is_that_host_and_no_other_spelling() {
        assert!(host("docs.x.com", "docs.x.com", Decision::Allow));
        assert!(host("docs.x.com", "DOCS.x.com:443", Decision::Allow));
        for other in [
            "docs.x.com.evil.test",
            "docs.x.com@evil.test",
            "evil.test/docs.x.com",
            "docs.x.com:1",
            "docs.x.com.",
            "xn--docs-x.com",
            "a.docs.x.com",
            "docs.x.com%2e",
            "evil\0.docs.x.com",
        ] {
            assert!(!host("docs.x.com", other, Decision::Allow), "{other}");
        }
    }

    #[test]
    fn a_denied_host_takes_its_subdomains_and_spellings_along() {
        for other in ["x.com", "a.x.com", "X.COM.", "x.com:8080", "u@x.com"] {
            assert!(host("x.com", other, Decision::Deny), "{other}");
        }
        assert!(!host("x.com", "ax.com", Decision::Deny));
    }

    #[test]
    fn a_star_host_covers_what_is_beneath_it_only() {
        assert!(host("*.x.com", "a.b.x.com", Decision::Allow));
        assert!(!host("*.x.com", "x.com", Decision::Allow));
        assert!(!host("*.x.com", "x.com.evil", Decision::Allow));
    }
}
