//! Puts words, lines and paragraphs one after the other, without space that nobody wants.

#[derive(Default)]
pub(super) struct Writer {
    text: String,
    pending: usize,
    spaced: bool,
    prefix: String,
    before: String,
    marks: String,
}

impl Writer {
    pub(super) fn words(&mut self, text: &str) {
        let mut is_first = true;
        for word in text.split_ascii_whitespace() {
            self.spaced |= !is_first || text.starts_with(|c: char| c.is_ascii_whitespace());
            self.put(word);
            is_first = false;
        }
        self.spaced |= text.ends_with(|c: char| c.is_ascii_whitespace());
    }

    pub(super) fn verbatim(&mut self, text: &str) {
        let mut lines = text.split('\n');
        if let Some(first) = lines.next().filter(|line| !line.is_empty()) {
            self.put(first.trim_end_matches('\r'));
        }
        for line in lines {
            self.settle();
            self.pending = 0;
            self.text.push('\n');
            self.text.push_str(&self.prefix);
            self.text.push_str(line.trim_end_matches('\r'));
        }
    }

    /// Adds a mark before the next words. One without words is dropped.
    pub(super) fn mark(&mut self, mark: &str) {
        if self.spaced && self.pending == 0 && self.marks.is_empty() && !mark.starts_with(' ') {
            self.marks.push(' ');
        }
        self.spaced = false;
        self.marks.push_str(mark);
        if ["---", "```"].contains(&mark) {
            self.settle();
        }
    }

    /// Adds a mark right behind the last words, unless the one that began them still waits.
    pub(super) fn end_mark(&mut self, mark: &str) {
        if let Some(rest) = self.marks.strip_suffix(mark) {
            self.marks.truncate(rest.len());
            return;
        }
        self.text.push_str(mark);
    }

    pub(super) fn line(&mut self) {
        self.settle_list_mark();
        self.end_line(1);
    }

    pub(super) fn paragraph(&mut self) {
        self.settle_list_mark();
        self.end_line(2);
    }

    pub(super) fn indent(&mut self, prefix: &str) {
        self.prefix.push_str(prefix);
    }

    pub(super) fn outdent(&mut self, prefix: &str) {
        if let Some(rest) = self.prefix.strip_suffix(prefix) {
            self.prefix.truncate(rest.len());
        }
    }

    /// The length of the text, with marks that wait for the next words.
    pub(super) fn length(&self) -> usize {
        self.text.len()
    }

    /// Puts marks around what was written since `begin`, where that is anything in one paragraph.
    pub(super) fn wrap(&mut self, begin: usize, before: &str, after: &str) {
        let Some(written) = self.text.get(begin..) else { return };
        let words = written.trim();
        if words.is_empty() || words.contains('\n') {
            return;
        }
        let lead = written.len() - written.trim_start().len();
        // What stands at the beginning of a line belongs to the line.
        let marks =
            written[lead..].len() - written[lead..].trim_start_matches(['#', '-', '>', ' ']).len();
        self.text.insert_str(begin + lead + marks, before);
        self.text.push_str(after);
    }

    pub(super) fn finish(self) -> String {
        let lines = self.text.trim().lines().map(str::trim_end);
        lines.collect::<Vec<_>>().join("\n")
    }

    fn end_line(&mut self, lines: usize) {
        if self.pending == 0 {
            self.before.clone_from(&self.prefix);
        }
        self.pending = self.pending.max(lines);
        self.spaced = false;
    }

    fn put(&mut self, word: &str) {
        let is_spaced = self.spaced && self.pending == 0 && self.marks.is_empty();
        self.settle();
        if is_spaced && !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
        self.spaced = false;
        self.text.push_str(word);
    }

    fn settle(&mut self) {
        if self.pending > 0 && !self.text.is_empty() {
            // An empty line belongs to what is around both its neighbors.
            let around = self.before.len().min(self.prefix.len());
            for _ in 1..self.pending {
                self.text.push('\n');
                self.text.push_str(&self.prefix[..around]);
            }
            self.text.push('\n');
            self.text.push_str(&self.prefix);
        } else if self.text.is_empty() {
            self.text.push_str(&self.prefix);
        }
        self.pending = 0;
        let marks = std::mem::take(&mut self.marks);
        self.text.push_str(&marks);
    }

    /// The mark of an item waits for its words on the next line too; all others lose theirs.
    fn settle_list_mark(&mut self) {
        let mark = self.marks.trim();
        let is_item = mark == "-" || mark.ends_with('.');
        if !is_item {
            self.marks.clear();
        }
    }
}
