//! The few commands of IMAP that only look: EXAMINE in place of SELECT, and PEEK.

use super::line_stream::{Endpoint, LineStream};
use super::{Account, MailError};
use crate::host::HttpClient;

pub(super) struct Mailbox {
    stream: LineStream,
    commands: usize,
}

/// A line of a response, and the pieces that it announces.
struct Response {
    line: String,
    pieces: Vec<Vec<u8>>,
}

/// A text as an argument of a command.
pub(super) fn quoted(text: &str) -> Result<String, MailError> {
    if text.contains(['\r', '\n', '\0']) {
        return Err(MailError::Protocol(String::from("an argument contains invalid characters")));
    }
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

impl Mailbox {
    pub(super) async fn open(
        endpoint: &Endpoint,
        account: &Account,
        network: &dyn HttpClient,
    ) -> Result<Self, MailError> {
        let mut stream = LineStream::connect(endpoint, network).await?;
        if endpoint.has_tls {
            stream = stream.secured(&endpoint.host).await?;
        }
        let mut mailbox = Self { stream, commands: 0 };
        let greeting = mailbox.response().await?.line;
        if !greeting.starts_with("* OK") {
            return Err(MailError::Connection(greeting));
        }
        let username = quoted(&account.username)?;
        let password = quoted(account.password.expose())?;
        mailbox.command(&format!("LOGIN {username} {password}")).await?;
        Ok(mailbox)
    }

    /// Opens a folder without the right to change it.
    pub(super) async fn examine(&mut self, folder: &str) -> Result<(), MailError> {
        self.command(&format!("EXAMINE {}", quoted(folder)?)).await.map(drop)
    }

    pub(super) async fn search(&mut self, query: &str) -> Result<Vec<u32>, MailError> {
        let charset = if query.is_ascii() { "" } else { "CHARSET UTF-8 " };
        let responses = self.command(&format!("UID SEARCH {charset}{query}")).await?;
        let lists = responses.iter().filter_map(|it| it.line.strip_prefix("* SEARCH"));
        Ok(lists
            .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()))
            .collect())
    }

    /// The heads of messages, in the order of `ids`.
    pub(super) async fn headers(&mut self, ids: &[u32]) -> Result<Vec<Vec<u8>>, MailError> {
        let mut found = Vec::new();
        for id in ids {
            let part = "BODY.PEEK[HEADER.FIELDS (MESSAGE-ID FROM SUBJECT DATE)]";
            found.extend(self.fetch(*id, part).await?);
        }
        Ok(found)
    }

    pub(super) async fn message(&mut self, id: u32) -> Result<Option<Vec<u8>>, MailError> {
        self.fetch(id, "BODY.PEEK[]").await
    }

    async fn fetch(&mut self, id: u32, part: &str) -> Result<Option<Vec<u8>>, MailError> {
        let responses = self.command(&format!("UID FETCH {id} ({part})")).await?;
        let fetched = responses.into_iter().filter(|it| it.line.contains(" FETCH "));
        Ok(fetched.flat_map(|it| it.pieces).next())
    }

    pub(super) async fn folders(&mut self) -> Result<Vec<String>, MailError> {
        let responses = self.command("LIST \"\" \"*\"").await?;
        Ok(responses
            .iter()
            .filter(|it| it.line.starts_with("* LIST "))
            .filter_map(folder)
            .collect())
    }

    /// Takes leave; a server that has gone already is not a failure.
    pub(super) async fn logout(mut self) {
        let _ = self.command("LOGOUT").await;
    }

    async fn command(&mut self, command: &str) -> Result<Vec<Response>, MailError> {
        self.commands += 1;
        let tag = format!("b{} ", self.commands);
        self.stream.write(format!("{tag}{command}\r\n").as_bytes()).await?;
        let mut responses = Vec::new();
        loop {
            let response = self.response().await?;
            if let Some(status) = response.line.strip_prefix(&tag) {
                return match status.split_once(' ').unwrap_or((status, "")) {
                    ("OK", _) => Ok(responses),
                    (_, why) => Err(MailError::Protocol(why.to_owned())),
                };
            }
            // The server waits for a piece that the text of a command announced by mistake.
            if response.line.starts_with('+') {
                let what = "the server takes the query for an incomplete one";
                return Err(MailError::Protocol(what.to_owned()));
            }
            responses.push(response);
        }
    }

    async fn response(&mut self) -> Result<Response, MailError> {
        let mut line = self.stream.line().await?;
        let mut pieces = Vec::new();
        while let Some(length) = announced(&line) {
            pieces.push(self.stream.piece(length).await?);
            line.push_str(&self.stream.line().await?);
        }
        Ok(Response { line, pieces })
    }
}

/// The length of the piece that follows a line.
fn announced(line: &str) -> Option<usize> {
    let (_, length) = line.strip_suffix('}')?.rsplit_once('{')?;
    length.parse().ok()
}

/// The name in a line `* LIST (flags) "/" "name"`.
fn folder(response: &Response) -> Option<String> {
    if let Some(name) = response.pieces.last() {
        return Some(String::from_utf8_lossy(name).into_owned());
    }
    let (_, rest) = response.line.split_once(") ")?;
    // The separator is quoted or NIL.
    let (_, name) = rest.split_once(' ')?;
    let name = name.trim();
    let inner = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    Some(
        inner.map_or_else(
            || name.to_owned(),
            |inner| inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        ),
    )
}
