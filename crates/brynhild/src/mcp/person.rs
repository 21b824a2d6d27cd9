//! The user, as servers may ask them. Nothing is answered without them, or their word beforehand.

mod field;

use std::sync::{Arc, OnceLock};

use ::mcp::person::{Answer, Person, Question, Sampled, Sampling, Wanted};
use ::tui::host::Wanted as Choice;
use async_trait::async_trait;
use contract::message::{Entry, Message, Reply};
use contract::provider::{Delivery, Delta, Provider, Request};
use contract::text::visible;
use futures::StreamExt;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::Front;
use crate::args::OutputFormat;
use crate::frontends::hush::{self, Hush};
use crate::frontends::question::{line, show};
use crate::world::World;
use field::{choices, fitting, title, wants};

/// Whoever answers servers: the user at the terminal, or what they said beforehand (`--yes`).
pub(crate) struct Answering {
    mind: OnceLock<(Arc<dyn Provider>, String)>,
    /// One question at a time.
    turn: Mutex<()>,
    /// Somebody sits at the terminal.
    can_ask: bool,
    /// They said yes to whatever would be asked.
    has_agreed: bool,
    /// The clients that we serve, where we do: these are asked first.
    front: Option<Arc<Front>>,
}

impl Answering {
    /// Whoever answers in this run.
    pub(crate) fn new(world: &World) -> Self {
        let terminal = world.environment.terminal;
        let is_text = world.format() == OutputFormat::Text;
        Self {
            mind: OnceLock::new(),
            turn: Mutex::default(),
            can_ask: terminal.stdin && terminal.stderr && is_text,
            has_agreed: world.global.yes,
            front: world.made.front.get().cloned(),
        }
    }

    /// Names the model that writes where the user agrees to it.
    pub(crate) fn set_mind(&self, provider: Arc<dyn Provider>, model: String) {
        // The first stays: a conversation has one.
        let _ = self.mind.set((provider, model));
    }

    /// Whether the user lets a server be reached that a project's role names.
    pub(super) async fn may_reach(&self, server: &str, host: &str) -> bool {
        let _turn = self.turn.lock().await;
        let _hush = Hush::new();
        let words = format!(
            "{}\nThe role that names it came with a project that is not trusted.",
            visible(host)
        );
        let asking = Asking { server: &visible(server), verb: "is at", words: &words };
        self.agrees(&asking, "Reach it?", "Reach it").await
    }

    /// Whether somebody can be asked, by lines or on the whole screen.
    fn is_present(&self) -> bool {
        self.can_ask || hush::is_screen_taken()
    }

    /// Whether the user says yes: to a question with its words, and what a yes means.
    async fn agrees(&self, asking: &Asking<'_>, question: &str, yes: &str) -> bool {
        if hush::is_screen_taken() {
            let wanted = Choice::Agreement(yes.to_owned());
            return hush::ask_on_screen(&asking.title(), asking.words, wanted).await.is_some();
        }
        let text = format!("\n{}: {}\n", asking.title(), asking.words);
        if !self.can_ask || show(&text).is_err() {
            return false;
        }
        let typed = line(&format!("{question} [y]es, [n]o: ")).await.ok().flatten();
        matches!(typed.unwrap_or_default().trim().to_ascii_lowercase().as_str(), "y" | "yes")
    }
}

/// Who asks, and what about, in words that are safe to show.
struct Asking<'a> {
    server: &'a str,
    verb: &'static str,
    words: &'a str,
}

impl Asking<'_> {
    fn title(&self) -> String {
        format!("MCP server `{}` {}", self.server, self.verb)
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
        let count = properties.len();
        for (number, (name, field)) in (1..).zip(properties) {
            let is_needed = required.contains(&name.as_str());
            let need = if is_needed { "needed" } else { "may be left empty" };
            let place = format!("{} ({number} of {count}, {need})", title(name, field));
            match self.field((&title(name, field), &place), field, is_needed).await {
                Some(Some(value)) => {
                    fields.insert(name.clone(), value);
                }
                Some(None) => {}
                None => return Answer::Cancel,
            }
        }
        Answer::Accept(fields)
    }

    /// Asks for one field, by its name and its place, until what was typed fits; none where nobody
    /// types.
    async fn field(
        &self,
        (name, place): (&str, &str),
        field: &Value,
        is_needed: bool,
    ) -> Option<Option<Value>> {
        let about = field.get("description").and_then(Value::as_str).unwrap_or_default();
        let parts = [visible(about).into_owned(), wants(field)];
        let about = parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ");
        let usual = field.get("default");
        let mut misfit = String::new();
        loop {
            let typed = if hush::is_screen_taken() {
                let few = few(field);
                let listed = if few.is_empty() { shown_choices(field) } else { String::new() };
                let body =
                    format!("{}\n\n{place}: {about}{listed}{}{misfit}", self.words, usually(usual));
                let wanted = if few.is_empty() {
                    Choice::Words(name.to_owned())
                } else {
                    let is_usual =
                        |(value, _): &(String, String)| usual.map(word) == Some(value.clone());
                    let usual = few.iter().position(is_usual);
                    Choice::One { choices: few, usual }
                };
                hush::ask_on_screen(&self.title(), &body, wanted).await?
            } else {
                let choices = shown_choices(field);
                let asked = format!("{place} {about}{choices}{}", usually(usual));
                let before = if misfit.is_empty() { "" } else { "\n" };
                let prompt = format!("{}{before}{}: ", misfit.trim(), asked.trim_end());
                line(&prompt).await.ok().flatten()?
            };
            let typed = typed.trim();
            match usual {
                Some(usual) if typed.is_empty() => return Some(Some(usual.clone())),
                None if typed.is_empty() && !is_needed => return Some(None),
                Some(_) | None => {}
            }
            if let Some(value) = fitting(typed, field).filter(|_| !typed.is_empty()) {
                return Some(Some(value));
            }
            misfit = match typed {
                "" => "\n\nIt is needed.".to_owned(),
                typed => format!("\n\n`{}` does not fit.", visible(typed)),
            };
        }
    }
}

/// A value as people write it.
fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a field is where nobody says otherwise, in words.
fn usually(usual: Option<&Value>) -> String {
    usual.map(|usual| format!(" [{}]", visible(&usual.to_string()))).unwrap_or_default()
}

/// The values of a field that has one of a few, each with its name; none where it is otherwise.
fn few(field: &Value) -> Vec<(String, String)> {
    const MOST: usize = 9;
    let kind = field.get("type").and_then(Value::as_str);
    if kind == Some("boolean") {
        return [("true", "Yes"), ("false", "No")]
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .into();
    }
    let all = named_choices(field);
    if kind == Some("array") || all.len() > MOST { Vec::new() } else { all }
}

/// The fields of a form as its author has them where nobody says otherwise; none where that leaves
/// out one that is needed.
fn usual_fields(schema: &Value) -> Option<Map<String, Value>> {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let usual =
        |(name, field): (&String, &Value)| Some((name.clone(), field.get("default")?.clone()));
    let fields: Map<String, Value> = properties.iter().filter_map(usual).collect();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let is_there = |name: &Value| name.as_str().is_some_and(|name| fields.contains_key(name));
    required.into_iter().all(is_there).then_some(fields)
}

/// The choices as people write them, each as they read it: with its title where it has one.
fn named_choices(field: &Value) -> Vec<(String, String)> {
    let Some(choices) = choices(field) else { return Vec::new() };
    let items = field.get("items").unwrap_or(field);
    let titled = items.get("oneOf").or(items.get("anyOf")).and_then(Value::as_array);
    let names = items.get("enumNames").and_then(Value::as_array);
    let title = |index: usize| {
        let of_choice = titled.and_then(|titled| titled.get(index)?.get("title")?.as_str());
        of_choice.or_else(|| names?.get(index)?.as_str())
    };
    let pairs = choices.iter().enumerate().map(|(index, choice)| {
        let word = word(choice);
        let shown = title(index).map_or_else(|| word.clone(), |title| format!("{word} ({title})"));
        (word, visible(&shown).into_owned())
    });
    pairs.collect()
}

/// The choices in a line.
fn shown_choices(field: &Value) -> String {
    let names: Vec<String> = named_choices(field).into_iter().map(|(_, name)| name).collect();
    if names.is_empty() { String::new() } else { format!(" [{}]", names.join(", ")) }
}

#[async_trait]
impl Person for Answering {
    async fn answer(&self, question: Question) -> Answer {
        let asker = self.front.as_ref().and_then(|front| front.asker(&question.server));
        if let Some(asker) = asker
            && let Some(answer) = asker.answer(&question).await
        {
            return answer;
        }
        let _turn = self.turn.lock().await;
        if let (Wanted::Form(schema), true) = (&question.wanted, self.has_agreed)
            && let Some(fields) = usual_fields(schema)
        {
            return Answer::Accept(fields);
        }
        let _hush = Hush::new();
        let (server, message) = (visible(&question.server), visible(&question.message));
        match &question.wanted {
            Wanted::Form(schema) => {
                let asking = Asking { server: &server, verb: "asks", words: &message };
                if !self.agrees(&asking, "Answer it?", "Answer it").await {
                    return Answer::Decline;
                }
                asking.form(schema).await
            }
            Wanted::Visit(url) => {
                let words = format!("{message}\nIt wants you to open {}", visible(url));
                let asking = Asking { server: &server, verb: "asks", words: &words };
                let yes = "I have opened it, and agree";
                if self.agrees(&asking, "Did you open it, and agree?", yes).await {
                    Answer::Accept(Map::new())
                } else {
                    Answer::Decline
                }
            }
        }
    }

    async fn sample(&self, sampling: Sampling) -> Result<Sampled, String> {
        let asker = self.front.as_ref().and_then(|front| front.asker(&sampling.server));
        if let Some(asker) = asker
            && let Some(sampled) = asker.sample(&sampling).await
        {
            return sampled;
        }
        let _turn = self.turn.lock().await;
        let Some((provider, model)) = self.mind.get() else {
            return Err("declined: there is no model here that could write".to_owned());
        };
        let words: Vec<String> = sampling
            .messages
            .iter()
            .map(|(speaker, words)| format!("  {speaker}: {}", visible(words)))
            .collect();
        let (server, words) = (visible(&sampling.server), words.join("\n"));
        let verb = "wants the model to write, at your cost";
        let asking = Asking { server: &server, verb, words: &format!("\n{words}") };
        let _hush = Hush::new();
        if !self.has_agreed && !self.is_present() {
            return Err("declined: nobody is there to agree to it".to_owned());
        }
        if !self.has_agreed && !self.agrees(&asking, "Let it?", "Let it").await {
            return Err("declined by the user".to_owned());
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_author_s_values_answer_a_form_where_they_are_enough() {
        let schema = json!({
            "properties": {"a": {"type": "integer", "default": 3}, "b": {"type": "string"}},
            "required": ["a"],
        });
        assert_eq!(usual_fields(&schema), json!({"a": 3}).as_object().cloned());
        let schema = json!({"properties": {"b": {"type": "string"}}, "required": ["b"]});
        assert_eq!(usual_fields(&schema), None);
    }

    #[test]
    fn a_choice_is_called_what_its_author_calls_it() {
        let field = json!({"type": "string", "enum": ["a"], "enumNames": ["The first"]});
        assert_eq!(shown_choices(&field), " [a (The first)]");
    }
}
