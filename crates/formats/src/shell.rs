//! Words of a shell's command line: written with quotes, and read as a user types them.

/// Quotes a word, unless a shell takes it as it is.
pub fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    // At its start `=x` means a program to some shells.
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('=') {
        word.to_owned()
    } else {
        in_quotes(word)
    }
}

fn in_quotes(word: &str) -> String {
    if word.contains('\'') && !word.contains(['"', '$', '`', '\\', '!']) {
        format!("\"{word}\"")
    } else {
        // Rules know no backslashes, so a quote is quoted by the other one.
        format!("'{}'", word.replace('\'', "'\"'\"'"))
    }
}

/// Quotes a path, of which `~/` at the start stands for the home directory.
pub fn quote_path(path: &str) -> String {
    match path.strip_prefix("~/") {
        Some("") => path.to_owned(),
        Some(inside) => format!("~/{}", quote(inside)),
        None => quote(path),
    }
}

/// Quotes words and joins them to a command line.
pub fn join<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let mut words = words.into_iter();
    let Some(first) = words.next() else { return String::new() };
    let first = first.as_ref();
    // In front of a program `NAME=x` sets a variable.
    let mut line = if first.contains('=') { in_quotes(first) } else { quote(first) };
    for word in words {
        line.push(' ');
        line.push_str(&quote(word.as_ref()));
    }
    line
}

/// The words of a text that a user typed: blanks separate them and quotes hold them together. A
/// quote that is not closed ends with the text.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => {
                // A line that goes on is one line.
                let escaped = characters.next().filter(|c| *c != '\n');
                word.get_or_insert_default().extend(escaped);
            }
            ('\'' | '"', None) => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None | Some(_)) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_if_needed() {
        let words =
            ["A=1", "git", "a b", "", "it's", "$'a'", "$HOME", "~", "--a=b", "B=1", "=ls", "x:y@z"];
        let quoted =
            r#"'A=1' git 'a b' '' "it's" '$'"'"'a'"'"'' '$HOME' '~' --a=b B=1 '=ls' x:y@z"#;
        assert_eq!(join(words), quoted);
        assert_eq!(self::words(quoted), words);
    }

    #[test]
    fn home_of_a_path_stays_outside_of_quotes() {
        for (path, quoted) in
            [("~/", "~/"), ("~/a", "~/a"), ("~/a b", "~/'a b'"), ("/a b", "'/a b'"), ("~x", "'~x'")]
        {
            assert_eq!(quote_path(path), quoted);
        }
    }

    #[test]
    fn typed_words_may_lack_a_closing_quote() {
        assert_eq!(words(r#"a 'b c' "d \"e" f\ g h\"#), ["a", "b c", "d \"e", "f g", "h"]);
        assert_eq!(words("it's so"), ["its so"]);
        assert_eq!(words("'' \\\nx"), ["", "x"]);
    }
}
