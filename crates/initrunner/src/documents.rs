//! The documents of a role: chunks of files and pages in a store, searched by BM25, and by vectors if
//! a model makes those.

mod chunks;
mod ingestion;
mod sources;
mod text;

use std::collections::HashMap;
use std::sync::Arc;

use globset::GlobBuilder;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::embeddings::{self, Embedder};
use crate::role::{IngestSettings, SearchStrategy};
use crate::store::{self, Store, StoreHome};

pub use ingestion::{IngestReport, Ingestion, Refresh};
pub use text::DocumentText;

/// Hits of each kind that a hybrid search merges.
const FUSED: usize = 50;
/// The constant of reciprocal rank fusion: the higher, the less the first ranks matter.
const RANK_CONSTANT: f64 = 60.0;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY, text TEXT NOT NULL, source TEXT NOT NULL, chunk_index INTEGER NOT NULL,
    ingested_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS chunks_by_source ON chunks (source);
CREATE TABLE IF NOT EXISTS file_metadata (
    source TEXT PRIMARY KEY, content_hash TEXT NOT NULL, last_modified INTEGER NOT NULL,
    ingested_at TEXT NOT NULL, chunk_count INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS chunk_words USING fts5(text, tokenize = 'porter unicode61');
CREATE TABLE IF NOT EXISTS chunk_vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS vector_model (name TEXT NOT NULL);
CREATE TRIGGER IF NOT EXISTS chunk_vector_removed AFTER DELETE ON chunks BEGIN
    DELETE FROM chunk_vectors WHERE id = old.id; END;
CREATE TRIGGER IF NOT EXISTS chunk_added AFTER INSERT ON chunks BEGIN
    INSERT INTO chunk_words (rowid, text) VALUES (new.id, new.text); END;
CREATE TRIGGER IF NOT EXISTS chunk_removed AFTER DELETE ON chunks BEGIN
    DELETE FROM chunk_words WHERE rowid = old.id; END;
";

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chunk {
    id: i64,
    pub(crate) source: String,
    pub(crate) text: String,
}

impl Chunk {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { id: row.get(0)?, source: row.get(1)?, text: row.get(2)? })
    }
}

pub(crate) struct Query {
    pub(crate) words: String,
    /// A name or a glob.
    pub(crate) source: Option<String>,
    /// The strategy instead of that of the role.
    pub(crate) strategy: Option<SearchStrategy>,
    pub(crate) limit: usize,
}

/// The state of a source when it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    content_hash: String,
    /// Nanoseconds since 1970; 0 for a page.
    last_modified: i64,
}

impl Stamp {
    fn of_page(text: &str) -> Self {
        Self { content_hash: text::hash(text.as_bytes()), last_modified: 0 }
    }
}

/// The place of an agent's documents, which are opened when they are used.
#[derive(Clone)]
pub struct DocumentPlace {
    pub settings: IngestSettings,
    pub agent: String,
    pub home: StoreHome,
    /// None if search is by words alone.
    pub embedder: Option<Arc<Embedder>>,
}

impl DocumentPlace {
    pub fn open(self) -> Result<DocumentStore, String> {
        let path = self.home.path("stores", &self.agent, self.settings.store_path.as_deref())?;
        let Self { settings, embedder, .. } = self;
        Ok(DocumentStore { store: Store::open(&path, SCHEMA)?, settings, embedder })
    }
}

/// The documents of one agent.
pub struct DocumentStore {
    store: Store,
    settings: IngestSettings,
    embedder: Option<Arc<Embedder>>,
}

impl DocumentStore {
    pub(crate) fn is_empty(&self) -> Result<bool, String> {
        self.store.with(|connection| {
            connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM chunks)", [], |row| row.get(0))
        })
    }

    /// Fails if the vectors in the store are not those of the role's model.
    fn check_model(&self) -> Result<(), String> {
        let Some(embedder) = &self.embedder else { return Ok(()) };
        let sql = "SELECT name FROM vector_model";
        let stored: Option<String> =
            self.store.with(|it| it.query_row(sql, [], |row| row.get(0)).optional())?;
        if stored.as_ref() == Some(&embedder.model) || stored.is_none() && self.is_empty()? {
            return Ok(());
        }
        Err(format!(
            "the documents have vectors of {}, and the role names {}. Run 'brynhild ingest \
             --force'.",
            stored.as_deref().unwrap_or("no model"),
            embedder.model
        ))
    }

    /// The vector of a query; none if search is by words alone.
    pub(crate) async fn vector(&self, query: &Query) -> Result<Option<Vec<f32>>, String> {
        let Some(embedder) = &self.embedder else { return Ok(None) };
        self.check_model()?;
        Ok(embedder.embed(std::slice::from_ref(&query.words)).await?.pop())
    }

    /// The chunks that match a query best, with scores from 0 to 1.
    pub(crate) fn search(
        &self,
        query: &Query,
        vector: Option<&[f32]>,
    ) -> Result<Vec<(Chunk, f64)>, String> {
        let source = query.source.as_deref();
        let glob = source.map(|source| GlobBuilder::new(source).build()).transpose();
        let glob = glob.map_err(|error| format!("Error: source is not a glob: {error}"))?;
        let glob = glob.map(|glob| glob.compile_matcher());
        let is_wanted = |chunk: &Chunk| {
            source == Some(chunk.source.as_str())
                || glob.as_ref().is_none_or(|glob| glob.is_match(&chunk.source))
        };
        let Some(vector) = vector else {
            return self.by_words(&query.words, query.limit, &is_wanted);
        };
        let mut hits = self.by_vector(vector, &is_wanted)?;
        if query.strategy.unwrap_or(self.settings.search) == SearchStrategy::Hybrid {
            let words = self.by_words(&query.words, FUSED, &is_wanted)?;
            hits.truncate(FUSED);
            hits = fused(&[hits, words]);
        }
        hits.truncate(query.limit);
        Ok(hits)
    }

    fn by_words(
        &self,
        words: &str,
        limit: usize,
        is_wanted: &dyn Fn(&Chunk) -> bool,
    ) -> Result<Vec<(Chunk, f64)>, String> {
        let Some(words) = store::full_text_query(words) else { return Ok(Vec::new()) };
        let sql = "SELECT c.id, c.source, c.text, bm25(chunk_words) AS score FROM chunk_words \
                   JOIN chunks c ON c.id = chunk_words.rowid WHERE chunk_words MATCH ?1 \
                   ORDER BY score, c.id";
        let hits = self.store.with(|connection| {
            let mut statement = connection.prepare(sql)?;
            let hit = |row: &Row<'_>| Ok((Chunk::from_row(row)?, row.get::<_, f64>(3)?));
            let hits = statement.query_map(params![words], hit)?;
            let wanted = hits.filter(|hit| !matches!(hit, Ok((chunk, _)) if !is_wanted(chunk)));
            wanted.take(limit).collect()
        });
        Ok(store::scaled(hits?))
    }

    /// All chunks with vectors, the nearest first.
    fn by_vector(
        &self,
        vector: &[f32],
        is_wanted: &dyn Fn(&Chunk) -> bool,
    ) -> Result<Vec<(Chunk, f64)>, String> {
        let sql =
            "SELECT c.id, c.source, c.text, v.vector FROM chunks c JOIN chunk_vectors v USING (id)";
        let chunks: Vec<(Chunk, Vec<u8>)> = self.store.with(|connection| {
            let mut statement = connection.prepare(sql)?;
            let chunk = |row: &Row<'_>| Ok((Chunk::from_row(row)?, row.get(3)?));
            statement.query_map([], chunk)?.collect()
        })?;
        let chunks = chunks.into_iter().filter(|(chunk, _)| is_wanted(chunk));
        let hits = chunks.filter_map(|(chunk, bytes)| {
            Some((chunk, embeddings::cosine(vector, &embeddings::from_bytes(&bytes))?))
        });
        let mut hits: Vec<(Chunk, f64)> = hits.collect();
        hits.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        Ok(hits)
    }

    /// Replaces the chunks of a source by those of a text. Returns how many there are.
    async fn put(&self, source: &str, text: &str, stamp: &Stamp) -> Result<usize, String> {
        let chunks = self.settings.chunks(text);
        let vectors = match &self.embedder {
            Some(embedder) => embedder.embed(&chunks).await?,
            None => Vec::new(),
        };
        let now = store::now();
        self.store.with(|connection| {
            remove(connection, source)?;
            // Without vectors for all chunks the store has no model.
            connection.execute("DELETE FROM vector_model", [])?;
            if let Some(embedder) = &self.embedder {
                connection.execute("INSERT INTO vector_model VALUES (?)", [&embedder.model])?;
            }
            let sql =
                "INSERT INTO chunks (text, source, chunk_index, ingested_at) VALUES (?, ?, ?, ?)";
            let mut statement = connection.prepare(sql)?;
            for (index, chunk) in chunks.iter().enumerate() {
                let number = i64::try_from(index).unwrap_or(i64::MAX);
                let id = statement.insert(params![chunk, source, number, now])?;
                if let Some(vector) = vectors.get(index) {
                    let sql = "INSERT INTO chunk_vectors VALUES (?, ?)";
                    connection.execute(sql, params![id, embeddings::to_bytes(vector)])?;
                }
            }
            let count = i64::try_from(chunks.len()).unwrap_or(i64::MAX);
            let sql = "INSERT INTO file_metadata VALUES (?, ?, ?, ?, ?)";
            let Stamp { content_hash, last_modified } = stamp;
            connection.execute(sql, params![source, content_hash, last_modified, now, count])?;
            Ok(chunks.len())
        })
    }

    /// Stores a page. Returns how many chunks it has.
    pub(crate) async fn put_page(&self, url: &str, text: &str) -> Result<usize, String> {
        self.check_model()?;
        self.put(url, text, &Stamp::of_page(text)).await
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

    /// Removes everything for vectors of another model. One that does not answer costs nothing.
    async fn start_over(&self) -> Result<(), String> {
        if let Some(embedder) = &self.embedder {
            embedder.embed(&[String::from("test")]).await?;
        }
        let sql = "DELETE FROM chunks; DELETE FROM file_metadata; DELETE FROM vector_model;";
        self.store.with(|connection| connection.execute_batch(sql))
    }
}

fn remove(connection: &Connection, source: &str) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM chunks WHERE source = ?", [source])?;
    connection.execute("DELETE FROM file_metadata WHERE source = ?", [source]).map(drop)
}

/// Merges lists of hits by their ranks. The best hit has the score 1.
fn fused(lists: &[Vec<(Chunk, f64)>]) -> Vec<(Chunk, f64)> {
    let mut sums: HashMap<i64, (Chunk, f64)> = HashMap::new();
    for list in lists {
        let ranks = std::iter::successors(Some(RANK_CONSTANT), |rank| Some(rank + 1.0));
        for ((chunk, _), rank) in list.iter().zip(ranks) {
            sums.entry(chunk.id).or_insert_with(|| (chunk.clone(), 0.0)).1 += 1.0 / rank;
        }
    }
    let mut hits: Vec<(Chunk, f64)> = sums.into_values().collect();
    hits.sort_by(|(one, a), (other, b)| b.total_cmp(a).then(one.id.cmp(&other.id)));
    let best = hits.first().map_or(1.0, |(_, score)| *score);
    hits.into_iter().map(|(chunk, score)| (chunk, score / best)).collect()
}
