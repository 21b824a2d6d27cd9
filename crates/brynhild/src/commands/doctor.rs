//! `doctor`: checks what the program needs, one line each.

use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome};
use assemble::output;
use assemble::provider_choice::{self, Key};
use setup::doctor::{self, Check};

pub(super) async fn run(assembly: &Assembly) -> Outcome {
    let environment = &assembly.environment;
    let variable = |name: &str| environment.variable(name);
    let directory = assembly.loaded.config_dir.as_deref();
    let is_writable = assembly.writable_config_dir().is_some();
    let warnings = assembly.loaded.warnings.len();
    let configuration = doctor::configuration(directory, is_writable, warnings);
    let mut checks = vec![configuration, sandbox(assembly)];
    checks.extend(keys(assembly));
    checks.push(provider(assembly).await);
    let search_path = environment.variables.get("PATH");
    checks.extend(doctor::programs(search_path, assembly.place()));
    let terminal = environment.terminal.stdout;
    checks.push(doctor::terminal(variable("TERM"), variable("COLORTERM"), terminal));
    if assembly.wants_json() {
        output::json(&doctor::json(&checks))?;
    } else {
        output::text(doctor::text(&checks))?;
    }
    Ok(if doctor::is_broken(&checks) { Exit::Failed } else { Exit::Done })
}

fn sandbox(assembly: &Assembly) -> Check {
    let name = "sandbox";
    if assembly.is_unconfined() {
        let remedy = "remove `dangerously_skip_sandbox` or `sandbox.enabled: false`";
        return Check::note(name, "switched off by your configuration", remedy);
    }
    let settings = match assemble::confinement::sandbox_settings(assembly) {
        Ok(settings) => settings,
        Err(problem) => return Check::broken(name, problem.message(), "see the message"),
    };
    let reports = ::sandbox::doctor(&settings);
    if let Some(report) = reports.iter().find(|report| report.chosen) {
        return Check::ok(name, report.backend.name());
    }
    let causes = reports.iter().filter_map(|report| report.usable.as_ref().err());
    let remedy = causes.map(|cause| cause.remedy.as_str()).find(|remedy| !remedy.is_empty());
    let remedy = remedy.unwrap_or("`brynhild sandbox doctor --verbose` says why");
    Check::broken(name, "nothing can confine a process here, so no command runs", remedy)
}

fn keys(assembly: &Assembly) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(problem) = &assembly.key_store_problem {
        checks.push(Check::broken("key", problem, "fix or remove the file, then `brynhild login`"));
    }
    for candidate in provider_choice::candidates(assembly) {
        match &candidate.key {
            Key::Found { place, .. } => {
                checks.push(Check::ok("key", format!("{}: from {place}", candidate.name)));
            }
            Key::Broken { problem } => checks.push(Check::broken(
                "key",
                format!("{}: {problem}", candidate.name),
                "fix `credentials_path` of this instance",
            )),
            Key::Missing { .. } | Key::NotNeeded => {}
        }
    }
    checks
}

async fn provider(assembly: &Assembly) -> Check {
    let name = "provider";
    let choice = match provider_choice::choose(assembly).await {
        Ok(choice) => choice,
        Err(problem) => return Check::broken(name, problem.message(), "run `brynhild login`"),
    };
    let provider = &choice.candidate.name;
    if let Key::Missing { variable } = &choice.candidate.key {
        let text = format!("{provider} has no key: {variable} is not set");
        return Check::broken(name, text, format!("run `brynhild login {provider}`"));
    }
    match assemble::answering_model::model(assembly, &choice) {
        Ok(model) => Check::ok(name, format!("{provider} with {model} ({})", choice.reason)),
        Err(problem) => Check::broken(name, problem.message(), "set `models.default`"),
    }
}
