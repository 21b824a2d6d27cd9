//! Divides a text into chunks.

use crate::role::{ChunkStrategy, IngestSettings};

impl IngestSettings {
    pub(super) fn chunks(&self, text: &str) -> Vec<String> {
        let chunks = match self.strategy {
            ChunkStrategy::Fixed => self.windows(text),
            ChunkStrategy::Paragraph => self.paragraphs(text),
        };
        let chunks = chunks.iter().map(|chunk| chunk.trim().to_owned());
        chunks.filter(|chunk| !chunk.is_empty()).collect()
    }

    fn windows(&self, text: &str) -> Vec<String> {
        let characters: Vec<char> = text.chars().collect();
        let step = self.chunk_size.saturating_sub(self.chunk_overlap).max(1);
        let window = |start: usize| {
            let end = start.saturating_add(self.chunk_size).min(characters.len());
            characters[start..end].iter().collect()
        };
        (0..characters.len()).step_by(step).map(window).collect()
    }

    fn paragraphs(&self, text: &str) -> Vec<String> {
        let mut chunks: Vec<String> = Vec::new();
        let mut current = String::new();
        let lines: Vec<&str> = text.lines().collect();
        for block in lines.split(|line| line.trim().is_empty()).filter(|block| !block.is_empty()) {
            let block = block.join("\n");
            let length = current.chars().count() + 2 + block.chars().count();
            if !current.is_empty() && length > self.chunk_size {
                let count = current.chars().count();
                let tail = current.chars().skip(count.saturating_sub(self.chunk_overlap)).collect();
                chunks.push(std::mem::replace(&mut current, tail));
            }
            if !current.is_empty() {
                current.push_str("\n\n");
            }
            current.push_str(&block);
        }
        chunks.push(current);
        chunks
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::role::Fields;

    fn settings(chunking: &Value) -> IngestSettings {
        let value = json!({"sources": ["a"], "chunking": chunking});
        IngestSettings::read(Some(&value), None, &mut Fields::default()).unwrap()
    }

    #[test]
    fn fixed_chunks_overlap() {
        let settings = settings(&json!({"chunk_size": 4, "chunk_overlap": 1}));
        assert_eq!(settings.chunks("äbcdefgh"), ["äbcd", "defg", "gh"]);
        assert!(settings.chunks(" \n ").is_empty());
    }

    #[test]
    fn paragraphs_merge_while_they_fit() {
        let chunking = json!({"strategy": "paragraph", "chunk_size": 8, "chunk_overlap": 2});
        let settings = settings(&chunking);
        assert_eq!(settings.chunks("ab\n\ncd\n \nefgh\nij\n"), ["ab\n\ncd", "cd\n\nefgh\nij"]);
    }
}
