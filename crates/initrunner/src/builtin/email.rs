//! `email`: looks into a mailbox by IMAP, which changes nothing there, and sends by SMTP.

mod imap;
mod line_stream;
mod message;
mod smtp;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::action::Action;
use contract::secret::Secret;
use contract::tool::{Risk, ToolSpec};
use serde_json::{Value, json};

use super::function::{self, Function};
use super::options::Options;
use super::{About, Built, ToolHost, shortened, text};
use crate::host::HttpClient;
use imap::Mailbox;
use line_stream::Endpoint;

pub(super) const KEYS: &[&str] = &[
    "imap_host",
    "smtp_host",
    "imap_port",
    "smtp_port",
    "username",
    "password",
    "use_ssl",
    "default_folder",
    "read_only",
    "max_results",
    "max_body_chars",
    "timeout_seconds",
];

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let mut built = Built::default();
    let mut expand = |key: &str, written: &str| {
        let value = tool_host.requests.expand(written);
        if value.contains("${") {
            built.notes.push(format!("`{key}` is {written}, which is not set"));
        }
        value
    };
    let port = |key: &str, usual| {
        let port = options.count_within(key, usual, 1..=65_535)?;
        u16::try_from(port).map_err(|error| error.to_string())
    };
    let has_tls = options.flag("use_ssl", true)?;
    let account = Account {
        username: expand("username", options.required("username")?),
        password: Secret::new(expand("password", options.required("password")?)),
    };
    let imap = Endpoint {
        host: expand("imap_host", options.required("imap_host")?),
        port: port("imap_port", 993)?,
        has_tls,
    };
    let smtp = options.text("smtp_host")?.map(|host| expand("smtp_host", host));
    let may_send = !options.flag("read_only", true)?;
    if may_send && smtp.is_none() {
        return Err(String::from("smtp_host is required when read_only is false"));
    }
    let smtp_port = port("smtp_port", 587)?;
    let mail = Arc::new(Mail {
        account,
        imap,
        smtp: smtp.map(|host| Endpoint { host, port: smtp_port, has_tls }),
        default_folder: options.text("default_folder")?.unwrap_or("INBOX").to_owned(),
        max_results: options.count("max_results", 20)?,
        max_body_chars: options.count("max_body_chars", 50_000)?,
        timeout: options.timeout(30)?,
        network: Arc::clone(&tool_host.requests),
    });
    let sending = may_send.then_some(Work::Send);
    for work in [Work::Search, Work::Read, Work::Folders].into_iter().chain(sending) {
        let spec = ToolSpec { requires_permission: true, ..described(work).spec(tool_host) };
        built.tools.push(function::tool(EmailTool { work, mail: Arc::clone(&mail) }, spec));
    }
    Ok(built)
}

#[derive(Clone, Copy)]
enum Work {
    Search,
    Read,
    Folders,
    Send,
}

fn described(work: Work) -> About<'static> {
    let field = |what: &str| json!({"type": "string", "description": what});
    let optional = |what: &str| json!({"type": "string", "default": "", "description": what});
    let folder = optional("The folder; empty for the usual one");
    let (name, description, properties, required) = match work {
        Work::Search => (
            "search_inbox",
            "Search a mailbox and list the newest messages that match.",
            json!({
                "query": {
                    "type": "string", "default": "ALL",
                    "description": "IMAP search criteria, such as `UNSEEN` or `FROM \"ada\"`",
                },
                "folder": folder,
                "limit": {
                    "type": "integer", "default": 0, "description": "Messages at most; 0 for all",
                },
            }),
            &[][..],
        ),
        Work::Read => (
            "read_email",
            "Read a message, which stays unread in the mailbox.",
            json!({"message_id": field("Its ID as search_inbox shows it"), "folder": folder}),
            &["message_id"][..],
        ),
        Work::Folders => ("list_folders", "List the folders of the mailbox.", json!({}), &[][..]),
        Work::Send => (
            "send_email",
            "Send a message as plain text.",
            json!({
                "to": field("Addresses, separated by commas"),
                "subject": field("The subject"),
                "body": field("The text"),
                "reply_to": optional("The ID of the message that this one answers"),
                "cc": optional("Further addresses, separated by commas"),
            }),
            &["to", "subject", "body"][..],
        ),
    };
    let risk = if matches!(work, Work::Send) { Risk::HighImpact } else { Risk::ReadOnly };
    About { name, description, kind: "email", risk, properties, required }
}

struct Account {
    username: String,
    password: Secret<String>,
}

/// Why a mail server did not do as it was asked. The protocol's name is put in front.
enum MailError {
    Connection(String),
    Protocol(String),
}

struct Mail {
    account: Account,
    imap: Endpoint,
    smtp: Option<Endpoint>,
    default_folder: String,
    max_results: usize,
    max_body_chars: usize,
    timeout: Duration,
    network: Arc<dyn HttpClient>,
}

impl Mail {
    fn folder<'a>(&'a self, args: &'a Value) -> &'a str {
        match text(args, "folder") {
            "" => &self.default_folder,
            folder => folder,
        }
    }

    async fn mailbox(&self) -> Result<Mailbox, MailError> {
        Mailbox::open(&self.imap, &self.account, self.network.as_ref()).await
    }

    async fn search(&self, args: &Value) -> Result<String, MailError> {
        let query = args.get("query").and_then(Value::as_str).unwrap_or("ALL");
        if query.contains(['\r', '\n', '\0']) {
            let what = "query contains invalid characters";
            return Err(MailError::Protocol(what.to_owned()));
        }
        let limit = args.get("limit").and_then(Value::as_u64).filter(|limit| *limit > 0);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(usize::MAX).min(self.max_results);
        let mut mailbox = self.mailbox().await?;
        mailbox.examine(self.folder(args)).await?;
        let mut ids = mailbox.search(query).await?;
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.truncate(limit);
        let headers = mailbox.headers(&ids).await?;
        mailbox.logout().await;
        if headers.is_empty() {
            return Ok(String::from("No messages found."));
        }
        let lines: Vec<String> = headers.iter().map(|bytes| message::listed(bytes)).collect();
        Ok(shortened(lines.join("\n---\n"), self.max_body_chars))
    }

    async fn read(&self, args: &Value) -> Result<Option<String>, MailError> {
        let id = text(args, "message_id");
        let mut mailbox = self.mailbox().await?;
        mailbox.examine(self.folder(args)).await?;
        let query = format!("HEADER Message-ID {}", imap::quoted(id)?);
        let found = mailbox.search(&query).await?.into_iter().max();
        let content = match found {
            Some(found) => mailbox.message(found).await?,
            None => None,
        };
        mailbox.logout().await;
        let content = content.map(|bytes| message::shown(&bytes));
        Ok(content.map(|content| shortened(content, self.max_body_chars)))
    }

    async fn folders(&self) -> Result<String, MailError> {
        let mut mailbox = self.mailbox().await?;
        let mut folders = mailbox.folders().await?;
        mailbox.logout().await;
        folders.sort();
        Ok(if folders.is_empty() { String::from("(no folders found)") } else { folders.join("\n") })
    }

    async fn send(&self, args: &Value) -> Result<String, MailError> {
        let endpoint = self.smtp.as_ref().ok_or(MailError::Protocol(String::new()))?;
        let letter = message::Letter {
            from: &self.account.username,
            to: text(args, "to"),
            cc: text(args, "cc"),
            subject: text(args, "subject"),
            body: text(args, "body"),
            reply_to: text(args, "reply_to"),
        };
        smtp::send(endpoint, &self.account, &letter, self.network.as_ref()).await?;
        let cc = match letter.cc {
            "" => String::new(),
            cc => format!(" (cc: {cc})"),
        };
        Ok(format!("Email sent to {}{cc}", letter.to))
    }
}

struct EmailTool {
    work: Work,
    mail: Arc<Mail>,
}

#[async_trait]
impl Function for EmailTool {
    fn actions(&self, _: &Value) -> Result<Vec<Action>, String> {
        let endpoint = match self.work {
            Work::Search | Work::Read | Work::Folders => Some(&self.mail.imap),
            Work::Send => self.mail.smtp.as_ref(),
        };
        let host = |it: &Endpoint| format!("{}:{}", it.host, it.port);
        Ok(endpoint.map(|it| Action::Connect { host: host(it) }).into_iter().collect())
    }

    async fn call(&self, args: &Value) -> Result<String, String> {
        let (mail, timeout) = (&self.mail, self.mail.timeout);
        let work = async {
            match self.work {
                Work::Search => mail.search(args).await,
                Work::Read => Ok(mail
                    .read(args)
                    .await?
                    .unwrap_or_else(|| format!("Email not found: {}", text(args, "message_id")))),
                Work::Folders => mail.folders().await,
                Work::Send => mail.send(args).await,
            }
        };
        let protocol = if matches!(self.work, Work::Send) { "SMTP" } else { "IMAP" };
        let done = tokio::time::timeout(timeout, work).await.unwrap_or_else(|_| {
            Err(MailError::Connection(format!("timed out after {}s", timeout.as_secs_f64())))
        });
        done.map_err(|error| match error {
            MailError::Connection(what) => format!("{protocol} connection error: {what}"),
            MailError::Protocol(what) => format!("{protocol} error: {what}"),
        })
    }
}
