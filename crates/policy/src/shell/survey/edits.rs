//! What scripts of `sed` run. Sees too much rather than too little.

use super::Survey;
use crate::programs::sed;
use crate::shell::tolerant::Piece;

/// Few words are shorter.
const WORD: usize = 8;

impl Survey {
    /// What scripts of `sed` run.
    pub(super) fn edited(&mut self, args: &[Piece], depth: usize) {
        let args: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
        self.scripts.edits_by_file |= sed::reads_script(&args);
        for script in sed::scripts(&args) {
            self.run_by_script(script, depth);
        }
    }

    /// What a script runs, or a text that may hold one.
    pub(super) fn run_by_script(&mut self, script: &str, depth: usize) {
        for text in sed::runs(script).texts {
            if !self.affords(1 + text.len() / WORD) {
                return;
            }
            self.script(text, depth + 1);
            self.words_of(text);
        }
    }
}

/// Whether a script of `sed` runs the lines that it reads.
pub(super) fn runs_lines(args: &[Piece]) -> bool {
    let args: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
    sed::scripts(&args).into_iter().any(|script| sed::runs(script).lines)
}
