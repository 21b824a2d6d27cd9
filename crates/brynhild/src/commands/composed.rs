//! `run` and `validate` for documents of several agents. A single role is passed on.

use std::path::Path;
use std::time::Instant;

use args::RunArgs;
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::signals::Signals;
use assemble::{output, role};
use audit::tasks::FlowResults;
use initrunner::compose::{Composed, ComposedReading, Document, Kind};
use initrunner::member_run::{MemberRun, RunHost};
use initrunner::role::{Finding, ModelSettings, Reading, Severity};
use serde_json::{Value, json};

use super::role::{self as single_role, print_findings};
use super::role_runner::Runner;
use super::role_server::Served;
use super::task_journal;

/// Chooses the role that a run plays: a single one, or the named agent of a group. Of a team, a flow
/// or a whole group none is chosen.
pub(super) fn choose(assembly: &mut Assembly, path: &Path, args: &RunArgs) -> Result<(), Problem> {
    let reading = match role::open_document(assembly, path)? {
        Document::Agent(_) if args.agent.is_some() || args.sense => {
            let text = format!("{} is a single role, not a group", path.display());
            return Err(Problem::misuse(text).hint("leave `--agent` and `--sense` out"));
        }
        Document::Agent(file) => {
            return role::choose(assembly, &file, &single_role::given(args)?);
        }
        Document::Composed(reading) => *reading,
    };
    for finding in reading.findings.iter().filter(|it| it.severity != Severity::Error) {
        let text = format!("{}: {}", reading.file.display(), finding);
        output::warning(&text);
    }
    let mut composed = sound(reading)?;
    let chosen = match (&composed.kind, &args.agent) {
        (Kind::Agent, None) => Some(0),
        (Kind::Group, Some(name)) => {
            let place = composed.members.iter().position(|member| member.name == *name);
            let missing = || {
                let names: Vec<&str> = composed.members.iter().map(|it| it.name.as_str()).collect();
                let text = format!("there is no agent {name} in {}", path.display());
                Problem::misuse(text).hint(format!("there are {}", names.join(", ")))
            };
            Some(place.ok_or_else(missing)?)
        }
        (Kind::Team(_) | Kind::Flow(_) | Kind::Agent, Some(_)) => {
            let text = format!("--agent is for groups; {} is none", path.display());
            return Err(Problem::misuse(text));
        }
        (Kind::Team(_) | Kind::Flow(_) | Kind::Group, None) => None,
    };
    if let Some(chosen) = chosen {
        return role::choose_read(assembly, composed.members.swap_remove(chosen).role);
    }
    let refused = [
        ("--interactive", args.interactive),
        ("--autonomous", args.autonomous),
        ("--serve", args.serve && !matches!(composed.kind, Kind::Group)),
        ("--token-budget", args.token_budget.is_some()),
        ("--var", !args.var.is_empty()),
        ("--resume", assembly.global.resume.is_some()),
        ("--continue", assembly.global.continue_last),
    ];
    match refused.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => {
            let kind = composed.kind.name();
            Err(Problem::failed(format!("{flag} not supported for {kind} targets.")))
        }
        None => Ok(()),
    }
}

fn sound(reading: ComposedReading) -> Result<Composed, Problem> {
    let is_error = |it: &&Finding| it.severity == Severity::Error;
    let errors: Vec<String> =
        reading.findings.iter().filter(is_error).map(ToString::to_string).collect();
    reading.composed.filter(|_| errors.is_empty()).ok_or_else(|| {
        let text = format!("{}: {}", reading.file.display(), errors.join("; "));
        Problem::misuse(text).hint("`brynhild validate` shows all problems")
    })
}

/// The members of a group that is served, and its keys below `security`.
pub(super) fn served(assembly: &Assembly, args: &RunArgs) -> Result<(Vec<Served>, Value), Problem> {
    let Document::Composed(reading) = role::open_document(assembly, &args.role)? else {
        return Err(Problem::failed(format!("{} has changed", args.role.display())));
    };
    let composed = sound(*reading)?;
    if args.a2a.is_some() {
        return Err(Problem::misuse("a group has several agents").hint("name one by `--agent`"));
    }
    let mut roles = Vec::new();
    for member in composed.members {
        let mut alone = assembly.clone();
        role::choose_read(&mut alone, member.role)?;
        roles.extend(alone.role.clone().map(|chosen| (member.name, alone, chosen)));
    }
    Ok((roles, composed.lead.security))
}

pub(super) async fn run(assembly: &Assembly, args: &RunArgs) -> Outcome {
    if assembly.role.is_some() {
        return single_role::run(assembly, args).await;
    }
    let (path, said) = single_role::words(args, &assembly.global);
    let Document::Composed(reading) = role::open_document(assembly, &path)? else {
        return Err(Problem::failed(format!("{} has changed", path.display())));
    };
    let mut composed = sound(*reading)?;
    let is_group = matches!(composed.kind, Kind::Group);
    if is_group && !args.sense {
        return list(assembly, &composed);
    }
    if args.dry_run {
        return rehearse(assembly, composed).await;
    }
    let (journal, resumed) = task_journal::open(assembly, &composed, args)?;
    let FlowResults { task, outputs: finished } = resumed.unwrap_or_default();
    let missing =
        || Problem::misuse(format!("{} mode requires --prompt (-p).", composed.kind.name()));
    let prompt = if said.is_empty() && args.flow_run.is_some() {
        task
    } else {
        single_role::prompt(assembly, &said).await?.ok_or_else(missing)?
    };
    journal.as_ref().map_or(Ok(()), |it| it.begin(&prompt)).map_err(Problem::failed)?;
    let (started, mut runner) = (Instant::now(), Runner::new(assembly));
    runner.trigger_type = Some(match composed.kind {
        Kind::Flow(_) => "flow",
        _ => "team",
    });
    let warn = |kept: Result<(), String>| kept.unwrap_or_else(|what| output::warning(&what));
    let on_end = |ended: &MemberRun| {
        output::note(&ended.line());
        if let (Some(journal), None) = (&journal, &ended.run.error) {
            warn(journal.keep(&ended.name, &ended.prompt, &ended.run.output));
        }
    };
    let sense_model = assembly.environment.variable("INITRUNNER_DEFAULT_MODEL");
    let sense_model = sense_model.map(ModelSettings::from_text);
    let host = RunHost { runner: &runner, on_end: &on_end, sense_model, finished };
    if is_group {
        let place = composed.sense(&prompt, &host).await;
        let mut alone = assembly.clone();
        role::choose_read(&mut alone, composed.members.swap_remove(place).role)?;
        let args = RunArgs { prompt: vec![prompt], prompt_option: None, ..args.clone() };
        return single_role::run(&alone, &args).await;
    }
    let mut work = Box::pin(composed.run(&prompt, &host));
    let (mut signals, mut stopped) = (Signals::new()?, None);
    let result = loop {
        tokio::select! {
            result = &mut work => break result,
            // The conversations that are open hear of it too, and end.
            exit = signals.next() => {
                stopped = stopped.or(Some(exit));
                runner.is_stopped.set(true);
            }
        }
    };
    let is_failed = result.error.is_some();
    if let Some(journal) = &journal {
        warn(task_journal::end(journal, &composed, &prompt, (&result, started.elapsed())));
    }
    if assembly.wants_json() {
        let mut object = result.to_json(&composed, started.elapsed());
        object["run_id"] = journal.as_ref().map(|journal| journal.id.as_str()).into();
        output::json(&object)?;
    } else {
        if !result.output.is_empty() {
            output::line(output::answer(&result.output))?;
        }
        result.error.iter().for_each(|error| output::error(error));
    }
    if let Some(journal) = journal.as_ref().filter(|journal| is_failed && journal.is_durable) {
        let (path, id) = (path.display(), &journal.id);
        output::hint(&format!("`brynhild flow resume {path} {id}` continues it"));
    }
    Ok(stopped.unwrap_or(if is_failed { Exit::Failed } else { Exit::Done }))
}

/// Checks the members without asking a model.
async fn rehearse(assembly: &Assembly, composed: Composed) -> Outcome {
    for member in composed.members {
        let mut alone = assembly.clone();
        role::choose_read(&mut alone, member.role)?;
        role::rehearse(&alone).await?;
    }
    assembly.report(&single_role::simulated(), initrunner::evals::SIMULATED)
}

/// Shows the agents of a group, of which none was chosen.
fn list(assembly: &Assembly, group: &Composed) -> Outcome {
    let rows = group.members.iter().map(|it| [it.name.clone(), it.role.description.clone()]);
    let head = [String::from("Agent"), String::from("Description")];
    let agents =
        group.members.iter().map(|it| json!({"name": it.name, "description": it.role.description}));
    let data = json!({"name": group.name, "agents": agents.collect::<Vec<_>>()});
    assembly.report(&data, output::table(std::iter::once(head).chain(rows)))?;
    output::hint("`--agent NAME` runs one; `--sense` chooses the one that fits the prompt");
    Ok(Exit::Failed)
}

pub(super) async fn validate(assembly: &Assembly, path: &Path) -> Outcome {
    let mut reading = match role::open_document(assembly, path)? {
        Document::Agent(file) => return single_role::validate(assembly, &file).await,
        Document::Composed(reading) => reading,
    };
    let mut agents = Vec::new();
    for member in reading.composed.iter().flat_map(|composed| &composed.members) {
        let role = Some(member.role.clone());
        let mut alone = Reading { role, findings: Vec::new() };
        let tools = role::ask_python(assembly, &mut alone).await?;
        let place =
            |it: Finding| Finding { path: format!("agents.{}.{}", member.name, it.path), ..it };
        reading.findings.extend(alone.findings.into_iter().map(place));
        agents.push((&member.name, &member.role, tools));
    }
    let is_valid = reading.findings.iter().all(|it| it.severity == Severity::Warning);
    let shown = reading.file.display().to_string();
    let composed = reading.composed.as_ref();
    let kind = composed.map(|it| match &it.kind {
        Kind::Team(settings) => format!("Team ({})", settings.strategy_name()),
        kind => kind.name().to_owned(),
    });
    let described = agents.iter().map(|(name, role, tools)| {
        json!({"name": name, "role": role.name, "file": role.file, "tools": tools, "skills": role.skills})
    });
    let data = json!({
        "path": shown,
        "valid": is_valid,
        "name": composed.map(|it| &it.name),
        "description": composed.map(|it| &it.description),
        "kind": kind,
        "agents": described.collect::<Vec<_>>(),
        "findings": reading.findings,
    });
    print_findings(assembly, &reading.file, &reading.findings);
    let mut rows: Vec<[String; 2]> = Vec::new();
    if let Some(composed) = composed.filter(|_| is_valid) {
        let row = |name: &str, value: &str| [name.to_owned(), value.to_owned()];
        rows.extend([row("Valid", &shown), row("name", &composed.name)]);
        rows.push(row("description", &composed.description));
        rows.push(row("kind", &kind.unwrap_or_default()));
        let heads = std::iter::once("agents").chain(std::iter::repeat(""));
        rows.extend(heads.zip(&agents).map(|(head, (name, _, tools))| {
            row(head, format!("{name}: {}", tools.join(", ")).trim_end_matches([' ', ':']))
        }));
        rows.retain(|row| !row[1].is_empty());
    }
    assembly.report(&data, output::table(rows))?;
    Ok(if is_valid { Exit::Done } else { Exit::Failed })
}
