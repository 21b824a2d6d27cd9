//! Messages as text for the model, and the message that is sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mail_parser::{Address, Message, MessageParser, PartType};

use crate::html;

/// Characters of a line of base64.
const LINE_LENGTH: usize = 76;
/// Bytes in one encoded word of a header, which has at most 75 characters.
const WORD_LENGTH: usize = 40;

/// The lines about a message in a list.
pub(super) fn listed(head: &[u8]) -> String {
    let Some(message) = MessageParser::default().parse(head) else { return String::new() };
    format!(
        "ID: <{}>\nFrom: {}\nSubject: {}\nDate: {}",
        message.message_id().unwrap_or_default(),
        addresses(message.from()),
        message.subject().unwrap_or_default(),
        date(&message),
    )
}

/// A whole message: its head, and its text.
pub(super) fn shown(content: &[u8]) -> String {
    let Some(message) = MessageParser::default().parse(content) else {
        return String::from("(no text content)");
    };
    format!(
        "Subject: {}\nFrom: {}\nTo: {}\nCc: {}\nDate: {}\n\n{}",
        message.subject().unwrap_or_default(),
        addresses(message.from()),
        addresses(message.to()),
        addresses(message.cc()),
        date(&message),
        body(&message),
    )
}

fn date(message: &Message<'_>) -> String {
    message.header_raw("Date").unwrap_or_default().trim().to_owned()
}

fn addresses(list: Option<&Address<'_>>) -> String {
    let entries = list.into_iter().flat_map(Address::iter).map(|entry| {
        let address = entry.address.as_deref().unwrap_or_default();
        match entry.name.as_deref() {
            Some(name) => format!("{name} <{address}>"),
            None => address.to_owned(),
        }
    });
    entries.collect::<Vec<_>>().join(", ")
}

fn body(message: &Message<'_>) -> String {
    let parts = |ids: &[u32]| -> Vec<&PartType<'_>> {
        let ids = ids.iter().filter_map(|id| usize::try_from(*id).ok());
        ids.filter_map(|id| message.parts.get(id)).map(|part| &part.body).collect()
    };
    let plain = parts(&message.text_body).into_iter().find_map(|part| match part {
        PartType::Text(text) => Some(text.trim_end().to_owned()),
        _ => None,
    });
    let html = || {
        parts(&message.html_body).into_iter().find_map(|part| match part {
            PartType::Html(page) => Some(html::markdown(page, None)),
            _ => None,
        })
    };
    plain.or_else(html).unwrap_or_else(|| String::from("(no text content)"))
}

/// A message to be sent.
pub(super) struct Letter<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    pub(super) cc: &'a str,
    pub(super) subject: &'a str,
    pub(super) body: &'a str,
    pub(super) reply_to: &'a str,
}

impl Letter<'_> {
    /// The plain addresses that it goes to. An error names what is not an address.
    pub(super) fn recipients(&self) -> Result<Vec<String>, String> {
        let written = self.to.split(',').chain(self.cc.split(','));
        let written = written.map(str::trim).filter(|it| !it.is_empty());
        let plain = |written: &str| {
            let inner = written.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
            let address = inner.unwrap_or(written).trim();
            let is_odd = |c: char| c.is_whitespace() || c.is_control() || "<>\"".contains(c);
            let is_address = address.split_once('@').is_some_and(|(name, host)| {
                !name.is_empty() && !host.is_empty() && !address.contains(is_odd)
            });
            is_address.then(|| address.to_owned()).ok_or(format!("'{written}' is not an address"))
        };
        let recipients = written.map(plain).collect::<Result<Vec<_>, _>>()?;
        if recipients.is_empty() {
            Err(String::from("there is no recipient"))
        } else {
            Ok(recipients)
        }
    }

    /// The lines of the message, each with its end.
    pub(super) fn content(&self) -> Result<String, String> {
        let date = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S +0000").to_string();
        let host = self.from.rsplit_once('@').map_or("localhost", |(_, host)| host);
        let id = format!("<{:032x}@{host}>", fastrand::u128(..));
        let mut headers = vec![
            ("From", self.from.to_owned()),
            ("To", self.to.to_owned()),
            ("Cc", self.cc.to_owned()),
            ("Subject", encoded_words(self.subject)),
            ("Date", date),
            ("Message-ID", id),
            ("In-Reply-To", self.reply_to.to_owned()),
            ("References", self.reply_to.to_owned()),
            ("MIME-Version", String::from("1.0")),
            ("Content-Type", String::from("text/plain; charset=utf-8")),
            ("Content-Transfer-Encoding", String::from("base64")),
        ];
        headers.retain(|(_, value)| !value.is_empty());
        if let Some((name, _)) = headers.iter().find(|(_, value)| value.contains(char::is_control))
        {
            return Err(format!("{name} contains invalid characters"));
        }
        let mut content: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        content.push(String::from("\r\n"));
        // Lines of base64 begin with no dot, which would end the message.
        let body = STANDARD.encode(self.body.replace("\r\n", "\n").replace('\n', "\r\n"));
        let lines = body.as_bytes().chunks(LINE_LENGTH);
        content.extend(lines.map(|line| format!("{}\r\n", String::from_utf8_lossy(line))));
        Ok(content.concat())
    }
}

/// A header's text in ASCII; control characters stay, and are refused later.
fn encoded_words(text: &str) -> String {
    if text.is_ascii() || text.contains(char::is_control) {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for c in text.chars() {
        if words.last().is_some_and(|word| word.len() + c.len_utf8() > WORD_LENGTH) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    let words: Vec<String> =
        words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word))).collect();
    words.join(" ")
}
