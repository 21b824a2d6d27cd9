//! One scripted reply in neutral form, and what goes wrong on its way.

use std::time::Duration;

use serde_json::Value;

/// The answer of the server to one request, in the format of the request.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Option<Usage>,
    pub(crate) stop: Option<&'static str>,
    pub(crate) delta_size: Option<usize>,
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) withheld: bool,
    pub(crate) faults: Faults,
}

/// A tool call in a scripted reply.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// The usage that a scripted reply reports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cached: Option<u64>,
    pub(crate) cost: Option<f64>,
}

/// A fault while a body is sent. Positions are in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) chunk_size: Option<usize>,
    pub(crate) pace: Option<Duration>,
    pub(crate) mangled: Vec<(usize, Vec<u8>)>,
    pub(crate) stall_at: Option<usize>,
    pub(crate) end: Option<(usize, End)>,
}

/// How a connection ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// In order, as far as TCP knows.
    Closed,
    /// With a reset.
    Reset,
}

impl Reply {
    /// A reply of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A reply that calls tools.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let reply = Self::default();
        calls.into_iter().fold(reply, |reply, (name, input)| reply.call(name, &input))
    }

    /// A failure with this status and an error in the format of the request.
    pub fn failure(status: u16) -> Self {
        Self::default().status(status)
    }

    /// A reply of these bytes.
    pub fn bytes(body: impl Into<Vec<u8>>) -> Self {
        Self::default().raw(body)
    }

    /// Adds a tool call.
    #[must_use]
    pub fn call(self, name: &str, input: &Value) -> Self {
        self.call_text(name, &input.to_string())
    }

    /// Adds a tool call whose arguments are this text, valid or not.
    #[must_use]
    pub fn call_text(self, name: &str, arguments: &str) -> Self {
        self.push(None, name, arguments)
    }

    /// Adds a tool call with an id of the test's choice.
    #[must_use]
    pub fn call_as(self, id: &str, name: &str, input: &Value) -> Self {
        self.push(Some(id.to_owned()), name, &input.to_string())
    }

    /// Adds reasoning, which comes before all else.
    #[must_use]
    pub fn thinking(mut self, text: impl Into<String>) -> Self {
        self.thinking = text.into();
        self
    }

    /// Reports so many tokens in and out.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        let usage = self.usage.get_or_insert_default();
        (usage.input, usage.output) = (input, output);
        self
    }

    /// Reports that so many of the tokens in were cached.
    #[must_use]
    pub fn cached(mut self, tokens: u64) -> Self {
        self.usage.get_or_insert_default().cached = Some(tokens);
        self
    }

    /// Reports a price, where the format has a place for it.
    #[must_use]
    pub fn cost(mut self, dollars: f64) -> Self {
        self.usage.get_or_insert_default().cost = Some(dollars);
        self
    }

    /// Gives the reason for stopping in the format's own word.
    #[must_use]
    pub fn stop(mut self, reason: &'static str) -> Self {
        self.stop = Some(reason);
        self
    }

    /// Streams text, reasoning and arguments in deltas of so many characters; 8 where not said.
    #[must_use]
    pub fn delta_size(mut self, characters: usize) -> Self {
        self.delta_size = Some(characters.max(1));
        self
    }

    /// Answers with this status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Adds a header, or replaces the one of this name.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_ascii_lowercase(), value.to_owned()));
        self
    }

    /// Sends this text as the body.
    #[must_use]
    pub fn body(self, body: &str) -> Self {
        self.raw(body)
    }

    /// Sends these bytes as the body.
    #[must_use]
    pub fn raw(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sends the body in writes of so many bytes.
    #[must_use]
    pub fn chunk_size(mut self, bytes: usize) -> Self {
        self.faults.chunk_size = Some(bytes.max(1));
        self
    }

    /// Begins a write of the body so long after the one before.
    #[must_use]
    pub fn pace(mut self, pace: Duration) -> Self {
        self.faults.pace = Some(pace);
        self
    }

    /// Closes the connection after so many bytes of the body.
    #[must_use]
    pub fn cut_at(mut self, byte: usize) -> Self {
        self.faults.end = Some((byte, End::Closed));
        self
    }

    /// Resets the connection after so many bytes of the body.
    #[must_use]
    pub fn reset_at(mut self, byte: usize) -> Self {
        self.faults.end = Some((byte, End::Reset));
        self
    }

    /// Stops sending after so many bytes of the body, until the server is released or dropped.
    #[must_use]
    pub fn stall_at(mut self, byte: usize) -> Self {
        self.faults.stall_at = Some(byte);
        self
    }

    /// Sends nothing at all, not even the status, until the server is released or dropped.
    #[must_use]
    pub fn withhold(mut self) -> Self {
        self.withheld = true;
        self
    }

    /// Overwrites the body from this byte on.
    #[must_use]
    pub fn mangle(mut self, at: usize, bytes: &[u8]) -> Self {
        self.faults.mangled.push((at, bytes.to_vec()));
        self
    }

    fn push(mut self, id: Option<String>, name: &str, arguments: &str) -> Self {
        self.calls.push(Call { id, name: name.to_owned(), arguments: arguments.to_owned() });
        self
    }
}
