//! A user's words as a program packs them for a model, and without that. Hooks read the words alone.

/// The tags around prompts.
const TAGS: [&str; 3] = ["prompt", "stdin", "prompt_file"];

/// A user's prompt, with the tag around it if there is exactly one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrappedPrompt<'a> {
    pub(crate) words: &'a str,
    open: &'a str,
    close: &'a str,
}

impl<'a> WrappedPrompt<'a> {
    pub(crate) fn parse(whole: &'a str) -> Self {
        let inside = || {
            let at = whole.find(">\n")? + 2;
            let (open, rest) = whole.split_at(at);
            let name = open.strip_prefix('<')?.split([' ', '>']).next()?;
            let words = rest.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("\n</")?;
            let close = &rest[words.len()..];
            let is_alone = TAGS.contains(&name) && !words.contains(close);
            is_alone.then_some(Self { words, open, close })
        };
        inside().unwrap_or(Self { words: whole, open: "", close: "" })
    }

    pub(crate) fn with(&self, words: &str) -> String {
        [self.open, words, self.close].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_prompt_is_parsed_and_replaced() {
        for (whole, words, other) in [
            ("<prompt>\ngo\n</prompt>", "go", "<prompt>\nx\n</prompt>"),
            ("<prompt_file path=\"a b\">\na\nb\n</prompt_file>", "a\nb", {
                "<prompt_file path=\"a b\">\nx\n</prompt_file>"
            }),
            ("go", "go", "x"),
            ("<b>\ngo\n</b>", "<b>\ngo\n</b>", "x"),
            ("<prompt>\ngo</prompt>", "<prompt>\ngo</prompt>", "x"),
        ] {
            let packed = WrappedPrompt::parse(whole);
            assert_eq!((packed.words, packed.with("x").as_str()), (words, other));
        }
        let two = "<prompt>\na\n</prompt>\n\n<prompt>\nb\n</prompt>";
        assert_eq!(WrappedPrompt::parse(two).words, two);
    }
}
