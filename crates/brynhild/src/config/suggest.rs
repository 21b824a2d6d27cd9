//! What somebody who made a typing error probably meant.

use super::schema::{Kind, ROOT, Section};

/// The candidate that looks most like `word`, if one does.
pub(crate) fn closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_lowercase();
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The full path of a key with this very name in another section.
pub(crate) fn elsewhere(name: &str) -> Option<String> {
    ROOT.keys.iter().find_map(|key| match &key.kind {
        Kind::Section(section) if section.key(name).is_some() => {
            Some(format!("{}.{name}", key.name))
        }
        _ => None,
    })
}

/// The known names of a section.
pub(crate) fn names(section: &'static Section) -> impl Iterator<Item = &'static str> {
    section.keys.iter().map(|key| key.name)
}

/// Insertions, deletions, substitutions and swaps of neighbors between two words.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut best =
                (rows[i][j] + usize::from(a != b)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_the_word_that_was_meant() {
        let words = ["max_tokens", "mode", "verbose"];
        assert_eq!(closest("max_token", words), Some("max_tokens"));
        assert_eq!(closest("vebrose", words), Some("verbose"));
        assert_eq!(closest("MODE", words), Some("mode"));
        assert_eq!(closest("color", words), None);
    }

    #[test]
    fn a_key_in_the_wrong_section_is_found_in_the_right_one() {
        assert_eq!(elsewhere("max_tokens").as_deref(), Some("behavior.max_tokens"));
        assert_eq!(elsewhere("nothing"), None);
    }
}
