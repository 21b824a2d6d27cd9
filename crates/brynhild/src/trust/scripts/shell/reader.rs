//! The grammar: lists of commands, what they are joined by, and what they are grouped by.

use std::ops::Range;

use super::words::is_blank;
use super::{Command, Kind, Script, Word, is_name};

/// Signs that may be open at once.
const MOST_NESTED: usize = 40;

/// What is not understood.
#[derive(Debug)]
pub(super) struct Obstacle;
pub(super) type Read<T> = Result<T, Obstacle>;

/// The commands of a text, also of those that stand within words; where it is not understood, the line
/// with what is not.
pub(in super::super) fn read(text: &str) -> Result<Script, String> {
    let mut reader = Reader {
        text,
        at: 0,
        base: 0,
        script: Script { scopes: vec![0], ..Script::default() },
        documents: Vec::new(),
        scope: 0,
        depth: 0,
    };
    let is_whole = reader.list(&[]).is_ok() && reader.rest().is_empty();
    if is_whole && reader.documents.is_empty() && !text.contains('\0') {
        return Ok(reader.script);
    }
    let at = reader.at.min(text.len());
    let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().find(|line| !line.trim().is_empty());
    Err(line.unwrap_or(text).trim().to_owned())
}

/// The end of a text that follows the line.
pub(super) struct Document {
    end: String,
    is_plain: bool,
    is_indented: bool,
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// Where the text begins in the whole.
    pub(super) base: usize,
    pub(super) script: Script,
    documents: Vec<Document>,
    scope: usize,
    /// How many signs are open.
    depth: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn is_at(&self, sign: &str) -> bool {
        self.rest().starts_with(sign)
    }

    pub(super) fn take(&mut self, sign: &str) -> bool {
        let is_there = self.is_at(sign);
        self.at += if is_there { sign.len() } else { 0 };
        is_there
    }

    pub(super) fn expect(&mut self, sign: &str) -> Read<()> {
        self.take(sign).then_some(()).ok_or(Obstacle)
    }

    /// Reads something that may hold the same again.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.depth += 1;
        let found = if self.depth > MOST_NESTED { Err(Obstacle) } else { read(self) };
        self.depth -= 1;
        found
    }

    /// Reads a part of the text as one of its own. Where that fails, it fails there.
    pub(super) fn part(
        &mut self,
        part: Range<usize>,
        read: impl FnOnce(&mut Self) -> Read<()>,
    ) -> Read<()> {
        let (text, at, base) = (self.text, self.at, self.base);
        (self.text, self.at, self.base) = (&text[part.clone()], 0, base + part.start);
        let found = self.deeper(read);
        let is_whole = self.rest().is_empty();
        (self.text, self.at, self.base) = (text, at, base);
        found.and_then(|()| is_whole.then_some(()).ok_or(Obstacle))
    }

    /// Reads commands that another shell runs, as far as the sign, and says which they are.
    pub(super) fn within(&mut self, end: &str) -> Read<Range<usize>> {
        let (outer, documents) = (self.scope, std::mem::take(&mut self.documents));
        let first = self.script.commands.len();
        self.scope = self.script.scopes.len();
        self.script.scopes.push(outer);
        self.deeper(|reader| reader.list(&[]))?;
        self.expect(end)?;
        self.scope = outer;
        if !self.documents.is_empty() {
            return Err(Obstacle);
        }
        self.documents = documents;
        self.hear(first);
        Ok(first..self.script.commands.len())
    }

    /// Notes that what the commands from this one on print is read.
    fn hear(&mut self, first: usize) {
        self.script.commands[first..].iter_mut().for_each(|command| command.is_heard = true);
    }

    pub(super) fn skip_blanks(&mut self) {
        loop {
            let blanks = self.rest().trim_start_matches(is_blank);
            self.at = self.text.len() - blanks.len();
            if !self.take("\\\n") {
                break;
            }
        }
        if self.is_at("#") {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Skips blanks and ends of lines, with the texts that follow these.
    fn skip_lines(&mut self) -> Read<()> {
        self.skip_blanks();
        while self.take("\n") {
            self.skip_documents()?;
            self.skip_blanks();
        }
        Ok(())
    }

    /// Whether a word of the grammar stands here.
    fn is_word(&self, word: &str) -> bool {
        let rest = self.rest().strip_prefix(word);
        rest.is_some_and(|rest| {
            rest.chars().next().is_none_or(|next| is_blank(next) || "\n;&|()<>".contains(next))
        })
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_there = self.is_word(word);
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }

    fn expect_word(&mut self, word: &str) -> Read<()> {
        self.skip_lines()?;
        self.take_word(word).then_some(()).ok_or(Obstacle)
    }

    /// Commands as far as one of these words, or a sign that ends them.
    pub(super) fn list(&mut self, ends: &[&str]) -> Read<()> {
        let mut is_otherwise = false;
        loop {
            self.skip_lines()?;
            let is_end =
                self.rest().is_empty() || self.is_at(")") || self.is_at(";;") || self.is_at(";&");
            if is_end || ends.iter().any(|end| self.is_word(end)) {
                return Ok(());
            }
            self.pipeline(is_otherwise)?;
            self.skip_blanks();
            is_otherwise = self.take("||");
            if is_otherwise || self.take("&&") || self.is_at(";;") || self.is_at(";&") {
                continue;
            }
            let is_ended = self.take(";") || self.take("&") || self.is_at("\n");
            if !is_ended && !self.rest().is_empty() && !self.is_at(")") {
                // A group may be followed by the word that ends the next one.
                if !ends.iter().any(|end| self.is_word(end)) {
                    return Err(Obstacle);
                }
            }
        }
    }

    fn pipeline(&mut self, is_otherwise: bool) -> Read<()> {
        while self.take_word("!") || self.take_word("time") {
            self.skip_blanks();
        }
        let mut fed = None;
        loop {
            let first = self.script.commands.len();
            let command = self.deeper(|reader| reader.command(fed, is_otherwise))?;
            self.skip_blanks();
            if self.is_at("||") || !(self.take("|&") || self.take("|")) {
                return Ok(());
            }
            fed = command;
            self.hear(first);
            if self.script.commands.len() == first {
                return Err(Obstacle);
            }
            self.skip_lines()?;
        }
    }

    /// One command, and its number if it is a simple one.
    fn command(&mut self, fed: Option<usize>, is_otherwise: bool) -> Read<Option<usize>> {
        let start = self.at;
        if self.take_word("if") {
            self.branches()?;
        } else if self.take_word("while") || self.take_word("until") {
            self.list(&["do"])?;
            self.body()?;
        } else if self.take_word("for") || self.take_word("select") {
            self.each()?;
        } else if self.take_word("case") {
            self.cases()?;
        } else if self.take_word("function") {
            self.skip_blanks();
            let name = self.word()?.literal().ok_or(Obstacle)?;
            self.skip_blanks();
            if self.take("(") {
                self.skip_blanks();
                self.expect(")")?;
            }
            return self.function(name);
        } else if self.take_word("{") {
            self.list(&["}"])?;
            self.expect_word("}")?;
        } else if self.is_at("((") {
            self.at += 2;
            let sum = self.sum("))")?;
            self.add(Command { kind: Kind::Data, words: vec![sum], ..Command::default() }, start);
        } else if self.take("(") {
            self.within(")")?;
        } else if self.take_word("[[") {
            self.test(start)?;
        } else {
            return self.simple(fed, is_otherwise);
        }
        self.redirections()?;
        Ok(None)
    }

    fn branches(&mut self) -> Read<()> {
        self.list(&["then"])?;
        self.expect_word("then")?;
        loop {
            self.list(&["elif", "else", "fi"])?;
            if self.take_word("elif") {
                self.list(&["then"])?;
                self.expect_word("then")?;
            } else if !self.take_word("else") {
                return self.expect_word("fi");
            }
        }
    }

    fn body(&mut self) -> Read<()> {
        self.expect_word("do")?;
        self.list(&["done"])?;
        self.expect_word("done")
    }

    /// A loop over words, or over numbers.
    fn each(&mut self) -> Read<()> {
        let start = self.at;
        self.skip_blanks();
        if self.take("((") {
            let mut words = Vec::new();
            for end in [";", ";", "))"] {
                words.push(self.sum(end)?);
            }
            self.add(Command { kind: Kind::Data, words, ..Command::default() }, start);
        } else {
            let name = self.word()?;
            if !name.literal().is_some_and(|name| is_name(&name)) {
                return Err(Obstacle);
            }
            let mut words = vec![name];
            self.skip_lines()?;
            if self.take_word("in") {
                self.skip_blanks();
                while !self.rest().is_empty() && !self.rest().starts_with(['\n', ';']) {
                    words.push(self.word()?);
                    self.skip_blanks();
                }
            }
            self.add(Command { kind: Kind::Loop, words, ..Command::default() }, start);
        }
        self.skip_blanks();
        self.take(";");
        self.body()
    }

    fn cases(&mut self) -> Read<()> {
        let start = self.at;
        self.skip_blanks();
        let mut words = vec![self.word()?];
        self.expect_word("in")?;
        loop {
            self.skip_lines()?;
            if self.take_word("esac") {
                break;
            }
            self.take("(");
            loop {
                self.skip_blanks();
                words.push(self.word()?);
                self.skip_blanks();
                if !self.take("|") {
                    break;
                }
            }
            self.expect(")")?;
            self.list(&["esac"])?;
            let is_ended = self.take(";;&") || self.take(";;") || self.take(";&");
            if !is_ended && !self.is_word("esac") {
                return Err(Obstacle);
            }
        }
        self.add(Command { kind: Kind::Data, words, ..Command::default() }, start);
        Ok(())
    }

    /// What Bash tests. A plain `sh` takes what stands behind `||` for a command.
    fn test(&mut self, start: usize) -> Read<()> {
        let mut words = Vec::new();
        loop {
            self.skip_lines()?;
            if self.take_word("]]") {
                break;
            }
            if words.last().and_then(Word::literal).is_some_and(|it| it == "=~") {
                words.push(self.expression()?);
                continue;
            }
            let sign = ["&&", "||", "(", ")", "<", ">"].iter().find(|sign| self.is_at(sign));
            match sign {
                Some(sign) => {
                    self.at += sign.len();
                    words.push(Word::of(sign));
                }
                None => words.push(self.word()?),
            }
        }
        self.add(Command { kind: Kind::Test, words, ..Command::default() }, start);
        Ok(())
    }

    /// A regular expression, in which parentheses and bars are what they are.
    fn expression(&mut self) -> Read<Word> {
        let mut word = Word::default();
        let mut open = 0_usize;
        while let Some(letter) = self.rest().chars().next() {
            match letter {
                '(' => open += 1,
                ')' if open == 0 => return Err(Obstacle),
                ')' => open -= 1,
                '|' if open > 0 || !self.is_at("||") => {}
                _ if is_blank(letter) || letter == '\n' => break,
                ';' | '&' | '<' | '>' | '|' => return Err(Obstacle),
                _ => {
                    self.piece(&mut word)?;
                    continue;
                }
            }
            self.at += 1;
        }
        (open == 0).then_some(word).ok_or(Obstacle)
    }

    fn function(&mut self, name: String) -> Read<Option<usize>> {
        self.script.functions.insert(name);
        self.skip_lines()?;
        if !self.is_word("{") && !self.is_at("(") {
            return Err(Obstacle);
        }
        self.deeper(|reader| reader.command(None, false))
    }

    fn simple(&mut self, fed: Option<usize>, is_otherwise: bool) -> Read<Option<usize>> {
        let start = self.at;
        let mut command = Command { fed, is_otherwise, ..Command::default() };
        // To a plain `sh` it ends a command, and what follows its file is another.
        let mut is_last = false;
        loop {
            self.skip_blanks();
            let rest = self.rest();
            let is_both = rest.starts_with("&>");
            if rest.is_empty() || (rest.starts_with(['\n', ';', '|', '&', ')']) && !is_both) {
                break;
            }
            if self.is_redirection() {
                is_last |= is_both;
                self.redirection(&mut command)?;
                continue;
            }
            if is_last {
                return Err(Obstacle);
            }
            let is_function = rest.starts_with('(') && self.at > start;
            if is_function {
                let [name] = command.words.as_slice() else { return Err(Obstacle) };
                let name = name.literal().filter(|_| command.settings.is_empty());
                self.at += 1;
                self.skip_blanks();
                self.expect(")")?;
                return self.function(name.ok_or(Obstacle)?);
            }
            let word = self.word()?;
            match word.setting() {
                Some(setting) if command.words.is_empty() => command.settings.push(setting),
                _ => command.words.push(word),
            }
        }
        let is_empty = command.words.is_empty()
            && command.settings.is_empty()
            && command.inputs.is_empty()
            && command.targets.is_empty();
        if is_empty {
            return Err(Obstacle);
        }
        Ok(Some(self.add(command, start)))
    }

    fn add(&mut self, mut command: Command, start: usize) -> usize {
        self.text[start..self.at].trim().clone_into(&mut command.text);
        command.scope = self.scope;
        self.script.commands.push(command);
        self.script.commands.len() - 1
    }

    fn is_redirection(&self) -> bool {
        let rest = self.rest().trim_start_matches(|c: char| c.is_ascii_digit());
        let is_pipe = (rest.starts_with("<(") || rest.starts_with(">(")) && rest == self.rest();
        (rest.starts_with(['<', '>']) || rest.starts_with("&>")) && !is_pipe
    }

    /// What a group reads and writes.
    fn redirections(&mut self) -> Read<()> {
        let start = self.at;
        let mut command = Command { kind: Kind::Data, ..Command::default() };
        self.skip_blanks();
        while self.is_redirection() {
            self.redirection(&mut command)?;
            self.skip_blanks();
        }
        if !command.inputs.is_empty() || !command.targets.is_empty() {
            self.add(command, start);
        }
        Ok(())
    }

    fn redirection(&mut self, command: &mut Command) -> Read<()> {
        let digits = self.rest().trim_start_matches(|c: char| c.is_ascii_digit());
        self.at = self.text.len() - digits.len();
        let signs = ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">"];
        let sign = signs.into_iter().find(|sign| self.is_at(sign)).ok_or(Obstacle)?;
        self.at += sign.len();
        self.skip_blanks();
        let start = self.at;
        let word = self.word()?;
        match sign {
            "<<" | "<<-" => {
                command.has_document = true;
                let written = &self.text[start..self.at];
                let end = word.literal().ok_or(Obstacle)?;
                let (is_plain, is_indented) = (written != end, sign == "<<-");
                self.documents.push(Document { end, is_plain, is_indented });
            }
            "<<<" => {
                command.has_document = true;
                // Looked at like any other word, since it may set something.
                command.targets.push(Word::from(vec![super::Piece::List(vec![word])]));
            }
            "<" | "<>" => command.inputs.push(word),
            "<&" => {}
            _ => command.targets.push(word),
        }
        Ok(())
    }

    fn skip_documents(&mut self) -> Read<()> {
        for document in std::mem::take(&mut self.documents) {
            let start = self.at;
            let body = loop {
                let line = self.rest().split('\n').next().unwrap_or_default();
                let bare = if document.is_indented { line.trim_start_matches('\t') } else { line };
                let end = self.at;
                let is_end = bare == document.end;
                // The next line would belong to it.
                let goes_on = !document.is_plain && line.ends_with('\\');
                if goes_on || (!is_end && line.len() == self.rest().len()) {
                    return Err(Obstacle);
                }
                self.at += line.len() + usize::from(line.len() < self.rest().len());
                if is_end {
                    break start..end;
                }
            };
            if !document.is_plain {
                self.part(body, Self::filled)?;
            }
        }
        Ok(())
    }
}
