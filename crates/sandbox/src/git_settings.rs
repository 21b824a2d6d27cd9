//! Git's settings, read byte by byte as git reads them: several headers on a line, values that go on
//! over lines, quotes anywhere, escapes, comments. What git refuses is not understood here either.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// One of git's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The section without what stands in quotes, in lower case.
    pub(crate) section: String,
    /// The quoted part after the section.
    subsection: Option<Vec<u8>>,
    /// The name, in lower case.
    pub(crate) key: String,
    /// The value; none if only the name is there, which git reads as `true`.
    value: Option<Vec<u8>>,
}

impl Setting {
    /// A setting with this value.
    pub(crate) fn new(section: &str, key: &str, value: &[u8]) -> Self {
        let (section, key) = (section.to_owned(), key.to_owned());
        Self { section, subsection: None, key, value: Some(value.to_vec()) }
    }

    /// The quoted part of the section header.
    pub(crate) fn subsection(&self) -> Option<&[u8]> {
        self.subsection.as_deref()
    }

    /// The lines that git reads as this setting. Not for settings of a subsection.
    pub(crate) fn written(&self) -> Vec<u8> {
        let mut lines = format!("[{}]\n\t{}", self.section, self.key).into_bytes();
        if let Some(value) = &self.value {
            lines.extend_from_slice(b" = \"");
            for byte in value {
                match byte {
                    b'\n' => lines.extend_from_slice(b"\\n"),
                    b'"' | b'\\' => lines.extend([b'\\', *byte]),
                    byte => lines.push(*byte),
                }
            }
            lines.push(b'"');
        }
        lines.push(b'\n');
        lines
    }

    /// Returns true if the value means yes.
    pub(crate) fn is_true(&self) -> bool {
        let value = String::from_utf8_lossy(self.bytes()).to_lowercase();
        self.value.is_none() || ["true", "yes", "on", "1"].contains(&value.as_str())
    }

    /// Returns true if it is this setting of the section itself, not of a subsection.
    pub(crate) fn is(&self, section: &str, key: &str) -> bool {
        self.subsection.is_none() && self.section == section && self.key == key
    }

    /// The value; nothing where there is none.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.value.as_deref().unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.bytes()))
    }
}

/// All settings of a text; none where git refuses it, or would see less of it than is there.
pub(crate) fn settings(text: &[u8]) -> Option<Vec<Setting>> {
    if text.contains(&0) {
        return None;
    }
    // Editors of Windows put a mark at the beginning.
    let mut reader = Reader { text: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text), at: 0 };
    let (mut header, mut found) = ((String::new(), None), Vec::new());
    loop {
        match reader.next() {
            b'\n' if reader.is_over() => return Some(found),
            byte if is_blank(byte) => {}
            b'#' | b';' => while reader.next() != b'\n' {},
            b'[' => header = reader.header()?,
            first if first.is_ascii_alphabetic() => {
                let (key, value) = reader.setting(first)?;
                let (section, subsection) = header.clone();
                found.push(Setting { section, subsection, key, value });
            }
            _ => return None,
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    /// Where the next byte is; beyond the text once its end was read.
    at: usize,
}

impl Reader<'_> {
    /// The next byte. The end is the end of a line too.
    fn next(&mut self) -> u8 {
        let byte = self.text.get(self.at).copied().unwrap_or(b'\n');
        self.at += 1;
        if byte == b'\r' && self.text.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return b'\n';
        }
        byte
    }

    fn is_over(&self) -> bool {
        self.at > self.text.len()
    }

    /// The name of a section and what stands in quotes after it, from behind its bracket.
    fn header(&mut self) -> Option<(String, Option<Vec<u8>>)> {
        let mut section = String::new();
        loop {
            match self.next() {
                b']' if !section.is_empty() => return Some((section, None)),
                b' ' | b'\t' | b'\r' => return Some((section, Some(self.subsection()?))),
                byte if is_key(byte) || byte == b'.' => {
                    section.push(char::from(byte.to_ascii_lowercase()));
                }
                _ => return None,
            }
        }
    }

    fn subsection(&mut self) -> Option<Vec<u8>> {
        let mut byte = self.next();
        while is_blank(byte) && byte != b'\n' {
            byte = self.next();
        }
        if byte != b'"' {
            return None;
        }
        let mut name = Vec::new();
        loop {
            byte = self.next();
            if byte == b'"' {
                return (self.next() == b']').then_some(name);
            }
            if byte == b'\\' {
                byte = self.next();
            }
            if byte == b'\n' {
                return None;
            }
            name.push(byte);
        }
    }

    /// The name that begins with a letter, and its value.
    fn setting(&mut self, first: u8) -> Option<(String, Option<Vec<u8>>)> {
        let mut key = String::new();
        let mut byte = first;
        while is_key(byte) {
            key.push(char::from(byte.to_ascii_lowercase()));
            byte = self.next();
        }
        while byte == b' ' || byte == b'\t' {
            byte = self.next();
        }
        match byte {
            b'\n' => Some((key, None)),
            b'=' => Some((key, Some(self.value()?))),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        // Where blanks began after which nothing has come yet.
        let mut end = None;
        let mut is_quoted = false;
        loop {
            let byte = match self.next() {
                b'\n' if is_quoted => return None,
                b'\n' => break,
                byte if is_blank(byte) && !is_quoted => {
                    end = end.or(Some(value.len()).filter(|length| *length > 0));
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !is_quoted => {
                    while self.next() != b'\n' {}
                    break;
                }
                byte => byte,
            };
            end = None;
            match byte {
                b'"' => is_quoted = !is_quoted,
                b'\\' => match self.next() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return None,
                },
                byte => value.push(byte),
            }
        }
        value.truncate(end.unwrap_or(value.len()));
        Some(value)
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

#[cfg(test)]
mod tests;
