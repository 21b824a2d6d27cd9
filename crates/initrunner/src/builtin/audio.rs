//! `audio`: the captions of YouTube videos, and the words of recordings, which a model writes down.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::action::Action;
use contract::tool::{Risk, ToolSpec};
use fancy_regex::Regex;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::function::{self, Function};
use super::options::Options;
use super::{About, Built, ToolHost, http, text};
use crate::endpoint::Endpoint;
use crate::host::{Exchange, HttpClient};
use crate::html;
use crate::role::ModelSettings;

pub(super) const KEYS: &[&str] = &[
    "youtube_languages",
    "include_timestamps",
    "transcription_model",
    "max_audio_mb",
    "max_transcript_chars",
    "timeout_seconds",
];

/// The variable with another address for requests, such as a proxy of the user's.
const ADDRESS_VARIABLE: &str = "INITRUNNER_YOUTUBE_URL";
const YOUTUBE: &str = "https://www.youtube.com";
const REPLY_LIMIT: usize = 8 << 20;

const FORMATS: [&str; 8] = ["mp3", "mp4", "m4a", "wav", "ogg", "webm", "mpeg", "flac"];

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let model = options.text("transcription_model")?;
    let address = tool_host.surroundings.variables.get(ADDRESS_VARIABLE);
    let address = address.filter(|it| !it.is_empty()).map_or(YOUTUBE, String::as_str);
    let usual = || vec![String::from("en")];
    let transcript = Transcript {
        address: http::address(address).map_err(|what| format!("{ADDRESS_VARIABLE}: {what}"))?,
        languages: options.texts("youtube_languages")?.unwrap_or_else(usual),
        has_times: options.flag("include_timestamps", false)?,
        max_chars: options.count("max_transcript_chars", 50_000)?,
        timeout: options.timeout(30)?,
        requests: Arc::clone(&tool_host.requests),
    };
    let recording = Recording {
        directory: tool_host.surroundings.cwd.clone(),
        megabytes: options.count("max_audio_mb", 20)?,
        max_chars: transcript.max_chars,
        model: model.map_or_else(|| tool_host.model.clone(), ModelSettings::from_text),
        timeout: options.timeout(120)?,
        requests: Arc::clone(&tool_host.requests),
    };
    let about = About {
        name: "get_youtube_transcript",
        description: "Return the captions of a YouTube video.",
        kind: "audio",
        risk: Risk::ReadOnly,
        properties: json!({
            "url": {"type": "string", "description": "The address of the video"},
            "language": {
                "type": "string", "default": "",
                "description": "A language code such as `en`; empty for the usual ones",
            },
        }),
        required: &["url"],
    };
    let asking = ToolSpec { requires_permission: true, ..about.spec(tool_host) };
    let about = About {
        name: "transcribe_audio",
        description: "Send an audio file to a model, and return its words.",
        kind: "audio",
        risk: Risk::ReadOnly,
        properties: json!({"file_path": {"type": "string", "description": "The audio file"}}),
        required: &["file_path"],
    };
    let sending = ToolSpec { requires_permission: true, ..about.spec(tool_host) };
    Ok(Built::of([function::tool(transcript, asking), function::tool(recording, sending)]))
}

struct Transcript {
    address: Url,
    languages: Vec<String>,
    has_times: bool,
    max_chars: usize,
    timeout: Duration,
    requests: Arc<dyn HttpClient>,
}

/// The identifier of a video in its address, or alone.
fn video_id(url: &str) -> Option<String> {
    let pattern =
        r"(?:v=|youtu\.be/|/embed/|/shorts/|/live/|/v/|^)([A-Za-z0-9_-]{11})(?:$|[^A-Za-z0-9_-])";
    first_capture(pattern, url.trim())
}

fn first_capture(pattern: &str, text: &str) -> Option<String> {
    let captures = Regex::new(pattern).ok()?.captures(text).ok()??;
    captures.get(1).map(|group| group.as_str().to_owned())
}

impl Transcript {
    async fn request(
        &self,
        method: Method,
        url: Url,
        body: Option<Value>,
    ) -> Result<String, String> {
        let json = HeaderValue::from_static("application/json");
        let headers = body.iter().map(|_| (CONTENT_TYPE, json.clone()));
        let exchange = Exchange {
            method,
            url,
            headers: headers.collect(),
            body: body.map(|body| body.to_string().into_bytes()),
            limit: REPLY_LIMIT,
            timeout: self.timeout,
        };
        let reply = self.requests.exchange(exchange).await?;
        if reply.status != 200 {
            return Err(format!("HTTP {}", reply.status));
        }
        Ok(reply.text)
    }

    fn url(&self, path: &str) -> Result<Url, String> {
        self.address.join(path).map_err(|error| error.to_string())
    }

    /// The tracks of captions that a video has.
    async fn tracks(&self, video: &str) -> Result<Vec<Value>, String> {
        let page = self.request(Method::GET, self.url(&format!("/watch?v={video}"))?, None).await?;
        let key = first_capture(r#""INNERTUBE_API_KEY":\s*"([A-Za-z0-9_-]+)""#, &page);
        let key = key.ok_or("the page of the video has no key for its captions")?;
        let client = json!({"clientName": "ANDROID", "clientVersion": "20.10.38"});
        let body = json!({"context": {"client": client}, "videoId": video});
        let url = self.url(&format!("/youtubei/v1/player?key={key}"))?;
        let reply = self.request(Method::POST, url, Some(body)).await?;
        let reply: Value = serde_json::from_str(&reply).map_err(|error| error.to_string())?;
        let tracks = reply.pointer("/captions/playerCaptionsTracklistRenderer/captionTracks");
        Ok(tracks.and_then(Value::as_array).cloned().unwrap_or_default())
    }

    async fn captions(&self, track: &Value) -> Result<String, String> {
        let named = Url::parse(text(track, "baseUrl")).map_err(|error| error.to_string())?;
        // Of the address that YouTube names only the path is used: its host was judged.
        let mut url = self.url(named.path())?;
        url.set_query(named.query());
        let document = self.request(Method::GET, url, None).await?;
        let lines = Regex::new(r#"(?s)<text start="([\d.]+)"[^>]*>(.*?)</text>"#);
        let lines = lines.map_err(|error| error.to_string())?;
        let lines = lines.captures_iter(&document).flatten().filter_map(|found| {
            // The text is escaped twice.
            let words = html::plain(&html::plain(found.get(2)?.as_str()));
            let start: f64 = found.get(1)?.as_str().parse().ok()?;
            Some(if self.has_times { format!("[{start:.1}s] {words}") } else { words })
        });
        Ok(lines.collect::<Vec<_>>().join(" "))
    }
}

#[async_trait]
impl Function for Transcript {
    fn actions(&self, _: &Value) -> Result<Vec<Action>, String> {
        Ok(vec![Action::Connect { host: http::host(&self.address) }])
    }

    async fn call(&self, args: &Value) -> Result<String, String> {
        let url = text(args, "url");
        let video = video_id(url).ok_or_else(|| {
            format!("Error: could not extract a YouTube video ID from URL: '{url}'")
        })?;
        let failed = |what: String| format!("Error fetching transcript: {what}");
        let tracks = self.tracks(&video).await.map_err(failed)?;
        if tracks.is_empty() {
            return Err(String::from("Error: transcripts are disabled for this video."));
        }
        let languages = match text(args, "language") {
            "" => self.languages.clone(),
            language => vec![language.to_owned()],
        };
        let is_generated = |track: &Value| text(track, "kind") == "asr";
        let find = |generated: bool| {
            languages.iter().find_map(|language| {
                tracks.iter().find(|track| {
                    text(track, "languageCode") == language && is_generated(track) == generated
                })
            })
        };
        let track = find(false).or_else(|| find(true)).ok_or_else(|| {
            let languages = languages.join("', '");
            format!("Error: no transcript found for video '{video}' in languages ['{languages}'].")
        })?;
        let captions = self.captions(track).await.map_err(failed)?;
        Ok(at_most(captions, self.max_chars))
    }
}

fn at_most(text: String, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}\n[truncated]", &text[..end]),
        None => text,
    }
}

struct Recording {
    directory: PathBuf,
    megabytes: usize,
    max_chars: usize,
    model: ModelSettings,
    timeout: Duration,
    requests: Arc<dyn HttpClient>,
}

impl Recording {
    fn endpoint(&self) -> Result<Endpoint, String> {
        let ModelSettings { provider, base_url, api_key_env, .. } = &self.model;
        let provider = provider.as_deref().filter(|it| *it != "anthropic").unwrap_or("openai");
        let place = (provider, base_url.as_deref(), api_key_env.as_deref());
        Endpoint::new(place, "chat/completions", &*self.requests)
    }

    /// Has a model that understands audio write down the words of a recording.
    async fn words(&self, extension: &str, bytes: &[u8]) -> Result<String, String> {
        let Endpoint { url, headers } = self.endpoint()?;
        let name = self.model.name.as_deref().ok_or("set `transcription_model`")?;
        let audio = json!({"data": STANDARD.encode(bytes), "format": extension});
        let content = json!([
            {"type": "text", "text": "Write down the words of this recording, and nothing else."},
            {"type": "input_audio", "input_audio": audio},
        ]);
        let body = json!({"model": name, "messages": [{"role": "user", "content": content}]});
        let exchange = Exchange {
            method: Method::POST,
            url,
            headers,
            body: Some(body.to_string().into_bytes()),
            limit: REPLY_LIMIT,
            timeout: self.timeout,
        };
        let reply = self.requests.exchange(exchange).await?;
        if reply.status != 200 {
            let text: String = reply.text.chars().take(200).collect();
            return Err(format!("HTTP {}: {text}", reply.status));
        }
        let reply: Value = serde_json::from_str(&reply.text).map_err(|error| error.to_string())?;
        let words = reply.pointer("/choices/0/message/content").and_then(Value::as_str);
        words.map(str::to_owned).ok_or_else(|| String::from("the model answered with no text"))
    }
}

#[async_trait]
impl Function for Recording {
    fn actions(&self, args: &Value) -> Result<Vec<Action>, String> {
        let mut actions = vec![Action::Read { path: self.directory.join(text(args, "file_path")) }];
        // Without an endpoint the call fails, and says why.
        actions
            .extend(self.endpoint().map(|it| Action::Connect { host: http::host(&it.url) }).ok());
        Ok(actions)
    }

    async fn call(&self, args: &Value) -> Result<String, String> {
        let given = text(args, "file_path");
        let path = self.directory.join(given);
        let metadata = path.metadata();
        let metadata = metadata.map_err(|_| format!("Error: file not found: '{given}'"))?;
        if !metadata.is_file() {
            return Err(format!("Error: path is not a file: '{given}'"));
        }
        let extension = Path::new(given).extension().map(|it| it.to_string_lossy().to_lowercase());
        let extension = extension.unwrap_or_default();
        if !FORMATS.contains(&extension.as_str()) {
            let formats = FORMATS.map(|it| format!(".{it}")).join(", ");
            return Err(format!("Error: unsupported format '.{extension}'. Supported: {formats}"));
        }
        let (size, limit) = (metadata.len() >> 20, self.megabytes);
        if metadata.len() > (limit as u64) << 20 {
            return Err(format!(
                "Error: file is {size} MB, exceeds {limit} MB limit. Split it into shorter files."
            ));
        }
        let failed = |what: String| format!("Error: transcription failed: {what}");
        let bytes = fs::read(&path).map_err(|error| failed(error.to_string()))?;
        let words = self.words(&extension, &bytes).await.map_err(failed)?;
        Ok(at_most(words, self.max_chars))
    }
}
