//! What goes into a command, and so into the shells in the text that it runs: that of `sh -c`, of `eval`, of a
//! function.

use std::collections::HashSet;

use super::{Flow, Passed, Source, Sources};
use crate::shell::tolerant::{Expansion, Piece, Segment, Value};

/// What a command reads around another one.
#[must_use]
pub(in super::super) struct Around(Option<Source>);

impl Passed {
    /// Whether it is not known what the segment reads.
    pub(in super::super) fn is_given(&self) -> bool {
        self.given.is_some()
    }
}

impl Sources {
    /// Begins with the segments of a text that runs within a command, some of whose pipelines are fed.
    pub(in super::super) fn flow(&self, segments: &[Segment], fed: HashSet<usize>) -> Flow {
        let mut flow = if self.is_open() { Flow::ahead(segments) } else { Flow::default() };
        flow.input.clone_from(&self.around);
        flow.fed = fed;
        flow
    }

    /// Goes into a segment, to the text that its command runs; returns what stood around it.
    pub(in super::super) fn enter(&mut self, passed: &Passed) -> Around {
        Around(std::mem::replace(&mut self.around, passed.given.clone()))
    }

    /// Goes into a command that runs elsewhere.
    pub(in super::super) fn leave_machine(&mut self) -> Around {
        Around(self.around.take())
    }

    /// Goes into a function that is given something, if there is one.
    pub(in super::super) fn enter_function(&mut self) -> Option<Around> {
        let given = self.into_function.take().filter(|_| self.is_open())?;
        Some(Around(self.around.replace(given)))
    }

    /// Comes back from there.
    pub(in super::super) fn leave(&mut self, around: Around) {
        self.around = around.0;
    }
}

/// Whether a segment runs its input by a variable that names a shell for certain.
pub(super) fn is_shell_variable(segment: &Segment, at: usize) -> bool {
    let names_shell = |it: &Expansion| match &it.value {
        Value::Variable(name) => matches!(name.as_str(), "SHELL" | "BASH" | "0"),
        Value::Printed(_) => false,
    };
    let mut put = segment.expansions.iter().filter(|it| it.word == Some(at));
    let has_text = |word: &Piece| !word.text.starts_with('-') || word.text.contains('c');
    let args = segment.words.get(at + 1..).unwrap_or_default();
    put.any(names_shell) && !args.iter().any(has_text)
}
