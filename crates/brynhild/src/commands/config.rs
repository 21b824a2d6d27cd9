//! `config`: shows the configuration and where it comes from.

use anstyle::Style;
use args::{ConfigCommand, Global, OutputFormat};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::output;
use assemble::output::style::Palette;
use assemble::provider_choice::{self, Choice, Key};
use assemble::run_context::RunContext;
use config::load::LayerFile;
use config::show::{self, Form, Provenance};
use serde_json::{Map, Value, json};
use setup::user_files::SESSIONS;

pub(crate) fn run(assembly: &Assembly, command: Option<ConfigCommand>) -> Outcome {
    match command {
        None => overview(assembly),
        Some(ConfigCommand::Show { provenance, section, color }) => {
            let form = if assembly.wants_json() { Form::Json } else { Form::Yaml };
            let provenance = if provenance {
                Provenance::Shown { width: width(assembly), style: style(assembly, color) }
            } else {
                Provenance::Hidden
            };
            let text = show::show(&assembly.loaded, form, provenance, section.as_deref());
            let text = text.map_err(|unknown| {
                let known = unknown.known.join(", ");
                Problem::failed(unknown.to_string()).hint(format!("there are {known}"))
            })?;
            // Text is already escaped as YAML, and may have colors.
            let text = if form == Form::Json { output::quiet(&text) } else { text.as_str().into() };
            output::line(text.trim_end())?;
            Ok(Exit::Done)
        }
        Some(ConfigCommand::Path { all }) => path(&assembly.global, all),
    }
}

/// Lists the files that configuration is read from. Needs none of them to be valid.
pub(crate) fn path(global: &Global, all: bool) -> Outcome {
    let mut files = RunContext::files(global)?;
    files.retain(|file| all || file.path.is_some() || file.is_found);
    if global.format() == Some(OutputFormat::Json) {
        let row = |file: &LayerFile| {
            let path = file.path.as_ref().map(|path| path.display().to_string());
            json!({"layer": file.layer.label(), "path": path, "found": file.is_found})
        };
        output::json(&files.iter().map(row).collect::<Vec<_>>())?;
    } else {
        output::line(show::paths(&files).trim_end())?;
    }
    Ok(Exit::Done)
}

/// The column up to which the comments of `config show` are aligned.
fn width(run: &RunContext) -> Option<usize> {
    let text = run.environment.variable("BRYNHILD_CONFIG_SHOW_WIDTH")?;
    let width = text.trim().parse().ok();
    if width.is_none() {
        output::warning(&format!(
            "environment variable BRYNHILD_CONFIG_SHOW_WIDTH: `{text}` is not a number of columns"
        ));
    }
    width
}

/// The style of comments: flags, then `BRYNHILD_CONFIG_SHOW_COLOR`, then the settings for colors.
fn style(run: &RunContext, color: bool) -> Style {
    let wanted = run.environment.variable("BRYNHILD_CONFIG_SHOW_COLOR");
    let is_colored = match wanted.map(str::to_lowercase).as_deref() {
        _ if run.global.no_color => false,
        _ if color => true,
        Some("0" | "false" | "no" | "off" | "never") => false,
        Some("1" | "true" | "yes" | "on" | "always") => true,
        _ => run.is_colored(),
    };
    if is_colored { Palette::themed(&run.config().ui.theme.0).soft } else { Style::new() }
}

fn overview(assembly: &Assembly) -> Outcome {
    let config = assembly.config();
    let dir = assembly.loaded.config_dir.as_deref();
    let shown = |path: &std::path::Path| Value::from(path.display().to_string());
    let no_home = || Value::from("none: set HOME or BRYNHILD_CONFIG_DIR");
    let none = || "none: run `brynhild login`".to_owned();
    let provider = provider_choice::expected(assembly).map_or_else(none, |it| it.name);
    let root = assembly.root().map_or_else(|wide| wide.error.to_string().into(), shown);
    let rows: [(&str, Value); 9] = [
        ("Provider", provider.into()),
        ("Model", model(assembly).into()),
        ("API Key", key(assembly).into()),
        ("Mode", assembly.mode().as_str().into()),
        ("Max Tokens", config.behavior.max_tokens.into()),
        ("Max Tool Rounds", config.behavior.max_tool_rounds.into()),
        ("Project Root", root),
        ("Config Dir", dir.map_or_else(no_home, shown)),
        ("Sessions Dir", dir.map_or_else(no_home, |dir| shown(&dir.join(SESSIONS)))),
    ];
    let key = |name: &str| name.to_lowercase().replace(' ', "_");
    let data: Map<String, Value> =
        rows.iter().map(|(name, value)| (key(name), value.clone())).collect();
    let words = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let fields = rows.map(|(name, value)| (name, words(value)));
    assembly.report(&data, output::fields(fields))
}

fn model(assembly: &Assembly) -> String {
    let config = assembly.config();
    let chosen = |candidate| Choice::new(candidate, "");
    let model = provider_choice::expected(assembly)
        .map(chosen)
        .and_then(|choice| assemble::answering_model::model(assembly, &choice).ok());
    model.unwrap_or_else(|| config.models.default.clone())
}

fn key(assembly: &Assembly) -> String {
    match provider_choice::expected(assembly).map(|it| it.key) {
        Some(Key::Found { place, .. }) => format!("✓ {place}"),
        Some(Key::NotNeeded) => "✓ not needed".to_owned(),
        Some(Key::Missing { variable }) => format!("✗ {variable} is not set"),
        Some(Key::Broken { problem }) => format!("✗ {problem}"),
        None if assembly.is_configured(&["providers", "default"]) => {
            format!("✗ there is no provider '{}'", assembly.config().providers.default)
        }
        None => "✗ none was found".to_owned(),
    }
}
