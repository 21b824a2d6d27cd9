//! The documents of a role: chunks of files and pages in a store, searched by BM25.

mod chunks;
mod ingestion;
mod office;
mod sources;
mod text;

use globset::GlobBuilder;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::role::IngestSettings;
use crate::store::{self, Store, StoreHome};

pub use ingestion::{IngestReport, Ingestion, Refresh};

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY, text TEXT NOT NULL, source TEXT NOT NULL, chunk_index INTEGER NOT NULL,
    ingested_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS chunks_by_source ON chunks (source);
CREATE TABLE IF NOT EXISTS file_metadata (
    source TEXT PRIMARY KEY, content_hash TEXT NOT NULL, last_modified INTEGER NOT NULL,
    ingested_at TEXT NOT NULL, chunk_count INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS chunk_words USING fts5(text, tokenize = 'porter unicode61');
CREATE TRIGGER IF NOT EXISTS chunk_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunk_words (rowid, text) VALUES (new.id, new.text); END;
CREATE TRIGGER IF NOT EXISTS chunk_removed AFTER DELETE ON chunks BEGIN
    DELETE FROM chunk_words WHERE rowid = old.id; END;
";

pub(crate) struct Chunk {
    pub(crate) source: String,
    pub(crate) text: String,
}

/// The state of a source when it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    content_hash: String,
    /// Nanoseconds since 1970; 0 for a page.
    last_modified: i64,
}

/// The documents of one agent.
pub struct DocumentStore {
    store: Store,
    settings: IngestSettings,
}

impl DocumentStore {
    pub fn open(settings: &IngestSettings, agent: &str, home: &StoreHome) -> Result<Self, String> {
        let path = home.path("stores", agent, settings.store_path.as_deref())?;
        Ok(Self { store: Store::open(&path, SCHEMA)?, settings: settings.clone() })
    }

    pub(crate) fn is_empty(&self) -> Result<bool, String> {
        self.store.with(|connection| {
            connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM chunks)", [], |row| row.get(0))
        })
    }

    /// The chunks that match a query best, with scores from 0 to 1. `source` is a name or a glob.
    pub(crate) fn search(
        &self,
        query: &str,
        source: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(Chunk, f64)>, String> {
        let Some(query) = store::full_text_query(query) else { return Ok(Vec::new()) };
        let glob = source.map(|source| GlobBuilder::new(source).build()).transpose();
        let glob = glob.map_err(|error| format!("Error: source is no glob: {error}"))?;
        let glob = glob.map(|glob| glob.compile_matcher());
        let is_wanted = |name: &str| {
            source == Some(name) || glob.as_ref().is_none_or(|glob| glob.is_match(name))
        };
        let sql = "SELECT c.source, c.text, bm25(chunk_words) AS score FROM chunk_words \
                   JOIN chunks c ON c.id = chunk_words.rowid WHERE chunk_words MATCH ?1 \
                   ORDER BY score, c.id";
        let hits = self.store.with(|connection| {
            let mut statement = connection.prepare(sql)?;
            let hit = |row: &Row<'_>| {
                Ok((Chunk { source: row.get(0)?, text: row.get(1)? }, row.get::<_, f64>(2)?))
            };
            let hits = statement.query_map(params![query], hit)?;
            let wanted = hits.filter(|hit| !matches!(hit, Ok((it, _)) if !is_wanted(&it.source)));
            wanted.take(limit).collect()
        });
        Ok(store::scaled(hits?))
    }

    /// Replaces the chunks of a source by those of a text. Returns how many there are.
    fn put(&self, source: &str, text: &str, stamp: &Stamp) -> Result<usize, String> {
        let chunks = self.settings.chunks(text);
        let now = store::now();
        self.store.with(|connection| {
            remove(connection, source)?;
            let sql =
                "INSERT INTO chunks (text, source, chunk_index, ingested_at) VALUES (?, ?, ?, ?)";
            let mut statement = connection.prepare(sql)?;
            for (chunk, index) in chunks.iter().zip(0_i64..) {
                statement.execute(params![chunk, source, index, now])?;
            }
            let count = i64::try_from(chunks.len()).unwrap_or(i64::MAX);
            let sql = "INSERT INTO file_metadata VALUES (?, ?, ?, ?, ?)";
            let Stamp { content_hash, last_modified } = stamp;
            connection.execute(sql, params![source, content_hash, last_modified, now, count])?;
            Ok(chunks.len())
        })
    }

    fn stamp(&self, source: &str) -> Result<Option<Stamp>, String> {
        let sql = "SELECT content_hash, last_modified FROM file_metadata WHERE source = ?";
        let stamp =
            |row: &Row<'_>| Ok(Stamp { content_hash: row.get(0)?, last_modified: row.get(1)? });
        self.store.with(|connection| connection.query_row(sql, [source], stamp).optional())
    }

    fn touch(&self, source: &str, last_modified: i64) -> Result<(), String> {
        let sql = "UPDATE file_metadata SET last_modified = ?2 WHERE source = ?1";
        self.store.with(|it| it.execute(sql, params![source, last_modified]).map(drop))
    }

    fn sources(&self) -> Result<Vec<String>, String> {
        self.store.with(|connection| {
            let mut statement = connection.prepare("SELECT source FROM file_metadata")?;
            statement.query_map([], |row| row.get(0))?.collect()
        })
    }

    fn purge(&self, source: &str) -> Result<(), String> {
        self.store.with(|connection| remove(connection, source))
    }
}

fn remove(connection: &Connection, source: &str) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM chunks WHERE source = ?", [source])?;
    connection.execute("DELETE FROM file_metadata WHERE source = ?", [source]).map(drop)
}
