//! `plugin check`: reports how much of a plugin works here.

use std::path::Path;

use args::Global;
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::role;
use initrunner::role::Severity;
use plugin_kit::compatibility::{Compatibility, explain_missing};
use plugin_kit::workspace::Workspace;
use plugins::manifest::{self, Validation};
use plugins::open_plugins::Listed;
use plugins::plugin::{Manifest, ReportLine};
use serde_json::{Value, json};

use super::testing::{role_file, stage};
use super::{Examined, examine};

pub(super) async fn run(assembly: &Assembly, path: &Path) -> Outcome {
    let named = assembly.environment.cwd.join(path);
    let missing = || {
        let (text, hint) = explain_missing(&named);
        Problem::failed(text).hint(hint)
    };
    let root = named.canonicalize().map_err(|_| missing())?;
    let workspace = Workspace::create(&assembly.environment.temp)?;
    let reports = if let Some(file) = role_file(&root) {
        let global = Global { role_file: Some(file.clone()), ..Global::default() };
        vec![of_role(&stage((assembly, &root), &workspace, global)?, &file).await?]
    } else {
        match examine(&stage((assembly, &root), &workspace, Global::default())?, &root).await? {
            Examined::Foreign(plugins) => plugins.iter().map(of_listed).collect(),
            Examined::Own(validation)
                if root.join(manifest::FILE).exists() || root.ends_with(manifest::FILE) =>
            {
                vec![of_own(*validation)]
            }
            Examined::Own(_) => return Err(missing()),
        }
    };
    let data: Vec<Value> = reports.iter().map(Compatibility::to_json).collect();
    let text: String = reports.iter().map(Compatibility::text).collect();
    assembly.report(&json!({"path": path, "plugins": data}), text)?;
    let is_unusable = reports.iter().any(|report| report.is_unusable);
    Ok(if is_unusable { Exit::Failed } else { Exit::Done })
}

fn of_own(validation: Validation) -> Compatibility {
    let Validation { errors, warnings, manifest } = validation;
    let words = |it: &plugins::problem::Problem| format!("{it}\nhint: {}", it.hint);
    Compatibility {
        name: manifest.as_ref().map(|it| it.name.clone()).unwrap_or_default(),
        system: "brynhild".to_owned(),
        is_unusable: manifest.is_none(),
        works: manifest.as_ref().map(Manifest::parts).unwrap_or_default(),
        partly: warnings.iter().map(words).collect(),
        fails: errors.iter().map(words).collect(),
    }
}

fn of_listed(listed: &Listed) -> Compatibility {
    let mut report = Compatibility {
        name: listed.name.clone(),
        system: listed.dialect.to_owned(),
        ..Compatibility::default()
    };
    for line in &listed.report {
        match line {
            ReportLine::Note(text) => report.works.push(text.clone()),
            ReportLine::Ignored(text) => report.fails.push(text.clone()),
        }
    }
    report.with_failure(listed.failure.clone())
}

async fn of_role(stage: &Assembly, file: &Path) -> Result<Compatibility, Problem> {
    let (_, mut reading) = role::examine(stage, file)?;
    let mut works = Vec::new();
    if reading.errors().next().is_none() {
        works = role::ask_python(stage, &mut reading).await?;
    }
    let mut report = Compatibility {
        name: reading.role.as_ref().map(|role| role.name.clone()).unwrap_or_default(),
        system: "initrunner".to_owned(),
        is_unusable: reading.errors().next().is_some(),
        works,
        ..Compatibility::default()
    };
    for finding in &reading.findings {
        let text = finding.to_string();
        match finding.severity {
            Severity::Warning => report.partly.push(text),
            Severity::Error | Severity::Loss => report.fails.push(text),
        }
    }
    Ok(report)
}
