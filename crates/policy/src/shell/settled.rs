//! A text with the values put in that its variables have for certain: those that are set once, before anything
//! else runs, and those of a loop over words that stand there. What is put in wrongly would hide what a text does,
//! so that anything out of the ordinary leaves the text as it is.

use super::survey::sets_variables;

/// Longer texts are left as they are.
const LONG: usize = 4096;

/// What stands for a folder that `mktemp` makes.
const TEMPORARY: &str = "/tmp/tmp.made";

/// A variable, and where in the text it has this value.
struct Variable<'a> {
    name: &'a str,
    value: String,
    from: usize,
    to: usize,
    /// Whether only a word that is nothing else stands for the value: it may be empty, or several.
    is_apart: bool,
}

/// The text with its values; none where there are none, or they are not certain.
pub(crate) fn settled(text: &str) -> Option<String> {
    if text.len() > LONG || !text.contains('$') || text.contains("<<") || sets_variables(text) {
        return None;
    }
    let mut variables = first_set(text);
    variables.extend(looped_over(text));
    variables.retain(|it| set_in(text, it.name) == 1);
    let put = put_into(text, &variables);
    (put != text).then_some(put)
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// How often a text sets a variable, as far as its words say.
fn set_in(text: &str, name: &str) -> usize {
    let sets = |(at, _): &(usize, &str)| {
        let (before, after) = (&text[..*at], &text[at + name.len()..]);
        let is_looped = ["for ", "select "].iter().any(|word| before.ends_with(word));
        let is_set = ["=", "+=", "[", ":=", "++", "--"].iter().any(|sign| after.starts_with(sign));
        !before.ends_with(is_letter) && !after.starts_with(is_letter) && (is_looped || is_set)
    };
    text.match_indices(name).filter(sets).count()
}

/// The variables that are set before anything else is done.
fn first_set(text: &str) -> Vec<Variable<'_>> {
    let mut variables: Vec<Variable<'_>> = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let begun = rest.strip_prefix("export ").unwrap_or(rest).trim_start();
        let Some((name, value)) = begun.split_once('=') else { break };
        let Some((value, after)) = value_of(value) else { break };
        let after = after.trim_start_matches([' ', '\t']);
        let following = ["&&", ";", "\n"].iter().find_map(|it| after.strip_prefix(it));
        let Some(following) = following.filter(|_| !name.is_empty() && name.chars().all(is_letter))
        else {
            break;
        };
        let is_apart = value == TEMPORARY;
        // A value may be made of those before it.
        let value = put_into(&value, &variables);
        if value.contains('$') {
            break;
        }
        variables.push(Variable { name, value, from: 0, to: text.len(), is_apart });
        rest = following;
    }
    variables
}

/// A plain value at the beginning of a text, and what follows.
fn value_of(text: &str) -> Option<(String, &str)> {
    let is_plain = |c: char| is_letter(c) || "./@%+,:-${}".contains(c);
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let inner = quote.map_or(text, |quote| &text[quote.len_utf8()..]);
    if let Some(made) = inner.strip_prefix("$(mktemp").filter(|_| quote != Some('\'')) {
        let (words, after) = made.split_once(')')?;
        let is_usual = |word: &str| {
            let is_option = matches!(word, "-d" | "-q" | "-t" | "--directory" | "-dt" | "-td");
            let is_name = word.chars().all(|c| is_letter(c) || ".-/".contains(c));
            let is_placed = !word.contains('/') || word.starts_with("/tmp/");
            is_option || (is_name && is_placed && !word.starts_with('-') && !word.contains(".."))
        };
        let after = quote.map_or(Some(after), |quote| after.strip_prefix(quote))?;
        let is_known = words.split_whitespace().all(is_usual);
        return is_known.then(|| (TEMPORARY.to_owned(), after));
    }
    let (value, after) = inner.split_at(inner.find(|c| !is_plain(c)).unwrap_or(inner.len()));
    let after = quote.map_or(Some(after), |quote| after.strip_prefix(quote))?;
    let is_usual = !value.starts_with('-') && (quote != Some('\'') || !value.contains('$'));
    is_usual.then(|| (value.to_owned(), after))
}

/// The variables of loops over words that stand there.
fn looped_over(text: &str) -> Vec<Variable<'_>> {
    let mut variables = Vec::new();
    for (at, word) in text.match_indices("for ") {
        let after = &text[at + word.len()..];
        let Some((name, list)) = after.split_once(" in ") else { continue };
        let Some((list, body)) = list.split_once([';', '\n']) else { continue };
        let is_plain = |word: &str| {
            word.chars().all(|c| is_letter(c) || "./*?-@+".contains(c)) && !word.starts_with('-')
        };
        let is_begun = body.trim_start().starts_with("do");
        if !name.chars().all(is_letter) || !list.split_whitespace().all(is_plain) || !is_begun {
            continue;
        }
        let from = text.len() - body.len();
        let to = body.find("done").map_or(from, |end| from + end);
        let value = list.split_whitespace().collect::<Vec<_>>().join(" ");
        variables.push(Variable { name, value, from, to, is_apart: true });
    }
    variables
}

/// Puts values in wherever a shell would.
fn put_into(text: &str, variables: &[Variable<'_>]) -> String {
    let mut put = String::with_capacity(text.len());
    let (mut single, mut double) = (false, false);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let length = c.len_utf8();
        match c {
            '\\' if !single => {
                let next = text[at + 1..].chars().next().map_or(0, char::len_utf8);
                put.push_str(&text[at..at + 1 + next]);
                at += 1 + next;
                continue;
            }
            // What a trap holds is run by the same shell.
            '\'' if !double && !single => single = !text[..at].trim_end().ends_with("trap"),
            '\'' if single => single = false,
            '"' if !single => double = !double,
            '$' if !single => {
                let found = used(text, at, variables);
                if let Some((value, end)) = found {
                    // A loop has made names of a pattern by then, whatever quotes stand around it.
                    let is_open = double && value.contains(['*', '?', ' ']);
                    let around = if is_open { "\"" } else { "" };
                    put.extend([around, value, around]);
                    at = end;
                    continue;
                }
            }
            _ => {}
        }
        put.push(c);
        at += length;
    }
    put
}

/// The value of what is expanded at `at`, and where that ends.
fn used<'a>(text: &str, at: usize, variables: &'a [Variable<'_>]) -> Option<(&'a str, usize)> {
    let after = &text[at + 1..];
    let inner = after.strip_prefix('{');
    let name = inner.unwrap_or(after);
    let name = &name[..name.find(|c| !is_letter(c)).unwrap_or(name.len())];
    let variable =
        variables.iter().find(|it| it.name == name && (it.from..=it.to).contains(&at))?;
    let end = match inner {
        None => at + 1 + name.len(),
        Some(inner) => {
            let rest = &inner[name.len()..];
            let length = rest.find('}')?;
            let more = &rest[..length];
            // What stands there for an empty value says nothing of this one.
            let is_for_empty = more.trim_start_matches(':').starts_with(['-', '?'])
                && !more.contains(['{', '$'])
                && !variable.value.is_empty();
            if !more.is_empty() && !is_for_empty {
                return None;
            }
            at + 2 + name.len() + length + 1
        }
    };
    let is_whole = !variable.is_apart || stands_apart(&text[..at], &text[end..]);
    is_whole.then_some((variable.value.as_str(), end))
}

/// Whether what stands between two texts is a word of its own.
fn stands_apart(before: &str, after: &str) -> bool {
    let (before, after) = match (before.strip_suffix('"'), after.strip_prefix('"')) {
        (Some(before), Some(after)) => (before, after),
        (None, None) => (before, after),
        (Some(_), None) | (None, Some(_)) => return false,
    };
    before.ends_with([' ', '\t'])
        && (after.is_empty() || after.starts_with([' ', '\t', '\n', ';', '&', ')', '\'']))
}

#[cfg(test)]
mod tests {
    use super::settled;

    #[test]
    fn values_that_are_certain_are_put_in() {
        for (text, wanted) in [
            ("B=build; rm -rf \"$B\"", "B=build; rm -rf \"build\""),
            ("B='build' && rm -rf $B/x", "B='build' && rm -rf build/x"),
            (
                "A=/tmp; B=\"$A/x\"; rm -rf \"${B:?}\"/*",
                "A=/tmp; B=\"/tmp/x\"; rm -rf \"/tmp/x\"/*",
            ),
            ("d=$(mktemp -d); rm -rf \"$d\"", "d=$(mktemp -d); rm -rf \"/tmp/tmp.made\""),
            ("for f in *.a; do mv \"$f\" x; done", "for f in *.a; do mv \"\"*.a\"\" x; done"),
        ] {
            assert_eq!(settled(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_not_certain_stays() {
        for text in [
            "rm -rf \"$B\"",
            "B=build; B=/; rm -rf \"$B\"",
            "x && B=build; rm -rf \"$B\"",
            "B=build; read B; rm -rf \"$B\"",
            "B=build; . env; rm -rf \"$B\"",
            "B=build; bash -c 'rm -rf \"$B\"'",
            "B=build true; rm -rf \"$B\"",
            "B=$(x); rm -rf \"$B\"",
            "B=build; for B in / x; do rm -rf \"$B\"; done",
            "d=$(mktemp -d); rm -rf \"$d\"/*",
            "d=$(mktemp -d); rm -rf \"$d/x\"",
            "d=$(mktemp -d -p /x); rm -rf \"$d\"",
            "f() { rm -rf \"$B\"; }; B=build; f",
            "B=build; unset B; rm -rf \"$B\"/*",
            "B=build; printf -v B /; rm -rf \"$B\"",
            "B=build; echo ${B:=x} \\$B",
            "for f in a b; do rm -rf \"$f/x\"; done",
            "for f in $x; do rm -rf \"$f\"; done",
        ] {
            assert_eq!(settled(text), None, "{text}");
        }
    }
}
