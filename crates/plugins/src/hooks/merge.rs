//! All hooks of a run in their order: the user's own, the project's, those of plugins, those of
//! entry points. One of the same event and name as another stands beside it: what a project or a
//! plugin brings adds to the user's own guards and takes none away.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::files::foreign::{self, Boundary, Refusal};

use super::definition::{self, Action, Broken, Definition, File};
use super::event::Event;
use super::host::Owner;
use super::origin::Origin;
use super::{FILE_LIMIT, Listed, Offered, ProjectFile, Sources};
use crate::plugin::Plugin;
use crate::problem::Problem;

pub(crate) struct FoundHook {
    pub(crate) definition: Definition,
    pub(crate) origin: Arc<Origin>,
}

impl FoundHook {
    pub(crate) fn listed(&self) -> Listed {
        let definition = &self.definition;
        Listed {
            event: definition.event,
            name: definition.name.clone(),
            kind: definition.action.kind(),
            enabled: definition.enabled,
            timeout: definition.timeout.limit,
            source: self.origin.title(),
            file: self.origin.file.clone(),
            line: definition.line,
            subject: definition.action.subject(),
            model: match &definition.action {
                Action::Prompt { model, .. } => model.clone(),
                Action::Command(_) | Action::Script(_) | Action::Refuse(_) => None,
            },
        }
    }
}

#[derive(Default)]
pub(crate) struct Merged {
    pub(crate) hooks: Vec<FoundHook>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) files: Vec<PathBuf>,
}

pub(crate) fn merge(sources: Sources<'_>) -> Merged {
    let mut merged = Merged::default();
    if let Some(path) = sources.global {
        merged.global(&path);
    }
    if let Some(file) = sources.project {
        merged.project(file);
    }
    for plugin in sources.plugins.iter().filter(|plugin| plugin.is_active()) {
        merged.plugin(plugin);
    }
    for offered in sources.offers {
        let plugin = sources.plugins.iter().find(|plugin| plugin.name() == offered.plugin);
        if let Some(plugin) = plugin.filter(|plugin| plugin.is_active()) {
            merged.offer(plugin, &offered);
        }
    }
    merged
}

pub(crate) fn too_large(path: &Path) -> Problem {
    let what = format!("the file has more than {FILE_LIMIT} bytes, so that none of its hooks runs");
    Problem::new(path, what, "shorten it")
}

impl Merged {
    fn read(&mut self, path: &Path, missing: Missing) -> Result<Option<String>, Problem> {
        self.files.push(path.to_owned());
        match foreign::read(path, Boundary::Anywhere, FILE_LIMIT) {
            Ok(file) if file.truncated => Err(too_large(path)),
            Ok(file) => Ok(Some(file.text)),
            Err(Refusal::Missing) if missing == Missing::Fine => Ok(None),
            Err(Refusal::Missing) => Err(Problem::new(
                path,
                "Plugin declares hooks but hooks.yaml missing",
                "add the file, or write `hooks: false` in plugin.yaml",
            )),
            Err(refusal) => Err(Problem::unreadable(path, refusal)),
        }
    }

    fn global(&mut self, path: &Path) {
        let file = match self.read(path, Missing::Fine) {
            Ok(None) => return,
            Ok(Some(text)) => definition::read(path, &text, Broken::Blocks),
            Err(problem) => definition::unreadable(problem),
        };
        self.take(file, &Arc::new(beside(path, Owner::User)));
    }

    fn project(&mut self, file: ProjectFile) {
        self.files.push(file.path.clone());
        let read = match String::from_utf8(file.bytes) {
            Ok(text) => {
                let text = text.trim_start_matches('\u{feff}');
                definition::read(&file.path, text, Broken::Blocks)
            }
            Err(_) => definition::unreadable(Problem::unreadable(&file.path, Refusal::NotText)),
        };
        self.take(read, &Arc::new(beside(&file.path, Owner::Project)));
    }

    fn plugin(&mut self, plugin: &Plugin) {
        let path = plugin.root.join("hooks.yaml");
        if !plugin.manifest.hooks {
            if plugin.package.is_none() && !plugin.manifest.hooks_off && path.is_file() {
                let what = "none of these hooks runs, because plugin.yaml does not declare them";
                self.problems.push(Problem::new(&path, what, "add `hooks: true` to plugin.yaml"));
            }
            return;
        }
        let missing = if plugin.package.is_some() { Missing::Fine } else { Missing::Wrong };
        match self.read(&path, missing) {
            Ok(None) => {}
            Ok(Some(text)) => {
                let file = definition::read(&path, &text, Broken::IsLeftOut);
                let owner = Owner::Plugin(Arc::new(plugin.clone()));
                self.take(file, &Arc::new(beside(&path, owner)));
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    fn offer(&mut self, plugin: &Plugin, offered: &Offered) {
        let file = PathBuf::from(format!("entry point {} of {}", offered.name, plugin.name()));
        let read = definition::from_value(&file, &offered.config);
        let owner = Owner::Plugin(Arc::new(plugin.clone()));
        self.take(read, &Arc::new(Origin { owner, file, base: plugin.root.clone() }));
    }

    fn take(&mut self, file: File, origin: &Arc<Origin>) {
        self.problems.extend(file.problems);
        for definition in file.definitions {
            if definition.event.is_lifecycle() && origin.plugin().is_none() {
                self.problems.push(out_of_place(&definition, origin));
                continue;
            }
            self.hooks.push(FoundHook { definition, origin: Arc::clone(origin) });
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Fine,
    Wrong,
}

fn beside(path: &Path, owner: Owner) -> Origin {
    let base = path.parent().unwrap_or(path).to_owned();
    Origin { owner, file: path.to_owned(), base }
}

fn out_of_place(definition: &Definition, origin: &Origin) -> Problem {
    let Definition { event, name, line, .. } = definition;
    let others: Vec<&str> =
        Event::ALL.into_iter().filter(|event| !event.is_lifecycle()).map(Event::name).collect();
    Problem::new(
        &origin.file,
        format!(
            "line {line}: hook `{name}` never runs: {} is for plugins' own files",
            event.name()
        ),
        format!("the events here are {}", others.join(", ")),
    )
}
