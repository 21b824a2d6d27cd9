//! The crudest reading: the words of a text with every quote, escape and operator taken away. Used
//! where text does not parse, is made by another program, or names its program by a variable.

use super::tolerant::Piece;

/// The words of `text`, split into runs at whatever separates commands.
pub(crate) fn runs(text: &str) -> Vec<Vec<Piece>> {
    let mut runs = vec![Vec::new()];
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    let end_word = |word: &mut String, runs: &mut Vec<Vec<Piece>>| {
        if !word.is_empty() {
            let home = word == "~" || word.starts_with("~/");
            let glob = word.contains(['*', '?', '[']);
            let piece = Piece { text: std::mem::take(word), home, glob, ..Piece::default() };
            runs.last_mut().expect("there is a run").push(piece);
        }
    };
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                if rest.peek() == Some(&'\n') {
                    rest.next();
                }
            }
            ';' | '&' | '|' | '(' | ')' | '`' | '\n' => {
                end_word(&mut word, &mut runs);
                if runs.last().is_some_and(|run| !run.is_empty()) {
                    runs.push(Vec::new());
                }
            }
            c if c.is_alphanumeric() || "_./~+-@*?[]%^#".contains(c) => word.push(c),
            _ => end_word(&mut word, &mut runs),
        }
    }
    end_word(&mut word, &mut runs);
    runs.retain(|run| !run.is_empty());
    runs
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn words_come_out_of_quotes_calls_and_lists() {
        let words = |text| -> Vec<Vec<String>> {
            runs(text)
                .into_iter()
                .map(|run| run.into_iter().map(|piece| piece.text).collect())
                .collect()
        };
        assert_eq!(words("os.system('curl x')"), [vec!["os.system"], vec!["curl", "x"]]);
        assert_eq!(words("['git', \"push\"]"), [vec!["[", "git", "push", "]"]]);
        assert_eq!(words("c\\url x && ("), [vec!["curl", "x"]]);
    }
}
