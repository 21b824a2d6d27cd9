//! Splits any text into the commands a shell might run, in one pass over its bytes, whether or not
//! it is well-formed. It never gives up and never decides; it would rather see too much.

mod cases;
mod heredocs;
mod piece;
mod quoting;
mod redirects;
mod whereabouts;

use std::collections::HashSet;
use std::ops::Range;

use cases::Cases;
pub(crate) use piece::{GAP, Piece};
use quoting::{ansi_c, is_sum};
use redirects::Process;
use whereabouts::{may_begin, name_of_above};

/// More that one expansion holds is not handed on to the word around it.
const MOST: usize = 32;
/// Substitutions nested deeper are read as if they stood side by side.
const DEEPEST: usize = 256;

/// One run of words between separators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segment {
    /// Its words, reserved words and assignments included.
    pub(crate) words: Vec<Piece>,
    /// The files it reads or writes by redirection.
    pub(crate) redirects: Vec<Target>,
    /// Segments of one pipeline share this number.
    pub(crate) pipeline: usize,
    /// What is put into its words.
    pub(crate) expansions: Vec<Expansion>,
    /// What is put into the names of its files, and whether these are written.
    pub(crate) named: Vec<(Value, bool)>,
    /// Whether its words are no command: a here-document, an array, a sum.
    pub(crate) is_data: bool,
    /// How many parentheses open right before it.
    pub(crate) opens: usize,
    /// How many close there.
    pub(crate) closes: usize,
    /// Whether what is opened there reads what something else writes.
    pub(crate) is_fed: bool,
}

/// Something that a shell puts into a word.
#[derive(Clone, Debug)]
pub(crate) struct Expansion {
    /// The word; none where it is what the segment reads as its input.
    pub(crate) word: Option<usize>,
    /// What is put there.
    pub(crate) value: Value,
    /// Whether the word is the name of a file that holds it.
    pub(crate) is_file: bool,
}

/// What an expansion stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// What a variable holds; `@` for any argument.
    Variable(String),
    /// What these segments print.
    Printed(Range<usize>),
}

/// A redirection's file.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The file.
    pub(crate) word: Piece,
    /// Whether it is written.
    pub(crate) writes: bool,
    /// Whether it is a descriptor.
    pub(crate) is_descriptor: bool,
}

/// All that was found in a text.
#[derive(Default)]
pub(crate) struct Scan {
    /// Every run of words, at every depth.
    pub(crate) segments: Vec<Segment>,
    /// Text fed to the standard input of a pipeline.
    pub(crate) fed: Vec<(usize, String)>,
    /// Whether the text ended where a shell would want more, or nests too deep to follow.
    pub(crate) torn: bool,
    /// Whether a here-document within a substitution is the text of a commit or the like, and data for certain.
    pub(crate) has_message: bool,
    /// Words with wildcards that stand for no files: patterns of `case` and of tests, and sums.
    pub(crate) patterns: HashSet<String>,
    pipelines: usize,
    /// Variables that hold a folder above, or the one before.
    above: HashSet<String>,
}

/// Scans `text`.
pub(crate) fn scan(text: &str) -> Scan {
    let mut scan = Scan::default();
    run(&mut scan, text, Start::Command, 0);
    scan
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Command,
    /// The body of a here-document: only expansions are active.
    Quoted,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Closer {
    End,
    Parenthesis,
    Backtick,
    Brace,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    Read,
    Duplicate,
    Write,
    Feed,
    Heredoc { strip: bool },
}

/// One level of nesting.
struct Frame {
    closer: Closer,
    quoted: bool,
    parentheses: usize,
    segment: Segment,
    word: Option<Piece>,
    word_quoted: bool,
    pending: Option<Pending>,
    heredocs: Vec<(Piece, bool, bool, usize)>,
    /// How many segments there were when it began.
    from: usize,
    /// How many parentheses are open around what is no command.
    data: Option<usize>,
    /// The same where that is a sum.
    sum: Option<usize>,
    /// What it is a process for, if it stands as a file.
    process: Option<Process>,
    cases: Cases,
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    frames: Vec<Frame>,
    scan: &'a mut Scan,
    depth: usize,
}

fn run(scan: &mut Scan, text: &str, start: Start, depth: usize) {
    let mut first = new_frame(scan, Closer::End, start == Start::Quoted);
    if start == Start::Quoted {
        first.data = Some(0);
        first.segment.is_data = true;
    }
    let mut scanner =
        Scanner { text, bytes: text.as_bytes(), at: 0, frames: vec![first], scan, depth };
    while scanner.at < scanner.bytes.len() {
        scanner.step();
    }
    if start == Start::Command && (scanner.frames.len() > 1 || scanner.top().quoted) {
        scanner.scan.torn = true;
    }
    while scanner.frames.len() > 1 {
        scanner.close();
    }
    scanner.end_segment(Next::Fresh);
}

fn new_frame(scan: &mut Scan, closer: Closer, quoted: bool) -> Frame {
    scan.pipelines += 1;
    Frame {
        closer,
        quoted,
        parentheses: 0,
        segment: Segment { pipeline: scan.pipelines, ..Segment::default() },
        word: None,
        word_quoted: false,
        pending: None,
        heredocs: Vec::new(),
        from: scan.segments.len(),
        data: None,
        sum: None,
        process: None,
        cases: Cases::default(),
    }
}

/// What the following segment belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Same,
    Fresh,
}

impl Scanner<'_> {
    fn top(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the first frame stays")
    }

    fn nested(&self) -> bool {
        self.frames.len() > 1 || self.frames[0].parentheses > 0
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn word(&mut self) -> &mut Piece {
        self.top().word.get_or_insert_default()
    }

    /// Adds the plain bytes that follow to the current word, at once.
    fn push_plain(&mut self) {
        let rest = &self.bytes[self.at..];
        let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-./,:+@%".contains(b);
        let length = rest.iter().position(|b| !is_plain(b)).unwrap_or(rest.len());
        let run = &self.text[self.at..self.at + length];
        self.at += length;
        self.word().text.push_str(run);
    }

    /// Adds the character at `from` to the current word and moves past it.
    fn push(&mut self, from: usize) {
        let Some(c) = self.text.get(from..).and_then(|rest| rest.chars().next()) else {
            self.at = from + 1;
            return;
        };
        self.word().text.push(c);
        self.at = from + c.len_utf8();
    }

    fn step(&mut self) {
        let byte = self.bytes[self.at];
        if byte.is_ascii_alphanumeric() {
            return self.push_plain();
        }
        let (closer, quoted) = (self.top().closer, self.top().quoted);
        match byte {
            b'$' => self.dollar(quoted),
            b'`' => self.backtick(),
            b'"' => {
                let top = self.top();
                top.quoted = !quoted;
                top.word_quoted = true;
                self.word();
                self.at += 1;
            }
            b'\\' => self.escape(quoted),
            _ if quoted => self.push(self.at),
            b'}' if closer == Closer::Brace => {
                self.at += 1;
                self.close();
            }
            b'\'' => self.single_quoted(),
            _ if closer == Closer::Brace => self.push(self.at),
            _ => self.unquoted(byte),
        }
    }

    fn dollar(&mut self, quoted: bool) {
        match self.peek(1) {
            Some(b'\'') if !quoted => {
                let (text, used) = ansi_c(&self.text[self.at + 2..]);
                self.top().word_quoted = true;
                // A name that is no text is known by what is around those bytes.
                self.word().glob |= text.contains(char::REPLACEMENT_CHARACTER);
                let text = text.replace(char::REPLACEMENT_CHARACTER, "*");
                self.word().text.push_str(&text);
                self.at += 2 + used;
            }
            Some(b'"') if !quoted => self.at += 1,
            Some(b'(') => self.open(Closer::Parenthesis, 2),
            Some(b'{') => {
                let known = ["${HOME}", "${PWD}"]
                    .into_iter()
                    .find(|name| self.text[self.at..].starts_with(name));
                match known {
                    Some(name) => self.variable(name.trim_matches(['$', '{', '}']), name.len()),
                    None => self.open(Closer::Brace, 2),
                }
            }
            Some(c) if c.is_ascii_alphabetic() || c == b'_' => {
                let (text, start) = (self.text, self.at + 1);
                let is_end = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'_';
                let end = self.bytes[start..].iter().position(is_end);
                let end = end.map_or(text.len(), |end| start + end);
                self.variable(&text[start..end], end + 1 - start);
            }
            Some(c) if c.is_ascii_digit() || b"@*#?$!-".contains(&c) => {
                self.word().leave_out();
                if c.is_ascii_digit() || b"@*".contains(&c) {
                    self.expands_to(Value::Variable(String::from("@")));
                }
                if c == b'0' {
                    self.expands_to(Value::Variable(String::from("0")));
                }
                self.at += 2;
            }
            Some(_) | None => self.push(self.at),
        }
    }

    /// Notes what is put into the word that is being read.
    fn expands_to(&mut self, value: Value) {
        let top = self.top();
        if let Some(pending @ (Pending::Read | Pending::Write)) = top.pending {
            top.segment.named.push((value.clone(), pending == Pending::Write));
        }
        self.puts_in(value, false);
    }

    fn puts_in(&mut self, value: Value, is_file: bool) {
        let top = self.top();
        let word = match top.pending {
            None => Some(top.segment.words.len()),
            Some(Pending::Read | Pending::Duplicate | Pending::Feed) => None,
            Some(Pending::Write | Pending::Heredoc { .. }) => return,
        };
        top.segment.expansions.push(Expansion { word, value, is_file });
    }

    fn variable(&mut self, name: &str, length: usize) {
        self.at += length;
        self.expands_to(Value::Variable(name.to_owned()));
        let word = self.word();
        match name {
            "HOME" if word.text.is_empty() => {
                word.home = true;
                word.text.push('~');
            }
            "PWD" if may_begin(&word.text) => word.text.push('.'),
            _ => {
                word.leave_out();
                self.held_folder(name, "");
            }
        }
    }

    fn open(&mut self, closer: Closer, length: usize) {
        self.at += length;
        self.word().leave_out();
        if self.frames.len() >= DEEPEST {
            self.scan.torn = true;
            // What opens and never closes says nothing by itself, and a text may have very many of them.
            let top = self.top();
            let is_bare = top.segment.words.is_empty() && top.segment.redirects.is_empty();
            if is_bare && top.pending.is_none() && self.word().text.is_empty() {
                return;
            }
            return self.end_segment(Next::Fresh);
        }
        let frame = new_frame(self.scan, closer, false);
        self.frames.push(frame);
    }

    fn close(&mut self) {
        // What stands in `${...}` is no command, but what it holds may be run as one.
        let mut values = Vec::new();
        let mut held = None;
        if self.top().closer == Closer::Brace {
            let top = self.top();
            values.extend(top.segment.expansions.drain(..).map(|it| it.value).take(MOST));
            let text = top.word.take().unwrap_or_default().text;
            let name = text.trim_start_matches(['!', '#']);
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let (name, rest) = name.split_at(end.unwrap_or(name.len()));
            held = (!text.starts_with(['!', '#'])).then(|| (name.to_owned(), rest.to_owned()));
            values.extend((name == "0").then(|| Value::Variable(name.to_owned())));
            let is_argument = name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit());
            let name = if is_argument { "@" } else { name };
            let own = Value::Variable(name.to_owned());
            // One within another often says the same.
            if !values.contains(&own) {
                values.push(own);
            }
        }
        self.end_segment(Next::Fresh);
        if self.frames.len() > 1 {
            let (from, process) = (self.top().from, self.top().process);
            self.frames.pop();
            self.top().segment.closes += usize::from(process == Some(Process::Fed));
            match held {
                Some((name, rest)) => self.held_folder(&name, &rest),
                None if values.is_empty() && process.is_none() => self.printed_folder(from),
                None => {}
            }
            if values.is_empty() {
                values.push(Value::Printed(from..self.scan.segments.len()));
            }
            for value in values {
                // What such a file holds is printed, but its name is nobody's.
                if process.is_some() { self.puts_in(value, true) } else { self.expands_to(value) }
            }
        }
    }

    fn backtick(&mut self) {
        if self.frames.iter().any(|f| f.closer == Closer::Backtick) {
            self.at += 1;
            while self.top().closer != Closer::Backtick {
                self.close();
            }
            self.close();
        } else {
            self.open(Closer::Backtick, 1);
        }
    }

    fn unquoted(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' => {
                self.end_word();
                self.at += 1;
            }
            b'\n' => {
                self.end_segment(Next::Fresh);
                self.at += 1;
                self.read_heredocs();
            }
            b'#' if self.top().word.is_none() => {
                self.scan.torn |= self.nested();
                let in_backticks = self.frames.iter().any(|f| f.closer == Closer::Backtick);
                let rest = &self.bytes[self.at..];
                let end = |b: &u8| *b == b'\n' || (in_backticks && *b == b'`');
                self.at += rest.iter().position(end).unwrap_or(rest.len());
            }
            b';' | b'&' | b'|' => self.separator(byte),
            b'(' => self.parenthesis(),
            b')' => {
                self.at += 1;
                self.end_word();
                let patterns = &mut self.scan.patterns;
                let top = self.frames.last_mut().expect("the first frame stays");
                if top.cases.are_at_pattern() {
                    top.cases.end(true);
                    for word in top.segment.words.iter_mut().filter(|word| word.glob) {
                        word.glob = false;
                        patterns.insert(word.text.clone());
                    }
                    self.end_segment(Next::Fresh);
                } else if top.parentheses > 0 {
                    top.parentheses -= 1;
                    let depth = top.parentheses;
                    self.end_segment(Next::Fresh);
                    let top = self.top();
                    top.data = top.data.filter(|from| *from <= depth);
                    top.segment.is_data = top.data.is_some();
                    top.segment.closes += 1;
                } else if top.closer == Closer::Parenthesis {
                    self.close();
                } else {
                    self.end_segment(Next::Fresh);
                }
            }
            b'<' | b'>' => self.redirect(),
            b'~' if self.top().word.is_none() => {
                if self.peek(1) == Some(b'+') {
                    // The working folder.
                    self.word().text.push('.');
                    self.at += 2;
                    return;
                }
                let before = self.peek(1) == Some(b'-');
                if before && self.peek(2).is_none_or(|c| !c.is_ascii_digit()) {
                    self.word().leave_out();
                    self.held_folder("OLDPWD", "");
                    self.at += 2;
                    return;
                }
                let named = self.peek(1).is_some_and(|c| c.is_ascii_alphanumeric() || c == b'-');
                let word = self.word();
                word.home = !named;
                word.dynamic = named;
                self.push(self.at);
            }
            _ => {
                let word = self.word();
                word.glob |= b"*?[".contains(&byte);
                self.push(self.at);
            }
        }
    }

    fn parenthesis(&mut self) {
        let is_second = self.at > 0 && self.bytes[self.at - 1] == b'(';
        let is_sum = is_second && is_sum(&self.bytes[self.at + 1..]);
        let top = self.top();
        if top.cases.are_at_pattern() && top.word.is_none() {
            self.at += 1;
            return;
        }
        let is_array = top.word.as_ref().is_some_and(|word| word.text.ends_with('='));
        let is_first = top.word.is_none() && top.segment.words.is_empty();
        let opens = if is_first { std::mem::take(&mut top.segment.opens) } else { 0 };
        let is_fed = is_first && top.segment.is_fed;
        // What begins a pipeline's further part reads what comes from the part before.
        self.end_segment(if is_first { Next::Same } else { Next::Fresh });
        let top = self.top();
        top.parentheses += 1;
        if top.data.is_none() && (is_array || is_sum) {
            top.data = Some(top.parentheses);
            top.sum = top.data.filter(|_| is_sum);
        }
        top.segment.is_data = top.data.is_some();
        top.segment.opens = opens + 1;
        top.segment.is_fed = is_fed;
        self.at += 1;
    }

    fn separator(&mut self, byte: u8) {
        if byte == b'&' && self.peek(1) == Some(b'>') {
            self.at += 1;
            return self.redirect();
        }
        let doubled = self.peek(1) == Some(byte);
        self.end_word();
        let cases = &mut self.top().cases;
        if byte == b'|' && cases.are_at_pattern() {
            self.at += 1;
            return;
        }
        if byte == b';' && (doubled || self.peek(1) == Some(b'&')) {
            self.top().cases.end(false);
        }
        if byte == b';' || !doubled {
            self.top().cases.end_test();
        }
        let next = if byte == b'|' && !doubled { Next::Same } else { Next::Fresh };
        self.end_segment(next);
        let piped_errors = byte == b'|' && self.peek(1) == Some(b'&');
        self.at += if doubled || piped_errors { 2 } else { 1 };
    }

    fn end_word(&mut self) {
        let patterns = &mut self.scan.patterns;
        let top = self.frames.last_mut().expect("the first frame stays");
        let quoted = std::mem::take(&mut top.word_quoted);
        let Some(mut word) = top.word.take() else { return };
        let pipeline = top.segment.pipeline;
        match top.pending.take() {
            None => {
                let is_sum = top.data.is_some() && top.data == top.sum;
                if word.glob && (is_sum || top.cases.are_in_test(&top.segment.words)) {
                    word.glob = false;
                    patterns.insert(word.text.clone());
                }
                top.cases.take(&top.segment.words, &word.text, quoted);
                self.scan.above.extend(name_of_above(&word));
                top.segment.words.push(word);
            }
            Some(Pending::Heredoc { strip }) => {
                top.heredocs.push((word, strip, quoted, pipeline));
            }
            Some(Pending::Feed) => self.scan.fed.push((pipeline, word.text)),
            Some(pending) => {
                let (writes, is_descriptor) =
                    (pending == Pending::Write, pending == Pending::Duplicate);
                top.segment.redirects.push(Target { word, writes, is_descriptor });
            }
        }
    }

    fn end_segment(&mut self, next: Next) {
        self.end_word();
        if next == Next::Fresh {
            self.scan.pipelines += 1;
        }
        let fresh = self.scan.pipelines;
        let top = self.top();
        top.pending = None;
        let pipeline = match next {
            Next::Same => top.segment.pipeline,
            Next::Fresh => fresh,
        };
        let is_data = top.data.is_some();
        let following = Segment { pipeline, is_data, ..Segment::default() };
        let segment = std::mem::replace(&mut top.segment, following);
        let is_group = segment.opens > 0 || segment.closes > 0;
        if !segment.words.is_empty() || !segment.redirects.is_empty() || is_group {
            self.scan.segments.push(segment);
        }
    }
}

/// Whether a path could follow as the value of an option.
fn is_option(text: &str) -> bool {
    text.starts_with('-') && (text.len() == 2 || text.ends_with(['=', ':', ',', '@']))
}
