//! Finding by letters in order: `mrs` finds `main.rs`. Beginnings of words, letters in a row and
//! ends of paths count for more.

/// How well a text is found, and where its letters are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// More is better.
    pub(crate) score: i64,
    /// The characters that matched, counted from 0.
    pub(crate) places: Vec<usize>,
}

/// Looks for the letters of `query` in `text`, in any case unless the query has capital ones.
pub(crate) fn find(query: &str, text: &str) -> Option<Match> {
    let exact = query.chars().any(char::is_uppercase);
    let fold = |c: char| if exact { c } else { c.to_lowercase().next().unwrap_or(c) };
    let wanted: Vec<char> = query.chars().filter(|c| !c.is_whitespace()).map(fold).collect();
    // Most texts are none of it, which is seen fastest by their bytes.
    let mut bytes = text.bytes().map(|byte| if exact { byte } else { byte.to_ascii_lowercase() });
    let is_there = |c: &char| !c.is_ascii() || bytes.any(|byte| char::from(byte) == *c);
    if text.is_ascii() && !wanted.iter().all(is_there) {
        return None;
    }
    let letters: Vec<char> = text.chars().collect();
    // The last way to place the letters ends earliest; going back from there is the tightest.
    let mut next = 0;
    let mut end = None;
    for (at, letter) in letters.iter().enumerate() {
        if next < wanted.len() && fold(*letter) == wanted[next] {
            next += 1;
            end = Some(at);
        }
    }
    if next < wanted.len() {
        return None;
    }
    let mut places = Vec::with_capacity(wanted.len());
    let mut from = end.map_or(0, |_| letters.len());
    for letter in wanted.iter().rev() {
        let at = letters[..from].iter().rposition(|it| fold(*it) == *letter)?;
        places.push(at);
        from = at;
    }
    places.reverse();
    let score = score(&places, &letters);
    Some(Match { score, places })
}

fn score(places: &[usize], letters: &[char]) -> i64 {
    let mut score = 0;
    let mut last = None;
    for &at in places {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let begins = match before {
            None => true,
            Some(before) => {
                !before.is_alphanumeric() || (before.is_lowercase() && letters[at].is_uppercase())
            }
        };
        score += if begins { 8 } else { 1 };
        if last.is_some_and(|last: usize| last + 1 == at) {
            score += 6;
        }
        last = Some(at);
    }
    let name = letters.iter().rposition(|c| *c == '/').map_or(0, |at| at + 1);
    if places.first().is_some_and(|first| *first >= name) {
        score += 10;
    }
    score * 16 - i64::try_from(letters.len()).unwrap_or(i64::MAX / 32)
}

/// The best of many, with where they stand among them; all in order where nothing is looked for.
pub(crate) fn best<'a>(
    query: &str,
    texts: impl Iterator<Item = &'a str>,
    most: usize,
) -> Vec<(usize, Match)> {
    if query.trim().is_empty() {
        let none = Match { score: 0, places: Vec::new() };
        return texts.take(most).enumerate().map(|(at, _)| (at, none.clone())).collect();
    }
    let mut found: Vec<(usize, Match)> = texts
        .enumerate()
        .filter_map(|(at, text)| find(query, text).map(|found| (at, found)))
        .collect();
    found.sort_by_key(|(at, found)| (-found.score, *at));
    found.truncate(most);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order<'a>(query: &str, texts: &[&'a str]) -> Vec<&'a str> {
        best(query, texts.iter().copied(), 9).iter().map(|(at, _)| texts[*at]).collect()
    }

    #[test]
    fn names_of_files_come_before_their_folders() {
        let files = ["main/other.txt", "src/main.rs", "docs/domain.md", "x.rs"];
        assert_eq!(order("main", &files)[0], "src/main.rs");
        assert_eq!(order("mrs", &files), ["src/main.rs"]);
        assert_eq!(order("zzz", &files), [""; 0]);
        assert_eq!(order("", &files), files);
    }

    #[test]
    fn capital_letters_count_where_they_are_typed() {
        assert_eq!(order("R", &["readme", "README"]), ["README"]);
        assert_eq!(order("r", &["readme", "README"]).len(), 2);
    }

    #[test]
    fn the_places_are_those_of_the_letters() {
        assert_eq!(find("ab", "xaxab").unwrap().places, [3, 4]);
        assert_eq!(find("é", "aÉ").unwrap().places, [1]);
    }
}
