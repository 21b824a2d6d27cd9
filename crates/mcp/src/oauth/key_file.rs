//! The private files of keys, one for each address.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use files::lock::Lock;
use files::private::{self, Durability};
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use serde::{Deserialize, Serialize};

/// The pause between two attempts to lock.
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// How long another process may take to renew a key.
const LOCK_TIMEOUT: Duration = Duration::from_mins(1);

/// The keys of the user: one file for each address.
#[derive(Clone, Debug)]
pub struct Credentials {
    directory: PathBuf,
}

impl Credentials {
    /// Keys in a directory.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    fn path(&self, url: &str) -> PathBuf {
        self.directory.join(format!("{}.json", &blake3::hash(url.as_bytes()).to_hex()[..24]))
    }

    /// Returns true if there is a key for an address.
    pub fn has(&self, url: &str) -> bool {
        self.path(url).exists()
    }

    /// Deletes the key for an address. Returns true if there was one.
    pub fn forget(&self, url: &str) -> std::io::Result<bool> {
        match fs::remove_file(self.path(url)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Notes scopes that a server wants beyond those it granted, for the next sign-in.
    pub(crate) fn note_wanted_scopes(&self, url: &str, scopes: &str) -> Result<(), AuthError> {
        let file = self.key_file(url, None);
        let Some(mut key) = file.read()? else { return Ok(()) };
        for scope in scopes.split_whitespace() {
            if !key.wanted_scopes.iter().any(|known| known == scope) {
                key.wanted_scopes.push(scope.to_owned());
            }
        }
        file.write(&key)
    }

    /// The scopes that were granted, and those that a server wants beyond them.
    pub(super) fn scopes(&self, url: &str) -> Result<(Vec<String>, Vec<String>), AuthError> {
        let stored = self.key_file(url, None).read()?;
        Ok(stored.map(|it| (it.key.granted_scopes, it.wanted_scopes)).unwrap_or_default())
    }

    /// The file of the key for an address, with the secret of a client that is signing in.
    pub(super) fn key_file(&self, url: &str, secret: Option<String>) -> KeyFile {
        KeyFile { path: self.path(url), secret }
    }
}

/// The content of a key file.
#[derive(Serialize, Deserialize)]
struct StoredKey {
    #[serde(flatten)]
    key: StoredCredentials,
    /// The secret of the client that the key was given to; it renews the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    /// Scopes that were wanted since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    wanted_scopes: Vec<String>,
}

pub(super) struct KeyFile {
    path: PathBuf,
    secret: Option<String>,
}

impl KeyFile {
    /// The client that the key was given to, if it has a secret.
    pub(super) fn client(&self) -> Result<Option<(String, String)>, AuthError> {
        let stored = self.read()?;
        Ok(stored.and_then(|it| Some((it.key.client_id, it.client_secret?))))
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> AuthError {
        AuthError::CredentialStoreError(format!("{}: {error}", self.path.display()))
    }

    fn read(&self) -> Result<Option<StoredKey>, AuthError> {
        let bytes = private::read(&self.path).map_err(|error| self.failed(&error))?;
        let key = bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose();
        key.map_err(|error| self.failed(&error))
    }

    fn write(&self, key: &StoredKey) -> Result<(), AuthError> {
        let write = || {
            let _lock = private::lock(&self.path)?;
            private::replace(&self.path, &serde_json::to_vec(key)?, Durability::Synced)
        };
        write().map_err(|error: std::io::Error| self.failed(&error))
    }
}

#[async_trait]
impl CredentialStore for KeyFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.read()?.map(|stored| stored.key))
    }

    async fn save(&self, key: StoredCredentials) -> Result<(), AuthError> {
        let before = self.read().ok().flatten();
        // A renewed key is that of the client which had it before.
        let same = before.filter(|before| before.key.client_id == key.client_id);
        let client_secret = self.secret.clone().or_else(|| same?.client_secret);
        self.write(&StoredKey { key, client_secret, wanted_scopes: Vec::new() })
    }

    /// Lets one process at a time renew a key: many servers revoke a key that is renewed twice.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let lock =
            tokio::time::timeout(LOCK_TIMEOUT, lock(&self.path.with_extension("lock"))).await;
        let lock = lock.map_err(|_| self.failed(&"another process renews it for too long"))?;
        Ok(Some(CredentialRefreshGuard::new(lock.map_err(|error| self.failed(&error))?)))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        private::remove(&self.path).map_err(|error| self.failed(&error))
    }
}

/// Waits for a lock. A wait on another thread could not be cancelled.
async fn lock(path: &Path) -> std::io::Result<Lock> {
    path.parent().map_or(Ok(()), private::make_directory)?;
    loop {
        match Lock::try_take(path)? {
            Some(lock) => return Ok(lock),
            None => tokio::time::sleep(LOCK_PAUSE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(client: &str) -> StoredCredentials {
        StoredCredentials::new(client.to_owned(), None, vec!["read".to_owned()], None)
    }

    #[tokio::test]
    async fn renewed_key_keeps_the_secret_of_its_client_alone() {
        let directory = tempfile::tempdir().unwrap();
        let credentials = Credentials::new(directory.path().join("keys"));
        let url = "https://h.example/mcp";
        let signing = credentials.key_file(url, Some("hush".to_owned()));
        signing.save(key("one")).await.unwrap();
        let later = credentials.key_file(url, None);
        later.save(key("one")).await.unwrap();
        assert_eq!(later.client().unwrap(), Some(("one".to_owned(), "hush".to_owned())));
        later.save(key("two")).await.unwrap();
        assert_eq!(later.client().unwrap(), None);
    }

    #[tokio::test]
    async fn key_is_renewed_by_one_process_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let credentials = Credentials::new(directory.path().join("keys"));
        let [one, other] = [(); 2].map(|()| credentials.key_file("https://h.example/mcp", None));
        let first = one.acquire_refresh_guard().await.unwrap();
        assert!(first.is_some());
        let mut second = other.acquire_refresh_guard();
        assert!(futures::poll!(&mut second).is_pending());
        drop(first);
        assert!(second.await.unwrap().is_some());
    }

    #[tokio::test]
    async fn requested_scopes_are_stored_until_the_next_key() {
        let directory = tempfile::tempdir().unwrap();
        let credentials = Credentials::new(directory.path().to_owned());
        let url = "https://h.example/mcp";
        credentials.note_wanted_scopes(url, "write").unwrap();
        assert!(!credentials.has(url), "nobody signed in");
        let keeper = credentials.key_file(url, None);
        keeper.save(key("one")).await.unwrap();
        credentials.note_wanted_scopes(url, "write admin").unwrap();
        credentials.note_wanted_scopes(url, "write").unwrap();
        let read = vec!["read".to_owned()];
        let wanted = vec!["write".to_owned(), "admin".to_owned()];
        assert_eq!(credentials.scopes(url).unwrap(), (read.clone(), wanted));
        keeper.save(key("one")).await.unwrap();
        assert_eq!(credentials.scopes(url).unwrap(), (read, Vec::new()));
    }
}
