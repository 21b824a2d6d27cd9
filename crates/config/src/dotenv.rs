//! Reads env files: `NAME=value` lines, with `export`, quotes and comments. Nothing is interpolated
//! and nothing is run.

/// A line that sets a variable.
#[derive(Debug, PartialEq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// The value.
    pub value: String,
    /// The line, from 1.
    pub number: usize,
}

/// The variables of an env file; lines that are none are skipped.
pub fn parse(text: &str) -> Vec<Assignment> {
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let line = line.trim();
            let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
            let (name, value) = line.split_once('=')?;
            let name = name.trim_end();
            let is_name =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            is_name.then(|| Assignment {
                name: name.to_owned(),
                value: unquote(value.trim_start()),
                number: index + 1,
            })
        })
        .collect()
}

fn unquote(value: &str) -> String {
    if let Some((inside, _)) = value.strip_prefix('\'').and_then(|rest| rest.split_once('\'')) {
        return inside.to_owned();
    }
    if let Some(inside) = value.strip_prefix('"').and_then(double_quoted) {
        return inside;
    }
    let end = value.find(" #").or_else(|| value.find("\t#")).unwrap_or(value.len());
    let value = &value[..end];
    if value.starts_with('#') { String::new() } else { value.trim_end().to_owned() }
}

fn double_quoted(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut characters = text.chars();
    loop {
        match characters.next()? {
            '"' => return Some(value),
            '\\' => match characters.next()? {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                escaped @ ('"' | '\\' | '$') => value.push(escaped),
                other => value.extend(['\\', other]),
            },
            plain => value.push(plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotenv_accepts_the_syntax_of_shells_and_tools() {
        let text = "# comment\n\nA=1\nexport B = two words # note\nC='it # stays'\n\
                    D=\"a\\\"b\\nc\" # end\nnot a line\nE=\nF=a#b\nG=# note\nH='open\n";
        let found: Vec<(String, String, usize)> =
            parse(text).into_iter().map(|line| (line.name, line.value, line.number)).collect();
        let expected = [
            ("A", "1", 3),
            ("B", "two words", 4),
            ("C", "it # stays", 5),
            ("D", "a\"b\nc", 6),
            ("E", "", 8),
            ("F", "a#b", 9),
            ("G", "", 10),
            ("H", "'open", 11),
        ];
        let expected: Vec<_> =
            expected.iter().map(|(n, v, l)| ((*n).to_owned(), (*v).to_owned(), *l)).collect();
        assert_eq!(found, expected);
    }
}
