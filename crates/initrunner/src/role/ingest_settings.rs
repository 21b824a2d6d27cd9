//! The key `ingest` of a role.

use std::path::PathBuf;

use globset::Glob;
use serde_json::{Map, Value};

use super::Fields;

#[rustfmt::skip]
const KEYS: &[&str] = &[
    "auto", "sources", "watch", "chunking", "embeddings", "retriever", "store_backend", "store_path",
];

/// The key `ingest` of a role.
#[derive(Clone, Debug, PartialEq)]
pub struct IngestSettings {
    /// True if changed files are read before each run.
    pub is_automatic: bool,
    pub(crate) sources: Vec<String>,
    pub(crate) strategy: ChunkStrategy,
    pub(crate) chunk_size: usize,
    pub(crate) chunk_overlap: usize,
    pub(crate) store_path: Option<String>,
    /// The directory that sources are relative to; that of the role if none is set.
    pub directory: Option<PathBuf>,
    pub embeddings: Option<EmbeddingSettings>,
    pub(crate) search: SearchStrategy,
    pub(crate) max_file_mb: usize,
    pub(crate) max_total_mb: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingSettings {
    pub provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key_env: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkStrategy {
    Fixed,
    Paragraph,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchStrategy {
    Vector,
    /// By vectors and by words, merged by rank.
    Hybrid,
}

impl SearchStrategy {
    pub(crate) fn parse(name: &str) -> Result<Self, &'static str> {
        match name {
            "vector" => Ok(Self::Vector),
            "hybrid" | "hybrid_rerank" => Ok(Self::Hybrid),
            _ => Err("it is none of `vector`, `hybrid` and `hybrid_rerank`"),
        }
    }
}

impl IngestSettings {
    /// Reads the key; the limits of file sizes are in `security.resources`.
    pub(crate) fn read(
        value: Option<&Value>,
        security: Option<&Value>,
        fields: &mut Fields,
    ) -> Option<Self> {
        let ingest = fields.mapping(value, "ingest")?;
        fields.warn_unknown(ingest, "ingest", KEYS);
        let empty = Map::new();
        let chunking = fields.mapping(ingest.get("chunking"), "ingest.chunking").unwrap_or(&empty);
        let known = ["strategy", "chunk_size", "chunk_overlap"];
        fields.warn_unknown(chunking, "ingest.chunking", &known);
        let strategy = match fields.text(chunking, "strategy", "ingest.chunking.").as_deref() {
            None | Some("fixed") => ChunkStrategy::Fixed,
            Some("paragraph") => ChunkStrategy::Paragraph,
            Some(_) => {
                fields.error("ingest.chunking.strategy", "it is neither `fixed` nor `paragraph`");
                ChunkStrategy::Fixed
            }
        };
        let chunk_size = fields.size(chunking, "ingest.chunking.chunk_size").unwrap_or(512);
        let overlap = fields.count(chunking, "ingest.chunking.chunk_overlap", (0, u64::MAX));
        let chunk_overlap = overlap.map_or(50, |it| usize::try_from(it).unwrap_or(usize::MAX));
        if chunk_overlap >= chunk_size {
            let what = format!(
                "chunk_overlap ({chunk_overlap}) must be less than chunk_size ({chunk_size})"
            );
            fields.error("ingest.chunking", what);
        }
        let retriever = fields.mapping(ingest.get("retriever"), "ingest.retriever");
        let retriever = retriever.unwrap_or(&empty);
        let known = ["strategy", "rrf_k", "reranker_model"];
        fields.warn_unknown(retriever, "ingest.retriever", &known);
        let search = fields.text(retriever, "strategy", "ingest.retriever.");
        let search = SearchStrategy::parse(search.as_deref().unwrap_or("vector"));
        let search = search.unwrap_or_else(|what| {
            fields.error("ingest.retriever.strategy", what);
            SearchStrategy::Vector
        });
        let sources = fields.texts(ingest, "ingest.sources");
        for source in sources.iter().filter(|source| !source.contains("://")) {
            if let Err(error) = Glob::new(source) {
                fields
                    .error("ingest.sources", format!("{source:?} is not a glob: {}", error.kind()));
            }
        }
        let resources = security.and_then(|security| security.get("resources"));
        let resources = fields.mapping(resources, "security.resources").unwrap_or(&empty);
        let mut limit = |key: &str, usual| {
            fields.size(resources, &format!("security.resources.{key}")).unwrap_or(usual)
        };
        Some(Self {
            max_file_mb: limit("max_file_size_mb", 50),
            max_total_mb: limit("max_total_ingest_mb", 500),
            is_automatic: fields.flag(ingest, "ingest.auto", true),
            sources,
            strategy,
            chunk_size,
            chunk_overlap,
            store_path: fields.text(ingest, "store_path", "ingest."),
            directory: None,
            embeddings: EmbeddingSettings::read(ingest, "ingest.embeddings", fields),
            search,
        })
    }
}

impl EmbeddingSettings {
    /// Reads the key `embeddings` of a mapping, whose path is given.
    pub(super) fn read(from: &Map<String, Value>, path: &str, fields: &mut Fields) -> Option<Self> {
        let from = fields.mapping(from.get("embeddings"), path)?;
        let keys = ["provider", "model", "base_url", "api_key_env"];
        fields.warn_unknown(from, path, &keys);
        let above = format!("{path}.");
        let text = |key| fields.text(from, key, &above).filter(|it| !it.is_empty());
        let [provider, model, base_url, api_key_env] = keys.map(text);
        Some(Self { provider, model, base_url, api_key_env })
    }
}
