//! The event stream, one JSON object a line, as the published schema describes it.

use std::io::{self, BufWriter, Stdout, Write};

use async_trait::async_trait;
use contract::event::Event;

use super::View;
use crate::output;

pub(crate) struct StreamJson {
    out: BufWriter<Stdout>,
}

impl StreamJson {
    pub(crate) fn new() -> Self {
        Self { out: BufWriter::with_capacity(64 << 10, io::stdout()) }
    }
}

#[async_trait(?Send)]
impl View for StreamJson {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let json = serde_json::to_string(event)?;
        writeln!(self.out, "{}", output::quiet(&json))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
