//! API keys that the user stored, in a file that only the user may read. A system keyring is not
//! used: it needs a desktop session, and may ask for a password at every start.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use contract::secret::Secret;
use files::private::{self, Durability};
use serde_json::{Map, Value, json};

use crate::user_files;

/// A problem with the file of keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyStoreError {
    /// The file cannot be read or written.
    #[error("cannot use the stored keys in {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file has other content.
    #[error("{} must be a JSON object of keys", .0.display())]
    Malformed(PathBuf),
    /// The text cannot be a key.
    #[error("a key is one word of visible ASCII characters")]
    Key,
}

/// The stored keys, by the environment variable that each stands for.
#[derive(Clone, Debug)]
pub struct KeyStore {
    path: PathBuf,
}

impl KeyStore {
    /// The store in a configuration directory.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self { path: directory.join(user_files::CREDENTIALS) }
    }

    /// The file of keys.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all keys.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is malformed.
    pub fn read(&self) -> Result<BTreeMap<String, Secret<String>>, KeyStoreError> {
        let bytes = private::read(&self.path).map_err(|error| self.failed(error))?;
        let Some(bytes) = bytes else { return Ok(BTreeMap::new()) };
        let malformed = || KeyStoreError::Malformed(self.path.clone());
        let keys: BTreeMap<String, String> =
            serde_json::from_slice(&bytes).map_err(|_| malformed())?;
        Ok(keys.into_iter().map(|(name, key)| (name, Secret::new(key))).collect())
    }

    /// Stores a key in place of an earlier one of that name.
    ///
    /// # Errors
    ///
    /// If the text cannot be a key, or the file cannot be used.
    pub fn store(&self, name: &str, key: &Secret<String>) -> Result<(), KeyStoreError> {
        let key = key.expose().trim();
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_graphic()) {
            return Err(KeyStoreError::Key);
        }
        let _lock = private::lock(&self.path).map_err(|error| self.failed(error))?;
        let mut keys = self.read()?;
        keys.insert(name.to_owned(), Secret::new(key.to_owned()));
        self.write(&keys)
    }

    /// Removes a key. Returns false if there is none of that name.
    ///
    /// # Errors
    ///
    /// If the file cannot be used.
    pub fn remove(&self, name: &str) -> Result<bool, KeyStoreError> {
        let _lock = private::lock(&self.path).map_err(|error| self.failed(error))?;
        let mut keys = self.read()?;
        let is_removed = keys.remove(name).is_some();
        if is_removed {
            self.write(&keys)?;
        }
        Ok(is_removed)
    }

    fn write(&self, keys: &BTreeMap<String, Secret<String>>) -> Result<(), KeyStoreError> {
        if keys.is_empty() {
            return private::remove(&self.path).map_err(|error| self.failed(error));
        }
        let object: Map<String, Value> =
            keys.iter().map(|(name, key)| (name.clone(), json!(key.expose()))).collect();
        let object = Value::from(object);
        let text = format!("{object:#}\n");
        private::replace(&self.path, text.as_bytes(), Durability::Synced)
            .map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> KeyStoreError {
        KeyStoreError::File { path: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn key_is_stored_privately_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let store = KeyStore::new(directory.path());
        assert!(store.read().unwrap().is_empty());
        store.store("A_KEY", &Secret::new(" one \n".to_owned())).unwrap();
        store.store("B_KEY", &Secret::new("two".to_owned())).unwrap();
        assert_eq!(store.read().unwrap()["A_KEY"].expose(), "one");
        let mode = store.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(store.remove("A_KEY").unwrap() && !store.remove("A_KEY").unwrap());
        assert!(store.remove("B_KEY").unwrap() && !store.path().exists());
    }

    #[test]
    fn malformed_keys_and_files_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        let store = KeyStore::new(directory.path());
        for text in ["", " ", "two words", "kéy"] {
            let refused = store.store("A_KEY", &Secret::new(text.to_owned()));
            assert!(matches!(refused, Err(KeyStoreError::Key)), "{text}");
        }
        std::fs::write(store.path(), "[1]").unwrap();
        assert!(matches!(store.read(), Err(KeyStoreError::Malformed(_))));
    }
}
