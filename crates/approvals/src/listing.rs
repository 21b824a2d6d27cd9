//! Lists of permission rules for people and programs.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::remembered::Remembered;

/// A rule that applies, and where it comes from.
pub struct ListedRule {
    pub decision: &'static str,
    pub rule: String,
    pub origin: Origin,
}

pub enum Origin {
    Configured,
    Remembered { tool: String, project: Option<PathBuf> },
    Session,
}

impl ListedRule {
    /// Lists configured rules by their decision, remembered ones, and those of the session.
    pub fn all(
        configured: [(&'static str, &[Value]); 3],
        remembered: Vec<Remembered>,
        session: &[String],
    ) -> Vec<Self> {
        let configured = configured.into_iter().flat_map(|(decision, rules)| {
            rules.iter().map(move |rule| {
                let rule = rule.as_str().map_or_else(|| rule.to_string(), str::to_owned);
                Self { decision, rule, origin: Origin::Configured }
            })
        });
        let allow = |rule, origin| Self { decision: "allow", rule, origin };
        let remembered =
            remembered.into_iter().map(|Remembered { rule, tool, project, .. }| {
                allow(rule, Origin::Remembered { tool, project })
            });
        let session = session.iter().map(|rule| allow(rule.clone(), Origin::Session));
        configured.chain(remembered).chain(session).collect()
    }

    /// One line of text.
    pub fn line(&self) -> String {
        let origin = match &self.origin {
            Origin::Configured => "configured".to_owned(),
            Origin::Remembered { project: Some(project), .. } => {
                format!("remembered for {}", project.display())
            }
            Origin::Remembered { project: None, .. } => "remembered for every project".to_owned(),
            Origin::Session => "this session".to_owned(),
        };
        format!("{} {} ({origin})\n", self.decision, self.rule)
    }

    /// The decision, with the tool of a remembered rule.
    pub fn subject(&self) -> String {
        match &self.origin {
            Origin::Remembered { tool, .. } => format!("{} {tool}", self.decision),
            Origin::Configured | Origin::Session => self.decision.to_owned(),
        }
    }

    /// Where it applies.
    pub fn place(&self) -> String {
        match &self.origin {
            Origin::Configured => "configured".to_owned(),
            Origin::Remembered { project: Some(project), .. } => project.display().to_string(),
            Origin::Remembered { project: None, .. } => "everywhere".to_owned(),
            Origin::Session => "this session".to_owned(),
        }
    }

    /// Returns true if the user can revoke it.
    pub fn is_revocable(&self) -> bool {
        !matches!(self.origin, Origin::Configured)
    }
}

/// Remembered rules with their numbers, for programs.
pub fn data(all: &[Remembered]) -> Vec<Value> {
    let object = |(number, entry): (usize, &Remembered)| {
        json!({
            "number": number,
            "rule": entry.rule,
            "tool": entry.tool,
            "source": entry.source,
            "project": entry.project.as_ref().map(|path| path.display().to_string()),
            "at": entry.at,
        })
    };
    (1..).zip(all).map(object).collect()
}

/// The number, text, scope and day of remembered rules.
pub fn rows(all: &[Remembered]) -> impl Iterator<Item = [String; 4]> {
    (1..).zip(all).map(|(number, entry): (usize, &Remembered)| {
        let day = entry.at.to_string().chars().take(10).collect();
        [number.to_string(), entry.rule.clone(), entry.scope(), day]
    })
}
