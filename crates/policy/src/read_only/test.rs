//! `test` and its other spellings: operators that look at files, texts and numbers.

use super::{NotReadOnly, Operand, ReadPaths};
use crate::shell::Word;
use crate::word_list::listed;

/// Operators that look at the file after them.
const OF_FILE: &str = "-e -f -d -r -w -x -s -L -h -p -S -b -c -k -g -u -O -G -N";
/// Operators that look at texts or join others.
const OF_TEXT: &str = "-z -n -a = == != !";
/// Operators between two files.
const OF_FILES: &str = "-nt -ot -ef";
/// Operators between two numbers.
const OF_NUMBERS: &str = "-eq -ne -lt -le -gt -ge";

/// `test`.
pub(crate) fn check(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let mut read_paths = ReadPaths::default();
    for (index, word) in args.iter().enumerate() {
        if word.glob {
            return Err(NotReadOnly::new("a pattern could become an operator"));
        }
        let text = word.text.as_str();
        let is_known = [OF_FILE, OF_TEXT, OF_FILES, OF_NUMBERS].iter().any(|of| listed(of, text));
        if text.starts_with('-') && !is_known && text[1..].parse::<i64>().is_err() {
            return Err(NotReadOnly::new(format!("operator `{text}` is not known to be harmless")));
        }
        let neighbor = |at: Option<usize>, operators: &str| {
            at.and_then(|at| args.get(at)).is_some_and(|it| listed(operators, &it.text))
        };
        let before = index.checked_sub(1);
        let is_file = neighbor(before, OF_FILE)
            || neighbor(before, OF_FILES)
            || neighbor(Some(index + 1), OF_FILES);
        if is_file || (text.contains('/') && !is_known) {
            read_paths.names.push(Operand::from(word));
        }
    }
    Ok(read_paths)
}

/// `[`, which ends with `]`.
pub(crate) fn bracket(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    check(closed(args, "]")?)
}

/// `[[`, which computes the numbers that it compares.
pub(crate) fn double_bracket(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let args = closed(args, "]]")?;
    let is_number = |word: &Word| word.text.parse::<i64>().is_ok();
    for (index, word) in args.iter().enumerate() {
        if listed(OF_NUMBERS, &word.text) {
            let before = index.checked_sub(1).and_then(|at| args.get(at));
            let both = [before, args.get(index + 1)];
            if !both.into_iter().all(|operand| operand.is_some_and(is_number)) {
                return Err(NotReadOnly::new("what it compares is computed first"));
            }
        }
    }
    check(args)
}

fn closed<'a>(args: &'a [Word], end: &str) -> Result<&'a [Word], NotReadOnly> {
    match args.split_last() {
        Some((last, rest)) if last.text == end && !last.quoted => Ok(rest),
        _ => Err(NotReadOnly::new(format!("it does not end with `{end}`"))),
    }
}
