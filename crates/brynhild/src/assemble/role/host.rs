//! Processes and HTTP requests for the tools of roles.

use std::io;

use async_trait::async_trait;
use contract::sandbox::Child;
use initrunner::host::{End, Ended, Exchange, HttpClient, HttpReply, ProcessRunner, RunLimits};
use plugins::process;
use plugins::rest;

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
