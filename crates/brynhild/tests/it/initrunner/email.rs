//! The tool type `email`, against servers on loopback.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testkit::Project;

use super::builtin::{exec, failure, output, role, with_tools};
use crate::project;

#[expect(clippy::disallowed_methods, reason = "a test starts the server that it talks to")]
fn command(program: &str, project: &Project) -> Command {
    let mut command = Command::new(program);
    command.current_dir(project.path());
    command
}

const SERVER: &str = include_str!("mail_server.py");

/// An IMAP and an SMTP server, which end with this value.
struct MailServers {
    process: Child,
    ports: Vec<u16>,
}

impl MailServers {
    fn start(project: &Project, certificate: Option<&str>) -> Self {
        project.file("servers.py", SERVER);
        let mut process = command("python3", project)
            .args(["servers.py", "mail.log"])
            .args(certificate)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ports = line.split_whitespace().map(|port| port.parse().unwrap()).collect();
        Self { process, ports }
    }

    fn entry(&self, more: &Value) -> Value {
        let mut entry = json!({
            "type": "email", "imap_host": "${MAIL_HOST}", "imap_port": self.ports[0],
            "smtp_host": "localhost", "smtp_port": self.ports[1], "username": "me@example.com",
            "password": "${MAIL_PASSWORD}",
        });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    }
}

impl Drop for MailServers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn mail_project() -> Project {
    let project = project().env("MAIL_HOST", "localhost").env("MAIL_PASSWORD", "s3c\"ret");
    project.config("api: {allow_private: [localhost]}\n");
    project
}

#[test]
fn mailbox_is_searched_and_read_without_marking() {
    let project = mail_project();
    let servers = MailServers::start(&project, None);
    project.file("role.yaml", role(&json!([servers.entry(&json!({"use_ssl": false}))])));
    exec(&project, "search_inbox", &json!({}), &[]).code(3);
    assert_eq!(
        output(&project, "search_inbox", &json!({})),
        "ID: <two@example.com>\nFrom: bob@example.com\nSubject: Grüße\nDate: Tue, 2 Jun 2026 \
         10:00:00 +0000\n---\nID: <one@example.com>\nFrom: Adà <ada@example.com>\nSubject: First\n\
         Date: Mon, 1 Jun 2026 10:00:00 +0000"
    );
    let said = output(&project, "search_inbox", &json!({"query": "NEW", "limit": 1}));
    assert_eq!(said, "No messages found.");
    assert_eq!(
        output(&project, "read_email", &json!({"message_id": "<two@example.com>"})),
        "Subject: Grüße\nFrom: bob@example.com\nTo: me@example.com\nCc: Ada <ada@example.com>\n\
         Date: Tue, 2 Jun 2026 10:00:00 +0000\n\n# News\n\nAll is **well**."
    );
    let said = output(&project, "read_email", &json!({"message_id": "<no@example.com>"}));
    assert_eq!(said, "Email not found: <no@example.com>");
    assert_eq!(output(&project, "list_folders", &json!({})), "INBOX\nSent \"it\"");
    let said = failure(&project, "search_inbox", &json!({"folder": "none"}));
    assert_eq!(said, "IMAP error: no such folder");
    let said = failure(&project, "search_inbox", &json!({"query": "ALL\r\nb9 DELETE INBOX"}));
    assert_eq!(said, "IMAP error: query contains invalid characters");
    let log = project.read("mail.log");
    assert!(!log.contains("SELECT") && !log.contains("BODY[") && !log.contains("DELETE"), "{log}");
    let list = project.brynhild(&["tools", "list", "--role", "role.yaml"]);
    assert!(!list.success().stdout.contains("send_email"), "{list}");
}

#[test]
fn mail_is_sent_with_its_headers() {
    let project = mail_project();
    let servers = MailServers::start(&project, None);
    let entry = servers.entry(&json!({"use_ssl": false, "read_only": false}));
    project.file("role.yaml", role(&json!([entry])));
    let letter = json!({
        "to": "Ada <ada@example.com>", "cc": "bob@example.com", "subject": "Grüße",
        "body": "Hi\n.\nBye", "reply_to": "<one@example.com>",
    });
    exec(&project, "send_email", &letter, &[]).code(3);
    let said = output(&project, "send_email", &letter);
    assert_eq!(said, "Email sent to Ada <ada@example.com> (cc: bob@example.com)");
    let log = project.read("mail.log");
    for line in [
        "MAIL FROM:<me@example.com>",
        "RCPT TO:<ada@example.com>",
        "RCPT TO:<bob@example.com>",
        "Subject: =?utf-8?B?R3LDvMOfZQ==?=",
        "In-Reply-To: <one@example.com>",
        "References: <one@example.com>",
        "SGkNCi4NCkJ5ZQ==",
    ] {
        assert!(log.lines().any(|it| it == line), "{line}: {log}");
    }
    for (key, value, wanted) in [
        ("to", "nobody@example.com", "SMTP error: 550 no such user"),
        ("to", "a@b\r\nRCPT TO:<x@y>", "SMTP error: To contains invalid characters"),
        ("to", "ada", "SMTP error: 'ada' is not an address"),
        ("subject", "x\r\nBcc: x@y", "SMTP error: Subject contains invalid characters"),
    ] {
        let mut letter = letter.clone();
        letter[key] = value.into();
        assert_eq!(failure(&project, "send_email", &letter), wanted);
    }
}

#[test]
fn mail_servers_need_a_valid_certificate() {
    let project = mail_project();
    project.file(
        "openssl.cnf",
        "[req]\ndistinguished_name = dn\nx509_extensions = ext\nprompt = no\n[dn]\nCN = localhost\n\
         [ext]\nsubjectAltName = DNS:localhost\nbasicConstraints = CA:FALSE\n",
    );
    let args = "req -x509 -newkey rsa:2048 -nodes -days 30 -config openssl.cnf -keyout key.pem -out cert.pem";
    let made = command("openssl", &project).args(args.split(' ')).output();
    assert!(made.unwrap().status.success());
    let (certificate, key) = (project.read("cert.pem"), project.read("key.pem"));
    project.file("both.pem", format!("{key}{certificate}"));
    let servers = MailServers::start(&project, Some("both.pem"));
    let entry = servers.entry(&json!({"read_only": false}));
    project.file("role.yaml", role(&json!([entry])));
    let said = failure(&project, "list_folders", &json!({}));
    assert!(said.starts_with("IMAP connection error: invalid peer certificate"), "{said}");
    let letter = json!({"to": "ada@example.com", "subject": "s", "body": "b"});
    let said = failure(&project, "send_email", &letter);
    assert!(said.starts_with("SMTP connection error: invalid peer certificate"), "{said}");
    let trusting = project.path().join("cert.pem");
    let project = project.env("SSL_CERT_FILE", trusting);
    assert_eq!(output(&project, "list_folders", &json!({})), "INBOX\nSent \"it\"");
    assert_eq!(output(&project, "send_email", &letter), "Email sent to ada@example.com");
}

#[test]
fn wrong_mail_settings_are_reported() {
    let entry = json!({
        "type": "email", "imap_host": "127.0.0.1", "username": "a", "password": "${NOT_SET_X}",
    });
    let project = with_tools(&json!([entry]));
    let run = project.brynhild(&["validate", "role.yaml"]);
    let wanted = "`password` is ${NOT_SET_X}, which is not set";
    assert!(run.success().stderr.contains(wanted), "{run}");
    let said = failure(&project, "list_folders", &json!({}));
    assert!(said.starts_with("IMAP connection error: SSRF blocked"), "{said}");
    let mut sending = entry;
    sending["read_only"] = false.into();
    project.file("role.yaml", role(&json!([sending])));
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(run.code(1).stderr.contains("smtp_host is required when read_only is false"), "{run}");
}
