//! Sends a message by SMTP: with TLS from the beginning on port 465, else with STARTTLS.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::line_stream::{Endpoint, LineStream};
use super::message::Letter;
use super::{Account, MailError};
use crate::host::HttpClient;

const TLS_PORT: u16 = 465;

pub(super) async fn send(
    endpoint: &Endpoint,
    account: &Account,
    letter: &Letter<'_>,
    network: &dyn HttpClient,
) -> Result<(), MailError> {
    let recipients = letter.recipients().map_err(MailError::Protocol)?;
    let content = letter.content().map_err(MailError::Protocol)?;
    let mut stream = LineStream::connect(endpoint, network).await?;
    if endpoint.port == TLS_PORT {
        stream = stream.secured(&endpoint.host).await?;
    }
    let mut session = Session(stream);
    session.reply().await?;
    let mut abilities = session.command("EHLO localhost").await?;
    if endpoint.port != TLS_PORT {
        if abilities.contains("STARTTLS") {
            session.command("STARTTLS").await?;
            session = Session(session.0.secured(&endpoint.host).await?);
            abilities = session.command("EHLO localhost").await?;
        } else if endpoint.has_tls {
            let what = "the server offers no STARTTLS; a password is not sent without it";
            return Err(MailError::Protocol(what.to_owned()));
        }
    }
    session.authenticate(&abilities, account).await?;
    session.command(&format!("MAIL FROM:<{}>", letter.from)).await?;
    for recipient in recipients {
        session.command(&format!("RCPT TO:<{recipient}>")).await?;
    }
    session.command("DATA").await?;
    session.0.write(content.as_bytes()).await?;
    session.command(".").await?;
    // The message has been taken; a server that goes away here is no failure.
    let _ = session.command("QUIT").await;
    Ok(())
}

struct Session(LineStream);

impl Session {
    async fn command(&mut self, command: &str) -> Result<String, MailError> {
        self.0.write(format!("{command}\r\n").as_bytes()).await?;
        self.reply().await
    }

    /// The lines of a reply. One that is not a success is an error.
    async fn reply(&mut self) -> Result<String, MailError> {
        let mut lines = Vec::new();
        loop {
            let line = self.0.line().await?;
            let is_last = line.as_bytes().get(3) != Some(&b'-');
            lines.push(line);
            if is_last {
                break;
            }
        }
        let is_success = lines.last().is_some_and(|line| line.starts_with(['2', '3']));
        if is_success { Ok(lines.join("\n")) } else { Err(MailError::Protocol(lines.join(" "))) }
    }

    async fn authenticate(&mut self, abilities: &str, account: &Account) -> Result<(), MailError> {
        let methods = abilities.lines().filter_map(|line| line.get(4..)?.strip_prefix("AUTH"));
        let methods: Vec<&str> = methods.flat_map(|it| it.split([' ', '='])).collect();
        let (username, password) = (&account.username, account.password.expose());
        if methods.contains(&"PLAIN") {
            let secret = STANDARD.encode(format!("\0{username}\0{password}"));
            return self.command(&format!("AUTH PLAIN {secret}")).await.map(drop);
        }
        if methods.contains(&"LOGIN") {
            self.command("AUTH LOGIN").await?;
            self.command(&STANDARD.encode(username)).await?;
            return self.command(&STANDARD.encode(password)).await.map(drop);
        }
        Err(MailError::Protocol(String::from(
            "the server offers neither AUTH PLAIN nor AUTH LOGIN",
        )))
    }
}
