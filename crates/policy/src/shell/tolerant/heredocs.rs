//! Here-documents: the lines that follow a command up to one that ends them.

use super::{Scanner, Start, run};
use crate::shell::survey::NESTING;

impl Scanner<'_> {
    /// Reads those that the line before has announced.
    pub(super) fn read_heredocs(&mut self) {
        for (delimiter, strip, quoted, pipeline) in std::mem::take(&mut self.top().heredocs) {
            let from = self.at;
            let mut end = self.bytes.len();
            let mut closed = false;
            while self.at < self.bytes.len() {
                let line = self.text[self.at..].split('\n').next().unwrap_or_default();
                let bare = if strip { line.trim_start_matches('\t') } else { line };
                end = self.at;
                self.at = (self.at + line.len() + 1).min(self.bytes.len());
                if bare == delimiter.text {
                    closed = true;
                    break;
                }
                end = self.at;
            }
            self.scan.torn |= !closed;
            let body = &self.text[from..end];
            self.scan.fed.push((pipeline, body.to_owned()));
            if !quoted && self.depth < NESTING {
                run(self.scan, body, Start::Quoted, self.depth + 1);
                // Bash joins lines before all else, also where a substitution has quotes.
                if body.contains("\\\n") {
                    run(self.scan, &body.replace("\\\n", ""), Start::Quoted, self.depth + 1);
                }
            } else if !quoted {
                self.scan.torn = true;
            }
        }
    }
}
