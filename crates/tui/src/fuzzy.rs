//! Finding by letters in order: `mrs` finds `main.rs`. Beginnings of words, letters in a row and
//! ends of paths count for more.

use std::cmp::Reverse;

/// The quality of a match, and where its letters are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) score: i64,
    pub(crate) places: Vec<usize>,
}

/// Letters to look for, in any case unless there are capital ones among them.
struct Query {
    letters: Vec<char>,
    is_exact: bool,
}

impl Query {
    fn new(query: &str) -> Self {
        let is_exact = query.chars().any(char::is_uppercase);
        let letters = query.chars().filter(|c| !c.is_whitespace());
        Self { letters: letters.map(|c| folded(c, is_exact)).collect(), is_exact }
    }

    fn find(&self, text: &str) -> Option<Match> {
        let mut places = Vec::with_capacity(self.letters.len());
        let score = self.score(text, |at| places.push(at))?;
        places.reverse();
        Some(Match { score, places })
    }

    /// Scores a text. Visits the letters that match, the last first.
    fn score(&self, text: &str, visit: impl FnMut(usize)) -> Option<i64> {
        // Most names are plain, and many are looked through: no list is made of them.
        if text.is_ascii() {
            let bytes = text.as_bytes();
            return self.scan(bytes.len(), |at| char::from(bytes[at]), visit);
        }
        let letters: Vec<char> = text.chars().collect();
        self.scan(letters.len(), |at| letters[at], visit)
    }

    /// Scores so many letters. Each letter of the query is placed as late as it can be.
    fn scan(
        &self,
        count: usize,
        letter: impl Fn(usize) -> char,
        mut visit: impl FnMut(usize),
    ) -> Option<i64> {
        let (mut score, mut from) = (0, count);
        let mut next = usize::MAX;
        for wanted in self.letters.iter().rev() {
            let is_it = |at: &usize| folded(letter(*at), self.is_exact) == *wanted;
            let at = (0..from).rev().find(is_it)?;
            let begins = at.checked_sub(1).map(&letter).is_none_or(|before| {
                !before.is_alphanumeric() || (before.is_lowercase() && letter(at).is_uppercase())
            });
            score += if begins { 8 } else { 1 } + if at + 1 == next { 6 } else { 0 };
            visit(at);
            (next, from) = (at, at);
        }
        let name = (0..count).rev().find(|at| letter(*at) == '/').map_or(0, |at| at + 1);
        Some(total(score, !self.letters.is_empty() && next >= name, count))
    }
}

fn folded(letter: char, is_exact: bool) -> char {
    if is_exact { letter } else { letter.to_lowercase().next().unwrap_or(letter) }
}

/// The score of a match: one in the name of a file, and one in a short text, counts for more.
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
    let scored =
        |(at, text): (usize, &'a str)| Some((Reverse(query.score(text, |_| ())?), at, text));
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
    fn typed_capital_letters_are_case_sensitive() {
        assert_eq!(order("R", &["readme", "README"]), ["README"]);
        assert_eq!(order("r", &["readme", "README"]).len(), 2);
    }

    #[test]
    fn match_positions_are_those_of_the_letters() {
        assert_eq!(Query::new("ab").find("xaxab").unwrap().places, [3, 4]);
        assert_eq!(Query::new("é").find("aÉ").unwrap().places, [1]);
    }

    #[test]
    fn best_returns_the_best_of_many_in_order() {
        let names: Vec<String> = (0..5000).map(|number| format!("d/{number}-file.txt")).collect();
        let found = best("99f", names.iter().map(String::as_str), 3);
        let names: Vec<&str> = found.iter().map(|(at, _)| names[*at].as_str()).collect();
        assert_eq!(names, ["d/99-file.txt", "d/990-file.txt", "d/991-file.txt"]);
    }
}
