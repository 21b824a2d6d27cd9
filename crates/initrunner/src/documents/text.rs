//! The text of files, by their type.

use std::path::Path;

use futures::future::BoxFuture;
use sha2::{Digest, Sha256};

use crate::html;

/// The text of a document, by the extension of its file; none if the format is not known. An error
/// is for the user.
pub type DocumentText<'a> =
    &'a (dyn Fn(String, Vec<u8>) -> BoxFuture<'a, Option<Result<String, String>>> + Sync);

/// The text of a file. An error is for the user.
pub(super) async fn of_file(
    path: &Path,
    bytes: Vec<u8>,
    document_text: DocumentText<'_>,
) -> Result<String, String> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if extension.is_empty() {
        return Err(String::from("Unsupported file type: the name has no extension"));
    }
    if ["html", "htm"].contains(&extension.as_str()) {
        let page = String::from_utf8(bytes).map_err(|_| "this is not UTF-8 text".to_owned())?;
        return Ok(html::markdown(page.trim_start_matches('\u{feff}'), None));
    }
    let text = document_text(extension.clone(), bytes).await;
    text.unwrap_or_else(|| Err(format!("Unsupported file type: .{extension}")))
}

pub(super) fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
