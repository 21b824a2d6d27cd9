//! Code of Python that is given on a command line, and whether it names all that it loads: it calls nothing
//! but what is known to load nothing, and gives no name to anything that could be called.

/// What is called by its own name.
#[rustfmt::skip]
const CALLS: [&str; 19] = [
    "all", "any", "bool", "dict", "enumerate", "exit", "float", "int", "isinstance", "len", "list", "max", "min",
    "print", "range", "set", "sorted", "str", "sum",
];
/// What is asked of values, and called by the name of a module.
#[rustfmt::skip]
const MEMBERS: [&str; 37] = [
    "argv", "basename", "dumps", "endswith", "environ", "exit", "findall", "format", "fullmatch", "get", "group",
    "items", "join", "keys", "load", "loads", "lower", "lstrip", "match", "path", "read", "replace",
    "rsplit", "rstrip", "search", "split", "splitext", "splitlines", "startswith", "stderr", "stdin", "stdout",
    "strip", "sub", "upper", "values", "write",
];
/// Modules of which these are known.
const MODULES: [&str; 6] = ["json", "math", "os", "re", "sys", "time"];
const WORDS: [&str; 17] = [
    "and", "break", "continue", "elif", "else", "for", "if", "import", "in", "is", "not", "or",
    "pass", "None", "True", "False", "while",
];

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Sign(char),
    Text,
}

/// Whether a text of Python is one.
pub(super) fn is_python_plain(text: &str) -> bool {
    let Some(tokens) = tokens(text) else { return false };
    let at = |number: Option<usize>| number.and_then(|number| tokens.get(number));
    let mut imports = false;
    let mut is_known = true;
    for (number, token) in tokens.iter().enumerate() {
        let (before, after) = (at(number.checked_sub(1)), at(Some(number + 1)));
        let is_call = after == Some(&Token::Sign('('));
        match token {
            Token::Text => {
                if is_call {
                    return false;
                }
            }
            Token::Sign(';' | '\n') => imports = false,
            Token::Sign(sign) => {
                let is_end = [')', ']', '}'].contains(sign);
                if "@`\\".contains(*sign) || (is_end && is_call) {
                    return false;
                }
            }
            Token::Name(name) if imports => is_known &= MODULES.contains(&name.as_str()),
            Token::Name(name) if WORDS.contains(&name.as_str()) => imports = name == "import",
            Token::Name(name) if before == Some(&Token::Sign('.')) => {
                let is_part = name != "path" || after == Some(&Token::Sign('.'));
                let is_set = after == Some(&Token::Sign('='))
                    && at(Some(number + 2)) != Some(&Token::Sign('='));
                if !MEMBERS.contains(&name.as_str()) || !is_part || is_set {
                    return false;
                }
            }
            Token::Name(name) => {
                let is_number = name.starts_with(|c: char| c.is_ascii_digit());
                if is_call != CALLS.contains(&name.as_str())
                    || (is_number && is_call)
                    || is_odd(name)
                {
                    return false;
                }
            }
        }
    }
    // Of others nothing but that they are loaded is known.
    is_known || !tokens.iter().any(|it| matches!(it, Token::Sign('(' | '.' | '=')))
}

/// Whether a name is one that runs or finds others, or gives a name to something.
fn is_odd(name: &str) -> bool {
    const ODD: [&str; 22] = [
        "as", "assert", "async", "await", "class", "compile", "def", "del", "eval", "exec", "from",
        "getattr", "global", "globals", "lambda", "locals", "nonlocal", "setattr", "try", "vars",
        "with", "yield",
    ];
    // Python takes some letters for others.
    ODD.contains(&name) || name.contains("__") || !name.is_ascii()
}

/// The names, signs and strings of a text; none where a string has code in it or no end.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let is_letter = |c: char| c.is_alphanumeric() || c == '_';
        match letter {
            '\'' | '"' => {
                let end = if rest[1..].starts_with([letter]) && rest[2..].starts_with(letter) {
                    letter.to_string().repeat(3)
                } else {
                    letter.to_string()
                };
                let is_code = matches!(found.last(), Some(Token::Name(name)) if ["f", "F", "fr", "rf", "t"].contains(&name.as_str()));
                if is_code {
                    return None;
                }
                if matches!(found.last(), Some(Token::Name(name)) if ["r", "b", "rb", "br", "u", "R", "B"].contains(&name.as_str()))
                {
                    found.pop();
                }
                rest = string_end(&rest[end.len()..], &end)?;
                found.push(Token::Text);
            }
            '#' => rest = &rest[rest.find('\n').unwrap_or(rest.len())..],
            _ if is_letter(letter) => {
                let length = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
                found.push(Token::Name(rest[..length].to_owned()));
                rest = &rest[length..];
            }
            ' ' | '\t' | '\r' => rest = &rest[1..],
            _ => {
                found.push(Token::Sign(letter));
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    Some(found)
}

/// What follows the end of a string.
fn string_end<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix(end) {
            return Some(after);
        }
        let letter = rest.chars().next()?;
        rest = &rest[letter.len_utf8()..];
        if letter == '\\' {
            rest = &rest[rest.chars().next()?.len_utf8()..];
        }
    }
}
