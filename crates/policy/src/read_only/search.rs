//! Programs that search files: a pattern, then paths.

use super::options::{Grammar, Options};
use super::{NotReadOnly, Operand, ReadPaths};
use crate::shell::Word;

const GREP: Grammar<'static> = Grammar {
    short: "abcEFGHhIiLlnoPqrsTUuvwxyZzA:B:C:e:f:m:",
    long: &["\
            include= exclude= exclude-dir= color? colour? recursive line-number ignore-case \
            no-ignore-case word-regexp line-regexp count files-with-matches files-without-match \
            only-matching no-filename with-filename max-count= after-context= before-context= \
            context= extended-regexp fixed-strings perl-regexp basic-regexp invert-match regexp= \
            file= quiet silent no-messages null text binary-files= null-data line-buffered \
            initial-tab byte-offset label="],
    numbers: true,
};

const RG: Grammar<'static> = Grammar {
    short: "e:f:isSvwxclnNoqHIFPUuapj:m:A:B:C:g:t:T:E:r:M:d:0.bV",
    long: &["\
            regexp= file= ignore-case case-sensitive smart-case invert-match word-regexp \
            line-regexp count count-matches files-with-matches files-without-match line-number \
            no-line-number only-matching quiet with-filename no-filename fixed-strings pcre2 \
            multiline multiline-dotall unrestricted text pretty threads= max-count= \
            after-context= before-context= context= glob= iglob= type= type-not= replace= \
            max-columns= max-columns-preview max-depth= hidden no-ignore no-ignore-vcs \
            no-ignore-parent no-heading heading color= colors= column files stats json sort= \
            sortr= null vimgrep trim passthru no-messages type-list crlf encoding= max-filesize= \
            no-config glob-case-insensitive line-buffered one-file-system byte-offset \
            context-separator= field-match-separator= no-unicode include-zero version"],
    numbers: false,
};

const JQ: Grammar<'static> = Grammar {
    short: "nrRcCMsSeaj",
    long: &["\
            null-input raw-output raw-input compact-output color-output monochrome-output slurp \
            sort-keys exit-status ascii-output join-output tab indent="],
    numbers: false,
};

/// `grep` and its kin.
pub(crate) fn grep(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let read = GREP.read(args)?;
    let given = read.has(&["e", "f", "regexp", "file"]);
    pattern_then_files(&read, given)
}

/// `rg`. What it would run or unpack is not among its known options.
pub(crate) fn rg(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let read = RG.read(args)?;
    let given = read.has(&["e", "f", "regexp", "file", "files", "type-list", "version", "V"]);
    pattern_then_files(&read, given)
}

/// `jq`: a program that reads nothing by itself, then files.
pub(crate) fn jq(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let read = JQ.read(args)?;
    let program = read.operands.first();
    let program = program.map_or("", |word| word.text.as_str());
    for word in ["import", "include", "env", "ENV", "modulemeta", "input_filename", "debug"] {
        if program.contains(word) {
            return Err(NotReadOnly::new(format!("its program uses `{word}`")));
        }
    }
    if ["repeat", "recurse", "until", "while", "infinite", "def", "range"]
        .iter()
        .any(|word| program.contains(word))
    {
        return Err(NotReadOnly::new("its program may never end"));
    }
    pattern_then_files(&read, false)
}

fn pattern_then_files(read: &Options<'_>, pattern_given: bool) -> Result<ReadPaths, NotReadOnly> {
    let mut operands = read.operands.iter();
    if !pattern_given {
        match operands.next() {
            Some(pattern) if pattern.glob => {
                return Err(NotReadOnly::new(
                    "its pattern is not quoted and could become file names",
                ));
            }
            Some(_) => {}
            None => return Err(NotReadOnly::new("it has no pattern")),
        }
    }
    let mut read_paths = ReadPaths {
        contents: operands.map(|word| Operand::from(*word)).collect(),
        names: Vec::new(),
    };
    read_paths.contents.extend(read.values(&["f", "file"]).map(Operand::plain));
    Ok(read_paths)
}
