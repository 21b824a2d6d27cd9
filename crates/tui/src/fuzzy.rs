//! Finding by letters in order: `mrs` finds `main.rs`. Beginnings of words, letters in a row and
//! ends of paths count for more.

use std::cmp::Reverse;

/// How well a text is found, and where its letters are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// More is better.
    pub(crate) score: i64,
    /// The characters that matched, counted from 0.
    pub(crate) places: Vec<usize>,
}

/// Letters to look for, in any case unless there are capital ones among them.
struct Query {
    letters: Vec<char>,
    /// The same where all of them are plain ones: most names are, and looked through far faster.
    bytes: Option<Vec<u8>>,
    is_exact: bool,
}

impl Query {
    fn new(query: &str) -> Self {
        let is_exact = query.chars().any(char::is_uppercase);
        let letters: Vec<char> =
            query.chars().filter(|c| !c.is_whitespace()).map(|c| folded(c, is_exact)).collect();
        let bytes = letters.iter().map(|c| u8::try_from(*c).ok().filter(u8::is_ascii)).collect();
        Self { letters, bytes, is_exact }
    }

    /// How well a text is found.
    fn score(&self, text: &str) -> Option<i64> {
        match &self.bytes {
            Some(wanted) if text.is_ascii() => self.score_bytes(wanted, text.as_bytes()),
            _ => self.find(text).map(|found| found.score),
        }
    }

    /// The same as for other letters, without a list of anything: from the end on, each letter is
    /// placed as late as it can be.
    fn score_bytes(&self, wanted: &[u8], text: &[u8]) -> Option<i64> {
        let fold = |byte: u8| if self.is_exact { byte } else { byte.to_ascii_lowercase() };
        let (mut score, mut from) = (0, text.len());
        let mut next = usize::MAX;
        for letter in wanted.iter().rev() {
            let at = text[..from].iter().rposition(|byte| fold(*byte) == *letter)?;
            let begins = at.checked_sub(1).is_none_or(|before| {
                let before = text[before];
                !before.is_ascii_alphanumeric()
                    || (before.is_ascii_lowercase() && text[at].is_ascii_uppercase())
            });
            score += if begins { 8 } else { 1 } + if at + 1 == next { 6 } else { 0 };
            (next, from) = (at, at);
        }
        let name = text.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        Some(total(score, !wanted.is_empty() && next >= name, text.len()))
    }

    /// How well a text is found, and where.
    fn find(&self, text: &str) -> Option<Match> {
        let letters: Vec<char> = text.chars().collect();
        let mut places = Vec::with_capacity(self.letters.len());
        let mut from = letters.len();
        for letter in self.letters.iter().rev() {
            let is_it = |it: &char| folded(*it, self.is_exact) == *letter;
            let at = letters[..from].iter().rposition(is_it)?;
            places.push(at);
            from = at;
        }
        places.reverse();
        let score = score(&places, &letters);
        Some(Match { score, places })
    }
}

fn folded(letter: char, is_exact: bool) -> char {
    if is_exact { letter } else { letter.to_lowercase().next().unwrap_or(letter) }
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
    total(score, places.first().is_some_and(|first| *first >= name), letters.len())
}

/// What is found in the name of a file, and in a short text, counts for more.
fn total(score: i64, is_in_name: bool, length: usize) -> i64 {
    let score = if is_in_name { score + 10 } else { score };
    score * 16 - i64::try_from(length).unwrap_or(i64::MAX / 32)
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
    let query = Query::new(query);
    let scored = |(at, text): (usize, &'a str)| Some((Reverse(query.score(text)?), at, text));
    let mut found: Vec<(Reverse<i64>, usize, &str)> =
        texts.enumerate().filter_map(scored).collect();
    if found.len() > most {
        found.select_nth_unstable(most);
        found.truncate(most);
    }
    found.sort_unstable();
    found.into_iter().filter_map(|(_, at, text)| Some((at, query.find(text)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order<'a>(query: &str, texts: &[&'a str]) -> Vec<&'a str> {
        best(query, texts.iter().copied(), 9).iter().map(|(at, _)| texts[*at]).collect()
    }

    #[test]
    fn names_of_files_come_before_their_directories() {
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
        assert_eq!(Query::new("ab").find("xaxab").unwrap().places, [3, 4]);
        assert_eq!(Query::new("é").find("aÉ").unwrap().places, [1]);
    }

    #[test]
    fn plain_letters_count_as_they_do_among_others() {
        let texts = ["src/main.rs", "Main.rs", "a/b/mainRs", "m", "", "src/mAin/x.rs", "ma_in rs"];
        for query in ["m", "mrs", "main", "Main", "R", "a/b", "s r", "zz"] {
            let query = Query::new(query);
            for text in texts {
                assert_eq!(query.score(text), query.find(text).map(|it| it.score), "{text}");
            }
        }
    }

    #[test]
    fn of_very_many_the_best_are_given_in_order() {
        let names: Vec<String> = (0..5000).map(|number| format!("d/{number}-file.txt")).collect();
        let found = best("99f", names.iter().map(String::as_str), 3);
        let names: Vec<&str> = found.iter().map(|(at, _)| names[*at].as_str()).collect();
        assert_eq!(names, ["d/99-file.txt", "d/990-file.txt", "d/991-file.txt"]);
    }
}
