//! Names of things, each a type of its own so that one cannot stand in for another.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names a session: 1 to 100 ASCII letters, digits, `_` or `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct SessionId(String);

/// A string that cannot name a session.
#[derive(Debug, thiserror::Error)]
#[error("Invalid session ID: '{0}'. Use 1 to 100 letters, digits, `_` or `-`")]
pub struct InvalidSessionId(pub String);

impl SessionId {
    /// Checks `text` and makes it a session's name.
    pub fn parse(text: &str) -> Result<Self, InvalidSessionId> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if (1..=100).contains(&text.len()) && text.chars().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSessionId(text.to_owned()))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The start of the id of a call that was recovered from a model's text.
const RECOVERED: &str = "recovered-";

/// Names one tool call within a session. The loop makes it unique where a model does not.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct CallId(pub String);

impl CallId {
    /// The id of a call that was recovered from a model's text.
    pub fn recovered(name: fmt::Arguments<'_>) -> Self {
        Self(format!("{RECOVERED}{name}"))
    }

    /// Returns true for a call that was recovered from a model's text.
    pub fn is_recovered(&self) -> bool {
        self.0.starts_with(RECOVERED)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The position of an event in its session's log, counted from 1 without gaps.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The position after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A moment in time, written as RFC 3339 in UTC.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Timestamp(#[schemars(with = "String")] pub jiff::Timestamp);

impl Timestamp {
    /// The moment this is called, to the microsecond.
    pub fn now() -> Self {
        let now = jiff::Timestamp::now();
        Self(jiff::Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_are_validated_when_created_and_read() {
        assert!(SessionId::parse("session-20261115-000000").is_ok());
        for bad in ["", "a/b", "../x", "a b", &"x".repeat(101)] {
            assert!(SessionId::parse(bad).is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<SessionId>("\"../x\"").is_err());
    }
}
