//! `config`: shows the configuration and where it comes from.

use anstyle::Style;
use config::load::LayerFile;
use config::show::{self, Form, Provenance};
use serde_json::{Map, Value, json};

use crate::args::{ConfigCommand, Global, OutputFormat};
use crate::assemble;
use crate::assemble::provider_choice::{self, Candidate, Choice, Key};
use crate::assemble::world::World;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::output::style::Palette;

/// Runs a `config` command.
pub(crate) fn run(world: &World, command: Option<ConfigCommand>) -> Outcome {
    match command {
        None => overview(world),
        Some(ConfigCommand::Show { provenance, section, color }) => {
            let form = if world.wants_json() { Form::Json } else { Form::Yaml };
            let provenance = if provenance {
                Provenance::Shown { width: width(world), style: style(world, color) }
            } else {
                Provenance::Hidden
            };
            let text = show::show(&world.loaded, form, provenance, section.as_deref());
            let text = text.map_err(|unknown| {
                let known = unknown.known.join(", ");
                Problem::failed(unknown.to_string()).hint(format!("there are {known}"))
            })?;
            // Text is escaped already, the way YAML writes it, and may have colors.
            let text = if form == Form::Json { output::quiet(&text) } else { text.as_str().into() };
            output::line(text.trim_end())?;
            Ok(Exit::Done)
        }
        Some(ConfigCommand::Path { all }) => path(&world.global, all),
    }
}

/// Lists the files that configuration is read from. Needs none of them to be valid.
pub(crate) fn path(global: &Global, all: bool) -> Outcome {
    let mut files = World::files(global)?;
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
fn width(world: &World) -> Option<usize> {
    let text = world.environment.variable("BRYNHILD_CONFIG_SHOW_WIDTH")?;
    let width = text.trim().parse().ok();
    if width.is_none() {
        output::warning(&format!(
            "environment variable BRYNHILD_CONFIG_SHOW_WIDTH: `{text}` is not a number of columns"
        ));
    }
    width
}

/// The style of comments: flags, then `BRYNHILD_CONFIG_SHOW_COLOR`, then whatever holds for colors.
fn style(world: &World, color: bool) -> Style {
    let wanted = world.environment.variable("BRYNHILD_CONFIG_SHOW_COLOR");
    let is_colored = match wanted.map(str::to_lowercase).as_deref() {
        _ if world.global.no_color => false,
        _ if color => true,
        Some("0" | "false" | "no" | "off" | "never") => false,
        Some("1" | "true" | "yes" | "on" | "always") => true,
        _ => world.is_colored(),
    };
    if is_colored { Palette::themed(&world.config().ui.theme.0).soft } else { Style::new() }
}

fn overview(world: &World) -> Outcome {
    let config = world.config();
    let dir = world.loaded.config_dir.as_deref();
    let shown = |path: &std::path::Path| Value::from(path.display().to_string());
    let no_home = || Value::from("none: set HOME or BRYNHILD_CONFIG_DIR");
    let root = world.root().map_or_else(|wide| wide.error.to_string().into(), shown);
    let rows: [(&str, Value); 9] = [
        ("Provider", config.providers.default.as_str().into()),
        ("Model", model(world).into()),
        ("API Key", key(world).into()),
        ("Mode", world.mode().as_str().into()),
        ("Max Tokens", config.behavior.max_tokens.into()),
        ("Max Tool Rounds", config.behavior.max_tool_rounds.into()),
        ("Project Root", root),
        ("Config Dir", dir.map_or_else(no_home, shown)),
        ("Sessions Dir", dir.map_or_else(no_home, |dir| shown(&dir.join("sessions")))),
    ];
    if world.wants_json() {
        let name = |name: &str| name.to_lowercase().replace(' ', "_");
        let object: Map<String, Value> =
            rows.into_iter().map(|(title, value)| (name(title), value)).collect();
        output::json(&object)?;
        return Ok(Exit::Done);
    }
    for (name, value) in rows {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        output::line(format_args!("{name}: {}", contract::text::visible(&value)))?;
    }
    Ok(Exit::Done)
}

/// The model that would answer.
fn model(world: &World) -> String {
    let config = world.config();
    let chosen = |candidate| Choice { candidate, reason: String::new() };
    let model = named(world).map(chosen).and_then(|choice| assemble::model(world, &choice).ok());
    model.unwrap_or_else(|| config.models.default.clone())
}

/// The provider that the configuration names.
fn named(world: &World) -> Option<Candidate> {
    let name = &world.config().providers.default;
    provider_choice::candidates(world).into_iter().find(|it| it.name == *name)
}

/// What is known of the key of the provider that the configuration names.
fn key(world: &World) -> String {
    match named(world).map(|it| it.key) {
        Some(Key::Found { place, .. }) => format!("✓ {place}"),
        Some(Key::NotNeeded) => "✓ not needed".to_owned(),
        Some(Key::Missing { variable }) => format!("✗ {variable} is not set"),
        Some(Key::Broken { problem }) => format!("✗ {problem}"),
        None => format!("✗ there is no provider '{}'", world.config().providers.default),
    }
}
