//! Reads the sources of a role into its store: files that match globs, and pages.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use files::{bounded, path};
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};
use serde::Serialize;
use tokio::time::Instant;

use super::sources::{self, is_url};
use super::{DocumentStore, Stamp, text};
use crate::host::{Exchange, HttpClient};
use crate::html;

const MEGABYTE: u64 = 1 << 20;
const PAGE_BYTES: usize = 512_000;
const PAGE_TIMEOUT: Duration = Duration::from_secs(15);
/// The time between two requests to one host.
const HOST_INTERVAL: Duration = Duration::from_secs(1);
const MAX_REDIRECTS: usize = 5;

/// The sources that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// Changed files, and pages that are not in the store.
    Stale,
    /// Changed files and pages.
    Changed,
    All,
}

/// The means and rules of reading sources.
pub struct Ingestion<'a> {
    pub store: &'a DocumentStore,
    pub role_directory: &'a Path,
    pub requests: &'a dyn HttpClient,
    pub document_text: text::DocumentText<'a>,
    /// Says why a file may not be read.
    pub check_file: &'a (dyn Fn(&Path) -> Result<(), String> + Sync),
    /// Says why a host may not be connected to.
    pub check_host: &'a (dyn Fn(&str) -> Result<(), String> + Sync),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IngestReport {
    pub files: usize,
    pub urls: usize,
    pub chunks: usize,
    pub new: usize,
    pub updated: usize,
    pub skipped: usize,
    /// A source and what is wrong with it.
    pub errors: Vec<String>,
}

/// The text of a source; none if it has not changed.
type NewText = Option<(String, Stamp)>;

impl Ingestion<'_> {
    /// Stores the sources that are new or have changed, and removes files that are gone. Errors of
    /// single sources are in the report.
    pub async fn run(&self, refresh: Refresh) -> Result<IngestReport, String> {
        match self.store.check_model() {
            Err(_) if refresh == Refresh::All => self.store.start_over().await?,
            checked => checked?,
        }
        let directory = path::normalize(self.role_directory);
        let (urls, patterns): (Vec<&String>, Vec<&String>) =
            self.store.settings.sources.iter().partition(|source| is_url(source));
        let mut files = BTreeSet::new();
        for pattern in patterns {
            sources::find(pattern, &directory, &mut files)?;
        }
        let name = |file: &PathBuf| {
            file.strip_prefix(&directory).unwrap_or(file).to_string_lossy().into_owned()
        };
        let names: BTreeSet<String> = files.iter().map(name).collect();
        for source in self.store.sources()? {
            if !is_url(&source) && !names.contains(&source) {
                self.store.purge(&source)?;
            }
        }
        let mut report =
            IngestReport { files: files.len(), urls: urls.len(), ..IngestReport::default() };
        let mut total = 0;
        for file in &files {
            let name = name(file);
            let read = self.read_file(file, &name, &mut total, refresh).await;
            if read.is_err() {
                // A file that may not be read, or no longer can be, is not found by its old text.
                self.store.purge(&name)?;
            }
            self.put(&name, read, &mut report).await?;
        }
        let mut next_requests = HashMap::new();
        for url in urls {
            let before = self.store.stamp(url)?;
            let read = if refresh == Refresh::Stale && before.is_some() {
                Ok(None)
            } else {
                let before = before.filter(|_| refresh != Refresh::All);
                let page = self.page(url, &mut next_requests).await;
                let page = page.map(|text| (Stamp::of_page(&text), text));
                page.map(|(stamp, text)| (before != Some(stamp.clone())).then_some((text, stamp)))
            };
            self.put(url, read, &mut report).await?;
        }
        Ok(report)
    }

    async fn read_file(
        &self,
        file: &Path,
        name: &str,
        total: &mut u64,
        refresh: Refresh,
    ) -> Result<NewText, String> {
        let settings = &self.store.settings;
        (self.check_file)(file)?;
        let metadata = fs::metadata(file).map_err(|error| error.to_string())?;
        let limit = (settings.max_file_mb as u64).saturating_mul(MEGABYTE);
        if metadata.len() > limit {
            return Err(format!(
                "File size ({} MB) exceeds limit ({} MB)",
                metadata.len().div_ceil(MEGABYTE),
                settings.max_file_mb
            ));
        }
        *total += metadata.len();
        if *total > (settings.max_total_mb as u64).saturating_mul(MEGABYTE) {
            let limit = settings.max_total_mb;
            return Err(format!("Total ingest size would exceed limit ({limit} MB)"));
        }
        let modified = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        let last_modified =
            modified.and_then(|it| i64::try_from(it.as_nanos()).ok()).unwrap_or_default();
        let before = self.store.stamp(name)?.filter(|_| refresh != Refresh::All);
        if before.as_ref().is_some_and(|before| before.last_modified == last_modified) {
            return Ok(None);
        }
        let bytes = bounded::read(file, limit).map_err(|error| error.to_string())?;
        let bytes = bytes.ok_or("it has grown while it was read")?;
        let content_hash = text::hash(&bytes);
        if before.is_some_and(|before| before.content_hash == content_hash) {
            self.store.touch(name, last_modified)?;
            return Ok(None);
        }
        let text = text::of_file(file, bytes, self.document_text).await?;
        Ok(Some((text, Stamp { content_hash, last_modified })))
    }

    /// Stores a new text, and notes the result. Fails if the store or the embeddings do.
    async fn put(
        &self,
        source: &str,
        read: Result<NewText, String>,
        report: &mut IngestReport,
    ) -> Result<(), String> {
        match read {
            Ok(Some((text, stamp))) => {
                let is_known = self.store.stamp(source)?.is_some();
                let count = self.store.put(source, &text, &stamp).await?;
                match count {
                    0 => report.errors.push(format!("{source}: No chunks extracted")),
                    _ if is_known => report.updated += 1,
                    _ => report.new += 1,
                }
                report.chunks += count;
            }
            Ok(None) => report.skipped += 1,
            Err(what) => report.errors.push(format!("{source}: {what}")),
        }
        Ok(())
    }

    /// Fetches a page as Markdown. Every host on the way is checked.
    async fn page(
        &self,
        source: &str,
        next_requests: &mut HashMap<String, Instant>,
    ) -> Result<String, String> {
        let mut url = Url::parse(source).map_err(|error| error.to_string())?;
        for _ in 0..=MAX_REDIRECTS {
            let host = url.host_str().unwrap_or_default().to_owned();
            (self.check_host)(&host)?;
            if let Some(time) = next_requests.get(&host) {
                tokio::time::sleep_until(*time).await;
            }
            next_requests.insert(host, Instant::now() + HOST_INTERVAL);
            let exchange = Exchange {
                method: Method::GET,
                url: url.clone(),
                headers: HeaderMap::new(),
                body: None,
                limit: PAGE_BYTES,
                timeout: PAGE_TIMEOUT,
            };
            let reply = self.requests.exchange(exchange).await?;
            if (300..400).contains(&reply.status) && !reply.location.is_empty() {
                url = url.join(&reply.location).map_err(|error| error.to_string())?;
                continue;
            }
            if !(200..300).contains(&reply.status) {
                return Err(format!("HTTP {}", reply.status));
            }
            let is_html = reply.content_type.contains("html") || html::looks_like(&reply.text);
            return Ok(if is_html { html::markdown(&reply.text, Some(&url)) } else { reply.text });
        }
        Err(format!("it was redirected more than {MAX_REDIRECTS} times"))
    }
}

impl IngestReport {
    /// The result in words, with a line for each error.
    pub fn summary(&self) -> String {
        if self.files + self.urls == 0 {
            return String::from("No files or URLs matched source patterns.");
        }
        let Self { chunks, new, updated, skipped, errors, .. } = self;
        let counts = format!(
            "Done. {chunks} chunks stored. New: {new} | Updated: {updated} | Skipped: {skipped} | \
             Errors: {}",
            errors.len()
        );
        let errors = errors.iter().map(|error| format!("\n  {error}"));
        std::iter::once(counts).chain(errors).collect()
    }
}
