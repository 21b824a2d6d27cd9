//! The text of documents in binary formats, and tables in CSV files. Reads bytes alone: no file, no network.

mod office;
mod pdf;
pub mod table;

/// The text of a document, by the extension of its file. None if the format is not known; an error is
/// for the user.
pub fn text(extension: &str, bytes: &[u8]) -> Option<Result<String, String>> {
    match extension {
        "docx" => Some(office::document(bytes)),
        "pdf" => Some(pdf::text(bytes)),
        "xlsx" => Some(office::workbook(bytes)),
        _ => None,
    }
}
