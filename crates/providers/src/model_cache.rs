//! The cached list of a provider's models.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use contract::provider::Model;
use files::private;

use crate::learning::Keep;

pub struct ModelCache(Option<PathBuf>);

impl ModelCache {
    /// The cache of a provider at an address; without a directory, nothing is cached.
    pub fn new(directory: Option<PathBuf>, name: &str, address: &str) -> Self {
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let place: String = format!("{name} {address}").chars().map(safe).collect();
        Self(directory.map(|dir| dir.join(format!("models-{place}.json"))))
    }

    /// A list that is not older than `ttl`.
    pub fn kept(&self, ttl: Duration) -> Option<Vec<Model>> {
        let modified = fs::metadata(self.0.as_ref()?).ok()?.modified().ok()?;
        let age = SystemTime::now().duration_since(modified).ok()?;
        self.last().filter(|_| age <= ttl)
    }

    /// A list of any age.
    pub fn last(&self) -> Option<Vec<Model>> {
        serde_json::from_str(&fs::read_to_string(self.0.as_ref()?).ok()?).ok()
    }

    pub fn keeper(self) -> Keep {
        Arc::new(move |models| {
            let Some(path) = &self.0 else { return };
            if let (Ok(text), Ok(_lock)) = (serde_json::to_vec(models), private::lock(path)) {
                // On failure the next run only takes longer.
                let _ = private::replace(path, &text, private::Durability::Synced);
            }
        })
    }
}
