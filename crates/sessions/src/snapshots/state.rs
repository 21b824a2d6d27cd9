//! The state of a path at one moment, and the record of its changes.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use contract::event::Change as Kind;
use contract::id::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of some bytes: their hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Hash(pub(super) [u8; 32]);

impl Hash {
    /// The name of `bytes`.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Reads what `Debug` writes.
    pub(super) fn from_hex(digits: &[u8]) -> Option<Self> {
        Some(Self(*blake3::Hash::from_hex(digits).ok()?.as_bytes()))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(text.as_bytes()).ok_or_else(|| serde::de::Error::custom("not a hash"))
    }
}

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum State {
    /// Nothing.
    Absent,
    /// A file whose bytes are saved.
    File { hash: Hash, size: u64, mode: u32 },
    /// A symbolic link.
    Link { target: Name },
    /// A directory; what is in it has states of its own.
    Directory { mode: u32 },
    /// A path that is not saved. `mark` differs if it has changed.
    Unsaved { why: SkipReason, size: u64, mark: u64 },
}

impl State {
    /// The reason why it cannot be restored, if there is one.
    pub(super) fn unsaved(&self) -> Option<SkipReason> {
        match self {
            Self::Unsaved { why, .. } => Some(*why),
            Self::Absent | Self::File { .. } | Self::Link { .. } | Self::Directory { .. } => None,
        }
    }

    /// The bytes it needs.
    pub(super) fn hash(&self) -> Option<Hash> {
        match self {
            Self::File { hash, .. } => Some(*hash),
            Self::Absent | Self::Link { .. } | Self::Directory { .. } | Self::Unsaved { .. } => {
                None
            }
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }
}

/// The reason why a path is not saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SkipReason {
    /// The file is larger than the limit for one.
    TooLarge,
    /// All files together are larger than the limit.
    NoRoom,
    /// It cannot be read.
    Unreadable,
    /// It is a pipe, a socket or a device.
    Special,
    /// It is a directory that cannot be read.
    Closed,
    /// It is a directory that a build or a package manager makes again.
    Regenerable,
    /// It is the object database of a git repository.
    GitObjects,
    /// It is the configuration of a git repository.
    GitConfig,
}

impl SkipReason {
    /// All reasons, by their numbers in the tree cache.
    pub(super) const ALL: [Self; 8] = [
        Self::TooLarge,
        Self::NoRoom,
        Self::Unreadable,
        Self::Special,
        Self::Closed,
        Self::Regenerable,
        Self::GitObjects,
        Self::GitConfig,
    ];
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "it was too large to save",
            Self::NoRoom => "there was no room to save it",
            Self::Unreadable => "it could not be read",
            Self::Special => "it is a pipe, a socket or a device",
            Self::Closed => "the directory could not be read",
            Self::Regenerable => "undo does not cover it: a build or package manager recreates it",
            Self::GitObjects => "the commits were removed and cannot be restored",
            Self::GitConfig => "undo does not cover git's configuration",
        })
    }
}

/// A name in a file system, which need not be text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Name {
    /// It is text.
    Text(String),
    /// It is not.
    Bytes(Vec<u8>),
}

impl Name {
    pub(super) fn of(name: &OsStr) -> Self {
        match name.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(name.as_bytes().to_owned()),
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes(bytes) => PathBuf::from(std::ffi::OsString::from_vec(bytes.clone())),
        }
    }
}

/// The change of one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    /// The path, absolute.
    path: Name,
    pub(super) before: State,
    pub(super) after: State,
}

impl Change {
    /// A change of `path`.
    pub(super) fn new(path: &Path, before: State, after: State) -> Self {
        Self { path: Name::of(path.as_os_str()), before, after }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.path.path()
    }

    pub(super) fn kind(&self) -> Kind {
        match (&self.before, &self.after) {
            (State::Absent, _) => Kind::Created,
            (_, State::Absent) => Kind::Deleted,
            _ => Kind::Modified,
        }
    }

    /// Returns true if it is about a directory alone, which users rarely want to read of.
    pub(super) fn is_about_directory(&self) -> bool {
        let is_directory = |state: &State| matches!(state, State::Directory { .. } | State::Absent);
        is_directory(&self.before) && is_directory(&self.after)
    }
}

/// Changes that belong together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// When they were found.
    pub(super) at: Timestamp,
    /// Another program may have made some of them while this one was not running.
    #[serde(default)]
    pub(super) is_uncertain: bool,
    /// The changes, one for each path.
    pub(super) changes: Vec<Change>,
}

impl Record {
    /// Changes that were certainly made by the calls of the session.
    pub(super) fn certain(changes: Vec<Change>) -> Self {
        Self { at: Timestamp::now(), is_uncertain: false, changes }
    }

    /// Changes that another program may have made.
    pub(super) fn uncertain(changes: Vec<Change>) -> Self {
        Self { is_uncertain: true, ..Self::certain(changes) }
    }
}
