//! Writes conversations to files and to standard output.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use args::ExportFormat;
use assemble::exit::Problem;
use assemble::run_context::RunContext;
use assemble::{named_file, output};
use contract::event::Event;
use contract::id::SessionId;
use sessions::error::Error;
use sessions::export::{Export, ExportError, Thinking};

/// Exports the current conversation as Markdown: from its log, or from `unsaved` if it has none.
pub(crate) fn export_conversation(
    run: &RunContext,
    id: &SessionId,
    unsaved: Option<&[Event]>,
    (target, title): (&Path, Option<&str>),
) -> Result<(), Problem> {
    let store;
    let export = if let Some(events) = unsaved {
        Export::of_events(id, events)?
    } else {
        store = run.store()?;
        Export::of_log(&store, id).map_err(|error| match error {
            Error::NotFound(_) => Problem::misuse("nothing to export: the conversation is empty"),
            error => error.into(),
        })?
    };
    write_with((run, target), ExportFormat::Markdown, |out| {
        let put = &mut |piece: &str| out.write_all(piece.as_bytes());
        export.markdown(title, Thinking::Collapsible, put)
    })
}

pub(crate) fn write_to(run: &RunContext, target: &Path, text: &str) -> Result<(), Problem> {
    let write = |out: &mut dyn Write| Ok(writeln!(out, "{}", text.trim_end())?);
    write_with((run, target), ExportFormat::Markdown, write)
}

/// A file gets the text unchanged; standard output may be a terminal, so control characters are
/// made visible.
pub(crate) fn write_with(
    (run, target): (&RunContext, &Path),
    format: ExportFormat,
    write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
) -> Result<(), Problem> {
    if target == Path::new("-") {
        let mut out = BufWriter::new(io::stdout().lock());
        let escape = match format {
            ExportFormat::Markdown => contract::text::visible,
            ExportFormat::Json => output::quiet,
        };
        write(&mut output::EscapingWriter(&mut out, escape)).map_err(anyhow::Error::from)?;
        out.flush()?;
        return Ok(());
    }
    let mut out = BufWriter::new(named_file::create(run, target)?);
    let written = write(&mut out).and_then(|()| Ok(out.flush()?));
    written.map_err(|error| match error {
        ExportError::Read(error) => error.into(),
        ExportError::Write(error) => {
            Problem::failed(format!("cannot write {}: {error}", target.display()))
        }
    })
}
