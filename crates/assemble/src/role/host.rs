//! Processes, HTTP requests and questions to the user for the tools of roles.

use std::io;
use std::net::SocketAddr;

use async_trait::async_trait;
use contract::sandbox::Child;
use initrunner::host::{
    End, Ended, Exchange, HttpClient, HttpReply, ProcessRunner, RunLimits, UserAnswer,
    UserQuestions,
};
use mcp::frontend::{DialogInput, Frontend as _};
use plugins::process;
use plugins::rest;
use tokio::net::{TcpStream, lookup_host};

use crate::mcp::terminal::Terminal;

pub(super) struct Requests(pub(super) rest::Settings);

#[async_trait]
impl HttpClient for Requests {
    async fn exchange(&self, exchange: Exchange) -> Result<HttpReply, String> {
        let Exchange { method, url, headers, body, limit, timeout } = exchange;
        let exchange = rest::Exchange { method, url, headers, body, limit, timeout };
        let answered = self.0.exchange(exchange).await?;
        let text = answered.text();
        let rest::Answered { status, kind, location, .. } = answered;
        Ok(HttpReply { status, content_type: kind, location, text })
    }

    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, String> {
        let explained = |error: &dyn std::fmt::Display| error.to_string();
        let resolver = self.0.resolver(&format!("https://{host}:{port}"))?;
        let addresses: Vec<SocketAddr> = if let Some(resolver) = resolver {
            let name = host.parse().map_err(|_| format!("{host:?} is not a name of a host"))?;
            let found = resolver.resolve(name).await.map_err(|error| explained(&error))?;
            found.map(|address| SocketAddr::new(address.ip(), port)).collect()
        } else {
            lookup_host((host, port)).await.map_err(|error| explained(&error))?.collect()
        };
        TcpStream::connect(&addresses[..]).await.map_err(|error| explained(&error))
    }

    fn expand(&self, text: &str) -> String {
        self.0.filled(text)
    }
}

pub(super) struct Processes;

#[async_trait]
impl ProcessRunner for Processes {
    async fn run(&self, child: Child, input: &[u8], limits: RunLimits<'_>) -> io::Result<Ended> {
        let limits = process::Limits {
            output: limits.output,
            deadline: Some(limits.deadline),
            cancel: Some(limits.cancel),
        };
        let process::Ended { end, stdout, stderr } = process::run(child, input, limits).await?;
        let end = match end {
            process::End::Exited(code) => End::Exited(code),
            process::End::Late => End::Late,
            process::End::Cancelled => End::Cancelled,
        };
        Ok(Ended { end, stdout: stdout.text, stderr: stderr.text })
    }
}

pub(super) struct Questions(pub(super) Terminal);

#[async_trait]
impl UserQuestions for Questions {
    async fn ask(&self, question: &str) -> UserAnswer {
        let question = contract::text::visible(question);
        let answer = if self.0.is_full_screen() {
            let input = DialogInput::Text(String::from("Answer"));
            self.0.dialog("Clarification needed", &question, input).await
        } else if self.0.has_terminal() {
            let _quiet = self.0.pause_animation();
            self.0.line(&format!("\n[Clarification needed]\n{question}\n"), "Answer: ").await
        } else {
            return UserAnswer::NotAvailable;
        };
        let answer = answer.map(|answer| answer.trim().to_owned());
        answer.filter(|answer| !answer.is_empty()).map_or(UserAnswer::None, UserAnswer::Text)
    }
}
