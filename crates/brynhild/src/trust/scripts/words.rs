//! The words of command lines and scripts that could be names of files. What is read here decides
//! nothing.

use std::collections::BTreeSet;

/// What lists the names in a folder.
const LISTS: [&str; 8] =
    ["readdir", "listdir", "iterdir", "scandir", "glob", "iter_modules", "opendir", "Dir."];
/// What loads a module whose name is no literal.
const LOADS: [&str; 4] = ["import_module(", "__import__(", "spec_from_file", "run_path"];
/// What loads a module whose name follows.
const REQUIRES: [&str; 2] = ["require(", "import("];

/// Words that could be paths, each once. What output is sent to is none. In a word with a variable
/// that stands behind a literal part there is a `$`.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let mut words = split(text);
    // The shell joins what stands on both sides of a quote.
    let bare = text.replace(['"', '\''], "");
    words.extend(split(&bare));
    if text.contains("::") {
        words.extend(split(&text.replace("::", "/")));
    }
    if text.contains("${") || text.contains('`') {
        words.extend(split(&with_plain_variables(&bare)));
        words.extend(split(&with_plain_variables(text)));
    }
    words.extend(joined(text));
    words.extend(escaped(text));
    let attached: Vec<String> = words.iter().flat_map(|word| attached(word)).collect();
    words.extend(attached);
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a text runs or loads whatever lies in folders that it names.
pub(super) fn goes_through_folders(text: &str) -> bool {
    let lists = || LISTS.iter().any(|part| text.contains(part));
    let runs = ["node --test", "bun test", "deno test"];
    let tests = runs.iter().any(|it| text.contains(it));
    // What a search path leads to is loaded by names that stand elsewhere.
    let is_search_path = text.contains("NODE_PATH");
    text.contains("run-parts") || is_search_path || tests || (loads_unnamed(text) && lists())
}

/// Whether a text loads modules whose names do not stand there.
pub(super) fn loads_unnamed(text: &str) -> bool {
    let is_open = |call: &&str| {
        text.match_indices(*call).any(|(at, _)| {
            let first = text[at + call.len()..].trim_start().chars().next();
            first.is_some_and(|first| first.is_alphabetic() || first == '_')
        })
    };
    LOADS.iter().any(|part| text.contains(part)) || REQUIRES.iter().any(is_open)
}

/// Whether a text runs a folder by its dots, as `node .` does.
pub(super) fn names_itself(text: &str) -> bool {
    let runs = ["node", "nodejs", "bun", "deno", "tsx", "python", "python3"];
    let mut words = text.split(|c: char| c.is_whitespace() || "'\";|&()".contains(c));
    let is_dots = |word: &str| matches!(word, "." | "./" | ".." | "../");
    text.split_whitespace().any(is_dots) && words.any(|word| runs.contains(&word))
}

/// Strings of nothing but steps (`..`, `./`, `../..`), by which JavaScript loads what the folder there stands for.
pub(super) fn steps(text: &str) -> BTreeSet<String> {
    let loads = ["require", "import", "from", "main"].iter().any(|word| text.contains(word));
    let is_step = |name: &str| ["", ".", ".."].contains(&name);
    let is_way = |it: &&str| it.starts_with('.') && it.split('/').all(is_step);
    let strings = text.split(['"', '\'', '`']).filter(|_| loads);
    strings.filter(is_way).map(str::to_owned).collect()
}

/// A text in which every variable is a short one, without signs that would end a word.
fn with_plain_variables(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let is_sign = |(at, sign): &(usize, &str)| *sign == "`" || text[*at..].starts_with("${");
    let mut done = 0;
    for (at, sign) in text.match_indices(['$', '`']).filter(is_sign) {
        if at < done {
            continue;
        }
        let end = if sign == "`" { '`' } else { '}' };
        let Some(length) = text[at + 1..].find(end) else { break };
        plain.push_str(&text[done..at]);
        // The strings of one language stand in the signs that run something in another.
        let is_text = end == '`' && text[at + 1..=at + length].contains("${");
        if is_text {
            plain.push('"');
            done = at + 1;
        } else {
            plain.push_str("$_");
            done = at + length + 2;
        }
    }
    plain.push_str(&text[done..]);
    plain
}

/// Strings that end with a slash and to which something is joined.
fn joined(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for quote in ['\'', '"'] {
        let end = format!("/{quote}");
        for (at, _) in text.match_indices(&end) {
            let is_joined = text[at + 2..].trim_start().starts_with(['+', '.', '$']);
            let start = text[..at].rfind(quote).map(|start| start + 1);
            if let Some(start) = start.filter(|start| is_joined && at - start < 1024) {
                found.insert(format!("{}/$", plain(&text[start..at])));
            }
        }
    }
    found
}

/// What a word holds behind a sign, which may be that of a variable's default, or behind an option's
/// letter; and before the signs that end the path in an address.
fn attached(word: &str) -> Vec<String> {
    let signs = ["#!", "!", "@", "-", "+", "?"];
    let behind = signs.iter().filter_map(|sign| word.strip_prefix(sign)).map(plain);
    let option = word.strip_prefix('-');
    let value = option.and_then(|it| it.strip_prefix(|c: char| c.is_ascii_alphabetic()));
    let path = word.split_once(['?', '#']).map(|(path, _)| plain(path));
    behind.chain(value.map(plain)).chain(path).collect()
}

/// Words in which a backslash takes the meaning of what follows, such as a blank.
fn escaped(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut word, mut is_escaped) = (String::new(), false);
    let mut letters = text.chars().chain([' ']);
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            is_escaped = true;
            word.extend(letters.next().filter(|next| *next != '\n'));
        } else if is_end(letter) {
            if is_escaped {
                found.insert(plain(&word));
            }
            word.clear();
            is_escaped = false;
        } else {
            word.push(letter);
        }
    }
    found
}

/// Whether a word ends there.
pub(super) fn is_end(letter: char) -> bool {
    letter.is_whitespace() || "'\"`;|&()<>=,:[]{}".contains(letter)
}

fn split(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for quote in ['\'', '"'] {
        words.extend(text.split(quote).skip(1).step_by(2).filter(|it| it.len() < 1024).map(plain));
    }
    let mut start = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_end(*c)).chain([(text.len(), ' ')]) {
        // Asked of words alone, or a text of blanks would be looked through for each of them.
        let is_target = || {
            let before = text[..start].trim_end_matches(|c: char| c.is_whitespace() || c == '"');
            before.ends_with('>')
        };
        if start < at && !is_target() {
            let word = &text[start..at];
            words.insert(plain(word));
            // What follows a variable or a command lies in the folder that it names.
            if text[..start].ends_with(['}', ')', '"', '\'']) {
                words.insert(plain(word.trim_start_matches('/')));
            }
        }
        start = at + c.len_utf8();
        if at == text.len() {
            break;
        }
    }
    words
}

/// A word without the variable that stands for the project's folder.
fn plain(word: &str) -> String {
    let rest = word.trim().trim_end_matches([':', '.']);
    let rest = match rest.strip_prefix('$').and_then(|rest| rest.split_once('/')) {
        Some((_, rest)) => rest,
        None => rest,
    };
    rest.to_owned()
}
