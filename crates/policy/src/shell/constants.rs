//! What variables a text sets itself, put in where it uses them: the name of a program may be made
//! of such pieces. Sees too much rather than too little; what it cannot follow stays as it is.

use foldhash::HashMap;
use std::cell::Cell;

use super::raw;
use crate::glob::{Reading, meet};

/// More values of one variable are not tried.
const TRIED: usize = 4;
/// Of a longer text one reading must do: its words are looked at one by one anyway.
const LONG: usize = 4096;
/// More elements of an array are not put together.
const ELEMENTS: usize = 16;
/// Longer values are not cut or replaced in: a program's name is short.
const SHORT: usize = 128;

/// The values that variables are given.
#[derive(Default)]
pub(super) struct Constants {
    values: HashMap<String, Vec<String>>,
    /// How many values there are.
    count: usize,
}

impl Constants {
    /// Notes that `name` may be `value`; a `+` at the end of the name appends.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        let (name, appends) = match name.strip_suffix('+') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let values = self.values.entry(name.to_owned()).or_default();
        let value = match values.last() {
            Some(before) if appends => format!("{before}{value}"),
            Some(_) | None => value.to_owned(),
        };
        if values.len() < TRIED && !values.contains(&value) {
            values.push(value);
            self.count += 1;
        }
    }

    /// How many values are known: there are only ever more of them.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The values that a variable may have.
    pub(super) fn of(&self, name: &str) -> &[String] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// The text with values in place of variables, one for each value tried; none where that
    /// changes nothing or grows past `limit`.
    pub(super) fn put_into(&self, text: &str, limit: usize) -> Vec<String> {
        let most = self.values.values().map(Vec::len).max().unwrap_or(0).max(1);
        let most = if text.len() > LONG { 1 } else { most };
        let mut texts: Vec<String> = Vec::new();
        // A word may stand there only if a variable is set.
        let has_words = text.contains('+') && text.contains("${");
        let readings: &[bool] = if has_words { &[true, false] } else { &[false] };
        for (choice, is_unset) in (0..most).flat_map(|it| readings.iter().map(move |is| (it, *is)))
        {
            let reader = Reader { constants: self, choice, is_unset, ends: Ends::of(text) };
            let put = reader.whole(text, limit);
            texts.extend(put.filter(|put| put != text && !texts.contains(put)));
        }
        texts
    }
}

/// One pass over a text, with one choice of values.
struct Reader<'a> {
    constants: &'a Constants,
    choice: usize,
    /// Whether variables of which nothing is known are taken to be unset.
    is_unset: bool,
    ends: Ends<'a>,
}

/// Where expansions end. Text without an end must not be gone through again and again, so the next
/// end of each kind is looked for once.
struct Ends<'a> {
    text: &'a str,
    /// The first end at or after the place that was asked about last.
    next: [Cell<usize>; 3],
}

impl<'a> Ends<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, next: Default::default() }
    }

    /// How far it is from `at` to the next of these, if it is near.
    fn near(&self, at: usize, end: u8) -> Option<usize> {
        let next = &self.next[usize::from(end == b'}') + 2 * usize::from(end == b')')];
        let bytes = self.text.as_bytes();
        if next.get() < at || (next.get() == 0 && bytes.first() != Some(&end)) {
            let found = bytes[at..].iter().position(|byte| *byte == end);
            next.set(found.map_or(usize::MAX, |found| at + found));
        }
        next.get().checked_sub(at).filter(|length| *length < 2 * SHORT)
    }
}

impl Reader<'_> {
    fn whole(&self, text: &str, limit: usize) -> Option<String> {
        let mut put = String::with_capacity(text.len());
        let mut rest = text;
        let mut is_quoted = false;
        while let Some(at) = rest.find(['$', '`']) {
            is_quoted ^= rest[..at].matches('"').count() % 2 == 1;
            put.push_str(&rest[..at]);
            rest = &rest[at..];
            let at = text.len() - rest.len();
            let Some((value, used)) = self.expansion(rest, at) else {
                let length = name_length(&rest[1..]);
                let is_followed = length > 0 && rest[1 + length..].starts_with('$');
                if is_followed && rest.starts_with('$') {
                    // Or else what follows would become a part of its name.
                    put.extend(["${", &rest[1..=length], "}"]);
                    rest = &rest[1 + length..];
                } else {
                    put.push_str(&rest[..1]);
                    rest = &rest[1..];
                }
                continue;
            };
            // In quotes all arguments stay words of their own.
            if put.ends_with('"') && rest[..used].contains('@') {
                // Patterns stay such, as they do below.
                let open =
                    |it: &str| if is_pattern(it) { format!("\"{it}\"") } else { it.to_owned() };
                let words: Vec<String> = value.split_whitespace().map(open).collect();
                put.push_str(&words.join("\" \""));
            } else if is_quoted && is_pattern(&value) {
                // A loop has made names of it by then, whatever quotes stand around it.
                put.extend(["\"", &value, "\""]);
            } else {
                put.push_str(&value);
            }
            rest = &rest[used..];
            if put.len() + rest.len() > limit {
                return None;
            }
        }
        put.push_str(rest);
        Some(put)
    }

    fn value(&self, name: &str) -> Option<&str> {
        let values = self.constants.values.get(name)?;
        values.get(self.choice).or(values.last()).map(String::as_str)
    }

    /// What the expansion at the beginning of `text`, which is the rest from `at`, gives, and how
    /// many bytes it takes.
    fn expansion(&self, text: &str, at: usize) -> Option<(String, usize)> {
        let after = &text[1..];
        if text.starts_with('`') {
            let length = self.ends.near(at + 1, b'`')?;
            let printed = printed(&after[..length]);
            let printed = printed.or_else(|| entry(&after[..length], &after[length + 1..]));
            return Some((printed?, length + 2));
        }
        if let Some(inner) = after.strip_prefix('{') {
            let length = self.ends.near(at + 2, b'}')?;
            return Some((self.braced(&inner[..length])?, length + 3));
        }
        if let Some(inner) = after.strip_prefix('(') {
            let length = self.ends.near(at + 2, b')')?;
            let printed = printed(&inner[..length]);
            let printed = printed.or_else(|| entry(&inner[..length], &inner[length + 1..]));
            return Some((printed?, length + 3));
        }
        let length = match after.bytes().next()? {
            b'0'..=b'9' | b'@' | b'*' => 1,
            _ => name_length(after),
        };
        let value = self.value(&after[..length])?;
        Some((self.split(value), length + 1))
    }

    /// The value as words, where the text says at which characters it is split.
    fn split(&self, value: &str) -> String {
        match self.value("IFS") {
            Some(separators) => value.replace(|c| separators.contains(c), " "),
            None => value.to_owned(),
        }
    }

    /// One element of an array, or all of them as one word where nothing is to stand between them.
    fn element(&self, name: &str, rest: &str) -> Option<String> {
        let (index, _) = rest.strip_prefix('[')?.split_once(']')?;
        if let Some(value) = self.value(&format!("{name}[{index}]")) {
            return Some(value.to_owned());
        }
        let Some(value) = self.value(name) else {
            // All of those that were set one by one.
            let each = (0..ELEMENTS).map_while(|at| self.value(&format!("{name}[{at}]")));
            let all = each.collect::<Vec<_>>().join(" ");
            return Some(all).filter(|all| matches!(index, "@" | "*") && !all.is_empty());
        };
        let mut elements = value.split_whitespace();
        match index {
            "*" if self.value("IFS") == Some("") => Some(elements.map(unquoted).collect()),
            _ => elements.nth(index.trim().parse().ok()?).map(unquoted),
        }
    }

    /// The inside of `${...}`.
    fn braced(&self, inner: &str) -> Option<String> {
        if let Some(name) = inner.strip_prefix('!') {
            return Some(format!("${{{}}}", self.value(name)?));
        }
        let length = match inner.bytes().next()? {
            b'0'..=b'9' | b'@' | b'*' => 1,
            _ => name_length(inner),
        };
        let (name, rest) = inner.split_at(length);
        if let Some(element) = self.element(name, rest) {
            return Some(element);
        }
        let word = rest.trim_start_matches(':').get(1..).unwrap_or_default();
        let Some(value) = self.value(name).filter(|value| value.len() <= SHORT) else {
            // Whether it is set elsewhere is not known, so that either word may count.
            let rest = rest.trim_start_matches(':');
            if self.is_unset && rest.starts_with('+') {
                return Some(String::new());
            }
            return rest.starts_with(['-', '=', '+']).then(|| unquoted(word));
        };
        Some(match rest.bytes().next() {
            None | Some(b'^' | b',' | b'@' | b'[') => self.split(value),
            Some(b'#') => without_prefix(value, &rest[1..]),
            Some(b'%') => without_suffix(value, &rest[1..]),
            Some(b'/') => replaced(value, &rest[1..])?,
            Some(b':' | b'-' | b'=' | b'+' | b'?') => match rest.trim_start_matches(':') {
                rest if rest.starts_with('+') => unquoted(word),
                rest if rest.starts_with(['-', '=', '?']) && !is_number(rest) => self.split(value),
                range => part(value, range)?,
            },
            Some(_) => return None,
        })
    }
}

/// Whether a value is one word with wildcards.
fn is_pattern(value: &str) -> bool {
    value.contains(['*', '?', '[']) && !value.contains(char::is_whitespace)
}

fn name_length(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

fn is_number(text: &str) -> bool {
    text.parse::<i64>().is_ok()
}

fn unquoted(word: &str) -> String {
    word.replace(['"', '\''], "")
}

/// A pattern for the names that `ls` prints, where a path goes on behind them.
fn entry(inner: &str, after: &str) -> Option<String> {
    let goes_on = after.trim_start_matches('"').starts_with('/');
    let is_listing = inner.split_whitespace().next() == Some("ls");
    (goes_on && is_listing).then(|| String::from("*"))
}

/// What `echo` and `printf` with plain words print, one after the other.
fn printed(inner: &str) -> Option<String> {
    if inner.contains(['$', '`', '|']) {
        return None;
    }
    let each = inner.split([';', '&', '\n']).filter(|part| !part.trim().is_empty());
    let each: Vec<String> = each.map(printed_once).collect::<Option<_>>()?;
    // Without the ends of lines they would be one word, which is the more dangerous reading.
    (!each.is_empty()).then(|| each.concat())
}

fn printed_once(inner: &str) -> Option<String> {
    let mut words = inner.split_whitespace();
    match words.next()? {
        "echo" | "printf" => {}
        // The path of a program is as good as its name.
        "which" | "type" | "whence" => {
            return words.find(|word| !word.starts_with('-')).map(unquoted);
        }
        "command" if words.next()?.starts_with(['-']) => return words.next().map(unquoted),
        _ => return None,
    }
    let words: Vec<&str> = words.filter(|word| !word.starts_with('-')).collect();
    let bare: Vec<String> = words.iter().map(|word| unquoted(word)).collect();
    let bare: Vec<&str> = bare.iter().map(String::as_str).collect();
    if bare.first().is_some_and(|format| format.contains('%'))
        && let Some(printed) = raw::formatted(&bare)
    {
        return Some(printed);
    }
    let plain: Vec<&str> = words.iter().copied().filter(|word| !word.contains('%')).collect();
    let separator = if plain.len() < words.len() { "" } else { " " };
    Some(unquoted(&raw::unescaped(&plain.join(separator))))
}

fn fits(pattern: &str, text: &str) -> bool {
    meet((pattern, Reading::Shell), (text, Reading::Literal))
}

fn without_prefix(value: &str, pattern: &str) -> String {
    let (pattern, longest) = match pattern.strip_prefix('#') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut ends = ends(value).filter(|end| fits(pattern, &value[..*end]));
    let end = if longest { ends.last() } else { ends.next() };
    value[end.unwrap_or(0)..].to_owned()
}

fn without_suffix(value: &str, pattern: &str) -> String {
    let (pattern, longest) = match pattern.strip_prefix('%') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut starts = ends(value).filter(|start| fits(pattern, &value[*start..]));
    let start = if longest { starts.next() } else { starts.last() };
    value[..start.unwrap_or(value.len())].to_owned()
}

/// The inside of `${name/pattern/replacement}` past its first slash.
fn replaced(value: &str, rule: &str) -> Option<String> {
    let (rule, every) = match rule.strip_prefix('/') {
        Some(rule) => (rule, true),
        None => (rule, false),
    };
    let (pattern, replacement) = rule.split_once('/').unwrap_or((rule, ""));
    let mut done = String::new();
    let mut rest = value;
    let mut more = true;
    while !rest.is_empty() {
        let end = ends(rest).filter(|end| *end > 0 && more && fits(pattern, &rest[..*end])).last();
        if let Some(end) = end {
            done.push_str(replacement);
            rest = &rest[end..];
            more = every;
        } else {
            let next = rest.chars().next()?;
            done.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    Some(done)
}

/// `offset` or `offset:length` of a value.
fn part(value: &str, range: &str) -> Option<String> {
    let (offset, length) = match range.split_once(':') {
        Some((offset, length)) => (offset, Some(length.trim().parse::<i64>().ok()?)),
        None => (range, None),
    };
    let count = i64::try_from(value.chars().count()).ok()?;
    let from = match offset.trim().parse::<i64>().ok()? {
        offset if offset < 0 => (count + offset).max(0),
        offset => offset,
    };
    let to = match length {
        None => count,
        Some(length) if length < 0 => count + length,
        Some(length) => from + length,
    };
    let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
    Some(value.chars().take(to).skip(from).collect())
}

/// Every place where a text may be cut, from its beginning to its end.
fn ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.char_indices().map(|(at, _)| at).chain([text.len()])
}

#[cfg(test)]
mod tests {
    use super::Constants;

    fn put(pairs: &[(&str, &str)], text: &str) -> Vec<String> {
        let mut constants = Constants::default();
        for (name, value) in pairs {
            constants.set(name, value);
        }
        constants.put_into(text, 1000)
    }

    #[test]
    fn values_stand_where_their_variables_did() {
        assert_eq!(put(&[("c", "cu")], "${c}rl $c $d"), ["curl cu $d"]);
        assert_eq!(put(&[("a", "cu"), ("a+", "rl")], "$a x"), ["cu x", "curl x"]);
        assert_eq!(put(&[("c", "a_b"), ("IFS", "_")], "$c"), ["a b"]);
        assert_eq!(put(&[("c", "d")], "${!c}"), ["${d}"]);
        assert_eq!(put(&[], "$(echo cu)rl $(printf %s%s a b)"), ["curl ab"]);
        assert_eq!(put(&[], "git `echo push` ` "), ["git push ` "]);
        assert_eq!(
            put(&[], "$(printf 'cu%s' rl) ${PATH+x} ${PATH+'git push'}"),
            ["curl  ", "curl x git push"]
        );
        assert_eq!(put(&[], "${x+z}${x-curl}"), ["curl", "zcurl"]);
        assert_eq!(put(&[], "$x${x-curl}"), ["${x}curl"]);
        assert!(put(&[("c", "d")], "nothing here").is_empty());
        assert_eq!(put(&[("c", " c 'url'")], "${c[0]}${c[1]} ${c[7]}"), ["curl  c 'url'"]);
        assert_eq!(put(&[("c[0]", "cu"), ("c[1]", "rl")], "${c[0]}${c[1]}"), ["curl"]);
        assert_eq!(put(&[("c", " c url"), ("IFS", "")], "${c[*]}"), ["curl"]);
    }

    #[test]
    fn patterns_stay_patterns_within_quotes() {
        assert_eq!(
            put(&[("d", "*/")], "cat \"$d/k\" \"${d}k\" $d"),
            ["cat \"\"*/\"/k\" \"\"*/\"k\" */"]
        );
        assert_eq!(put(&[("d", "a b*")], "cat \"$d\""), ["cat \"a b*\""]);
    }

    #[test]
    fn cuts_and_replacements_are_made_in_values() {
        let one = |value, text| put(&[("c", value)], text).pop().unwrap_or_default();
        assert_eq!(one("xcurl", "${c#x} ${c#?} ${c:1} ${c: -4:2}"), "curl curl curl cu");
        assert_eq!(one("a.b.c", "${c##*.} ${c%.*} ${c%%.*} ${c#*.}"), "c a.b a b.c");
        assert_eq!(one("burl", "${c/b/c} ${c//u/x} ${c/u}"), "curl bxrl brl");
        assert_eq!(one("v", "${c:-w} ${c:+w} ${d:-w}"), "v w w");
    }

    #[test]
    fn a_text_that_grows_too_far_is_left_alone() {
        assert!(put(&[("c", &"x".repeat(600))], "$c$c").is_empty());
    }
}
