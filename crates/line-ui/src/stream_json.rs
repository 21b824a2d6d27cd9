//! The event stream, one JSON object a line, as the published schema describes it.

use std::io::{self, BufWriter, Stdout, Write};

use async_trait::async_trait;
use contract::event::Event;

use crate::output;
use crate::view::View;

pub struct StreamJson {
    out: BufWriter<Stdout>,
}

impl Default for StreamJson {
    fn default() -> Self {
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
