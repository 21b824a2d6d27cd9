//! How many rows a text may come to, without laying it out: for telling how far one is through a
//! conversation of which little was looked at.

/// Rows of Markdown, about.
pub(super) fn of_prose(text: &str, width: usize) -> usize {
    let width = width.max(1);
    let (mut rows, mut paragraph) = (0, 0);
    let mut is_code = false;
    for line in text.lines() {
        let inner = line.trim_start();
        let is_fence = inner.starts_with("```") || inner.starts_with("~~~");
        let stands_alone = is_code || inner.starts_with(['|', '-', '*', '+', '#', '>']);
        if is_fence || inner.is_empty() || stands_alone {
            rows += paragraph_rows(&mut paragraph, width);
            // A fence and a gap are a row each.
            rows += line.len().div_ceil(width).max(1);
            is_code ^= is_fence;
        } else {
            paragraph += line.len() + 1;
        }
    }
    rows + paragraph_rows(&mut paragraph, width)
}

/// Rows of lines that are not joined, about.
pub(super) fn of_lines(text: &str, width: usize) -> usize {
    text.lines().map(|line| line.len().div_ceil(width.max(1)).max(1)).sum()
}

fn paragraph_rows(bytes: &mut usize, width: usize) -> usize {
    /// Columns that stay free at the end of a row: half a word.
    const FREE: usize = 3;
    std::mem::take(bytes).div_ceil(width.saturating_sub(FREE).max(1))
}
