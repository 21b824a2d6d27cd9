//! Lists of words, written as one text with blanks between them.

/// Returns true if `list`, words between spaces, has the word.
pub(crate) fn listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}
