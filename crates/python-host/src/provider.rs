//! A plugin's provider, run by its worker.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::policy::Mode;
use contract::provider::{
    Delivery, Delta, Failure, Model, Provider, ProviderError, ReplyStream, Request,
};
use contract::sandbox::Network;
use contract::secret::Secret;
use futures::StreamExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::conversation;
use crate::reply::{Event, ReplyBuilder, Response};
use crate::session::{Bounds, Item, RequestError, Session, Stream};
use crate::wire::{CANCELLED, Fault, Models, Opened};
use crate::worker::{Purpose, Worker, WorkerError};

/// How a provider is made.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// Names its class to the worker.
    pub key: String,
    /// The name by which users select it.
    pub name: String,
    /// The arguments of its class beside model and key.
    pub kwargs: Map<String, Value>,
    /// The model.
    pub model: String,
    /// The key; it goes to the worker and nowhere else.
    pub api_key: Option<Secret<String>>,
    /// The model's profile, for the class to look up, without all that requests have already.
    pub profile: Option<Value>,
}

/// A plugin's provider.
pub(crate) struct WorkerProvider {
    settings: ProviderSettings,
    /// The one that the plugin's tools have.
    worker: Arc<Worker>,
    /// The one for modes in which tools lose what the way to the model needs.
    apart: Arc<Worker>,
    /// The instances by model, with the process that each lives in.
    opened: Mutex<BTreeMap<String, (Arc<Session>, Opened)>>,
    opening: tokio::sync::Mutex<()>,
}

/// The parameters of `complete` and `stream`.
#[derive(Serialize)]
struct Ask<'a> {
    handle: &'a Value,
    messages: Box<RawValue>,
    system: &'a str,
    tools: Value,
    max_tokens: u64,
    profile: Option<&'a Value>,
}

impl WorkerProvider {
    pub(crate) fn new(settings: ProviderSettings, worker: Arc<Worker>, apart: Arc<Worker>) -> Self {
        let opening = tokio::sync::Mutex::default();
        Self { settings, worker, apart, opened: Mutex::default(), opening }
    }

    /// The profile of a model; of other models than its own, none is known.
    fn profile(&self, model: &str) -> Option<&Value> {
        self.settings.profile.as_ref().filter(|_| model == self.settings.model)
    }

    /// The instance for a model, made where there is none in the running process.
    async fn instance(&self, model: &str) -> Result<(Arc<Session>, Opened), ProviderError> {
        let worker = match self.worker.host.mode() {
            Mode::ReadOnly => &self.apart,
            Mode::Ask | Mode::Normal | Mode::Yolo => &self.worker,
        };
        let session =
            worker.session(Purpose::Serve).await.map_err(|trouble| self.error(trouble))?;
        let _opening = self.opening.lock().await;
        {
            let mut known = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            known.retain(|_, (home, _)| Arc::ptr_eq(home, &session));
            if let Some((_, opened)) = known.get(model) {
                return Ok((session, opened.clone()));
            }
        }
        let params = json!({
            "provider": self.settings.key,
            "kwargs": self.settings.kwargs,
            "model": model,
            "api_key": self.settings.api_key.as_ref().map(Secret::expose),
        });
        let opened: Opened = self.ask(&session, "open_provider", &params).await?;
        let mut memory = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        memory.insert(model.to_owned(), (Arc::clone(&session), opened.clone()));
        Ok((session, opened))
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        session: &Session,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, ProviderError> {
        let bounds = Bounds { time: self.worker.time(), cancel: &CancellationToken::new() };
        let answer = session.ask(method, params, bounds).await;
        let answer = answer.map_err(|failed| self.error(failed.into()))?;
        serde_json::from_str(answer.get()).map_err(|error| self.garbled(&error))
    }

    fn error(&self, trouble: WorkerError) -> ProviderError {
        let name = &self.settings.name;
        let plugin = &self.worker.facts().name;
        let failure = |kind, message: String| ProviderError { kind, message, hint: None };
        match trouble {
            WorkerError::Sandbox(error) => failure(Failure::Rejected, error.to_string()),
            WorkerError::Unready(words)
            | WorkerError::Request(RequestError::Refused(words) | RequestError::Unsayable(words)) => {
                failure(Failure::Rejected, words)
            }
            WorkerError::Request(RequestError::Ended(words)) => {
                failure(Failure::Cut, format!("{name}: {words}"))
            }
            WorkerError::Request(RequestError::Late(time)) => ProviderError {
                kind: Failure::Idle,
                message: format!("{name}: nothing came for {} s", time.as_secs_f64()),
                hint: Some(format!("`plugins.{plugin}.timeout` sets how long to wait")),
            },
            WorkerError::Request(RequestError::Cancelled) => {
                failure(Failure::Cut, format!("{name}: cancelled"))
            }
            WorkerError::Request(RequestError::Fault(fault)) => self.fault(&fault),
        }
    }

    fn fault(&self, fault: &Fault) -> ProviderError {
        let status = fault.data.as_ref().and_then(|data| data.get("status")?.as_u64());
        let kind = if fault.code == CANCELLED {
            Failure::Cut
        } else {
            status.and_then(by_status).unwrap_or_else(|| by_type(fault.datum("type")))
        };
        let offline = kind == Failure::Unreachable && self.worker.facts().network == Network::None;
        let plugin = &self.worker.facts().name;
        let own = &*self.worker.plugin;
        let advice = || self.worker.host.advice(own, plugin, &fault.message);
        let hint = if offline {
            let grant = format!("`brynhild plugin grant {plugin} --network`");
            advice().or(Some(format!("the plugin has no network; {grant} grants it")))
        } else if fault.datum("type").is_some_and(|it| it.ends_with("ModuleNotFoundError")) {
            let file = self.worker.facts().root.join("plugin.yaml");
            Some(if file.exists() {
                format!("name the package under `dependencies` in {}", file.display())
            } else {
                "install the package into the Python in which the plugin is installed".to_owned()
            })
        } else {
            self.unseen(&fault.message).or_else(advice)
        };
        ProviderError { kind, message: format!("{}: {}", self.settings.name, fault.message), hint }
    }

    /// A hint for credentials that are there and that the provider does not see.
    fn unseen(&self, words: &str) -> Option<String> {
        let path = self.settings.kwargs.get("credentials_path")?.as_str()?;
        if !words.contains(path) || !Path::new(path).is_file() {
            return None;
        }
        let (plugin, mode) = (&self.worker.plugin, self.worker.host.exact_mode());
        let advice = plugin.advice(&format!("No such file or directory: '{path}'"), mode);
        Some(advice.unwrap_or_else(|| {
            let command = format!("brynhild plugin grant {} --read {path}", plugin.facts().name);
            format!("the sandbox may hide that file; `{command}` shows it")
        }))
    }

    /// Shows users a message that is not a failure.
    fn tell(&self, words: &str) {
        (self.worker.host.settings.on_output)(&self.worker.facts().name, words);
    }

    fn garbled(&self, error: &serde_json::Error) -> ProviderError {
        let message = format!("{}: the worker answered nonsense: {error}", self.settings.name);
        ProviderError { kind: Failure::Garbled, message, hint: None }
    }
}

fn by_status(status: u64) -> Option<Failure> {
    Some(match status {
        401 | 403 => Failure::Auth,
        402 => Failure::Payment,
        404 => Failure::NotFound,
        413 => Failure::TooLong,
        429 => Failure::RateLimited(None),
        500..=599 => Failure::Unavailable(None),
        400..=499 => Failure::Rejected,
        _ => return None,
    })
}

/// The kind of a failure by the class of its exception; most say nothing.
fn by_type(name: Option<&str>) -> Failure {
    let name = name.unwrap_or_default().rsplit('.').next().unwrap_or_default();
    match name {
        "ConnectionError"
        | "ConnectionRefusedError"
        | "ConnectError"
        | "URLError"
        | "gaierror"
        | "APIConnectionError"
        | "ClientConnectorError" => Failure::Unreachable,
        "TimeoutError" | "ReadTimeout" | "ConnectTimeout" | "APITimeoutError" => Failure::Idle,
        "ConnectionResetError" | "RemoteProtocolError" | "IncompleteRead" => Failure::Cut,
        "RateLimitError" => Failure::RateLimited(None),
        "AuthenticationError" | "PermissionDeniedError" => Failure::Auth,
        _ => Failure::Rejected,
    }
}

#[async_trait]
impl Provider for WorkerProvider {
    fn name(&self) -> &str {
        &self.settings.name
    }

    async fn models(&self) -> Result<Vec<Model>, ProviderError> {
        let (session, opened) = self.instance(&self.settings.model).await?;
        let params = json!({"handle": opened.handle});
        let found: Models = self.ask(&session, "models", &params).await?;
        let model = |id| Model { id, ..Model::default() };
        Ok(found.models.into_iter().map(model).collect())
    }

    async fn stream(&self, request: Request) -> Result<ReplyStream, ProviderError> {
        let (session, opened) = self.instance(&request.model).await?;
        let format = opened.default_reasoning_format.as_deref();
        let messages = String::from_utf8(conversation::messages(&request, format)).ok();
        let messages = messages.and_then(|text| RawValue::from_string(text).ok());
        let ask = Ask {
            handle: &opened.handle,
            messages: messages.unwrap_or_else(|| RawValue::NULL.to_owned()),
            system: &request.system,
            tools: if opened.supports_tools { conversation::tools(&request) } else { Value::Null },
            max_tokens: request.max_tokens,
            profile: self.profile(&request.model),
        };
        let mut builder = ReplyBuilder::default();
        if request.delivery == Delivery::Whole {
            let answer: Value = self.ask(&session, "complete", &ask).await?;
            let response = answer.get("response").cloned().unwrap_or(answer);
            let response: Response =
                serde_json::from_value(response).map_err(|error| self.garbled(&error))?;
            builder.take_whole(response);
            builder.finish();
            let deltas: Vec<_> = std::iter::from_fn(|| builder.pop()).map(Ok).collect();
            return Ok(futures::stream::iter(deltas).boxed());
        }
        let events = Worker::stream(&session, "stream", &ask).await;
        let events = events.map_err(|trouble| self.error(trouble))?;
        let (worker, apart) = (Arc::clone(&self.worker), Arc::clone(&self.apart));
        let provider = Self::new(self.settings.clone(), worker, apart);
        let flow = Flow { provider, events, builder, is_over: false };
        Ok(futures::stream::unfold(flow, Flow::step).boxed())
    }
}

/// A reply on its way from the worker.
struct Flow {
    /// Words errors.
    provider: WorkerProvider,
    events: Stream,
    builder: ReplyBuilder,
    is_over: bool,
}

impl Flow {
    async fn step(mut self) -> Option<(Result<Delta, ProviderError>, Self)> {
        loop {
            if let Some(delta) = self.builder.pop() {
                return Some((Ok(delta), self));
            }
            if self.is_over {
                return None;
            }
            if let Err(error) = self.advance().await {
                self.is_over = true;
                return Some((Err(error), self));
            }
        }
    }

    /// Takes one event. Time runs between events: a reply that goes on is not stuck.
    async fn advance(&mut self) -> Result<(), ProviderError> {
        let time = self.provider.worker.time();
        let item = tokio::time::timeout(time, self.events.next()).await;
        let item = item.unwrap_or(Err(RequestError::Late(time)));
        match item {
            Ok(Item::Event(event)) => {
                let event: Event = serde_json::from_str(event.get())
                    .map_err(|error| self.provider.garbled(&error))?;
                let name = &self.provider.settings.name;
                self.builder.take(event).map_err(|words| ProviderError {
                    kind: Failure::Rejected,
                    message: format!("{name}: {words}"),
                    hint: None,
                })
            }
            Ok(Item::End) => {
                self.is_over = true;
                let is_closed = self.builder.is_closed();
                if self.builder.finish() {
                    if !is_closed {
                        self.provider
                            .tell("its reply ended without `message_stop`; it may lack its end");
                    }
                    return Ok(());
                }
                let message =
                    format!("{}: the reply ended before it began", self.provider.settings.name);
                Err(ProviderError { kind: Failure::Cut, message, hint: None })
            }
            Err(failed) => Err(self.provider.error(failed.into())),
        }
    }
}
