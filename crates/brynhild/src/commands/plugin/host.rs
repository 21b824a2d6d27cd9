//! The program as the installation of plugins sees it. Programs that fetch plugins run confined, with
//! network access: they write to one directory only.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assemble::assembly::{Assembly, workers};
use assemble::exit::Problem;
use assemble::{audit, output};
use plugin_kit::host::{Host, Job, OnChange};
use plugin_kit::install;
use plugins::{entry_points, process};
use serde_json::Value;
use tokio::time::Instant;

use super::servers;
use crate::commands::confirmed;

const TIME: Duration = Duration::from_mins(10);
const OUTPUT_LIMIT: usize = 1 << 20;

pub(crate) struct KitHost<'a> {
    assembly: &'a Assembly,
    config_dir: &'a Path,
}

impl<'a> KitHost<'a> {
    pub(crate) fn new(assembly: &'a Assembly) -> Result<Self, Problem> {
        Ok(Self { assembly, config_dir: assembly.config_dir()? })
    }
}

impl Host for KitHost<'_> {
    type Error = Problem;
    const PACKAGE_DIRECTORY: &'static str = entry_points::PLUGIN_PACKAGES;

    fn config_dir(&self) -> &Path {
        self.config_dir
    }

    fn cwd(&self) -> &Path {
        &self.assembly.environment.cwd
    }

    fn report(&self, data: &Value, text: &str) -> io::Result<()> {
        if self.assembly.wants_json() { output::json(data) } else { output::text(text) }
    }

    fn show(&self, text: &str) -> io::Result<()> {
        output::text(text)
    }

    fn warn(&self, text: &str) {
        output::warning(text);
    }

    fn hint(&self, text: &str) {
        output::hint(text);
    }

    fn confirm(&self, question: &str) -> io::Result<bool> {
        confirmed(self.assembly, question)
    }

    fn note(&self, action: &str, detail: &str) {
        audit::open(self.config_dir).note_or_warn(action, detail, None);
    }

    async fn interpreter(&self) -> Result<(String, Vec<PathBuf>), Problem> {
        let host = self.assembly.python()?.python.host();
        Ok(match host.interpreter().await {
            Some((program, directories)) => (program.display().to_string(), directories),
            None => ("python3".to_owned(), Vec::new()),
        })
    }

    async fn review_servers(
        &self,
        plugin: &str,
        on_change: Option<OnChange>,
    ) -> Result<(), Problem> {
        servers::review(self.assembly, plugin, on_change).await
    }

    async fn run(&self, job: Job<'_>, directory: &Path) -> Result<String, Problem> {
        let (name, program) = (job.name, job.program);
        let surroundings = workers::surroundings(self.assembly);
        let path = if program.contains('/') {
            PathBuf::from(program)
        } else {
            surroundings.program(program).ok_or_else(|| {
                Problem::failed(format!("the program `{program}` is not installed"))
                    .hint(format!("install {program} and try again"))
            })?
        };
        // It works on no project.
        let nothing = install::scratch(self)?;
        let (spawn, profile) = job.confined(path, (directory, nothing.path()), &surroundings);
        let failed = |why: String| Problem::failed(format!("{name} failed: {why}"));
        let child = self.assembly.sandbox()?.start(&spawn, &profile);
        let child = child.map_err(|error| failed(error.to_string()))?;
        let limits = process::Limits {
            output: OUTPUT_LIMIT,
            deadline: Some(Instant::now() + TIME),
            cancel: None,
        };
        let ended =
            process::run(child, &[], limits).await.map_err(|error| failed(error.to_string()))?;
        match ended.end {
            process::End::Exited(0) => Ok(ended.stdout.text),
            process::End::Exited(_) => Err(failed(ended.stderr.text.trim().to_owned())),
            process::End::Late | process::End::Cancelled => {
                Err(failed(format!("it did not end within {} minutes", TIME.as_secs() / 60)))
            }
        }
    }
}
