//! The key of a provider, and where it is looked for.

use contract::secret::Secret;
use serde_json::Value;

use crate::catalog::{Vendor, Wire};

#[derive(Clone, Debug)]
pub enum Key {
    NotNeeded,
    /// The place is a variable, a file, or a text in the configuration.
    Found {
        place: String,
        value: Secret<String>,
    },
    Missing {
        variable: String,
    },
    Broken {
        problem: String,
    },
}

/// The configuration of a provider's key.
#[derive(Clone, Copy, Default)]
pub struct KeySettings<'a> {
    pub credentials_file: Option<&'a str>,
    /// The variable, if it is not the vendor's.
    pub variable: Option<&'a str>,
    /// True if the address is not the vendor's.
    pub has_own_address: bool,
}

impl Key {
    /// Looks for the key of a vendor. `known` gives the place and the value for a variable.
    pub fn find(
        vendor: &Vendor,
        settings: KeySettings<'_>,
        known: impl FnOnce(&str) -> Option<(String, Secret<String>)>,
    ) -> Self {
        if let Some(path) = settings.credentials_file {
            return match in_file(path) {
                Ok(value) => Self::Found { place: path.to_owned(), value: Secret::new(value) },
                Err(problem) => Self::Broken { problem },
            };
        }
        let own = settings.variable;
        let Some(variable) = own.or(vendor.key_env.as_deref()) else { return Self::NotNeeded };
        match known(variable) {
            Some((place, value)) => Self::Found { place, value },
            // A self-hosted server may need no key.
            None if own.is_none() && (settings.has_own_address || vendor.local) => Self::NotNeeded,
            None => Self::Missing { variable: variable.to_owned() },
        }
    }

    pub fn value(&self) -> Option<&Secret<String>> {
        match self {
            Self::Found { value, .. } => Some(value),
            Self::NotNeeded | Self::Missing { .. } | Self::Broken { .. } => None,
        }
    }

    /// The value for requests of a provider; none if none is needed.
    ///
    /// # Errors
    ///
    /// The problem with a hint, if it is missing or broken.
    pub fn used(
        &self,
        vendor: &Vendor,
        name: &str,
    ) -> Result<Option<Secret<String>>, (String, Option<String>)> {
        match self {
            Self::NotNeeded | Self::Found { .. } => Ok(self.value().cloned()),
            Self::Missing { variable } => {
                let label = if name == vendor.name { &vendor.label } else { name };
                let text = format!("{label} API key required. Set `{variable}`");
                let hint = "stores it; `brynhild api providers` shows what was found";
                Err((text, Some(format!("`brynhild login {name}` {hint}"))))
            }
            Self::Broken { problem } => Err((format!("{name}: {problem}"), None)),
        }
    }

    /// The reason for choosing a provider by its key alone; none if that is not enough.
    pub fn reason(&self, is_configured: bool) -> Option<String> {
        match self {
            Self::Found { place, .. } => Some(format!("{place} holds its key")),
            Self::NotNeeded if is_configured => {
                Some("it is the first configured instance".to_owned())
            }
            Self::NotNeeded | Self::Missing { .. } | Self::Broken { .. } => None,
        }
    }

    /// Returns true if the provider can be asked, and the reason. `answers` says if a local server
    /// does at its address.
    pub fn state(&self, vendor: &Vendor, address: &str, answers: bool) -> (bool, String) {
        match self {
            Self::Found { place, .. } => (true, format!("key found in {place}")),
            Self::Missing { variable } => (false, format!("{variable} is not set")),
            Self::Broken { problem } => (false, problem.clone()),
            Self::NotNeeded if vendor.wire == Wire::Script => {
                (true, "plays a scenario file".to_owned())
            }
            Self::NotNeeded if answers => (true, format!("answers at {address}")),
            Self::NotNeeded if vendor.local => (false, format!("no answer at {address}")),
            Self::NotNeeded => (true, "needs no key".to_owned()),
        }
    }

    /// Returns true if it was found, or none is needed.
    pub fn is_usable(&self) -> bool {
        matches!(self, Self::Found { .. } | Self::NotNeeded)
    }
}

/// The key in a credentials file.
///
/// # Errors
///
/// If the file cannot be read or has none.
pub fn in_file(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read the credentials file {path}: {error}"))?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| format!("the credentials file {path} is not valid JSON: {error}"))?;
    let key = value.get("api_key").and_then(Value::as_str);
    key.map(str::to_owned)
        .ok_or_else(|| format!("the credentials file {path} has no text under `api_key`"))
}
