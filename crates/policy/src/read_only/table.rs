//! Programs that show files, directories and facts.

use std::sync::LazyLock;

use foldhash::HashMap;

use super::options::Grammar;
use super::{NotReadOnly, Operand, ReadPaths};
use crate::shell::Word;
use crate::word_list::listed;

/// A program's use of its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Shows their contents.
    Contents,
    /// Shows their names or properties.
    Names,
    /// Takes them as text.
    Text,
    /// Reads the first; a second would be written.
    One,
    /// Formats of a date, each beginning with `+`.
    Format,
    /// Has none; with one it would set something.
    Nothing,
}

/// Longer numbers are not counted up to.
const SHORT: usize = 8;

/// Endings with which programs that unpack take a name as it is.
const PACKED: [&str; 6] = [".gz", ".Z", ".bz2", ".xz", ".lzma", ".zst"];

struct Program {
    names: &'static str,
    operands: Operands,
    short: &'static str,
    long: &'static str,
}

const fn program(
    names: &'static str,
    operands: Operands,
    short: &'static str,
    long: &'static str,
) -> Program {
    Program { names, operands, short, long }
}

#[rustfmt::skip]
const PROGRAMS: &[Program] = &[
    program("ls", Operands::Names, "1AaBbCcdFfGghHiI:klLmNnopQqrRsStT:uUvw:xXZ",
        "all almost-all author block-size= color? directory classify? file-type format= \
         full-time group-directories-first no-group human-readable si dereference hide= \
         hyperlink? indicator-style= inode ignore= kibibytes numeric-uid-gid literal quote-name \
         quoting-style= reverse recursive size sort= time= time-style= width= context zero"),
    program("cat", Operands::Contents, "AbeEnstTuv",
        "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting"),
    program("head tail", Operands::Contents, "n:c:qvz",
        "lines= bytes= quiet silent verbose zero-terminated"),
    program("wc", Operands::Contents, "cmlLw", "bytes chars lines max-line-length words total="),
    program("pwd", Operands::Text, "LP", ""),
    program("stat", Operands::Names, "Lftc:", "dereference file-system terse format= printf="),
    program("sort", Operands::Contents, "bdfgiMhnRrVcCmsuzk:t:S:",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort month-sort \
         human-numeric-sort numeric-sort random-sort reverse sort= version-sort check? merge \
         key= stable field-separator= unique zero-terminated parallel= buffer-size= batch-size= \
         debug"),
    program("uniq", Operands::One, "cdDiuzf:s:w:",
        "count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique \
         zero-terminated check-chars="),
    program("cut", Operands::Contents, "b:c:d:f:nsz",
        "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= \
         zero-terminated"),
    program("tr", Operands::Text, "cCdst", "complement delete squeeze-repeats truncate-set1"),
    program("nl", Operands::Contents, "b:d:f:h:i:l:n:ps:v:w:",
        "body-numbering= number-format= number-width= number-separator="),
    program("tac", Operands::Contents, "brs:", "before regex separator="),
    program("rev", Operands::Contents, "", ""),
    program("fold", Operands::Contents, "bsw:", "bytes spaces width="),
    program("expand unexpand", Operands::Contents, "it:a", "initial tabs= all"),
    program("paste", Operands::Contents, "d:sz", "delimiters= serial"),
    program("join", Operands::Contents, "a:e:i1:2:j:o:t:v:z", "ignore-case header"),
    program("column", Operands::Contents, "ts:o:c:x",
        "table separator= output-separator= output-width= fillrows"),
    program("comm", Operands::Contents, "123z", "check-order nocheck-order total"),
    program("cmp", Operands::Contents, "bi:ln:s", "print-bytes silent verbose"),
    program("diff", Operands::Contents, "abBcC:dEeiNnpqstuU:wW:x:yZ",
        "unified? context? brief color? side-by-side text ignore-all-space ignore-space-change \
         ignore-blank-lines ignore-case ignore-trailing-space new-file report-identical-files \
         exclude= minimal strip-trailing-cr width= suppress-common-lines"),
    program("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum", Operands::Contents, "btz",
        "binary text tag zero"),
    program("od", Operands::Contents, "A:j:N:t:vw?abcdfilosx", "format= skip-bytes="),
    program("hexdump", Operands::Contents, "bcCdn:os:vx", "canonical"),
    program("strings", Operands::Contents, "an:t:fe:", "all bytes= radix="),
    program("file", Operands::Contents, "bihLN", "brief mime mime-type dereference"),
    program("basename", Operands::Text, "as:z", "multiple suffix= zero"),
    program("dirname", Operands::Text, "z", "zero"),
    program("realpath readlink", Operands::Names, "efmnLPqsvz",
        "canonicalize canonicalize-existing canonicalize-missing no-newline relative-to= \
         relative-base= strip no-symlinks quiet zero"),
    program("du", Operands::Names, "0abB:cd:hklmPsSt:x",
        "all apparent-size block-size= bytes total max-depth= human-readable inodes summarize \
         threshold= exclude= one-file-system si time?"),
    program("df", Operands::Text, "aB:hHiklPTt:x:",
        "all human-readable inodes local portability print-type total output?"),
    program("tree", Operands::Names, "adfihpugsDFqNrtcUvL:I:P:xnC",
        "noreport dirsfirst filelimit= du prune gitignore"),
    program("date", Operands::Format, "d:uRI?",
        "date= utc universal iso-8601? rfc-3339= rfc-email"),
    program("seq", Operands::Text, "f:s:w", "format= separator= equal-width"),
    program("uname", Operands::Text, "asnrvmpio", "all kernel-name machine"),
    program("free", Operands::Text, "bkmghtlwv", "human total wide si"),
    program("uptime", Operands::Text, "ps", "pretty since"),
    program("nproc", Operands::Text, "", "all ignore="),
    program("whoami arch tty lscpu", Operands::Text, "", ""),
    program("locale", Operands::Text, "amk", "all-locales charmaps"),
    program("getconf", Operands::Text, "a", ""),
    program("pgrep", Operands::Text, "acflnovxu:P:", "list-name list-full count"),
    program("pidof", Operands::Text, "s", ""),
    program("ss", Operands::Text, "46aelnptuwx", "tcp udp listening numeric"),
    program("lsb_release", Operands::Text, "acdirsv", "all id description release codename short"),
    program("hostname umask", Operands::Nothing, "", ""),
    program("zcat bzcat xzcat zstdcat", Operands::Contents, "", ""),
    program("id groups", Operands::Text, "gGnruz", "group groups name user"),
    program("which", Operands::Text, "a", "all"),
    program("type", Operands::Text, "aftpP", ""),
];

/// Checks a program of the table; none where it is not there.
pub(crate) fn check(name: &str, args: &[Word]) -> Option<Result<ReadPaths, NotReadOnly>> {
    Some(BY_NAME.get(name)?.check(args))
}

/// The table by names: it is asked about every command of a text.
static BY_NAME: LazyLock<HashMap<&str, &Program>> = LazyLock::new(|| {
    let named = |program: &'static Program| program.names.split(' ').map(move |it| (it, program));
    // Of two with the same name the first counts.
    PROGRAMS.iter().rev().flat_map(named).collect()
});

impl Program {
    fn check(&self, args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
        let grammar =
            Grammar { short: self.short, long: &[self.long], numbers: listed(self.names, "head") };
        let read = grammar.read(args)?;
        if listed(self.names, "strings") && read.operands.iter().any(|it| it.text.starts_with('@'))
        {
            return Err(NotReadOnly::new("it takes its arguments from a file"));
        }
        if listed(self.names, "ls")
            && read.has(&["R", "recursive"])
            && read.has(&["L", "H", "dereference"])
        {
            return Err(NotReadOnly::new("it follows links on its way"));
        }
        if listed(self.names, "tree") && args.iter().any(takes_next) {
            return Err(NotReadOnly::new("it takes the word after for the value of a letter"));
        }
        let is_endless = |word: &&Word| match self.names.split(' ').next().unwrap_or_default() {
            "seq" => word.text.len() > SHORT || word.text.contains(|c: char| c.is_alphabetic()),
            // The old spelling of `-f`.
            "head" => word.text.starts_with('+'),
            _ => false,
        };
        if read.operands.iter().any(is_endless) {
            return Err(NotReadOnly::new("it may never end"));
        }
        let is_packed = |word: &&Word| PACKED.iter().any(|ending| word.text.ends_with(ending));
        if listed(self.names, "zcat") && !read.operands.iter().all(is_packed) {
            return Err(NotReadOnly::new(
                "where a file is not there it takes one with a further ending",
            ));
        }
        let operands = || read.operands.iter().map(|word| Operand::from(*word));
        let mut read_paths = ReadPaths::default();
        match self.operands {
            Operands::Contents => read_paths.contents = operands().collect(),
            Operands::Names => read_paths.names = operands().collect(),
            Operands::Text => {}
            Operands::Nothing => {
                if !read.operands.is_empty() {
                    return Err(NotReadOnly::new("it would set what it is given"));
                }
            }
            Operands::One => {
                if read.operands.len() > 1 || read.operands.iter().any(|word| word.glob) {
                    return Err(NotReadOnly::new("its second operand is a file that it writes"));
                }
                read_paths.contents = operands().collect();
            }
            Operands::Format => {
                if !read.operands.iter().all(|word| word.text.starts_with('+')) {
                    return Err(NotReadOnly::new("it would set the clock"));
                }
            }
        }
        Ok(read_paths)
    }
}

/// Returns true if letters of `tree` follow one that still takes the next word as its value.
fn takes_next(word: &Word) -> bool {
    let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    let valued = letters.and_then(|letters| letters.split_once(['L', 'I', 'P']));
    valued.is_some_and(|(_, rest)| !rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `printf`: anything but storing its result.
pub(crate) fn printf(args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
    let args = match args {
        [dashes, rest @ ..] if dashes.text == "--" => rest,
        _ => args,
    };
    let Some(format) = args.first() else {
        return Err(NotReadOnly::new("it has no format"));
    };
    if format.glob || format.text.starts_with('-') {
        return Err(NotReadOnly::new("its format could be an option"));
    }
    let mut rest = format.text.as_str();
    while let Some(at) = rest.find('%') {
        let after = &rest[at + 1..];
        if let Some(literal) = after.strip_prefix('%') {
            rest = literal;
            continue;
        }
        let conversion = after.trim_start_matches(|c: char| "-+ #0123456789.*'hlLjztq".contains(c));
        if conversion.starts_with('n') {
            return Err(NotReadOnly::new("`%n` sets a variable"));
        }
        rest = after;
    }
    Ok(ReadPaths::default())
}
