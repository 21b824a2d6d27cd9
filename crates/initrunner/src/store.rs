//! The SQLite databases of a role below InitRunner's home directory: their paths, their opening, and
//! full-text search by BM25.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use files::{path, private};
use rusqlite::Connection;

const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Words of a query that are searched for.
const MAX_QUERY_WORDS: usize = 64;

/// The directory of a role's databases, and the rule on paths outside of it.
#[derive(Clone, Debug)]
pub struct StoreHome {
    pub directory: PathBuf,
    /// False if a role may name a database anywhere (`restrict_db_paths: false`).
    pub is_restricted: bool,
}

impl StoreHome {
    /// The path of a database: `named` from this directory, otherwise `KIND/AGENT.db` in it.
    pub(crate) fn path(
        &self,
        kind: &str,
        agent: &str,
        named: Option<&str>,
    ) -> Result<PathBuf, String> {
        let usual = || format!("{kind}/{agent}.db");
        let named = named.map_or_else(usual, str::to_owned);
        let path = path::normalize(&self.directory.join(&named));
        if self.is_restricted && !path.starts_with(path::normalize(&self.directory)) {
            return Err(format!(
                "Store path '{named}' is outside ~/.initrunner/. Set \
                 security.tools.restrict_db_paths=false to override."
            ));
        }
        Ok(path)
    }
}

/// An open database. Calls block and run one after the other.
pub(crate) struct Store(Mutex<Connection>);

impl Store {
    /// Opens a database, or creates it for its owner alone.
    pub(crate) fn open(path: &Path, schema: &str) -> Result<Self, String> {
        let failed = |what: String| format!("cannot open the store {}: {what}", path.display());
        path.parent()
            .map_or(Ok(()), private::make_directory)
            .map_err(|it| failed(it.to_string()))?;
        private::append(path).map_err(|error| failed(error.to_string()))?;
        let connection = Connection::open(path).and_then(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.execute_batch(schema)?;
            Ok(connection)
        });
        Ok(Self(Mutex::new(connection.map_err(|error| failed(error.to_string()))?)))
    }

    /// Runs one piece of work in a transaction.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, String> {
        let mut connection = self.lock();
        let done = connection.transaction().and_then(|transaction| {
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        });
        done.map_err(|error| format!("Error: the store failed: {error}"))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A query of FTS5 that finds rows with any of the words of a text; none if it has no words.
pub(crate) fn full_text_query(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.take(MAX_QUERY_WORDS).map(|it| format!("\"{it}\"")).collect();
    (!words.is_empty()).then(|| words.join(" OR "))
}

/// Scales BM25 values, of which SQLite makes the best the lowest, to scores of which the best is 1.
pub(crate) fn scaled<T>(hits: Vec<(T, f64)>) -> Vec<(T, f64)> {
    let best = hits.iter().map(|(_, value)| *value).fold(0.0, f64::min);
    let score = |value: f64| if best < 0.0 { (value / best).clamp(0.0, 1.0) } else { 1.0 };
    hits.into_iter().map(|(hit, value)| (hit, score(value))).collect()
}

/// The time in UTC, as the stores have it.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_paths_stay_below_home_if_restricted() {
        let mut home = StoreHome { directory: "/h".into(), is_restricted: true };
        assert_eq!(home.path("memory", "a", None).unwrap(), Path::new("/h/memory/a.db"));
        assert_eq!(home.path("memory", "a", Some("x/y.db")).unwrap(), Path::new("/h/x/y.db"));
        for named in ["/etc/a.db", "../a.db", "x/../../a.db"] {
            let said = home.path("memory", "a", Some(named)).unwrap_err();
            let start = format!("Store path '{named}' is outside ~/.initrunner/. Set security.");
            assert!(said.starts_with(&start), "{said}");
        }
        home.is_restricted = false;
        assert_eq!(home.path("memory", "a", Some("/x/a.db")).unwrap(), Path::new("/x/a.db"));
    }

    #[test]
    fn query_words_are_quoted() {
        assert_eq!(
            full_text_query("a-b \"c* NOT").as_deref(),
            Some("\"a\" OR \"b\" OR \"c\" OR \"NOT\"")
        );
        assert_eq!(full_text_query(" ?! "), None);
    }

    #[test]
    fn scores_are_relative_to_the_best() {
        assert_eq!(scaled(vec![("a", -4.0), ("b", -1.0)]), [("a", 1.0), ("b", 0.25)]);
        assert_eq!(scaled(vec![("a", 0.0)]), [("a", 1.0)]);
    }
}
