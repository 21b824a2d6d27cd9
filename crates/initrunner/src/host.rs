//! Processes and HTTP requests, which the program provides to the tools of a role.

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use contract::sandbox::Child;
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::role::Role;
use crate::task::RunScope;

pub struct Exchange {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Vec<u8>>,
    /// The reply is cut at this number of bytes.
    pub limit: usize,
    pub timeout: Duration,
}

pub struct HttpReply {
    pub status: u16,
    pub content_type: String,
    pub location: String,
    pub text: String,
}

#[async_trait]
pub trait HttpClient: Send + Sync {
    /// Sends one request. Refuses private addresses that the user has not named, and follows no
    /// redirect. Errors are for the model.
    async fn exchange(&self, exchange: Exchange) -> Result<HttpReply, String>;

    /// Opens a connection, to no private address that the user has not named. Errors are for the
    /// model.
    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, String>;

    /// A text with the values of `${NAME}`; one that is not set stays as it is written.
    fn expand(&self, text: &str) -> String;
}

pub struct RunLimits<'a> {
    /// Bytes kept of each stream.
    pub output: usize,
    pub deadline: Instant,
    pub cancel: &'a CancellationToken,
}

#[derive(Debug)]
pub struct Ended {
    pub end: End,
    pub stdout: String,
    pub stderr: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit code; 128 plus the signal's number if a signal ended it.
    Exited(i32),
    Late,
    Cancelled,
}

#[async_trait]
pub trait ProcessRunner: Send + Sync {
    /// Runs a process to its end within limits. Kills it and all that it started when dropped.
    async fn run(&self, child: Child, input: &[u8], limits: RunLimits<'_>) -> io::Result<Ended>;
}

/// The answer of the user to a question of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAnswer {
    Text(String),
    /// The user dismissed the question, or the input has ended.
    None,
    /// Nobody can be asked in this run.
    NotAvailable,
}

#[async_trait]
pub trait UserQuestions: Send + Sync {
    /// Asks the user for a text. Dropped if that takes too long.
    async fn ask(&self, question: &str) -> UserAnswer;
}

/// The result of one prompt to a role.
#[derive(Clone, Debug, Default)]
pub struct RoleRun {
    pub output: String,
    pub error: Option<String>,
    /// The calls, in order, with their arguments.
    pub calls: Vec<(String, Value)>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_tokens: u64,
    pub duration_ms: u64,
    /// True if no model was asked.
    pub is_dry: bool,
    /// True if the user stopped it; nothing may follow.
    pub is_interrupted: bool,
    /// True if it waits until the user approves calls.
    pub is_paused: bool,
    /// The exit code of a program that ends with this run.
    pub exit_code: u8,
}

#[async_trait(?Send)]
pub trait RoleRunner {
    /// Opens a conversation with a role, which may be made in memory.
    async fn open(&self, role: Role) -> Result<Box<dyn RoleConversation>, String>;

    /// Asks a model without tools; the run's own model where none is named.
    async fn ask(&self, model: Option<&str>, prompt: &str) -> Result<String, String>;
}

#[async_trait(?Send)]
pub trait RoleConversation {
    /// Sends a prompt and waits for the end of the turn. The history goes on.
    async fn run(&mut self, prompt: &str) -> RoleRun;

    /// Replaces the older part of the history by a summary. An error is for the user.
    async fn compact(&mut self) -> Result<(), String>;

    /// The state that the role's tools keep for a run.
    fn scope(&self) -> RunScope;

    /// Waits. Returns the exit code of the program if the user interrupts that.
    async fn wait(&mut self, time: Duration) -> Option<u8>;

    async fn close(self: Box<Self>);
}
