//! What people type in a conversation with a role beside prompts: files for the next one, another
//! module of tools, the role read again.

use std::path::Path;

use crate::exit::Problem;

/// Bytes of one file that go along.
const LARGEST: u64 = 256 << 10;

/// What a line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RoleLine<'a> {
    /// Read the role again.
    Reload,
    /// Have the functions of a module as tools.
    AddTool(&'a str),
    /// Take a file along with the next prompt.
    Attach(&'a str),
    /// Say which files go along.
    Attachments,
    /// Take none of them along.
    ClearAttachments,
}

impl<'a> RoleLine<'a> {
    /// Understands a line; none where it is something else.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
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

/// Files that go along with the next prompt.
#[derive(Default)]
pub(super) struct Attachments(Vec<(String, String)>);

impl Attachments {
    /// Reads a file, which the user has named.
    pub(super) fn add(&mut self, cwd: &Path, name: &str) -> Result<String, Problem> {
        if name.is_empty() {
            return Err(Problem::misuse("no file was named").hint("`/attach PATH`"));
        }
        if name.contains("://") {
            let hint = "give the role a tool of type `web_reader`, or save the page to a file";
            return Err(Problem::misuse(format!("{name} is no file")).hint(hint));
        }
        let path = cwd.join(name);
        let cannot = |why: String| Problem::misuse(format!("cannot attach {name}: {why}"));
        let found = std::fs::metadata(&path).map_err(|error| cannot(error.to_string()))?;
        if !found.is_file() || found.len() > LARGEST {
            return Err(cannot(format!("only files of at most {LARGEST} bytes go along")));
        }
        let bytes = std::fs::read(&path).map_err(|error| cannot(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| cannot("it is no text".to_owned()))?;
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), text));
        Ok(format!("{name} goes along with the next prompt."))
    }

    /// Which files go along, in words.
    pub(super) fn told(&self) -> String {
        if self.0.is_empty() {
            return "No file goes along with the next prompt.".to_owned();
        }
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.join("\n")
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) -> String {
        self.0.clear();
        self.told()
    }

    /// A prompt with all of them, which are forgotten by that.
    pub(super) fn put_to(&mut self, prompt: String) -> String {
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
