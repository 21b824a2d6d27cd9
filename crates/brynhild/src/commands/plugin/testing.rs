//! `plugin test`: checks a plugin, runs the examples of its tools and plays its scenarios, each in
//! a temporary project with a fresh configuration.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use agent::registry::Registry;
use args::{ChatArgs, Global, PluginTestArgs};
use assemble::assembly::{Assembly, workers};
use assemble::environment::Terminal;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::run_context::RunContext;
use assemble::setup::{self, ToolListing};
use assemble::{named_file, output, role};
use async_trait::async_trait;
use contract::event::{Event, Input};
use contract::tool::BUILTIN;
use plugin_kit::case::{self, Case, CaseError, Played, Player};
use plugin_kit::report::{self, TestResult};
use plugin_kit::workspace::{self, Workspace};
use plugin_kit::{example, golden};
use plugins::manifest;

use super::{Examined, examine, ignored};
use crate::commands::chat::{self, OpenConversation};
use crate::commands::tools;
use crate::frontends::View;

pub(super) async fn run(assembly: &Assembly, args: &PluginTestArgs) -> Outcome {
    let shown = args.directory.display().to_string();
    let root = plugin_directory(assembly, &args.directory)?;
    let cases = case::load(&root)?;
    let has_cases = !cases.is_empty();
    let mut run = TestRun { assembly, root: &root, results: Vec::new(), stop: None };
    run.record("the plugin is valid", Instant::now(), run.validate().await?)?;
    if run.results[0].passed() {
        run.examples().await?;
        for case in cases {
            run.case(case, args.update).await?;
        }
    }
    let TestRun { results, stop, .. } = run;
    if let Some(exit) = stop {
        return Ok(exit);
    }
    if let Some(path) = &args.junit {
        let mut file = named_file::create(assembly, path)?;
        file.write_all(report::to_junit(&shown, &results).as_bytes())?;
    }
    assembly.report(&report::to_json(&shown, &results), report::summary(&results))?;
    if !has_cases {
        output::hint("there is no scenario in `tests`; `brynhild plugin new` writes one to copy");
    }
    Ok(if results.iter().all(TestResult::passed) { Exit::Done } else { Exit::Failed })
}

pub(super) fn plugin_directory(run: &RunContext, named: &Path) -> Result<PathBuf, Problem> {
    let root = run.environment.cwd.join(named).canonicalize().ok().filter(|root| root.is_dir());
    root.ok_or_else(|| {
        Problem::misuse(format!("there is no directory {}", named.display()))
            .hint("name a plugin's directory")
    })
}

struct TestRun<'a> {
    assembly: &'a Assembly,
    root: &'a Path,
    results: Vec<TestResult>,
    stop: Option<Exit>,
}

type Findings = (Vec<String>, Vec<String>);

impl TestRun<'_> {
    fn record(
        &mut self,
        name: impl Into<String>,
        started: Instant,
        (failures, warnings): Findings,
    ) -> io::Result<()> {
        let duration = started.elapsed();
        let result = TestResult { name: name.into(), failures, warnings, duration };
        if !self.assembly.wants_json() {
            output::text(result.text())?;
        }
        self.results.push(result);
        Ok(())
    }

    fn stage(&self, workspace: &Workspace, global: Global) -> Result<Assembly, Problem> {
        stage((self.assembly, self.root), workspace, global)
    }

    async fn validate(&self) -> Result<Findings, Problem> {
        let workspace = Workspace::create(&self.assembly.environment.temp)?;
        if let Some(file) = role_file(self.root) {
            let global = Global { role_file: Some(file.clone()), ..Global::default() };
            return role_findings(&self.stage(&workspace, global)?, &file).await;
        }
        let stage = self.stage(&workspace, Global::default())?;
        Ok(match examine(&stage, self.root).await? {
            Examined::Own(validation) => {
                let words = |it: &plugins::problem::Problem| format!("{it}\nhint: {}", it.hint);
                let errors = validation.errors.iter().map(words).collect();
                (errors, validation.warnings.iter().map(words).collect())
            }
            Examined::Foreign(plugins) => {
                let errors = plugins.iter().filter_map(|it| it.failure.clone()).collect();
                (errors, ignored(&plugins).map(|line| line.as_str().to_owned()).collect())
            }
        })
    }

    /// Runs the examples of the plugin's tools. In the fresh configuration, all tools that are not
    /// built in are of the plugin.
    async fn examples(&mut self) -> Result<(), Problem> {
        let workspace = Workspace::create(&self.assembly.environment.temp)?;
        workspace.fill(self.root, &BTreeMap::new())?;
        let stage = self.stage(&workspace, Global::default())?;
        let registry: Registry = setup::known_tools(&stage, ToolListing::List).await?;
        for spec in registry.specs().iter().filter(|spec| spec.source != BUILTIN) {
            let examples = example::arguments(&spec.description, &spec.input_schema);
            for (arguments, number) in examples.into_iter().zip(1..) {
                if self.stop.is_some() {
                    return Ok(());
                }
                let started = Instant::now();
                let call = tools::call(&spec.name, arguments.clone());
                let mut view = Recording::default();
                let verdict = tools::call_once(&stage, call, &mut view).await?;
                let failure = verdict.results.first().filter(|it| !it.output.success).map(|it| {
                    let error = it.output.error.as_deref().unwrap_or(&it.output.output);
                    format!("{arguments}\n{error}")
                });
                self.note_signal(verdict.exit());
                let name = format!("example {number} of {}", spec.name);
                self.record(name, started, (failure.into_iter().collect(), Vec::new()))?;
            }
        }
        Ok(())
    }

    async fn case(&mut self, case: Result<Case, CaseError>, update: bool) -> Result<(), Problem> {
        if self.stop.is_some() {
            return Ok(());
        }
        let started = Instant::now();
        let case = match case {
            Ok(case) => case,
            Err(error) => {
                let failure = (vec![error.problem.clone()], Vec::new());
                return Ok(self.record(error.file, started, failure)?);
            }
        };
        let workspace = Workspace::create(&self.assembly.environment.temp)?;
        let failures = match self.play(&case, &workspace).await {
            Ok(played) => self.judge(&case, &workspace, &played, update)?,
            Err(problem) => {
                let hint = problem.hint.iter().map(|hint| format!("hint: {hint}"));
                [problem.message()].into_iter().chain(hint).collect()
            }
        };
        let name = format!("{}/{}", case::TESTS, case.name);
        Ok(self.record(name, started, (failures, Vec::new()))?)
    }

    async fn play(&mut self, case: &Case, workspace: &Workspace) -> Result<Played, Problem> {
        workspace.fill(self.root, &case.files)?;
        if !case.config.is_null() {
            workspace.configure(&case.config)?;
        }
        let (provider, model) = match &case.player {
            Player::Script => ("script", Some(case.path.display().to_string())),
            Player::Provider(name) => (name.as_str(), None),
        };
        let role_file = case.role.as_ref().map(|role| self.root.join(role));
        let provider = Some(provider.to_owned());
        let global = Global { provider, model, role_file, ..Global::default() };
        let mut stage = self.stage(workspace, global)?;
        if let Some(file) = stage.global.role_file.clone() {
            role::choose(&mut stage, &file, &BTreeMap::new())?;
        } else if let Some(agent) = &case.agent {
            role::persona::choose_agent(&mut stage, agent)?;
        }
        let args = ChatArgs {
            prompt: vec![case.prompt.clone()],
            no_save: true,
            no_log: true,
            ..ChatArgs::default()
        };
        let Some(typed) = chat::typed_prompt(&stage, &args).await? else {
            return Ok(Played::default());
        };
        let answering = Arc::new(assemble::answering_model::answering(&stage).await?);
        let open = OpenConversation::open(&stage, &args, answering, |setup, _| {
            if let Some(skill) = &typed.skill {
                setup.grants.activate(&skill.name);
            }
        });
        let (opened, ()) = open.await?;
        let mut view = Recording::default();
        let verdict = opened.run(Input::Prompt { text: typed.prompt.content }, &mut view).await?;
        self.note_signal(verdict.exit());
        Ok(Played {
            exit: verdict.exit().code(),
            answer: verdict.response,
            errors: verdict.errors,
            events: view.events,
        })
    }

    /// The failures of a case that was played. Its events are compared only if all else holds.
    fn judge(
        &self,
        case: &Case,
        workspace: &Workspace,
        played: &Played,
        update: bool,
    ) -> io::Result<Vec<String>> {
        let failures = case.failures(played);
        let file = case.golden();
        if !failures.is_empty() || !(update || file.exists()) {
            return Ok(failures);
        }
        let names = [
            (workspace.project(), "PROJECT"),
            (workspace.home(), "HOME"),
            (self.root.to_owned(), "PLUGIN"),
        ];
        let names = names.map(|(path, name)| (path.display().to_string(), name));
        let found = golden::lines(&played.events, &names);
        if update {
            golden::write(&file, &found)?;
            return Ok(Vec::new());
        }
        Ok(golden::failure((self.root, &file), &found)?.into_iter().collect())
    }

    fn note_signal(&mut self, exit: Exit) {
        if exit.is_signal() {
            self.stop = Some(exit);
        }
    }
}

/// A run in a temporary project with the plugin or role in `root`, and nothing of the user's
/// configuration.
pub(super) fn stage(
    (assembly, root): (&Assembly, &Path),
    workspace: &Workspace,
    global: Global,
) -> Result<Assembly, Problem> {
    let mut environment = assembly.environment.clone();
    environment.variables.retain(|name, _| workspace::VARIABLES.contains(&name.as_str()));
    for (name, path) in [("HOME", workspace.home()), ("BRYNHILD_PROJECT_ROOT", workspace.project())]
    {
        environment.variables.insert(name.to_owned(), path.display().to_string());
    }
    environment.home = Some(workspace.home());
    environment.cwd = workspace.project();
    // Nothing is read from standard input, and nobody is asked.
    environment.terminal = Terminal { stdin: true, stdout: false, stderr: false };
    let global = Global {
        // A role is not a plugin.
        plugin_dir: role_file(root).map_or_else(|| vec![root.to_owned()], |_| Vec::new()),
        yes: true,
        verbose: assembly.global.verbose,
        dangerously_skip_sandbox: assembly.global.dangerously_skip_sandbox,
        ..global
    };
    let stage = Assembly::new(RunContext::again(global, environment)?);
    stage.use_python(workers::quiet_host(&stage)?);
    Ok(stage)
}

/// The role in a directory that has no manifest of a plugin.
pub(super) fn role_file(directory: &Path) -> Option<PathBuf> {
    let files = ["role.yaml", "agent.yaml"].map(|name| directory.join(name));
    let has_manifest = directory.join(manifest::FILE).exists();
    files.into_iter().find(|file| file.is_file() && !has_manifest)
}

async fn role_findings(stage: &Assembly, file: &Path) -> Result<Findings, Problem> {
    let (_, mut reading) = role::examine(stage, file)?;
    if reading.errors().next().is_none() {
        role::ask_python(stage, &mut reading).await?;
    }
    let is_valid = reading.is_valid();
    let findings: Vec<String> = reading.findings.iter().map(ToString::to_string).collect();
    Ok(if is_valid { (Vec::new(), findings) } else { (findings, Vec::new()) })
}

#[derive(Default)]
pub(super) struct Recording {
    events: Vec<Event>,
}

#[async_trait(?Send)]
impl View for Recording {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.events.push(event.clone());
        Ok(())
    }

    fn shows_calls_at_end(&self) -> bool {
        true
    }
}
