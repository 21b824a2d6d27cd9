//! The person at the terminal, as servers may ask them. Nothing is answered without them.

use std::sync::{Arc, OnceLock};

use ::mcp::person::{Answer, Person, Question, Sampled, Sampling, Wanted};
use async_trait::async_trait;
use contract::message::{Entry, Message, Reply};
use contract::provider::{Delivery, Delta, Provider, Request};
use contract::text::visible;
use futures::StreamExt;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use crate::frontends::question::{line, ready, show};

/// The person at the terminal.
#[derive(Default)]
pub(crate) struct AtTerminal {
    mind: OnceLock<(Arc<dyn Provider>, String)>,
    /// One question at a time.
    turn: Mutex<()>,
}

impl AtTerminal {
    /// Names the model that writes where the person agrees to it.
    pub(crate) fn set_mind(&self, provider: Arc<dyn Provider>, model: String) {
        // The first stays: a conversation has one.
        let _ = self.mind.set((provider, model));
    }

    /// Whether the person says yes.
    async fn agrees(&self, text: &str, question: &str) -> bool {
        if show(text).is_err() {
            return false;
        }
        ready().await;
        let typed = line(question).await.ok().flatten().unwrap_or_default();
        matches!(typed.trim().to_ascii_lowercase().as_str(), "y" | "yes")
    }

    async fn form(&self, schema: &Value) -> Answer {
        let mut fields = Map::new();
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (name, field) in properties {
            let is_needed = required.contains(&name.as_str());
            match ask_field(name, field, is_needed).await {
                Some(Some(value)) => {
                    fields.insert(name.clone(), value);
                }
                Some(None) => {}
                None => return Answer::Cancel,
            }
        }
        Answer::Accept(fields)
    }
}

/// Asks for one field until what was typed fits; none where nobody types.
async fn ask_field(name: &str, field: &Value, is_needed: bool) -> Option<Option<Value>> {
    let about = field.get("description").or(field.get("title")).and_then(Value::as_str);
    let choices = field.get("enum").map(Value::to_string).unwrap_or_default();
    let usual = field.get("default");
    let shown = format!(
        "{} {}{}{}: ",
        visible(name),
        visible(about.unwrap_or_default()),
        visible(&choices),
        usual.map(|usual| format!(" [{}]", visible(&usual.to_string()))).unwrap_or_default(),
    );
    loop {
        let typed = line(&shown).await.ok().flatten()?;
        let typed = typed.trim();
        if typed.is_empty() {
            match usual {
                Some(usual) => return Some(Some(usual.clone())),
                None if !is_needed => return Some(None),
                None => continue,
            }
        }
        if let Some(value) = fitting(typed, field) {
            return Some(Some(value));
        }
    }
}

/// What was typed, as the field wants it.
fn fitting(typed: &str, field: &Value) -> Option<Value> {
    let value = match field.get("type").and_then(Value::as_str).unwrap_or("string") {
        "boolean" => match typed.to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" => json!(true),
            "n" | "no" | "false" => json!(false),
            _ => return None,
        },
        "integer" => json!(typed.parse::<i64>().ok()?),
        "number" => json!(typed.parse::<f64>().ok()?),
        "array" => json!(typed.split(',').map(str::trim).collect::<Vec<_>>()),
        _ => json!(typed),
    };
    match field.get("enum").and_then(Value::as_array) {
        Some(choices) if !choices.contains(&value) => None,
        _ => Some(value),
    }
}

#[async_trait]
impl Person for AtTerminal {
    fn can_answer(&self) -> bool {
        true
    }

    async fn answer(&self, question: Question) -> Answer {
        let _turn = self.turn.lock().await;
        let (server, message) = (visible(&question.server), visible(&question.message));
        let text = format!("\nMCP server `{server}` asks: {message}\n");
        match &question.wanted {
            Wanted::Form(schema) => {
                if !self.agrees(&text, "Answer it? [y]es, [n]o: ").await {
                    return Answer::Decline;
                }
                self.form(schema).await
            }
            Wanted::Visit(url) => {
                let text = format!("{text}It wants you to open {}\n", visible(url));
                if self.agrees(&text, "Did you open it, and agree? [y]es, [n]o: ").await {
                    Answer::Accept(Map::new())
                } else {
                    Answer::Decline
                }
            }
        }
    }

    async fn sample(&self, sampling: Sampling) -> Result<Sampled, String> {
        let _turn = self.turn.lock().await;
        let Some((provider, model)) = self.mind.get() else {
            return Err("declined: there is no model here that could write".to_owned());
        };
        let words: Vec<String> = sampling
            .messages
            .iter()
            .map(|(speaker, words)| format!("  {speaker}: {}", visible(words)))
            .collect();
        let text = format!(
            "\nMCP server `{}` wants the model to write, at your cost:\n{}\n",
            visible(&sampling.server),
            words.join("\n")
        );
        if !self.agrees(&text, "Let it? [y]es, [n]o: ").await {
            return Err("declined by the person".to_owned());
        }
        let text = written(provider.as_ref(), model, &sampling).await?;
        Ok(Sampled { model: model.clone(), text })
    }
}

/// Has the model write.
async fn written(
    provider: &dyn Provider,
    model: &str,
    sampling: &Sampling,
) -> Result<String, String> {
    let entry = |(speaker, words): &(String, String)| {
        let text = words.clone();
        Arc::new(Entry::new(if speaker == "assistant" {
            let parts = vec![contract::message::Part::Text { text }];
            Message::Assistant(Reply { parts, ..Reply::default() })
        } else {
            Message::User { text }
        }))
    };
    let request = Request {
        model: model.to_owned(),
        system: sampling.system.clone().unwrap_or_default().into(),
        history: Arc::new(sampling.messages.iter().map(entry).collect()),
        tools: Arc::from([]),
        max_tokens: u64::from(sampling.max_tokens),
        temperature: None,
        reasoning_level: "auto".to_owned(),
        reasoning_format: "auto".to_owned(),
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
