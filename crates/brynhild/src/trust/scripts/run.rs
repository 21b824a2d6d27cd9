//! What a script loads, or gives to a shell or another interpreter: a file of that name counts whatever
//! it looks like. Takes rather more than is meant than less, and decides nothing.

use std::collections::BTreeSet;

use contract::text::head;

use super::words::{is_end, words};

/// What loads the files that are named next.
const LOADERS: [&str; 14] = [
    ".",
    "source",
    "eval",
    "include",
    "-include",
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
/// What loads the file that is named next, and variables by which an interpreter does.
const LOADS_ONE: [&str; 9] = [
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "NODE_OPTIONS",
    "PERL5OPT",
    "RUBYOPT",
    "PYTHONSTARTUP",
    "ENV",
];
/// What runs the first file that it is given, or what it reads; numbers behind the names are left out.
#[rustfmt::skip]
const INTERPRETERS: [&str; 43] = [
    "ash", "bash", "bun", "dart", "dash", "deno", "elixir", "emacs", "escript", "expect", "fish",
    "groovy", "guile", "java", "julia", "kotlin", "ksh", "lua", "luajit", "node", "nodejs", "ocaml",
    "octave", "perl", "php", "pwsh", "pypy", "python", "racket", "raku", "Rscript", "ruby", "runghc",
    "sbcl", "scala", "sh", "swipl", "tclsh", "ts-node", "tsx", "wish", "yash",
    "zsh",
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
            // A list of names in JavaScript loads nothing by the name of what loads.
            let is_name = token == "require" && before.ends_with(['"', '\'']);
            if LOADERS.contains(&token) && !is_name {
                let given = arguments(before, after);
                // What most often is read in this way is no program.
                pieces.extend(given.filter(|it| token != "require" || !it.contains(".json")));
            } else if LOADS_ONE.contains(&token) || is_call_of_file(token, after) {
                pieces.extend(arguments(before, after).take(1));
            } else if INTERPRETERS.contains(&name) && !is_assertion(name, after) {
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

/// Whether a name is not that of the program but of what tests of JavaScript call.
fn is_assertion(name: &str, after: &str) -> bool {
    name == "expect" && after.starts_with('(')
}

/// Whether Perl runs a file by its name there. A shell has the same word for the start of a loop.
fn is_call_of_file(token: &str, after: &str) -> bool {
    token == "do" && after.trim_start().starts_with(['"', '\'', '('])
}

/// The words of a text that name folders of which `find` gives the files to an interpreter, or runs them;
/// with each, whether only those with an ending that could run are meant.
pub(super) fn gone_through(text: &str) -> BTreeSet<(String, bool)> {
    let text = text.replace("\\\n", " ");
    let mut places = BTreeSet::new();
    for line in text.lines() {
        for command in line.split([';', '|', '&']) {
            // One within another begins with the same signs; more than a few of them are none.
            for (at, start) in command.match_indices("find ").take(4) {
                places.extend(found_and_run(head(&command[at + start.len()..], 4 * LONGEST)));
            }
        }
    }
    places
}

/// The same of what stands behind `find`.
fn found_and_run(command: &str) -> BTreeSet<(String, bool)> {
    let bare = command.replace(['"', '\''], "");
    let tokens: Vec<&str> = bare.split_whitespace().collect();
    let runs = |pair: &[&str]| {
        let name = pair[1].rsplit('/').next().unwrap_or(pair[1]);
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_run = name == "{}" || name == "env" || INTERPRETERS.contains(&name);
        ["-exec", "-execdir", "-ok", "-okdir"].contains(&pair[0]) && is_run
    };
    if !tokens.windows(2).any(runs) {
        return BTreeSet::new();
    }
    let patterns = || tokens.windows(2).filter(|pair| ["-name", "-iname"].contains(&pair[0]));
    let has_ending = |pair: &[&str]| {
        pair[1].rsplit_once('.').is_some_and(|(_, ending)| super::ENDINGS.contains(&ending))
    };
    let is_narrow = patterns().next().is_some() && patterns().all(has_ending);
    let places = tokens.iter().take_while(|token| !token.starts_with(['-', '(', '!', '\\']));
    let mut places: BTreeSet<String> = places.flat_map(|place| words(place)).collect();
    if places.is_empty() {
        places.insert(String::from("."));
    }
    places.into_iter().map(|place| (place, is_narrow)).collect()
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
        given.extend(arguments(before, after).filter(|word| word.starts_with('<')));
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
            "xargs -I{} sh -c {} < sub/lib",
            "-include sub/lib",
            "do \"./sub/lib\" or die;",
            "do('sub/lib');",
            "NODE_OPTIONS=\"--require ./sub/lib\" node x.js",
            "NODE_OPTIONS=--import=./sub/lib node x.js",
            "node --require=./sub/lib x.js",
            "RUBYOPT=-r./sub/lib ruby x",
            "ENV=./sub/lib sh -i",
            "java -jar sub/lib",
            "emacs --batch --script sub/lib",
            "expect -f sub/lib",
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
            "for x in a; do cat notes; done",
            "xargs rm < notes",
            "environment notes",
            "define([\"require\",\"exports\"],function(a,b){(n?4:0);\"notes\"})",
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
    fn folders_whose_files_are_run_are_found() {
        for (text, wanted) in [
            ("find checks -type f -exec sh {} +", Some(("checks", false))),
            (
                "cd x && find \"./checks\" -name '*.sh' -exec bash -e {} \\;",
                Some(("./checks", true)),
            ),
            ("find checks \\\n  -name 'c*' -exec {} \\;", Some(("checks", false))),
            ("find . -name '*.py' -exec python3 {} +", Some((".", true))),
            ("find -exec sh {} +", Some((".", false))),
            ("find checks -name '*.o' -exec rm {} +", None),
            ("find checks -type f; sh x", None),
        ] {
            let found = gone_through(text);
            let wanted = wanted.map(|(place, is_narrow)| (place.to_owned(), is_narrow));
            assert_eq!(found.into_iter().next(), wanted, "{text}");
        }
    }

    #[test]
    fn texts_of_nothing_but_interpreters_end() {
        for text in ["sh - ", "sh'", "sh (", ". ", "| sh", "xargs sh ", "find ", "do '"] {
            run(&text.repeat((1 << 16) / text.len()));
            gone_through(&text.repeat((1 << 16) / text.len()));
        }
    }

    fn normal(word: &str) -> &str {
        word.trim_start_matches("./")
    }
}
