//! Images that a model can look at: PNG, JPEG, GIF and WebP.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::tool::{Display, ToolOutput};
use serde_json::json;

use crate::files;

/// The largest image in bytes: 5 MB in base64, the lowest limit of the large vendors.
const MAX_IMAGE: u64 = 3_750_000;

/// Checks a file that the user names as an image.
pub fn check(path: &Path) -> Result<(), String> {
    let given = path.display().to_string();
    let mut file = files::open(path, &given)?;
    read(&mut file, &given)?.map(|_| ()).ok_or_else(|| {
        format!("{given} is not a PNG, JPEG, GIF or WebP image; convert it to one of these first")
    })
}

/// The image in a file; none if its first bytes are those of something else.
pub(crate) fn read(file: &mut File, given: &str) -> Result<Option<ToolOutput>, String> {
    let explain = |error: std::io::Error| files::explain(given, "read", &error);
    let mut start = Vec::new();
    file.by_ref().take(12).read_to_end(&mut start).map_err(explain)?;
    file.rewind().map_err(explain)?;
    let Some(media_type) = media_type(&start) else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(MAX_IMAGE + 1).read_to_end(&mut bytes).map_err(explain)?;
    if bytes.len() as u64 > MAX_IMAGE {
        return Err(format!(
            "Image too large: {given} has more than 3.75 MB; make it smaller first"
        ));
    }
    let name = Path::new(given)
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let text = format!("[image {name}: {media_type}, {} bytes]", bytes.len());
    let display =
        Display::Image { media_type: media_type.to_owned(), data: STANDARD.encode(bytes) };
    let facts = [("image".to_owned(), json!(name))].into();
    Ok(Some(ToolOutput { facts, display: Some(display), ..ToolOutput::success(text) }))
}

fn media_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_is_known_by_its_first_bytes() {
        assert_eq!(media_type(b"\x89PNG\r\n\x1a\n"), Some("image/png"));
        assert_eq!(media_type(b"RIFF\0\0\0\0WEBP"), Some("image/webp"));
        assert_eq!(media_type(b"RIFF\0\0\0\0WAVE"), None);
        assert_eq!(media_type(b""), None);
    }

    #[test]
    fn large_image_is_refused_with_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("big.png");
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        bytes.resize(usize::try_from(MAX_IMAGE).unwrap() + 1, 0);
        std::fs::write(&path, bytes).unwrap();
        assert!(check(&path).unwrap_err().contains("more than 3.75 MB"));
        std::fs::write(&path, "text").unwrap();
        assert!(check(&path).unwrap_err().contains("is not a PNG, JPEG, GIF or WebP image"));
    }
}
