//! The crudest reading: the words of a text with every quote, escape and operator taken away. Used
//! where text does not parse, is made by another program, or names its program by a variable.

use super::tolerant::Piece;

/// The words of `text`, split into runs at whatever separates commands.
pub(crate) fn runs(text: &str) -> Vec<Vec<Piece>> {
    let (mut runs, mut run): (Vec<Vec<Piece>>, Vec<Piece>) = (Vec::new(), Vec::new());
    let (mut word, mut rest) = (String::new(), text);
    let end_word = |word: &mut String, run: &mut Vec<Piece>| {
        if !word.is_empty() {
            run.push(piece(std::mem::take(word)));
        }
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./~+-@*?[]%^#".contains(&byte);
    loop {
        // Most of a text is plain, and taken at once.
        let (plain, behind) =
            rest.split_at(rest.bytes().position(|byte| !is_plain(byte)).unwrap_or(rest.len()));
        word.push_str(plain);
        let Some(c) = behind.chars().next() else { break };
        rest = &behind[c.len_utf8()..];
        match c {
            '\\' => rest = rest.strip_prefix('\n').unwrap_or(rest),
            ';' | '&' | '|' | '(' | ')' | '`' | '\n' => {
                end_word(&mut word, &mut run);
                runs.extend((!run.is_empty()).then(|| std::mem::take(&mut run)));
            }
            c if c.is_alphanumeric() => word.push(c),
            _ => end_word(&mut word, &mut run),
        }
    }
    end_word(&mut word, &mut run);
    runs.extend((!run.is_empty()).then_some(run));
    runs
}

fn piece(text: String) -> Piece {
    let home = text == "~" || text.starts_with("~/");
    let glob = text.contains(['*', '?', '[']);
    Piece { text, home, glob, ..Piece::default() }
}

/// What commands in a text may write by redirection.
pub(crate) fn written(text: &str) -> impl Iterator<Item = Piece> {
    text.split('>').skip(1).filter_map(|rest| {
        let rest = rest.trim_start_matches([' ', '\t', '|', '&', '\'', '"', '\\']);
        let is_end = |c: char| c.is_whitespace() || ";&|()<'\"`,".contains(c);
        let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        (!word.is_empty()).then(|| piece(word.to_owned()))
    })
}

/// The text with the escapes that `printf`, `echo -e` and `$'...'` know put in.
pub(crate) fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (c, used) = match rest.bytes().next() {
            Some(b'n' | b'r' | b't' | b'v' | b'f') => (Some('\n'), 1),
            Some(b'a' | b'b' | b'c' | b'e' | b'E') => (None, 1),
            Some(b'x') => coded(&rest[1..], 16, 2, 1),
            Some(b'u') => coded(&rest[1..], 16, 4, 1),
            Some(b'U') => coded(&rest[1..], 16, 8, 1),
            Some(b'0') => coded(rest, 8, 4, 0),
            Some(b'1'..=b'7') => coded(rest, 8, 3, 0),
            Some(_) | None => (None, 0),
        };
        // A shell leaves out the character zero of what others print.
        plain.extend(c.filter(|c| *c != '\0'));
        rest = &rest[used..];
    }
    plain.push_str(rest);
    plain
}

/// No more is put together of what is printed.
const PRINTED: usize = 4096;

/// What `printf` prints for these words, the first of which is its format; none where that is nothing
/// but the format.
pub(crate) fn formatted(words: &[&str]) -> Option<String> {
    let (format, args) = words.split_first()?;
    let format = unescaped(format);
    if !format.contains('%') {
        return None;
    }
    let mut args = args.iter();
    let mut printed = String::new();
    // The format is used again until every argument has been.
    loop {
        let before = args.len();
        let mut rest = format.as_str();
        while let Some(at) = rest.find('%') {
            printed.push_str(&rest[..at]);
            let after =
                rest[at + 1..].trim_start_matches(|c: char| "-+ #0123456789.*'".contains(c));
            let kind = after.chars().next();
            match kind {
                None | Some('%') => printed.push('%'),
                Some('c') => printed.extend(args.next().and_then(|arg| arg.chars().next())),
                Some(_) => {
                    printed.push_str(&args.next().map_or(String::new(), |arg| unescaped(arg)));
                }
            }
            rest = &after[kind.map_or(0, char::len_utf8)..];
        }
        printed.push_str(rest);
        if args.len() == 0 || args.len() == before || printed.len() > PRINTED {
            return Some(printed);
        }
    }
}

/// The character of a number, and how many bytes it and what stands before it take.
fn coded(text: &str, base: u32, most: usize, before: usize) -> (Option<char>, usize) {
    let digits = text.bytes().take(most).take_while(|byte| char::from(*byte).is_digit(base));
    let count = digits.count();
    let number = u32::from_str_radix(&text[..count], base).ok();
    (number.and_then(char::from_u32).filter(|c| *c != '\0'), count + before)
}

#[cfg(test)]
mod tests {
    use super::{formatted, runs, unescaped};

    #[test]
    fn a_format_is_filled_with_its_arguments() {
        let printed = |words: &[&str]| formatted(words).unwrap_or_default();
        assert_eq!(printed(&["cu%s x", "rl"]), "curl x");
        assert_eq!(printed(&["%s%s", "cu", "rl"]), "curl");
        assert_eq!(printed(&["%s ", "git", "push"]), "git push ");
        assert_eq!(printed(&["%c%5.2s%%\\n", "cat", "url"]), "curl%\n");
        assert_eq!(formatted(&["plain", "x"]), None);
        assert_eq!(printed(&["%", "a", "b"]), "%");
    }

    #[test]
    fn escapes_become_what_they_stand_for() {
        assert_eq!(unescaped(r"\143url \x63url \u0063url \0143 a\nb \"), "curl curl curl c a\nb ");
        assert_eq!(unescaped(r"\x \é"), " é");
    }

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
