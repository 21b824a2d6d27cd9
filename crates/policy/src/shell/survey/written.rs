//! Files that a text writes and then runs. Sees too many rather than too few.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::{Fit, Found, Reach, Redirection, Survey, base_name, program_index};
use crate::shell::raw;
use crate::shell::tolerant::{Piece, Segment};
use crate::shell::wrappers;

/// What a text writes into files, as far as it says so itself.
#[derive(Default)]
pub(super) struct Scripts {
    written: Vec<Written>,
    /// What the group that was opened last says.
    group: Option<String>,
    /// Whether a file that only the running shell knows is shown or copied.
    shows_unknown: bool,
    /// Whether a script of `sed` comes from a file, which may be what the text prints.
    pub(super) edits_by_file: bool,
}

/// The last names of the files that one segment writes, and what may come to be in them.
struct Written {
    files: Vec<String>,
    texts: Vec<String>,
    /// What the segment says, where it may be a part of more.
    said: String,
}

/// No more of what is said is put together.
const SAID: usize = 4096;

/// What `echo` and `printf` say, without the ends of lines: of two of them a command may be made.
pub(super) fn said(words: &[Piece]) -> Option<String> {
    let (program, args) = words.get(program_index(words)..)?.split_first()?;
    let args = args.iter().map(|word| word.text.as_str());
    match base_name(&program.text) {
        "echo" => Some(args.filter(|it| !it.starts_with('-')).collect::<Vec<_>>().join(" ")),
        "printf" => {
            let args: Vec<&str> = args.collect();
            Some(raw::formatted(&args).unwrap_or_else(|| raw::unescaped(&args.join(" "))))
        }
        _ => None,
    }
}

impl Scripts {
    /// Notes what a segment writes: what it is fed, and those of its words that hold more than one.
    fn note(&mut self, segment: &Segment, fed: Option<&String>) {
        let program = segment.words.first().map_or("", |word| base_name(&word.text));
        let copies = matches!(program, "tee" | "sponge" | "dd");
        let writes = copies || segment.redirects.iter().any(|it| it.writes);
        if program == "{" {
            self.group = Some(String::new());
        }
        // Of very many segments most say nothing that goes anywhere.
        if !writes && self.group.is_none() {
            return;
        }
        let mut said = said(&segment.words).unwrap_or_default();
        if program == "}" {
            said = self.group.take().unwrap_or_default();
        } else if let Some(group) = &mut self.group
            && group.len() + said.len() <= SAID
        {
            group.push_str(&said);
        }
        if !writes {
            return;
        }
        let redirected = segment.redirects.iter().filter(|it| it.writes).map(|it| &it.word);
        let named = segment.words.iter().skip(1).filter(|_| copies);
        let files = redirected.chain(named).map(|word| word.text.trim_start_matches("of="));
        let holds_more = |text: &&String| text.contains(|c: char| c.is_whitespace() || c == '$');
        let held = segment.words.iter().map(|word| &word.text).filter(holds_more);
        let texts: Vec<String> = fed.into_iter().chain(held).cloned().collect();
        if !texts.is_empty() || !said.is_empty() {
            let files = files.map(|file| base_name(file).to_owned()).collect();
            self.written.push(Written { files, texts, said });
        }
    }
}

/// Whether a text is a program in another language than a shell's.
fn is_foreign(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    first.starts_with("#!") && !first.contains("sh")
}

impl Survey {
    /// Notes what a segment writes.
    pub(super) fn note_written(&mut self, segment: &Segment, fed: Option<&String>) {
        self.scripts.note(segment, fed);
    }

    /// Adds what the files run that the text writes itself, and then gives to a shell.
    pub(super) fn written_scripts(&mut self) {
        let mut written = std::mem::take(&mut self.scripts).written;
        if written.is_empty() {
            return;
        }
        let mut run: HashSet<&str> = HashSet::new();
        for found in &self.commands {
            let Some((program, args)) = found.argv().split_first() else { continue };
            let name = base_name(&program.text);
            if wrappers::is_shell(name) || matches!(name, "source" | ".") {
                run.extend(args.iter().map(|word| base_name(&word.text)));
            } else if program.text.contains('/') || self.names.has_own_path {
                run.insert(name);
            }
        }
        written.retain(|it| it.files.iter().any(|file| run.contains(file.as_str())));
        let texts = written.iter().flat_map(|it| &it.texts);
        for text in texts.filter(|text| !is_foreign(text)) {
            self.script(text, 1);
        }
        // One after the other they may be one command.
        let mut whole: HashMap<&str, String> = HashMap::new();
        for (file, said) in written.iter().filter_map(|it| Some((it.files.first()?, &it.said))) {
            let text = whole.entry(file.as_str()).or_default();
            if text.len() + said.len() <= SAID {
                text.push_str(said);
            }
        }
        for text in whole.into_values().filter(|text| !text.is_empty() && !is_foreign(text)) {
            self.script(&text, 1);
        }
    }

    /// Whether the text writes a file.
    pub(super) fn writes_file(&self) -> bool {
        let redirected = |redirection: &Redirection| {
            redirection.target.writes && redirection.target.word.text != "/dev/null"
        };
        self.redirections.iter().any(redirected) || self.commands.iter().any(writes_files)
    }

    /// Programs of the system among the files that are copied or linked.
    pub(super) fn copied(&mut self, name: &str, args: &[Piece]) {
        let is_unknown = args.iter().any(|word| word.dynamic && word.text.is_empty());
        self.scripts.shows_unknown |= is_unknown;
        self.loose |= is_unknown && name != "cat";
        for word in args {
            let path = word.text.strip_prefix("if=").unwrap_or(&word.text);
            if path.starts_with('/')
                && ["/bin/", "/sbin/", "/libexec/"].iter().any(|f| path.contains(f))
            {
                let program = Piece { text: path.to_owned(), ..word.clone() };
                self.add(&Rc::new(vec![program]), 0, 1, Fit::Exact);
            }
        }
    }

    /// Whether a file that only the running shell knows may be copied: what is shown is not, unless something is written.
    pub(super) fn copies_unknown(&self) -> bool {
        self.scripts.shows_unknown && self.writes_file()
    }

    /// Whether a file runs, by its path or by what reads it, whose name the text writes.
    pub(super) fn runs_written_file(&self) -> bool {
        let mut written: HashSet<&str> = HashSet::new();
        let targets = self.redirections.iter().filter(|it| it.target.writes);
        written.extend(targets.map(|it| base_name(&it.target.word.text)));
        for found in self.commands.iter().filter(|found| writes_files(found)) {
            written.extend(found.argv()[1..].iter().map(|word| base_name(&word.text)));
        }
        if self.reach == Reach::Here {
            // Of names that only the shell knows none is taken for another.
            written.remove("");
        }
        let is_written = |word: &Piece| written.contains(base_name(&word.text));
        self.commands.iter().any(|found| {
            let Some((program, args)) = found.argv().split_first() else { return false };
            let name = base_name(&program.text);
            let made = ["Makefile", "makefile", "GNUmakefile"];
            let is_made = |word: &Piece| {
                let file = word.text.trim_start_matches("--file=").trim_start_matches("-f");
                written.contains(base_name(file))
            };
            let is_path = program.text.contains('/') || self.names.has_own_path;
            (is_path && is_written(program))
                || (wrappers::is_interpreter(name) && args.iter().any(is_written))
                || (wrappers::listens(name) && args.iter().any(is_made))
                || (["make", "gmake"].contains(&name) && made.iter().any(|it| written.contains(it)))
        })
    }
}

/// Programs that write files which they name, or whose names they make.
const WRITERS: &[&str] = &[
    "tee", "dd", "cp", "mv", "install", "split", "csplit", "sponge", "patch", "ed", "ex", "tar",
    "cpio", "unzip", "rsync", "awk", "gawk", "mawk", "xxd", "base64", "uudecode", "ln",
];

/// Whether a command writes the files that it names.
fn writes_files(found: &Found) -> bool {
    let program = found.argv().first().map_or("", |program| base_name(&program.text));
    let has = |starts: &[&str]| {
        found.argv()[1..].iter().any(|word| starts.iter().any(|it| word.text.contains(it)))
    };
    match program {
        "sort" | "shuf" => has(&["-o", "--o"]),
        "uniq" => found.argv()[1..].iter().filter(|word| !word.text.starts_with("--")).count() > 1,
        "sed" | "gsed" => has(&["-i", "w"]),
        _ => WRITERS.contains(&program),
    }
}
