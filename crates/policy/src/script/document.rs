//! Texts that follow the line of a command, with commands and variables in them.

use std::ops::Range;

use tree_sitter::Node;

use super::{Command, Reader, children, ranges, substitutions, word};

impl Reader<'_> {
    /// A text that follows the line. The parser must find the same end of it as a look at each line.
    pub(super) fn document(
        &mut self,
        node: Node<'_>,
        command: &mut Command,
        first: usize,
    ) -> Result<(), usize> {
        let wrong = Err(node.start_byte());
        let (mut sign, mut name, mut body, mut end) = ("", "", None, None);
        let mut last = node.start_byte();
        for child in children(node) {
            match child.kind() {
                kind @ ("<<" | "<<-") => {
                    sign = kind;
                    self.see(child.byte_range());
                }
                "heredoc_start" => {
                    name = self.of(child);
                    self.see(child.byte_range());
                }
                "file_redirect" => self.redirect(child, command)?,
                "pipeline" => {
                    let start = self.commands.len();
                    self.held(child)?;
                    let readers = start..self.commands.len();
                    for producer in &mut self.commands[first..start] {
                        producer.readers.push(readers.clone());
                    }
                }
                "heredoc_body" => body = Some(child),
                "heredoc_end" => end = Some(child),
                "\n" => {}
                _ => return wrong,
            }
            if !["heredoc_body", "heredoc_end", "\n"].contains(&child.kind()) {
                last = child.end_byte();
            }
        }
        let Some(end) = end else { return wrong };
        let bare = name.trim_matches(|c| c == '\'' || c == '"');
        let is_quoted = ['\'', '"'].iter().any(|it| name == format!("{it}{bare}{it}"));
        let is_name =
            !bare.is_empty() && bare.bytes().all(|it| it.is_ascii_alphabetic() || it == b'_');
        let line = self.text[node.start_byte()..].find('\n').map(|it| it + node.start_byte());
        // A quote that goes on behind the end of the line moves the start of the text.
        let is_known = |start: &usize| is_name && (is_quoted || name == bare) && *start >= last;
        let Some(start) = line.filter(is_known) else { return wrong };
        // Two of them on one line, or one within another's, are not told apart here.
        if self.text[..start].rsplit('\n').next().unwrap_or_default().matches("<<").count() > 1 {
            return wrong;
        }
        let is_last = |line: &str| {
            let line = if sign == "<<-" { line.trim_start_matches('\t') } else { line };
            line == bare
        };
        let mut at = start + 1;
        for line in self.text[at..].split('\n') {
            if is_last(line) {
                break;
            }
            at += line.len() + 1;
        }
        let last = self.text.get(at..).and_then(|it| it.split('\n').next()).unwrap_or_default();
        if !is_last(last) || end.end_byte() != at + last.len() {
            return wrong;
        }
        self.see(start + 1..at + last.len());
        if is_quoted { Ok(()) } else { self.check_document(start + 1..at, body) }
    }

    /// The words that a text which follows holds.
    fn check_document(&mut self, range: Range<usize>, body: Option<Node<'_>>) -> Result<(), usize> {
        if let Some(at) = self.text[range.clone()].find(['\\', '`']) {
            return Err(range.start + at);
        }
        let inner = body.map(substitutions).unwrap_or_default();
        let summed = word::check_quoted(self.text, range, &ranges(&inner))?;
        if let Some(body) = body {
            self.sum(body, &summed);
        }
        self.within(&inner)
    }
}
