//! What a script is written in, by its first line, its name or what runs it; and words in other languages than a
//! shell's by which programs are started, or code is loaded whose name does not stand there.

use super::By;

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Shell,
    Python,
    JavaScript,
    Perl,
    Ruby,
    /// One of which nothing is known but that its bytes are no text.
    Binary,
}

/// What the start of a file, or its name, says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum First {
    Language(Language),
    /// A first line that is not just the name of a known interpreter.
    Odd(String),
}

/// Interpreters that run a script as it is, without options.
#[rustfmt::skip]
const INTERPRETERS: [(&str, Language); 9] = [
    ("bash", Language::Shell), ("dash", Language::Shell), ("node", Language::JavaScript), ("nodejs", Language::JavaScript),
    ("perl", Language::Perl), ("python", Language::Python), ("python3", Language::Python), ("ruby", Language::Ruby),
    ("sh", Language::Shell),
];
/// Endings of names that say the language.
#[rustfmt::skip]
const ENDINGS: [(&str, Language); 17] = [
    ("bash", Language::Shell), ("sh", Language::Shell), ("py", Language::Python), ("pyw", Language::Python),
    ("js", Language::JavaScript), ("mjs", Language::JavaScript), ("cjs", Language::JavaScript), ("ts", Language::JavaScript),
    ("mts", Language::JavaScript), ("cts", Language::JavaScript), ("pl", Language::Perl), ("pm", Language::Perl),
    ("rb", Language::Ruby), ("pyc", Language::Binary), ("pyd", Language::Binary), ("so", Language::Binary),
    ("node", Language::Binary),
];
/// Where interpreters lie.
const FOLDERS: [&str; 4] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"];

/// What a script of Python says to start a program, or to load code by a name that is put together.
#[rustfmt::skip]
const PYTHON: [&str; 65] = [
    "CFullLoader", "CLoader", "CUnsafeLoader", "FullLoader", "Loader", "cloudpickle", "dill", "full_load_all",
    "get_type_hints", "joblib", "read_pickle", "unsafe_load_all", "eval_str", "__builtins__", "__dict__", "__getattribute__", "__globals__", "__import__", "__loader__", "__spec__", "__subclasses__",
    "addsitedir", "attrgetter", "builtins", "cProfile", "cffi", "compile", "ctypes", "doctest", "eval", "exec", "execfile",
    "full_load", "getattr", "globals", "import_module", "importlib", "locals", "marshal", "methodcaller", "multiprocessing",
    "pdb", "pickle", "pkgutil", "popen", "pty", "runpy", "shelve", "site", "system", "timeit", "unittest", "unsafe_load",
    "UnsafeLoader", "vars", "webbrowser", "zipimport", "InteractiveConsole", "InteractiveInterpreter", "dictConfig",
    "enable_load_extension", "fileConfig", "load_extension", "runcode", "runsource",
];
/// The letters that Python may be told to read a script in.
#[rustfmt::skip]
const CODINGS: [&str; 8] =
    ["ascii", "iso-8859-1", "iso8859-1", "latin-1", "latin1", "us-ascii", "utf-8", "utf8"];
/// Modules of Python with usual names that run what they are given.
const MODULES: [&str; 6] = ["bdb", "code", "codeop", "imp", "profile", "trace"];
/// What names what is usual by itself, but not together.
const TOGETHER: [&str; 3] = ["profile.run", "sys.path", "trace.Trace"];
/// What of YAML makes no objects but plain ones.
const SAFE: [&str; 4] = ["BaseLoader", "CBaseLoader", "CSafeLoader", "SafeLoader"];
/// How further ones begin.
const STARTS: [&str; 6] = ["execl", "execv", "fork", "popen", "posix_spawn", "spawn"];
/// The same of JavaScript.
#[rustfmt::skip]
const JAVASCRIPT: [&str; 19] = [
    "Bun", "Function", "Worker", "_load", "binding", "child_process", "cluster", "createRequire", "dlopen", "eval", "execa",
    "global", "globalThis", "inspector", "loadExtension", "mainModule", "repl", "vm", "worker_threads",
];
/// The same of Perl and Ruby.
#[rustfmt::skip]
const OTHERS: [&str; 28] = [
    "DynaLoader", "Fiddle", "INC", "LOAD_PATH", "Open3", "PTY", "__send__", "autoload", "class_eval", "class_exec", "eval",
    "evalbytes", "exec", "instance_eval", "instance_exec", "load", "module_eval", "module_exec", "open", "open2", "open3",
    "public_send", "qx", "readpipe", "require", "send", "syscall", "system",
];

/// The language of the program of this name.
pub(super) fn interpreter(name: &str) -> Option<Language> {
    INTERPRETERS.iter().find(|(it, _)| *it == name).map(|(_, language)| *language)
}

/// What a file says of itself, by its first line and its name.
pub(super) fn by_own(path: &str, bytes: &[u8]) -> Vec<First> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let by_name = ENDINGS.iter().find(|(it, _)| *it == ending).map(|(_, it)| First::Language(*it));
    first_line(bytes).into_iter().chain(by_name).collect()
}

/// What it is by what runs it.
pub(super) fn by_use(by: By, path: &str, bytes: &[u8]) -> Option<First> {
    let first = first_line(bytes);
    match by {
        By::Shell | By::Bash | By::Sourced => Some(First::Language(Language::Shell)),
        By::Interpreter(language) => Some(First::Language(language)),
        By::Itself => first.or(Some(First::Language(Language::Shell))),
        By::Script => {
            first.or_else(|| by_own(path, bytes).pop()).or(Some(First::Language(Language::Python)))
        }
    }
}

fn first_line(bytes: &[u8]) -> Option<First> {
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split([' ', '\t']).filter(|it| !it.is_empty());
    let name = match (words.next(), words.next(), words.next()) {
        (Some("/usr/bin/env"), Some(name), None) => Some(name),
        (Some(program), None, None) => FOLDERS.iter().find_map(|it| program.strip_prefix(it)),
        _ => None,
    };
    let language = name.and_then(interpreter).map(First::Language);
    Some(language.unwrap_or_else(|| First::Odd(format!("#!{line}"))))
}

/// Whether the first line names Bash.
pub(super) fn says_bash(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with("#!") && line.ends_with("bash"))
}

/// The lines of a script by which it may start a program, or load code that is not named there.
pub(super) fn starting(language: Language, text: &str) -> Vec<String> {
    let words: &[&str] = match language {
        Language::Shell | Language::Binary => &[],
        Language::Python => &PYTHON,
        Language::JavaScript => &JAVASCRIPT,
        Language::Perl | Language::Ruby => &OTHERS,
    };
    let is_told = |line: &&str| {
        let line = if language == Language::Python { without_comment(line) } else { line };
        let is_start = |name: &str| {
            STARTS.iter().any(|it| name.starts_with(it)) || name.contains("subprocess")
        };
        let has_word = names(line).any(|(at, name)| {
            (words.contains(&name) || is_start(name)) && !is_other(line, at, name)
        });
        let has_name = |word: &str| names(line).any(|(_, name)| name == word);
        has_word
            || match language {
                Language::Python => {
                    TOGETHER.iter().any(|it| line.contains(it))
                        || line.contains(is_folded)
                        || imports_code(line)
                        || loads_objects(line)
                }
                Language::JavaScript => line.contains("\\u") && spells_out(line),
                Language::Perl => line.contains('`') || has_name("do"),
                Language::Ruby => {
                    let has_sign = ["`", "%x", "$:"].iter().any(|it| line.contains(it));
                    has_sign || opened(line, &["require_relative"]).next().is_some()
                }
                Language::Shell | Language::Binary => false,
            }
    };
    let odd = match language {
        Language::Python => codings(text),
        Language::JavaScript => {
            let opened = opened(text, &["require", "import"]).map(|at| line_at(text, at));
            escaped(text).into_iter().chain(opened).collect()
        }
        Language::Shell | Language::Perl | Language::Ruby | Language::Binary => Vec::new(),
    };
    odd.into_iter().chain(text.lines().filter(is_told)).map(str::to_owned).collect()
}

/// Comments at the start of a script of Python by which it is read in other letters than these.
fn codings(text: &str) -> Vec<&str> {
    let lines = text.split('\n').take(2).flat_map(|line| line.split('\r'));
    let is_known =
        |name: &str| CODINGS.contains(&name.to_ascii_lowercase().replace('_', "-").as_str());
    let is_odd = |line: &&str| {
        let names = line.split("coding").skip(1).filter_map(|it| {
            let rest = it.strip_prefix([':', '='])?.trim_start_matches([' ', '\t']);
            rest.split(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)).next()
        });
        line.trim_start().starts_with('#') && !names.filter(|it| !it.is_empty()).all(is_known)
    };
    lines.filter(is_odd).collect()
}

/// Lines of JavaScript that import something whose name is not spelled out.
fn escaped(text: &str) -> Vec<&str> {
    let places = names(text).filter(|(_, name)| ["from", "import"].contains(name));
    let is_odd = |rest: &str| {
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|it| ['"', '\''].contains(it));
        let name = quote.and_then(|quote| rest[1..].split(quote).next());
        name.is_some_and(is_spelled) || rest.starts_with("/*") || rest.starts_with("//")
    };
    let odd = places.filter(|(at, name)| is_odd(&text[at + name.len()..]));
    odd.map(|(at, _)| line_at(text, at)).collect()
}

/// The line of a text in which this place is.
fn line_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |it| it + 1);
    text[start..].lines().next().unwrap_or_default()
}

/// Whether a name is not that of the file as it stands there: in addresses letters may be written as their numbers,
/// and ends of lines and tabs are dropped; and one with a scheme may hold the code itself.
pub(super) fn is_spelled(name: &str) -> bool {
    let scheme = name.split_once(':').map(|(scheme, _)| scheme);
    name.contains(|c: char| ['\\', '%'].contains(&c) || c.is_control())
        || scheme.is_some_and(|it| it != "node")
}

/// Whether a letter of a name is written as its number, which makes another word of the name.
fn spells_out(line: &str) -> bool {
    let numbers = line.split("\\u").skip(1).map(|it| {
        let digits = it.strip_prefix('{').unwrap_or(it);
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        let end = if it.starts_with('{') { end } else { end.min(4) };
        u32::from_str_radix(&digits[..end], 16).ok().and_then(char::from_u32)
    });
    numbers.flatten().any(|letter| letter.is_ascii_alphanumeric() || ['_', '$'].contains(&letter))
}

/// Names in a text, with where they begin.
pub(super) fn names(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_sign = |c: char| !c.is_alphanumeric() && c != '_';
    let mut next = 0;
    let pieces = line.split_inclusive(is_sign).map(move |piece| {
        let start = next;
        next += piece.len();
        (start, piece.trim_end_matches(is_sign))
    });
    pieces.filter(|(_, name)| !name.is_empty())
}

/// Whether a name is that of something else, which is usual: expressions are compiled and executed too.
fn is_other(line: &str, at: usize, name: &str) -> bool {
    let after = line[at + name.len()..].trim_start();
    name == "compile" && line[..at].ends_with("re.")
        || name == "Loader" && after.starts_with('=') && !after.starts_with("==")
}

/// A line of Python up to its comment. Where a string could begin or end in it, or code stand in one, what looks
/// like a comment may be none.
fn without_comment(line: &str) -> &str {
    let is_plain = !line.contains(['"', '\'', '{', '\r']);
    line.split_once('#').filter(|_| is_plain).map_or(line, |(code, _)| code)
}

/// Whether a line of Python imports what runs texts, or the list of folders that modules come from under a name of
/// its own.
fn imports_code(line: &str) -> bool {
    let names: Vec<&str> = names(line).map(|(_, name)| name).collect();
    let has = |part: &[&str]| names.windows(part.len()).any(|it| it == part);
    let is_open = || has(&["path"]) || line.contains(['*', '(']);
    has(&["sys", "as"])
        || has(&["from", "sys", "import"]) && is_open()
        || has(&["from", "yaml", "import"]) && has(&["load"])
        || has(&["import"]) && MODULES.iter().any(|it| has(&[it]))
}

/// Whether a line of Python reads YAML that may say which objects are made.
fn loads_objects(line: &str) -> bool {
    let is_safe = |call: &str| {
        let loader = call.split_once("Loader").map_or("", |(_, it)| it.trim_start());
        let loader = loader.strip_prefix('=').map_or("", str::trim_start);
        names(loader.strip_prefix("yaml.").unwrap_or(loader))
            .next()
            .is_some_and(|(at, name)| at == 0 && SAFE.contains(&name))
    };
    names(line).any(|(at, name)| {
        let is_call = ["load", "load_all"].contains(&name) && line[..at].ends_with("yaml.");
        is_call && !is_safe(&line[at..])
    })
}

/// Where a text loads something by one of these words whose name is no plain text.
fn opened<'a>(text: &'a str, loaders: &'a [&str]) -> impl Iterator<Item = usize> + 'a {
    let is_open = |at: usize, word: &str| {
        let rest = text[at + word.len()..].trim_start();
        let call = rest.strip_prefix('(').map(str::trim_start);
        // Ruby needs no brackets, and puts values into texts.
        let is_ruby = word == "require_relative";
        let given = call.or(is_ruby.then_some(rest));
        let quote = given.and_then(|it| it.chars().next()).filter(|it| ['"', '\''].contains(it));
        let is_text = given.zip(quote).is_some_and(|(given, quote)| {
            given[1..].split_once(quote).is_some_and(|(name, after)| {
                let after = after.trim_start();
                !is_spelled(name)
                    && (after.starts_with(')')
                        || is_ruby && after.is_empty() && !name.contains('#'))
            })
        });
        // A statement names what it imports; what loads by another name is given away otherwise.
        let is_statement = word == "import" && call.is_none();
        !is_text && !is_statement
    };
    let places = names(text).filter(|(_, name)| loaders.contains(name));
    places.filter(move |(at, word)| is_open(*at, word)).map(|(at, _)| at)
}

/// Whether Python takes a letter for one of ASCII.
fn is_folded(letter: char) -> bool {
    matches!(letter, 'ª' | 'º' | 'ſ' | '\u{2b0}'..='\u{2b8}' | '\u{1d2c}'..='\u{1d6a}' | '\u{2070}'..='\u{209c}'
        | '\u{2100}'..='\u{214f}' | '\u{fb00}'..='\u{fb06}' | '\u{ff00}'..='\u{ffef}' | '\u{1d400}'..='\u{1d7ff}')
}
