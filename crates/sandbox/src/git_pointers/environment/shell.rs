//! What a text of a shell's has it read, as far as that can be told without running it. What cannot is
//! taken for all that it could be among the words of the text.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::super::SEPARATORS;

/// Commands of a shell or of direnv that load nothing of what they are given.
const SETTERS: [&str; 5] = ["export", "watch_file", "watch_dir", "PATH_add", "path_add"];
/// Commands that read what they are given as a shell's text.
const LOADERS: [&str; 4] = [".", "source", "source_env", "source_env_if_exists"];
/// Commands of direnv that read `.env` where they are given nothing.
const VARIABLES: [&str; 2] = ["dotenv", "dotenv_if_exists"];
/// Variables that stand for the same in every text.
const GIVEN: [(&str, &str); 2] = [("HOME", "~"), ("PWD", "./.")];
/// So many values are put in the places of their variables.
const MOST_VALUES: usize = 10_000;
/// So many lines come of that, and so many bytes are gone through for them.
const MOST_LINES: usize = 20_000;
const MOST_BYTES: usize = 16 << 20;
/// More variables whose values are run are not told apart.
const MOST_VARIABLES: usize = 64;

/// What a pattern holds.
pub(super) const WILDCARDS: [char; 3] = ['*', '?', '['];

/// What a text loads.
pub(super) struct Loading {
    /// The lines that could run something, with the values of their variables.
    pub(super) text: String,
    /// What the shell itself reads, as a text that says no more.
    pub(super) sourced: String,
    /// The same of what a list holds: of a folder what lies in it.
    pub(super) listed: String,
    /// The patterns that stand for what it reads.
    pub(super) patterns: BTreeSet<String>,
    /// Whether there is more.
    pub(super) is_cut: bool,
}

impl Loading {
    pub(super) fn of(text: &str) -> Self {
        let text = text.replace("\\\n", " ");
        let values = Values::of(&text);
        let ([plain, filled], is_cut) = values.fill(&text);
        let listed = sourced(&filled, &LOADERS[..2]);
        let mut text = loading_lines(&format!("{text}\n{plain}\n{filled}"));
        let mut patterns = BTreeSet::new();
        let mut is_unknown = false;
        let loaders = [LOADERS.as_slice(), &VARIABLES].concat();
        for line in sourced(&text, &loaders).lines() {
            let word = line.trim_start_matches("source ");
            let Some(pattern) = values.pattern(word).filter(|it| it.contains(WILDCARDS)) else {
                continue;
            };
            let is_any = word.contains('$') && pattern.trim_matches('*').is_empty();
            is_unknown |= is_any;
            patterns.extend((!is_any).then_some(pattern));
        }
        if is_unknown {
            // A function gives it, or another command: any of the words may be it.
            text.push_str(&all_words(&text));
        }
        let sourced = sourced(&text, &LOADERS);
        Self { text, sourced, listed, patterns, is_cut: is_cut || values.is_cut }
    }
}

/// The words of a shell's text.
fn words(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| c.is_whitespace() || SEPARATORS.contains(c));
    words.filter(|word| !word.is_empty()).collect()
}

/// All words of a text as files that are run.
fn all_words(text: &str) -> String {
    words(text).iter().flat_map(|word| ["sh ", word, "\n"]).collect()
}

/// What stands behind certain commands.
fn sourced(text: &str, loaders: &[&str]) -> String {
    let words = words(text);
    let pairs = words.windows(2).filter(|pair| loaders.contains(&pair[0]) && pair[1] != "$");
    let lines: Vec<String> = pairs.map(|pair| format!("source {}", pair[1])).collect();
    lines.join("\n")
}

/// The lines of a shell's text that could run something, and what those say that do not name it.
fn loading_lines(text: &str) -> String {
    let mut loading = String::new();
    let evaluated = evaluated(text);
    // What another command prints or a file holds is run, or read as variables: any of the words may be
    // where that comes from.
    let spread = |part: &str| {
        let is_set = |setting: &String| part.contains(setting);
        let is_kept = || evaluated.len() > MOST_VARIABLES || evaluated.iter().any(is_set);
        let is_run = is_spread(part) || words(part).contains(&"eval") || is_kept();
        if is_run { all_words(part) } else { String::new() }
    };
    for line in text.lines().filter(|line| is_loading(line)) {
        loading.push_str(line);
        loading.push('\n');
        if words(line).iter().any(|word| VARIABLES.contains(word)) {
            loading.push_str("dotenv .env\n");
        }
        loading.push_str(&spread(line));
    }
    loading.extend(long_commands(text).iter().map(|part| spread(&part.replace('\n', " "))));
    loading
}

/// Whether a line of a shell's could run something: not where all of it sets variables, or has other
/// files watched.
fn is_loading(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let first = words.clone().next().unwrap_or_default();
    if first.starts_with('#') {
        // Text in quotes that began above may end here.
        return line.contains(['"', '\'']);
    }
    let is_one = !line.contains([';', '&', '|', '(', '`']);
    !is_one || !(SETTERS.contains(&first) || words.all(is_assignment))
}

/// Whether a command is given what another one prints, or what is in a file.
fn is_spread(command: &str) -> bool {
    [" $(", " \"$(", " `", " \"`", "<"].iter().any(|it| command.contains(it))
}

/// The variables whose values a text has run, as they are set.
fn evaluated(text: &str) -> BTreeSet<String> {
    let words = words(text);
    let pairs = words.windows(2).filter(|pair| pair[0] == "eval");
    let names = pairs.filter_map(|pair| pair[1].strip_prefix('$'));
    let names = names.map(|name| name.trim_matches(['{', '}'])).filter(|name| !name.is_empty());
    names.map(|name| format!("{name}=")).collect()
}

/// The commands of a text that take more than one line, by quotes or brackets.
fn long_commands(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let (mut quote, mut before, mut is_comment) = (None, '\n', false);
    for (at, letter) in text.char_indices() {
        let is_escaped = before == '\\' && quote != Some('\'');
        let is_start = before.is_whitespace();
        // What is escaped escapes nothing.
        before = if is_escaped { 'x' } else { letter };
        is_comment &= letter != '\n';
        if is_comment || is_escaped {
            continue;
        }
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '#') if is_start => is_comment = true,
            (None | Some('"'), '(') => depth += 1,
            (None | Some('"'), ')') => depth = depth.saturating_sub(1),
            (None, '\n') if depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    found.retain(|command| command.contains('\n'));
    found
}

/// Whether a word gives a variable its value.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name.trim_end_matches('+'));
    is_name(name)
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The values that a text gives to variables.
struct Values<'a> {
    found: BTreeMap<&'a str, BTreeSet<String>>,
    count: usize,
    /// Variables of which not all values are known.
    open: BTreeSet<&'a str>,
    is_cut: bool,
}

impl<'a> Values<'a> {
    fn of(text: &'a str) -> Self {
        let mut values =
            Self { found: BTreeMap::new(), count: 0, open: BTreeSet::new(), is_cut: false };
        for (name, value) in GIVEN {
            values.add(name, value, true);
        }
        let mut words = text.split_whitespace().map(|word| word.trim_start_matches('(')).peekable();
        while let Some(word) = words.next() {
            if let Some((name, value)) = word.split_once('=').filter(|_| is_assignment(word)) {
                let name = name.trim_end_matches('+');
                values.add(name, value, true);
                // A list goes on to the end of its brackets.
                let mut is_open = value.starts_with('(') && !value.ends_with(')');
                while let Some(value) = words.next_if(|_| is_open) {
                    is_open = !value.contains(')');
                    values.add(name, value.trim_end_matches(')'), true);
                }
            }
            let name = if word == "for" { words.next() } else { None };
            let mut is_open = name.is_some() && words.next_if_eq(&"in").is_some();
            while let Some(value) = words.next_if(|word| is_open && *word != "do") {
                is_open = !value.contains(';');
                let value = value.split(';').next().unwrap_or_default();
                values.add(name.unwrap_or_default(), value, true);
            }
        }
        values.add_read(text);
        values
    }

    /// Adds what is read line by line: the words that stand with the command that prints it.
    fn add_read(&mut self, text: &'a str) {
        let is_end = |line: &&str| line.contains("done") && line.contains('<');
        let fed: Vec<&str> = text.lines().filter(is_end).flat_map(words).collect();
        for line in text.lines() {
            let line = words(line);
            let Some(at) = line.iter().position(|word| *word == "read") else { continue };
            let names = line[at + 1..].iter().take_while(|word| **word != "do");
            for name in names.filter(|name| is_name(name)) {
                for value in line.iter().chain(&fed) {
                    self.add(name, value, false);
                    if self.is_cut {
                        return;
                    }
                }
            }
        }
    }

    fn add(&mut self, name: &'a str, value: &str, is_known: bool) {
        self.is_cut |= self.count >= MOST_VALUES;
        if self.is_cut {
            return;
        }
        self.count += 1;
        if !is_known || value.contains(['`', ')']) || value.contains("$(") {
            self.open.insert(name);
        }
        let value = value.trim_matches(['"', '\'', ';', '(']).replace(['"', '\''], "");
        // What adds to itself (`PATH=$PATH:x`) would grow with every such line.
        if with_value(&value, name, "").is_none() {
            self.found.entry(name).or_default().insert(value);
        }
    }

    /// The lines of a text in which variables stand, without quotes, and those with each of the values in
    /// their places; or that there are too many.
    fn fill(&self, text: &str) -> ([String; 2], bool) {
        let loading = text.lines().filter(|line| line.contains('$') && is_loading(line));
        let mut lines: Vec<String> = loading.map(|line| line.replace('"', "")).collect();
        let mut seen: HashSet<String> = lines.iter().cloned().collect();
        let (given, mut next, mut bytes) = (lines.len(), 0, 0);
        while let Some(line) = lines.get(next).cloned() {
            next += 1;
            for name in variables(&line) {
                for value in self.found.get(name).into_iter().flatten() {
                    bytes += line.len();
                    if lines.len() >= MOST_LINES || bytes > MOST_BYTES {
                        return ([lines[..given].join("\n"), String::new()], true);
                    }
                    let filled = with_value(&line, name, value).unwrap_or_default();
                    if seen.insert(filled.clone()) {
                        lines.push(filled);
                    }
                }
            }
        }
        let filled = lines.split_off(given);
        ([lines.join("\n"), filled.join("\n")], false)
    }

    /// A word as a pattern, with what is not known in it open; none where it is told by values.
    fn pattern(&self, word: &str) -> Option<String> {
        let (mut pattern, mut rest) = (String::new(), word);
        while let Some(at) = rest.find(['$', '{']) {
            let (name, after) = variable(&rest[at..]);
            if self.found.contains_key(name) && !self.open.contains(name) {
                return None;
            }
            pattern.push_str(&rest[..at]);
            pattern.push('*');
            rest = after;
        }
        Some(pattern + rest)
    }
}

/// The variable at the beginning of a text, and what follows it; without a name where it is not a plain one.
fn variable(text: &str) -> (&str, &str) {
    let body = text.strip_prefix('$').unwrap_or(text);
    if let Some(inner) = body.strip_prefix('{') {
        let (inner, after) = inner.split_once('}').unwrap_or((inner, ""));
        let inner = inner.trim_end_matches("[@]").trim_end_matches("[*]");
        return (if text.starts_with('$') && is_name(inner) { inner } else { "" }, after);
    }
    let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    match body.find(is_other).unwrap_or(body.len()) {
        0 => ("", body.strip_prefix(['@', '*', '#', '?', '$']).unwrap_or(body)),
        end => body.split_at(end),
    }
}

/// The variables in a line.
fn variables(line: &str) -> BTreeSet<&str> {
    let places = line.match_indices('$').map(|(at, _)| variable(&line[at..]).0);
    places.filter(|name| !name.is_empty()).collect()
}

/// A line with a value in the places of a variable; none where it has no such place.
fn with_value(line: &str, name: &str, value: &str) -> Option<String> {
    let mut filled = line.to_owned();
    for end in ["}", "[@]}", "[*]}"] {
        filled = filled.replace(&format!("${{{name}{end}"), value);
    }
    let mark = format!("${name}");
    let plain = std::mem::take(&mut filled);
    let mut parts = plain.split(&mark);
    filled.push_str(parts.next().unwrap_or_default());
    for part in parts {
        // It may be the beginning of a longer name.
        let is_longer = part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        filled.push_str(if is_longer { &mark } else { value });
        filled.push_str(part);
    }
    (filled != line).then_some(filled)
}
