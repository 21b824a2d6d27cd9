//! The text of PDF files, page by page. Scanned pages have none.

use lopdf::Document;

/// The text of the pages, with blank lines between them.
pub(super) fn text(bytes: &[u8]) -> Result<String, String> {
    let document =
        Document::load_mem(bytes).map_err(|error| format!("could not open PDF: {error}"))?;
    if document.is_encrypted() {
        return Err(String::from("could not open PDF: it needs a password"));
    }
    let page = |number: &u32| {
        let text = document.extract_text(&[*number]);
        let text = text.map_err(|error| format!("extraction failed on page {number}: {error}"));
        text.map(|text| text.trim().to_owned())
    };
    let pages = document.get_pages().keys().map(page).collect::<Result<Vec<_>, _>>()?;
    Ok(pages.into_iter().filter(|page| !page.is_empty()).collect::<Vec<_>>().join("\n\n"))
}
