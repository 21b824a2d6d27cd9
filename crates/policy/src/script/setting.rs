//! Variables that are set, with their values.

use tree_sitter::Node;

use super::{Piece, Reader, WORDS, Word, children};

impl Reader<'_> {
    pub(super) fn setting(&mut self, node: Node<'_>) -> Result<(String, Word), usize> {
        let wrong = Err(node.start_byte());
        let mut parts = children(node).into_iter();
        let (Some(name), Some(sign)) = (parts.next(), parts.next()) else { return wrong };
        if name.kind() != "variable_name"
            || sign.kind() != "="
            || sign.start_byte() != name.end_byte()
        {
            return wrong;
        }
        self.see(name.start_byte()..sign.end_byte());
        let value = match (parts.next(), parts.next()) {
            (None, _) => Word::default(),
            (Some(value), None)
                if WORDS.contains(&value.kind()) && value.start_byte() == sign.end_byte() =>
            {
                self.word(value)?
            }
            (Some(list), None)
                if list.kind() == "array" && list.start_byte() == sign.end_byte() =>
            {
                self.list(list)?
            }
            (Some(_), _) => return wrong,
        };
        Ok((self.of(name).to_owned(), value))
    }

    /// A list of plain words: of others Bash works out where they belong, and so may run something. To a plain `sh` it
    /// is an error, at which the text ends.
    fn list(&mut self, node: Node<'_>) -> Result<Word, usize> {
        for child in children(node) {
            match child.kind() {
                "(" | ")" => self.sign(child)?,
                "comment" => self.comment(child)?,
                kind if WORDS.contains(&kind) => {
                    self.word(child)?.literal().ok_or(child.start_byte())?;
                }
                _ => return Err(child.start_byte()),
            }
        }
        Ok(Word { pieces: vec![Piece::Other], range: node.byte_range() })
    }
}
