//! What a script loads, or gives to a shell or another interpreter: a file of that name counts whatever
//! it looks like. Takes rather more than is meant than less, and decides nothing.

use std::collections::BTreeSet;

use super::words::{is_end, words};

/// What loads the files that are named next.
const LOADERS: [&str; 13] = [
    ".",
    "source",
    "eval",
    "include",
    "include_once",
    "sinclude",
    "require",
    "require_once",
    "require_relative",
    "load",
    "dofile",
    "loadfile",
    "BASH_ENV",
];
/// What runs the first file that it is given, or what it reads; numbers behind the names are left out.
#[rustfmt::skip]
const INTERPRETERS: [&str; 23] = [
    "ash", "bash", "bun", "dash", "deno", "fish", "julia", "ksh", "lua", "node", "nodejs", "perl",
    "php", "pwsh", "python", "Rscript", "ruby", "sh", "tclsh", "ts-node", "tsx", "yash", "zsh",
];
/// What takes its program from a file only where an option says so.
const BY_OPTION: [&str; 8] = ["awk", "gawk", "gmake", "jq", "make", "mawk", "nawk", "sed"];
/// Variables that hold folders where an interpreter looks for what it loads.
const SEARCH_PATHS: [&str; 4] = ["PERL5LIB", "PERLLIB", "RUBYLIB", "TCLLIBPATH"];

/// Letters of options whose values stand behind them.
const WITH_VALUE: [char; 6] = ['o', 'O', 'r', 'I', 'W', 'X'];

const MOST_ARGUMENTS: usize = 32;
/// The longest part of a line that is looked at for one word.
const LONGEST: usize = 256;

/// The words of a text that name such files.
pub(super) fn run(text: &str) -> BTreeSet<String> {
    let text = text.replace("\\\n", " ");
    let mut pieces = BTreeSet::new();
    for line in text.lines() {
        for (start, token) in tokens(line) {
            let (before, after) = (&line[..start], &line[start + token.len()..]);
            let token = token.trim_start_matches('\\');
            let name = token.rsplit('/').next().unwrap_or(token);
            let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            if LOADERS.contains(&token) {
                let given = arguments(before, after);
                // What most often is read in this way is no program.
                pieces.extend(given.filter(|it| token != "require" || !it.contains(".json")));
            } else if INTERPRETERS.contains(&name) {
                pieces.extend(interpreted(before, after));
            } else if BY_OPTION.contains(&name) {
                pieces.extend(told_files(before, after));
            }
        }
    }
    pieces.into_iter().flat_map(words).collect()
}

/// The words of a text that name folders where the interpreters that it starts look for what they load.
pub(super) fn searched(text: &str) -> BTreeSet<String> {
    let mut pieces = BTreeSet::new();
    for line in text.lines() {
        for (start, token) in tokens(line) {
            let after = &line[start + token.len()..];
            if token == "-I" || SEARCH_PATHS.contains(&token) {
                pieces.extend(arguments(&line[..start], after).take(1));
            } else if token.starts_with("-I") {
                pieces.insert(token);
            }
        }
    }
    pieces.into_iter().flat_map(words).collect()
}

/// What stands between blanks and signs in a line, and where.
fn tokens(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    let tokens = line.split_inclusive(is_end).map(move |piece| {
        let start = next;
        next += piece.len();
        (start, piece.trim_end_matches(is_end))
    });
    tokens.filter(|(_, token)| !token.is_empty())
}

/// What an interpreter runs: the first word that is neither an option nor, perhaps, the value of one, and
/// all before it; without a word what is piped to it; and from `xargs` what that reads.
fn interpreted<'a>(before: &'a str, after: &'a str) -> Vec<&'a str> {
    let mut given = Vec::new();
    let (mut is_value, mut has_word, mut reads_input) = (false, false, false);
    for word in arguments(before, after) {
        let bare = word.trim_matches(['"', '\'', ',']);
        given.push(word);
        if bare.starts_with('<') {
            continue;
        }
        if bare.starts_with('-') {
            let is_long = bare.starts_with("--") && bare.len() > 2;
            is_value = is_long || bare.ends_with(WITH_VALUE);
            reads_input |= !is_long && bare.contains('s');
            continue;
        }
        has_word = true;
        if !is_value {
            break;
        }
        is_value = false;
    }
    let near = before.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    let command = before[near..].rsplit([';', '&']).next().unwrap_or_default();
    let is_fed = (reads_input || !has_word) && command.trim_end().ends_with('|');
    if is_fed || ["xargs", "parallel"].iter().any(|it| command.contains(it)) {
        given.push(command);
    }
    given
}

/// What an option says that ends with an `f`: its value, be it the next word or a part of its own.
fn told_files<'a>(before: &str, after: &'a str) -> Vec<&'a str> {
    let (mut told, mut is_value) = (Vec::new(), false);
    for word in arguments(before, after) {
        if is_value {
            told.push(word);
        }
        let option = word.strip_prefix('-');
        let is_long = option.is_some_and(|it| it.starts_with('-'));
        is_value = option.is_some_and(|it| it.ends_with('f') || (is_long && it.ends_with("file")));
        let own = option.and_then(|it| it.split_once(if is_long { '=' } else { 'f' }));
        told.extend(own.map(|(_, value)| value));
    }
    told
}

/// The first words of a command behind its name, which may also be a call or a list in another
/// language. Input comes with its sign, and what output is sent to is left out.
fn arguments<'a>(before: &str, after: &'a str) -> impl Iterator<Item = &'a str> {
    let quote = before.chars().next_back().filter(|quote| ['"', '\''].contains(quote));
    let rest = quote.and_then(|quote| after.strip_prefix(quote)).unwrap_or(after);
    let mut rest = rest.trim_start_matches(|c: char| c.is_whitespace() || ",([=".contains(c));
    let words = std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        let is_redirected = rest.starts_with(['<', '>']);
        let signs = if is_redirected { &['<', '>', '&'][..] } else { &[] };
        let bare = rest.trim_start_matches(signs).trim_start();
        let length = word_length(bare);
        let (word, after) = rest.split_at(rest.len() - bare.len() + length);
        rest = after;
        (length > 0).then_some((word, after))
    });
    let is_argument = |(word, after): &(&str, &str)| {
        let is_descriptor =
            after.starts_with(['<', '>']) && word.bytes().all(|byte| byte.is_ascii_digit());
        !word.starts_with('>') && !is_descriptor
    };
    words.take(MOST_ARGUMENTS).filter(is_argument).map(|(word, _)| word)
}

/// How long the word at the start of a text is, with what stands in quotes, brackets and braces.
fn word_length(text: &str) -> usize {
    let mut open: Vec<char> = Vec::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        if at >= LONGEST {
            return at;
        }
        let last = open.last().copied();
        match letter {
            _ if last == Some(letter) => {
                open.pop();
            }
            _ if last == Some('\'') => {}
            '\\' => {
                letters.next();
            }
            '\'' if last == Some('"') => {}
            '\'' | '"' | '`' => open.push(letter),
            '(' => open.push(')'),
            '{' => open.push('}'),
            _ if last.is_none() && (letter.is_whitespace() || ";|&<>)".contains(letter)) => {
                return at;
            }
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_loaded_or_given_to_an_interpreter_is_found() {
        for text in [
            ". ./sub/lib",
            "\\. sub/lib",
            "[ -f x ] && . \"$here/sub/lib\"",
            "if ! source ${here}/sub/lib; then",
            ". \"$(cd \"$(dirname \"$0\")\" && pwd)/sub/lib\" # 'x",
            ". \\\n  sub/lib",
            "trap '. sub/lib' EXIT",
            "bash -o pipefail sub/lib a",
            "/usr/bin/env -i python3.12 -u sub/lib",
            "BASH_ENV=sub/lib sh x",
            "sh 2>/dev/null < sub/lib",
            "sh <sub/lib",
            "bash <(cat sub/lib)",
            "cat sub/lib | sh",
            "cat sub/lib | sort | bash -es -- a",
            "xargs -a sub/lib sh -c",
            "subprocess.run([\"sh\", \"-e\", \"sub/lib\"])",
            "source(\"sub/lib\", chdir = TRUE)",
            "dofile('sub/lib')",
            "require __DIR__ . '/sub/lib';",
            "include a.mk sub/lib",
            "awk -v a=b -f sub/lib x",
            "sed -nfsub/lib x",
            "jq --from-file sub/lib",
            "make -f sub/lib all",
            "eval \"$(cat sub/lib)\"",
        ] {
            assert!(run(text).iter().any(|it| normal(it) == "sub/lib"), "{text}: {:?}", run(text));
        }
    }

    #[test]
    fn what_a_program_only_reads_is_not() {
        for text in [
            ". ./lib; cat notes",
            "sh x.sh notes",
            "python3 x.py < notes",
            "bash -e x < notes",
            "cat notes | python3 x.py",
            "cat notes | perl -ne print",
            "sh x > notes",
            "awk '{ print }' notes",
            "jq .a notes",
            "make notes",
            "cat notes; sh x",
            "const it = require('./notes.json')",
            "it = json.load(open('notes'))",
        ] {
            let found = run(text);
            assert!(found.iter().all(|it| !it.contains("notes")), "{text}: {found:?}");
        }
    }

    #[test]
    fn folders_of_modules_are_found() {
        for text in ["perl -Ilib x.pl", "ruby -I lib x", "PERL5LIB=\"$PWD/lib:x\" ./x"] {
            assert!(searched(text).contains("lib"), "{text}: {:?}", searched(text));
        }
        assert!(searched("ls -l lib; grep -i lib").is_empty());
    }

    #[test]
    fn texts_of_nothing_but_interpreters_end() {
        for text in ["sh - ", "sh'", "sh (", ". ", "| sh", "xargs sh "] {
            run(&text.repeat((1 << 16) / text.len()));
        }
    }

    fn normal(word: &str) -> &str {
        word.trim_start_matches("./")
    }
}
