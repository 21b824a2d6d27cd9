//! A plugin's directory, looked at strictly: for its author.

use std::fs;
use std::path::Path;

use super::{FILE, Fault, Weight, fields, text};
use crate::plugin::Manifest;
use crate::problem::Problem;
use crate::rest::Api;

#[derive(Clone, Debug, Default)]
pub struct Validation {
    /// Why it is not a plugin, or only a part of one.
    pub errors: Vec<Problem>,
    pub warnings: Vec<Problem>,
    pub manifest: Option<Manifest>,
}

/// Checks the plugin in a directory, or that of its manifest.
pub fn validate(path: &Path) -> Validation {
    let root = match path.parent() {
        Some(directory) if path.file_name().is_some_and(|name| name == FILE) => directory,
        _ => path,
    };
    let mut validation = Validation::default();
    if !root.is_dir() {
        let what = format!("Plugin directory not found: {}", root.display());
        validation.errors.push(Problem::new(
            root,
            what,
            "name the directory that holds `plugin.yaml`",
        ));
        return validation;
    }
    let file = root.join(FILE);
    let text = match text(&file, None) {
        Ok(text) => text,
        Err(problem) => {
            validation.errors.push(problem);
            return validation;
        }
    };
    let (manifest, faults) = fields::read(&text);
    let (errors, notes): (Vec<Fault>, Vec<Fault>) =
        faults.into_iter().partition(|it| matches!(it.weight, Weight::Fatal | Weight::Part));
    validation.errors.extend(errors.iter().map(|fault| fault.problem(&file)));
    validation.warnings.extend(notes.iter().map(|fault| fault.problem(&file)));
    if let Some(manifest) = &manifest {
        declared(root, manifest, &mut validation.warnings);
        for entry in &manifest.apis {
            let (api, problems) = Api::read(entry, &file);
            let is_error = |it: &Problem| api.as_ref().is_none_or(|api| api.lost(it));
            let (errors, warnings): (Vec<_>, Vec<_>) = problems.into_iter().partition(is_error);
            validation.errors.extend(errors);
            validation.warnings.extend(warnings);
        }
    }
    validation.manifest = manifest;
    validation
}

/// Reports what a manifest declares and the directory does not hold.
fn declared(root: &Path, manifest: &Manifest, warnings: &mut Vec<Problem>) {
    let mut missing =
        |directory: &str, names: &[String], what: &str, file: &dyn Fn(&str) -> String| {
            for name in names {
                let file = file(name);
                if !root.join(directory).join(&file).is_file() {
                    warnings.push(Problem::new(
                        root,
                        format!("Declared {what} not found: {file}"),
                        format!("write {directory}/{file}, or take `{name}` out of `{what}s`"),
                    ));
                }
            }
        };
    let with = |ending: &'static str| {
        move |name: &str| {
            if name.ends_with(ending) { name.to_owned() } else { format!("{name}{ending}") }
        }
    };
    missing("commands", &manifest.commands, "command", &with(".md"));
    missing("tools", &manifest.tools, "tool", &with(".py"));
    missing("skills", &manifest.skills, "skill", &|name| format!("{name}/SKILL.md"));
    missing("rules", &manifest.rules, "rule", &with(".md"));
    if !manifest.providers.is_empty() && !has_python(&root.join("providers")) {
        let what = "Plugin declares providers but there is no Python file in providers";
        warnings.push(Problem::new(root, what, "write one, or take `providers` out"));
    }
    if manifest.hooks && !root.join("hooks.yaml").is_file() {
        let what = "Plugin declares hooks but hooks.yaml missing";
        warnings.push(Problem::new(root, what, "write hooks.yaml, or take `hooks` out"));
    }
    undeclared(root, manifest, warnings);
}

fn undeclared(root: &Path, manifest: &Manifest, warnings: &mut Vec<Problem>) {
    let hint = |key: &str| format!("list what is in it under `{key}` in plugin.yaml");
    let idle = [
        ("tools", manifest.tools.is_empty() && has_python(&root.join("tools"))),
        ("providers", manifest.providers.is_empty() && has_python(&root.join("providers"))),
        ("skills", manifest.skills.is_empty() && root.join("skills").is_dir()),
        ("rules", manifest.rules.is_empty() && root.join("rules").is_dir()),
    ];
    for (key, _) in idle.into_iter().filter(|(_, is_idle)| *is_idle) {
        let what =
            format!("the directory `{key}` has no effect, as the manifest declares no {key}");
        warnings.push(Problem::new(root, what, hint(key)));
    }
    if !manifest.hooks && !manifest.hooks_off && root.join("hooks.yaml").is_file() {
        let what = "hooks.yaml has no effect, as the manifest does not say `hooks: true`";
        warnings.push(Problem::new(root, what, "add `hooks: true` to plugin.yaml"));
    }
}

fn has_python(directory: &Path) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let path = entry.path();
        let name = entry.file_name();
        path.extension().is_some_and(|extension| extension == "py")
            && !name.as_encoded_bytes().starts_with(b"_")
    })
}
