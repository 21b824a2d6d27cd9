//! Programs that wait, or show processes, variables and bytes, each with what it may be given.

use super::{NotReadOnly, Operand, ReadPaths};
use crate::shell::Word;
use crate::word_list::listed;

/// Variables that say nothing about anybody's secrets.
const VARIABLES: &str = "\
    HOME USER LOGNAME SHELL PATH PWD LANG LC_ALL TERM TZ HOSTNAME TMPDIR EDITOR PAGER CI \
    NODE_ENV VIRTUAL_ENV CARGO_HOME RUSTUP_HOME GOPATH GOROOT JAVA_HOME PYTHONPATH";

/// The columns that `ps` may show. They exclude environment variables.
const COLUMNS: &str = "\
    pid ppid pgid sid user uid group gid comm cmd args command stat state s start lstart stime \
    etime etimes time cputime tty pcpu %cpu pmem %mem rss vsz nice ni pri nlwp thcount wchan psr";

/// Nobody waits longer than this many seconds without being asked.
const MAX_SLEEP_SECONDS: f64 = 3600.0;

/// `sleep`: numbers, each with a unit or without.
pub(crate) fn sleep(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let seconds = |word: &Word| {
        let (number, unit) = match word.text.strip_suffix(['s', 'm', 'h', 'd']) {
            Some(number) => (number, &word.text[number.len()..]),
            None => (word.text.as_str(), "s"),
        };
        let plain = |c: char| c.is_ascii_digit() || c == '.';
        let known = (!word.glob && number.chars().all(plain)).then_some(number)?;
        let factor = match unit {
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => 1.0,
        };
        known.parse::<f64>().ok().map(|count| count * factor)
    };
    let all: Option<Vec<f64>> = args.iter().map(seconds).collect();
    match all {
        Some(all) if !all.is_empty() && all.iter().sum::<f64>() <= MAX_SLEEP_SECONDS => {
            Ok(ReadPaths::default())
        }
        Some(all) if !all.is_empty() => Err(NotReadOnly::new("it waits for more than an hour")),
        Some(_) | None => Err(NotReadOnly::new("how long it waits is not known")),
    }
}

/// `ulimit`: which limits hold, none set.
pub(crate) fn ulimit(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let is_letter = |word: &Word| {
        let letters = word.text.strip_prefix('-').unwrap_or_default();
        !word.glob && !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_alphabetic())
    };
    if !args.iter().all(is_letter) {
        return Err(NotReadOnly::new("it would set a limit"));
    }
    Ok(ReadPaths::default())
}

/// `printenv`: single variables that hold no secret.
pub(crate) fn printenv(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let is_harmless = |word: &Word| !word.glob && listed(VARIABLES, &word.text);
    if args.is_empty() || !args.iter().all(is_harmless) {
        return Err(NotReadOnly::new("it shows variables that may hold secrets"));
    }
    Ok(ReadPaths::default())
}

/// `ps`: which processes, and columns that do not show their variables.
pub(crate) fn ps(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let numbers = |text: &str| text.split(',').all(|it| it.parse::<u32>().is_ok());
    let names = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_.,-".contains(c));
    let columns = |text: &str| {
        let name = |column: &str| column.trim_end_matches('=').to_owned();
        text.split(',').all(|column| listed(COLUMNS, &name(column)))
    };
    let sorted = |text: &str| {
        text.split(',').all(|column| listed(COLUMNS, column.trim_start_matches(['-', '+'])))
    };
    let letters = |text: &str, of: &str| text.chars().all(|c| of.contains(c));
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let text = word.text.as_str();
        let mut value = |fits: &dyn Fn(&str) -> bool| {
            args.next().is_some_and(|value| !value.glob && fits(&value.text))
        };
        let is_known = match text {
            "-p" | "-q" | "--pid" | "--ppid" => value(&numbers),
            "-C" | "-u" | "-U" => value(&names),
            "-o" | "-O" | "--format" => value(&columns),
            "--sort" => value(&sorted),
            "--forest" | "--no-headers" | "--no-heading" | "--headers" => true,
            _ => match (text.strip_prefix("--"), text.strip_prefix('-')) {
                (Some(long), _) => {
                    long.strip_prefix("sort=").is_some_and(sorted)
                        || long.strip_prefix("pid=").is_some_and(numbers)
                }
                // Letters that are not understood so are read like those without a dash, of which
                // `e` shows variables.
                (None, Some("aux" | "auxf" | "auxw" | "auxww")) => true,
                (None, Some(cluster)) => !cluster.is_empty() && letters(cluster, "efFlAadHwyTLj"),
                (None, None) => letters(text, "auxwflj") || numbers(text),
            },
        };
        if word.glob || !is_known {
            return Err(NotReadOnly::new(format!("`{text}` is not known to be harmless")));
        }
    }
    Ok(ReadPaths::default())
}

/// `xxd`: one file, which it shows; a second one would be written.
pub(crate) fn xxd(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    const ALONE: &str = "-a -b -C -d -e -E -i -p -ps -u -v";
    const NUMBERED: &str = "-c -g -l -o -s";
    let is_number = |text: &str| {
        let digits = text.trim_start_matches(['+', '-']).trim_start_matches("0x");
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit())
    };
    let mut read_paths = ReadPaths::default();
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let text = word.text.as_str();
        let known = if listed(NUMBERED, text) && read_paths.contents.is_empty() {
            args.next().is_some_and(|value| !value.glob && is_number(&value.text))
        } else if text.len() > 1 && text.starts_with('-') && !read_paths.contents.is_empty() {
            // Behind a file it is the name of another one.
            false
        } else if let Some(rest) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            let attached = NUMBERED.split(' ').any(|name| rest.starts_with(&name[1..]));
            listed(ALONE, text)
                || (attached && rest[1..].chars().all(|c| c.is_ascii_digit()) && rest.len() > 1)
        } else {
            read_paths.contents.push(Operand::from(word));
            !word.glob
        };
        if !known {
            return Err(NotReadOnly::new(format!("`{text}` is not known to be harmless")));
        }
    }
    if read_paths.contents.len() > 1 {
        return Err(NotReadOnly::new("its second operand is a file that it writes"));
    }
    Ok(read_paths)
}
