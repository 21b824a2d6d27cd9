//! The prompt of `chat`: words, files and standard input. A part that is alone is sent as it is;
//! otherwise tags mark files and standard input.

use std::path::PathBuf;

use serde_json::{Value, json};

/// A prompt and where it comes from.
#[derive(Debug, PartialEq)]
pub struct PromptSource {
    /// The text for the model.
    pub content: String,
    /// `file:PATH`, `stdin`, `args`.
    pub sources: Vec<String>,
}

impl PromptSource {
    /// Joins the sources in order; none if there is none.
    pub fn new(files: &[(PathBuf, String)], stdin: Option<&str>, words: &[String]) -> Option<Self> {
        let words = words.join(" ");
        let file = |(path, text): &'_ (PathBuf, String)| {
            let path = path.display();
            let open = format!("<prompt_file path=\"{path}\">\n");
            (format!("file:{path}"), text.trim().to_owned(), (open, "\n</prompt_file>"))
        };
        let stdin = stdin.unwrap_or_default().trim().to_owned();
        let mut parts = vec![("args".to_owned(), words.trim().to_owned(), (String::new(), ""))];
        parts.extend(files.iter().map(file));
        parts.push(("stdin".to_owned(), stdin, ("<stdin>\n".to_owned(), "\n</stdin>")));
        parts.retain(|(_, text, _)| !text.is_empty());
        let is_alone = parts.len() == 1;
        let (sources, parts): (_, Vec<String>) = parts
            .into_iter()
            .map(|(source, text, (open, close))| {
                (source, if is_alone { text } else { format!("{open}{text}{close}") })
            })
            .unzip();
        (!parts.is_empty()).then(|| Self { content: parts.join("\n\n"), sources })
    }

    /// The sources and the text, for output as JSON.
    pub fn as_json(&self) -> Value {
        json!({"sources": self.sources, "content": self.content})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_parts_are_ordered_and_tagged() {
        let files = [(PathBuf::from("a.md"), " text \n".to_owned())];
        let prompt = PromptSource::new(&files, Some("piped\n"), &["do".into(), "it".into()]);
        assert_eq!(
            prompt.expect("a prompt").content,
            "do it\n\n<prompt_file path=\"a.md\">\ntext\n</prompt_file>\n\n<stdin>\npiped\n</stdin>"
        );
    }

    #[test]
    fn empty_parts_are_dropped() {
        assert_eq!(PromptSource::new(&[], Some(" \n"), &[]), None);
        let prompt = PromptSource::new(&[], Some(""), &["x".into()]).expect("a prompt");
        assert_eq!(prompt.sources, ["args"]);
        assert_eq!(prompt.content, "x");
    }
}
