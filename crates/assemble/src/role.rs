//! The role that a run plays: its file, its words for the model, its tools and its limits.

pub mod answer;
mod content;
mod delegate;
pub mod documents;
mod dotenv;
mod host;
mod limits;
pub(crate) mod model;
pub mod persona;
mod python;
mod reach;
pub mod record;
mod servers;
mod skills;
mod spawn;
pub mod stores;
mod subagent;
mod tools;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::mcp::Servers;
use agent::settings::CompactionSettings;
use approvals::role_guard::{Allowance, Guard, RoleGuards};
use contract::hook::Hook;
use contract::tool::Tool;
use initrunner::auto_skill::{self, ActivateSkill};
use initrunner::builtin;
use initrunner::compose::{self, ComposedReading, Document};
use initrunner::final_result::FinalResult;
use initrunner::memory::MemoryStore;
use initrunner::role::{
    self, Finding, Guardrails, ModelSettings, Reading, Role, Severity, ToolEntry,
};
use initrunner::session_hooks::{EndSpawned, PromptRecorder};
use initrunner::skill::{self, RoleSkill};
use initrunner::task::RunScope;
use initrunner::variables;
use serde_json::Value;
use server::RoleServerSettings;

use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::chosen_role::ChosenRole;
use crate::exit::Problem;
use crate::output;
use crate::run_context::RunContext;
use answer::AnswerCheck;
use content::ContentGuard;
use python::{Depth, Loaded};
use reach::came_with_project;
use tools::Brought;

/// A role with its tools and checks, ready for turns.
pub struct OpenRole {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) system: String,
    pub output: Option<Value>,
    pub allowance: Arc<Allowance>,
    pub files: Vec<PathBuf>,
    pub run: RunScope,
    is_autonomous: bool,
    given: BTreeMap<String, String>,
    added: Vec<String>,
    answer_check: Arc<AnswerCheck>,
    guards: Arc<RoleGuards>,
    content: Option<Arc<ContentGuard>>,
    memory: Option<Arc<MemoryStore>>,
    servers: Vec<Arc<Servers>>,
    model: ModelSettings,
    guardrails: Guardrails,
    compaction: CompactionSettings,
}

/// Reads a role's file, with its skills and tools as far as that runs nothing. Errors of those are
/// among the findings.
pub fn examine(assembly: &Assembly, path: &Path) -> Result<(PathBuf, Reading), Problem> {
    let file = role::locate(&assembly.environment.cwd.join(path)).map_err(not_located)?;
    let mut reading = role::read(&file);
    if let Some(role) = &reading.role {
        let findings = check(assembly, role);
        reading.findings.extend(findings);
    }
    Ok((file, reading))
}

/// Reads the document at a path, which may be one of several agents; their findings are among its own.
pub fn open_document(assembly: &Assembly, path: &Path) -> Result<Document, Problem> {
    let may_use = |document: &Path, file: &Path| {
        let owner = Role { file: document.to_owned(), ..Role::default() };
        reach::check(assembly, &owner, file)
    };
    let opened = compose::open(&assembly.environment.cwd.join(path), &may_use);
    let mut document = opened.map_err(not_located)?;
    if let Document::Composed(reading) = &mut document
        && let ComposedReading { composed: Some(composed), findings, .. } = &mut **reading
    {
        for member in &composed.members {
            findings.extend(check(assembly, &member.role).into_iter().map(|finding| Finding {
                path: format!("agents.{}.{}", member.name, finding.path),
                ..finding
            }));
        }
    }
    Ok(document)
}

fn not_located(what: String) -> Problem {
    Problem::misuse(what).hint("name a file, or a directory with `agent.yaml` or `role.yaml`")
}

pub(crate) fn check(assembly: &Assembly, role: &Role) -> Vec<Finding> {
    let mut findings = Vec::new();
    let skills = skills::named(assembly, role, &mut findings);
    answer::schema(assembly, role, &mut findings);
    findings.extend(RoleServerSettings::read(&role.security).err().map(|what| error("", what)));
    let entries = role.tools.iter().chain(skills.iter().flat_map(|skill| &skill.tools));
    for (index, entry) in entries.enumerate() {
        findings.extend(tools::check(assembly, role, (&python::entry_place(index), entry)));
    }
    findings
}

/// The file of a role that was named: a path, or a name among the user's own.
pub(crate) fn named(run: &RunContext, name: &str) -> Result<PathBuf, Problem> {
    let path = run.environment.cwd.join(name);
    if path.exists() && !path.is_dir() {
        return Ok(path);
    }
    let own = run.loaded.config_dir.iter().map(|dir| dir.join(setup::user_files::AGENTS));
    let home = run.environment.home.iter().map(|home| home.join(".initrunner/roles"));
    let directories: Vec<PathBuf> = own.chain(home).collect();
    let is_plain = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    let candidates = directories.iter().filter(|_| is_plain).flat_map(|directory| {
        ["yaml", "yml"]
            .map(|ending| directory.join(format!("{name}.{ending}")))
            .into_iter()
            .chain([directory.join(name)])
    });
    let found = candidates.into_iter().find_map(|path| role::locate(&path).ok());
    found.ok_or_else(|| {
        let places: Vec<String> = directories.iter().map(|it| it.display().to_string()).collect();
        Problem::misuse(format!("there is no agent {name}"))
            .hint(format!("name a role's file, or put `{name}.yaml` into {}", places.join(" or ")))
    })
}

fn sound(assembly: &Assembly, path: &Path) -> Result<(Role, Vec<Finding>), Problem> {
    let (file, reading) = examine(assembly, path)?;
    let errors: Vec<String> = reading.errors().map(ToString::to_string).collect();
    if let Some(role) = reading.role.filter(|_| errors.is_empty()) {
        return Ok((role, reading.findings));
    }
    let text = format!("{}: {}", file.display(), errors.join("; "));
    Err(Problem::misuse(text).hint("`brynhild validate` shows all problems"))
}

/// Reads a role that must have no errors.
pub fn valid(assembly: &Assembly, path: &Path) -> Result<Role, Problem> {
    sound(assembly, path).map(|(role, _)| role)
}

/// Has this run play a role: its model answers, unless a flag names another.
pub fn choose(
    assembly: &mut Assembly,
    path: &Path,
    given: &BTreeMap<String, String>,
) -> Result<(), Problem> {
    let (role, findings) = sound(assembly, path)?;
    reach::required(assembly, &role)?;
    for finding in &findings {
        output::warning(&format!("{}: {}", role.file.display(), finding));
    }
    choose_with(assembly, role, given)
}

/// Has this run play a role that was read before, and whose findings the user has seen.
pub fn choose_read(assembly: &mut Assembly, role: Role) -> Result<(), Problem> {
    reach::required(assembly, &role)?;
    choose_with(assembly, role, &BTreeMap::new())
}

fn choose_with(
    assembly: &mut Assembly,
    role: Role,
    given: &BTreeMap<String, String>,
) -> Result<(), Problem> {
    let file = role.file.clone();
    dotenv::take_variables(assembly, &role);
    let environment = &assembly.environment.variables;
    let prompt = variables::filled(&role.prompt, role.variables.as_ref(), given, environment)
        .map_err(|what| Problem::misuse(format!("{}: {what}", file.display())))?;
    model::choose(assembly, &role);
    let mut findings = Vec::new();
    let skills = skills::named(assembly, &role, &mut findings);
    let output = answer::schema(assembly, &role, &mut findings);
    if !python::is_trusted(assembly, &role) {
        let mut sending = entries(&role, &skills);
        sending.retain(|entry| tools::may_send_variables(entry));
        python::tell_withheld(assembly, &role, &sending);
    }
    let (given, added) = (given.clone(), Vec::new());
    let (trigger_type, is_recorded) = (None, false);
    assembly.role =
        Some(ChosenRole { role, prompt, skills, output, given, added, trigger_type, is_recorded });
    Ok(())
}

/// Reads the chosen role again, with another tool module if one is named. A failure changes nothing.
pub async fn renew(assembly: &mut Assembly, module: Option<String>) -> Result<(), Problem> {
    let Some(before) = assembly.role.take() else { return Ok(()) };
    let (path, given) = (before.role.file.clone(), before.given.clone());
    let added: Vec<String> = before.added.iter().cloned().chain(module).collect();
    if let Err(problem) = choose(assembly, &path, &given) {
        assembly.role = Some(before);
        return Err(problem);
    }
    if let Some(chosen) = &mut assembly.role {
        chosen.add(added);
    }
    let rehearsed = rehearse(assembly).await;
    if rehearsed.is_err() {
        assembly.role = Some(before);
    }
    rehearsed
}

/// A role that is being played, made anew from its files; it goes on with what it may still do.
pub(crate) async fn again(
    assembly: &mut Assembly,
    answering: Option<&Arc<AnsweringModel>>,
    before: &OpenRole,
) -> Result<Arc<OpenRole>, Problem> {
    if let Some(file) = before.files.first() {
        choose(assembly, file, &before.given)?;
    }
    if let Some(chosen) = &mut assembly.role {
        chosen.add(before.added.clone());
        chosen.role.is_autonomous = before.is_autonomous;
    }
    let chosen = assembly.role.as_ref().ok_or_else(|| Problem::failed("the role is gone"))?;
    let python = python(assembly, chosen, Depth::Run).await?;
    let state = (&before.allowance, &before.run);
    let opened = opened(assembly, (answering, Depth::Run), chosen, state, &python).await;
    if let Some(answering) = answering {
        opened.set_model(answering);
    }
    Ok(opened)
}

impl ChosenRole {
    fn allowance(&self) -> Arc<Allowance> {
        Arc::new(Allowance::new(self.role.guardrails.tool_calls))
    }

    /// The files that it was made from, its own first.
    fn files(&self, python: &Loaded) -> Vec<PathBuf> {
        let role = &self.role;
        let schema = match &role.output {
            Some(Value::String(file)) => Some(role.directory().join(file)),
            _ => None,
        };
        let own = [role.file.clone()].into_iter().chain(schema);
        own.chain(python.files().map(PathBuf::from)).collect()
    }
}

/// Adds to the findings what only the Python of a role's tools can say: runs it, confined, where
/// the user trusts it, and else only reads it.
///
/// Returns a line on each of its tools.
pub async fn ask_python(
    assembly: &Assembly,
    reading: &mut Reading,
) -> Result<Vec<String>, Problem> {
    let Some(role) = &reading.role else { return Ok(Vec::new()) };
    let skills = skills::named(assembly, role, &mut Vec::new());
    let entries = entries(role, &skills);
    let mut lines: Vec<String> = entries.iter().map(|entry| tools::summary(role, entry)).collect();
    if !entries.iter().any(|entry| python::is_python(assembly, role, entry)) || assembly.global.safe
    {
        return Ok(lines);
    }
    let may_run = python::may_run(assembly, role, &entries);
    let mut findings = Vec::new();
    // An interpreter of the project's is not for those who only look.
    if may_run || !python::has_venv(role) {
        let depth = if may_run { Depth::Run } else { Depth::Look };
        let python = python::load(assembly, role, &entries, depth).await?;
        python.close().await;
        for (index, line) in lines.iter_mut().enumerate() {
            if let Some(said) = python.summary(index) {
                said.clone_into(line);
            }
        }
        findings.extend(python.findings.into_iter().map(python::finding));
    }
    if !may_run {
        findings.push(Finding {
            severity: Severity::Warning,
            path: String::from("tools"),
            message: not_loaded(role),
        });
    }
    reading.findings.extend(findings);
    Ok(lines)
}

fn entries<'a>(role: &'a Role, skills: &'a [RoleSkill]) -> Vec<&'a ToolEntry> {
    role.tools.iter().chain(skills.iter().flat_map(|skill| &skill.tools)).collect()
}

/// The Python behind the tools of the role that was chosen. What is wrong with it stops the role.
async fn python(assembly: &Assembly, chosen: &ChosenRole, depth: Depth) -> Result<Loaded, Problem> {
    let role = &chosen.role;
    let entries = entries(role, &chosen.skills);
    let loaded = python::load(assembly, role, &entries, depth).await?;
    let file = role.file.display();
    let findings = loaded.findings.iter().cloned().map(python::finding);
    let (errors, warnings): (Vec<Finding>, Vec<Finding>) =
        findings.partition(|finding| finding.severity == Severity::Error);
    for finding in &warnings {
        output::warning(&format!("{file}: {finding}"));
    }
    if errors.is_empty() {
        return Ok(loaded);
    }
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let text = format!("{file}: {}", errors.join("; "));
    Err(Problem::misuse(text).hint("`brynhild validate` shows all problems"))
}

/// Sees to it that the role that was chosen could be played.
pub async fn rehearse(assembly: &Assembly) -> Result<(), Problem> {
    if let Some(chosen) = &assembly.role {
        python(assembly, chosen, Depth::Run).await?.close().await;
    }
    Ok(())
}

pub(crate) async fn open(
    assembly: &Assembly,
    answering: Option<&Arc<AnsweringModel>>,
) -> Result<Option<Arc<OpenRole>>, Problem> {
    let Some(chosen) = &assembly.role else { return Ok(None) };
    let python = python(assembly, chosen, Depth::Run).await?;
    let state = (&chosen.allowance(), &RunScope::default());
    Ok(Some(opened(assembly, (answering, Depth::Run), chosen, state, &python).await))
}

/// Opens the chosen role for listings: Python and servers of an untrusted project do not run.
pub(crate) async fn look(assembly: &Assembly) -> Result<Option<Arc<OpenRole>>, Problem> {
    let Some(chosen) = &assembly.role else { return Ok(None) };
    let role = &chosen.role;
    let entries = entries(role, &chosen.skills);
    let has_python = entries.iter().any(|entry| python::is_python(assembly, role, entry));
    let starts = entries.iter().any(|entry| entry.kind == "mcp");
    let is_free = !has_python || python::may_run(assembly, role, &entries);
    if is_free && !(starts && came_with_project(assembly, role)) {
        return open(assembly, None).await;
    }
    output::warning(&format!("{}: {}", role.file.display(), not_loaded(role)));
    // An interpreter of the project's is not for those who only look.
    let python = match (is_free, python::has_venv(role)) {
        (true, _) => python(assembly, chosen, Depth::Run).await?,
        (false, true) => Loaded::default(),
        (false, false) => python(assembly, chosen, Depth::Look).await?,
    };
    let state = (&chosen.allowance(), &RunScope::default());
    let looked_at = opened(assembly, (None, Depth::Look), chosen, state, &python).await;
    python.close().await;
    Ok(Some(looked_at))
}

fn not_loaded(role: &Role) -> String {
    format!(
        "what runs behind its tools was not started, only looked at: {} is in a project that you \
         have not trusted",
        role.directory().display()
    )
}

async fn opened(
    assembly: &Assembly,
    (answering, depth): (Option<&Arc<AnsweringModel>>, Depth),
    chosen: &ChosenRole,
    (allowance, run): (&Arc<Allowance>, &RunScope),
    python: &Loaded,
) -> Arc<OpenRole> {
    let role = &chosen.role;
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    let (mut servers, mut guards) = (Vec::new(), RoleGuards::default());
    let entries = entries(role, &chosen.skills);
    for (index, &entry) in entries.iter().enumerate() {
        let guard = tools::guard(assembly, entry).within(allowance);
        let guard = if assembly.auto_approves() { guard.approved() } else { guard };
        let brought = match entry.kind.as_str() {
            "mcp" if depth == Depth::Look => Brought::default(),
            _ => {
                let place = python::entry_place(index);
                tools::made(assembly, (role, answering), (&place, entry), run).await
            }
        };
        for tool in brought.tools.into_iter().chain(python.tools(index)) {
            guards.add(&tool.spec(), &guard);
            tools.push(tool);
        }
        servers.extend(brought.server);
    }
    let found = skills::automatic(assembly, chosen);
    let host = tools::tool_host(assembly, role, run);
    let task = builtin::task_tools(role, &entries, &host);
    let activate = (!found.is_empty())
        .then(|| Arc::new(ActivateSkill::new(found.clone(), tools::source(role))) as Arc<dyn Tool>);
    let memory = stores::open_memory(assembly, role);
    if let Some(memory) = &memory {
        documents::set_embedder(assembly, role, memory);
    }
    let remember = memory.iter().flat_map(|memory| builtin::memory_tools(memory, &host));
    let is_run = depth == Depth::Run && answering.is_some();
    let search = documents::search_tool(assembly, role, run, is_run).await;
    for tool in task.into_iter().chain(activate).chain(remember).chain(search) {
        guards.add(&tool.spec(), &Guard::default().within(allowance));
        tools.push(tool);
    }
    let mut parts = vec![
        chosen.prompt.clone(),
        skill::prompt_block(&chosen.skills),
        auto_skill::prompt_block(&found),
    ];
    if let Some(memory) = &memory {
        parts.extend(stores::memory_blocks(assembly, memory).await);
    }
    if let Some(schema) = &chosen.output {
        tools.push(Arc::new(FinalResult::new(schema)));
        parts.push(format!(
            "Give your final answer by calling `final_result`, or as JSON alone that fits this \
             schema:\n{schema}"
        ));
    }
    parts.retain(|part| !part.is_empty());
    Arc::new(OpenRole {
        tools,
        system: parts.join("\n\n"),
        output: chosen.output.clone(),
        answer_check: Arc::new(AnswerCheck::new(
            (chosen.output.clone(), role.answer_retries),
            allowance,
            run,
        )),
        run: run.clone(),
        is_autonomous: role.is_autonomous,
        guards: Arc::new(guards),
        content: ContentGuard::new(assembly, role, answering),
        memory,
        allowance: Arc::clone(allowance),
        files: chosen.files(python),
        given: chosen.given.clone(),
        added: chosen.added.clone(),
        servers,
        model: role.model.clone(),
        guardrails: role.guardrails.clone(),
        compaction: limits::compaction(role),
    })
}

impl OpenRole {
    /// Names the model that writes for the role's servers, where a user agrees to it.
    pub(crate) fn set_model(&self, answering: &AnsweringModel) {
        self.servers.iter().for_each(|servers| crate::mcp::set_model(servers, answering));
    }

    pub(crate) fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        let recorder = self.memory.iter().map(|it| Arc::new(PromptRecorder(Arc::clone(it))) as _);
        let ends = Arc::new(EndSpawned(self.run.clone()));
        let own =
            [Arc::clone(&self.guards) as Arc<dyn Hook>, Arc::clone(&self.answer_check) as _, ends];
        let content = self.content.iter().map(|it| Arc::clone(it) as _);
        content.chain(own).chain(recorder).collect()
    }

    /// Its checks of calls.
    pub fn guards(&self) -> Arc<RoleGuards> {
        Arc::clone(&self.guards)
    }

    pub fn given(&self) -> &BTreeMap<String, String> {
        &self.given
    }

    pub(crate) fn servers(&self) -> &[Arc<Servers>] {
        &self.servers
    }

    pub(crate) async fn shutdown(&self) {
        futures::future::join_all(self.servers.iter().map(|server| server.shutdown())).await;
    }
}

fn error(path: &str, message: String) -> Finding {
    Finding { severity: Severity::Error, path: path.to_owned(), message }
}
