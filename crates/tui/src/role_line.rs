//! Lines of a conversation with a role that are no prompts: attach a file to the next prompt, add a
//! module of tools, read the role again.

use std::path::Path;

const MAX_ATTACHMENT_BYTES: u64 = 256 << 10;

/// A line about the role or the attachments.
#[derive(Debug, PartialEq, Eq)]
pub enum RoleLine<'a> {
    Reload,
    AddTool(&'a str),
    Attach(&'a str),
    Attachments,
    ClearAttachments,
}

impl<'a> RoleLine<'a> {
    /// Parses a line; none if it is an ordinary prompt.
    #[must_use]
    pub fn parse(line: &'a str) -> Option<Self> {
        let (name, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        let rest = rest.trim();
        Some(match (name, rest) {
            ("/reload", "") => Self::Reload,
            ("/tool", rest) => Self::AddTool(rest.strip_prefix("add").unwrap_or(rest).trim()),
            ("/attach", rest) => Self::Attach(rest),
            ("/attachments", "") => Self::Attachments,
            ("/clear-attachments", "") => Self::ClearAttachments,
            _ => return None,
        })
    }
}

/// The message of a refusal, with what to do about it.
pub type Refusal = (String, Option<&'static str>);

/// The files that go along with the next prompt: their names and texts.
#[derive(Default)]
pub struct Attachments(Vec<(String, String)>);

impl Attachments {
    /// Attaches a file, and tells so.
    ///
    /// # Errors
    ///
    /// If the file cannot go along.
    pub fn add(&mut self, cwd: &Path, name: &str) -> Result<String, Refusal> {
        if name.is_empty() {
            return Err(("no file was named".to_owned(), Some("`/attach PATH`")));
        }
        if name.contains("://") {
            let hint = "give the role a tool of type `web_reader`, or save the page to a file";
            return Err((format!("{name} is not a file"), Some(hint)));
        }
        let path = cwd.join(name);
        let cannot = |why: String| (format!("cannot attach {name}: {why}"), None);
        let found = std::fs::metadata(&path).map_err(|error| cannot(error.to_string()))?;
        if !found.is_file() || found.len() > MAX_ATTACHMENT_BYTES {
            return Err(cannot(format!(
                "only files of at most {MAX_ATTACHMENT_BYTES} bytes go along"
            )));
        }
        let bytes = std::fs::read(&path).map_err(|error| cannot(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| cannot("it is not text".to_owned()))?;
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), text));
        Ok(format!("{name} goes along with the next prompt."))
    }

    /// The names of the attached files.
    #[must_use]
    pub fn describe(&self) -> String {
        if self.0.is_empty() {
            return "No file goes along with the next prompt.".to_owned();
        }
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.join("\n")
    }

    /// Forgets the files, and tells so.
    pub fn clear(&mut self) -> String {
        self.0.clear();
        self.describe()
    }

    /// Appends all attachments to a prompt and forgets them.
    pub fn put_to(&mut self, prompt: String) -> String {
        self.0.drain(..).fold(prompt, |prompt, (name, text)| {
            format!("{prompt}\n\n<attachment name={name:?}>\n{text}\n</attachment>")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_lines_are_distinguished_from_prompts() {
        assert_eq!(RoleLine::parse("/reload"), Some(RoleLine::Reload));
        assert_eq!(RoleLine::parse("/tool add my_tools "), Some(RoleLine::AddTool("my_tools")));
        assert_eq!(RoleLine::parse("/attach a b.txt"), Some(RoleLine::Attach("a b.txt")));
        assert_eq!(RoleLine::parse("/attachments"), Some(RoleLine::Attachments));
        assert_eq!(RoleLine::parse("/reload it"), None);
        assert_eq!(RoleLine::parse("reload"), None);
    }
}
