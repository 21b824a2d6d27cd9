//! Patterns of Python, written as regular expressions of Rust.

/// Translates a regular expression of Python: text there that is special here is escaped.
pub fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars().peekable();
    // The number of characters since a character class was opened; none outside of one.
    let mut class: Option<usize> = None;
    while let Some(c) = rest.next() {
        match (c, class) {
            ('\\', _) => {
                out.push('\\');
                let escaped = rest.next();
                out.extend(escaped.map(|c| if c == 'Z' && class.is_none() { 'z' } else { c }));
                class = class.map(|count| count + 1);
            }
            ('[', None) => {
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                class = Some(0);
            }
            (']', Some(count)) if count > 0 => {
                out.push(']');
                class = None;
            }
            (']' | '[' | '&' | '~', Some(count)) => {
                out.push('\\');
                out.push(c);
                class = Some(count + 1);
            }
            (_, Some(count)) => {
                out.push(c);
                class = Some(count + 1);
            }
            ('{', None) => out.push_str(brace(&rest.clone().take(24).collect::<String>())),
            (_, None) => out.push(c),
        }
    }
    out
}

/// An opening brace, escaped unless what follows makes it a repetition.
fn brace(rest: &str) -> &'static str {
    let Some((inside, _)) = rest.split_once('}') else { return "\\{" };
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    match inside.split_once(',') {
        None if is_number(inside) => "{",
        Some((from, to)) if is_number(from) && (to.is_empty() || is_number(to)) => "{",
        Some(("", to)) if is_number(to) => "{0",
        None | Some(_) => "\\{",
    }
}

/// Translates a pattern of `fnmatch`, which fits whole texts: `*`, `?`, `[set]`, `[!set]`.
pub fn translate_wildcards(pattern: &str) -> String {
    let mut out = String::from(r"(?s)\A");
    let characters: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    while at < characters.len() {
        match characters[at] {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => {
                let negated = characters.get(at + 1) == Some(&'!');
                let begin = at + 1 + usize::from(negated);
                // A bracket that comes first belongs to the set.
                let end = (begin + 1..characters.len()).find(|end| characters[*end] == ']');
                if let Some(end) = end {
                    out.push_str(if negated { "[^" } else { "[" });
                    for c in &characters[begin..end] {
                        if "\\[]^&~".contains(*c) {
                            out.push('\\');
                        }
                        out.push(*c);
                    }
                    out.push(']');
                    at = end;
                } else {
                    out.push_str(r"\[");
                }
            }
            c => {
                if r"\.+()|]{}^$#&-~".contains(c) {
                    out.push('\\');
                }
                out.push(c);
            }
        }
        at += 1;
    }
    out.push_str(r"\z");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_python_is_escaped() {
        for (python, rust) in [
            (r"[[]x", r"[\[]x"),
            (r"[]a]$", r"[\]a]$"),
            (r#"^{"a""#, r#"^\{"a""#),
            (r"a{2,3}b{,2}c{x}", r"a{2,3}b{0,2}c\{x}"),
            (r"[a&&b]\Z", r"[a\&\&b]\z"),
        ] {
            assert_eq!(translate(python), rust);
        }
    }

    #[test]
    fn wildcards_become_expressions() {
        for (pattern, expected) in [
            ("a*.?", r"(?s)\Aa.*\..\z"),
            ("[!a-c]x[", r"(?s)\A[^a-c]x\[\z"),
            ("[]^]{1}", r"(?s)\A[\]\^]\{1\}\z"),
        ] {
            assert_eq!(translate_wildcards(pattern), expected);
        }
    }
}
