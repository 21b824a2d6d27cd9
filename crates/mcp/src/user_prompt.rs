//! Questions of servers to the user, at the terminal or on the side of the client that we serve.
//! Nothing is answered without the user, or their consent beforehand.

mod field;
mod form;

use std::sync::{Arc, OnceLock};

use contract::message::{Entry, Message, Part, Reply};
use contract::provider::{Delivery, Delta, Provider, ReasoningFormat, ReasoningLevel, Request};
use contract::text::visible;
use futures::StreamExt;
use serde_json::Map;
use tokio::sync::Mutex;

use crate::client_registry::ClientRegistry;
use crate::frontend::{DialogInput, Frontend};
use crate::question::{Question, QuestionAnswer, SamplingReply, SamplingRequest, Wanted};

/// Answers servers.
pub struct UserPrompt {
    frontend: Arc<dyn Frontend>,
    /// True if the user agreed to everything beforehand (`--yes`).
    auto_approves: bool,
    /// The clients that we serve, which are asked first.
    clients: Option<Arc<ClientRegistry>>,
    model: OnceLock<(Arc<dyn Provider>, String)>,
    /// Held while a question is open: one at a time.
    turn: Mutex<()>,
}

/// The head of a question, safe to show.
struct Heading<'a> {
    server: &'a str,
    verb: &'static str,
    text: &'a str,
}

impl Heading<'_> {
    fn title(&self) -> String {
        format!("MCP server `{}` {}", self.server, self.verb)
    }
}

impl UserPrompt {
    /// Asks by way of a front end, and clients first if we serve any.
    pub fn new(
        frontend: Arc<dyn Frontend>,
        clients: Option<Arc<ClientRegistry>>,
        auto_approves: bool,
    ) -> Self {
        let (model, turn) = (OnceLock::new(), Mutex::default());
        Self { frontend, auto_approves, clients, model, turn }
    }

    /// Sets the model for sampling. The first one stays.
    pub(crate) fn set_model(&self, provider: Arc<dyn Provider>, model: String) {
        let _ = self.model.set((provider, model));
    }

    /// Asks if a server may be reached that a role of an untrusted project names.
    pub(crate) async fn may_connect(&self, server: &str, host: &str) -> bool {
        let _turn = self.turn.lock().await;
        let _quiet = self.frontend.pause_animation();
        let text =
            format!("{}\nThe role that names it belongs to an untrusted project.", visible(host));
        let heading = Heading { server: &visible(server), verb: "is at", text: &text };
        self.consent(&heading, "Reach it?", "Reach it").await
    }

    /// Asks for consent; `label` says what a yes means.
    async fn consent(&self, heading: &Heading<'_>, question: &str, label: &str) -> bool {
        if self.frontend.is_full_screen() {
            let input = DialogInput::Consent(label.to_owned());
            return self.frontend.dialog(&heading.title(), heading.text, input).await.is_some();
        }
        if !self.frontend.has_terminal() {
            return false;
        }
        let text = format!("\n{}: {}\n", heading.title(), heading.text);
        let typed = self.frontend.line(&text, &format!("{question} [y]es, [n]o: ")).await;
        matches!(typed.unwrap_or_default().trim().to_ascii_lowercase().as_str(), "y" | "yes")
    }

    /// Answers a question of a server.
    pub(crate) async fn answer(&self, question: Question) -> QuestionAnswer {
        let client = self.clients.as_ref().and_then(|clients| clients.client(&question.server));
        if let Some(client) = client
            && let Some(answer) = client.answer(&question).await
        {
            return answer;
        }
        let _turn = self.turn.lock().await;
        if let (Wanted::Form(schema), true) = (&question.wanted, self.auto_approves)
            && let Some(fields) = form::defaults(schema)
        {
            return QuestionAnswer::Accept(fields);
        }
        let _quiet = self.frontend.pause_animation();
        let (server, message) = (visible(&question.server), visible(&question.message));
        match &question.wanted {
            Wanted::Form(schema) => {
                let heading = Heading { server: &server, verb: "asks", text: &message };
                if !self.consent(&heading, "Answer it?", "Answer it").await {
                    return QuestionAnswer::Decline;
                }
                let fields = self.form(&heading, schema).await;
                fields.map_or(QuestionAnswer::Cancel, QuestionAnswer::Accept)
            }
            Wanted::Visit(url) => {
                let text = format!("{message}\nIt asks you to open {}", visible(url));
                let heading = Heading { server: &server, verb: "asks", text: &text };
                let label = "I have opened it, and agree";
                if self.consent(&heading, "Did you open it, and agree?", label).await {
                    QuestionAnswer::Accept(Map::new())
                } else {
                    QuestionAnswer::Decline
                }
            }
        }
    }

    /// Has the model write a reply for a server if the user agrees. The server reads the error.
    pub(crate) async fn sample(&self, request: SamplingRequest) -> Result<SamplingReply, String> {
        let client = self.clients.as_ref().and_then(|clients| clients.client(&request.server));
        if let Some(client) = client
            && let Some(reply) = client.sample(&request).await
        {
            return reply;
        }
        let _turn = self.turn.lock().await;
        let Some((provider, model)) = self.model.get() else {
            return Err("declined: no model is available".to_owned());
        };
        let _quiet = self.frontend.pause_animation();
        if !self.auto_approves {
            if !self.frontend.has_terminal() && !self.frontend.is_full_screen() {
                return Err("declined: there is no terminal to ask".to_owned());
            }
            let messages = request.messages.iter();
            let lines = messages.map(|(role, text)| format!("\n  {role}: {}", visible(text)));
            let text = lines.collect::<String>();
            let verb = "asks for a model reply, at your cost";
            let heading = Heading { server: &visible(&request.server), verb, text: &text };
            if !self.consent(&heading, "Let it?", "Let it").await {
                return Err("declined by the user".to_owned());
            }
        }
        let text = complete(provider.as_ref(), model, &request).await?;
        Ok(SamplingReply { model: model.clone(), text })
    }
}

/// The model's reply to a sampling request.
async fn complete(
    provider: &dyn Provider,
    model: &str,
    request: &SamplingRequest,
) -> Result<String, String> {
    let entry = |(role, text): &(String, String)| {
        let text = text.clone();
        Arc::new(Entry::new(if role == "assistant" {
            Message::Assistant(Reply { parts: vec![Part::Text { text }], ..Reply::default() })
        } else {
            Message::User { text }
        }))
    };
    let request = Request {
        model: model.to_owned(),
        system: request.system.clone().unwrap_or_default().into(),
        history: Arc::new(request.messages.iter().map(entry).collect()),
        tools: Arc::from([]),
        max_tokens: u64::from(request.max_tokens),
        temperature: None,
        reasoning_level: ReasoningLevel::Auto,
        reasoning_format: ReasoningFormat::Auto,
        params: std::collections::BTreeMap::new(),
        delivery: Delivery::Streamed,
    };
    let mut stream = provider.stream(request).await.map_err(|error| error.message)?;
    let mut text = String::new();
    while let Some(delta) = stream.next().await {
        if let Delta::Text(more) = delta.map_err(|error| error.message)? {
            text.push_str(&more);
        }
    }
    Ok(text)
}
