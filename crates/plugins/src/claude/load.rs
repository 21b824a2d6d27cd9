//! Loads the parts of a plugin, one by one. What one part lacks costs that part alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ::files::foreign::{self, Boundary, Refusal};
use serde_json::Value;

use super::command::{self, Origin};
use super::event::Event;
use super::manifest::{self, Declared, Form, Given};
use super::values::{self, Values};
use super::{Loaded, agent_file, document, handlers, portable, servers, skill};
use crate::plugin::{Plugin, ReportLine};
use crate::problem::{Problem, text_file};

const FILES: usize = 2000;
const DEEPEST: usize = 5;

/// Loads the parts of an active plugin; `data` has a directory for each plugin.
pub fn load(plugin: Plugin, declared: Declared, data: &Path, project: &Path) -> Loaded {
    let values = Values {
        root: plugin.root.clone(),
        data: data.join(plugin.name()),
        project: project.to_owned(),
        choices: values::choices(&declared.options, &plugin),
    };
    let source = format!("plugin:{}", plugin.name());
    let mut loading = Loading {
        root: plugin.root.clone(),
        name: Some(plugin.name().to_owned()),
        source,
        values: values.clone(),
        loaded: Loaded { values, ..Loaded::default() },
    };
    loading.say(format!("form: {}", declared.form.title()));
    for directory in &declared.commands {
        loading.commands(directory);
    }
    for directory in &declared.agents {
        loading.agents(directory);
    }
    loading.skills(&declared);
    for given in &declared.hooks {
        loading.hooks(given);
    }
    for given in &declared.servers {
        loading.servers(given, declared.form);
    }
    for what in declared.ignored {
        loading.ignore(&what);
    }
    loading.loaded.plugin = Some(plugin);
    loading.loaded
}

/// The files of a trusted project, with their bytes.
pub struct ProjectFiles<'a> {
    pub root: &'a Path,
    /// Every file in `.claude` that the user trusts.
    pub files: Vec<(&'a Path, &'a [u8])>,
}

/// Loads the `.claude` directory of a trusted project.
pub fn project(given: &ProjectFiles<'_>) -> Loaded {
    let root = given.root.join(".claude");
    let values = Values { project: given.root.to_owned(), ..Values::default() };
    let mut loading = Loading {
        root: root.clone(),
        name: None,
        source: "project".to_owned(),
        values: values.clone(),
        loaded: Loaded { values, ..Loaded::default() },
    };
    for (path, bytes) in &given.files {
        let Ok(text) = std::str::from_utf8(bytes) else {
            let problem = Problem::unreadable(path, Refusal::NotText);
            loading.fail(problem);
            continue;
        };
        let is_markdown = path.extension().is_some_and(|extension| extension == "md");
        let name = path.file_name().unwrap_or_default();
        if path.starts_with(root.join("commands")) && is_markdown {
            loading.command(&root.join("commands"), path, text);
        } else if path.starts_with(root.join("agents")) && is_markdown {
            loading.agent(path, text);
        } else if path.parent() == Some(&root) && name.to_string_lossy().starts_with("settings.") {
            match serde_json::from_str::<Value>(text) {
                Ok(document) if document.get("hooks").is_some() => {
                    loading.handlers(&document, path);
                }
                Ok(_) => {}
                Err(error) => {
                    let what = format!("this is not valid JSON: {error}");
                    loading.fail(Problem::new(path, what, "correct the file"));
                }
            }
        }
    }
    loading.loaded
}

/// Loads only the handlers asked before a tool call, from the files that the user trusted.
pub fn guards(given: &ProjectFiles<'_>) -> Loaded {
    let values = Values { project: given.root.to_owned(), ..Values::default() };
    let mut loading = Loading {
        root: given.root.to_owned(),
        name: None,
        source: "project".to_owned(),
        values: values.clone(),
        loaded: Loaded { values, ..Loaded::default() },
    };
    for (path, bytes) in &given.files {
        let document = serde_json::from_slice::<Value>(bytes).ok();
        if let Some(document) = document.filter(|it| it.get("hooks").is_some_and(Value::is_object))
        {
            loading.handlers(&document, path);
        }
    }
    let Loaded { mut handlers, values, .. } = loading.loaded;
    handlers.retain(|handler| handler.event == Event::PreToolUse);
    Loaded { handlers, values, ..Loaded::default() }
}

struct Loading {
    root: PathBuf,
    name: Option<String>,
    source: String,
    values: Values,
    loaded: Loaded,
}

impl Loading {
    fn say(&mut self, line: String) {
        self.loaded.report.push(ReportLine::Note(line));
    }

    fn ignore(&mut self, what: &str) {
        self.loaded.report.push(ReportLine::Ignored(format!("ignored {what}")));
    }

    fn fail(&mut self, problem: Problem) {
        let shown = self.shown(&problem.path);
        self.ignore(&format!("{shown}: {} ({})", problem.what, problem.hint));
        self.loaded.problems.push(problem);
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    fn origin(&self) -> Origin<'_> {
        Origin { source: &self.source, plugin: self.name.as_deref(), values: &self.values }
    }

    fn text(&mut self, file: &Path) -> Option<String> {
        let directories = [self.root.clone()];
        let text = text_file(file, Boundary::Within(&directories));
        text.map_err(|problem| self.fail(problem)).ok()
    }

    fn markdown(&mut self, place: &Path, depth: usize) -> Vec<PathBuf> {
        if place.is_file() {
            return vec![place.to_path_buf()];
        }
        let mut problems = Vec::new();
        let found = document::files_below(place, depth, &mut problems);
        for problem in problems {
            self.fail(problem);
        }
        found
    }

    fn commands(&mut self, place: &Path) {
        let directory = if place.is_file() { place.parent().unwrap_or(place) } else { place };
        for file in self.markdown(place, DEEPEST) {
            if let Some(text) = self.text(&file) {
                self.command(directory, &file, &text);
            }
        }
    }

    fn command(&mut self, directory: &Path, file: &Path, text: &str) {
        let Some(name) = command::name(directory, file) else {
            let what = "the file's name cannot be typed as a command";
            return self.fail(Problem::new(file, what, "use letters, digits and hyphens"));
        };
        match command::parse(file, name, text, &self.origin()) {
            Ok((command, remark)) => {
                self.loaded.problems.extend(remark);
                self.say(format!("loaded command /{} ({})", command.qualified(), self.shown(file)));
                if let Some(model) = command.recipe.as_ref().and_then(|it| it.model.as_deref()) {
                    let what = format!("`model: {model}` of /{}: the session's", command.name);
                    self.ignore(&format!("{what} model answers"));
                }
                self.loaded.commands.push(command);
            }
            Err(problem) => self.fail(problem),
        }
    }

    fn agents(&mut self, place: &Path) {
        for file in self.markdown(place, 0) {
            if let Some(text) = self.text(&file) {
                self.agent(&file, &text);
            }
        }
    }

    fn agent(&mut self, file: &Path, text: &str) {
        match agent_file::parse(file, text, self.name.as_deref()) {
            Ok(agent) => {
                self.say(format!("loaded agent {} ({})", agent.qualified(), self.shown(file)));
                for key in &agent.ignored {
                    let what = format!("`{key}` of the agent {}", agent.name);
                    self.ignore(&format!("{what}: it has no effect here"));
                }
                self.loaded.agents.push(agent);
            }
            Err(problem) => self.fail(problem),
        }
    }

    fn skills(&mut self, declared: &Declared) {
        let single = self.root.join("SKILL.md");
        if single.is_file() && !self.root.join("skills").is_dir() && declared.form != Form::Portable
        {
            self.skill(&self.root.clone());
        }
        // A manifest may name skills that lie in the usual directory.
        let mut known = BTreeSet::new();
        for place in &declared.skills {
            // A place may be a skill itself.
            if place.join("SKILL.md").is_file() && *place != self.root {
                if known.insert(place.clone()) {
                    self.skill(place);
                }
                continue;
            }
            let (entries, _) = foreign::entries(place, FILES).unwrap_or_default();
            for entry in entries.into_iter().filter(|entry| entry.is_dir()) {
                let is_skill = entry.join("SKILL.md").symlink_metadata().is_ok();
                if is_skill && known.insert(entry.clone()) {
                    self.skill(&entry);
                }
            }
        }
    }

    fn skill(&mut self, directory: &Path) {
        let file = directory.join("SKILL.md");
        let Some(text) = self.text(&file) else { return };
        let from = (self.source.as_str(), &self.values);
        let found = match skill::parse(directory, &file, &text, from) {
            Ok(found) => found,
            Err(problem) => return self.fail(problem),
        };
        let name = found.skill.name.clone();
        self.say(format!("loaded skill {name} ({})", self.shown(&file)));
        if let Some(remark) = found.remark {
            self.say(format!("note on skill {name}: {remark}"));
        }
        if found.is_for_people {
            let command =
                command::of_document(&file, name.clone(), &found.document, &self.origin());
            self.loaded.commands.push(command);
        }
        if found.is_for_model {
            self.loaded.skills.push(found.skill);
        } else {
            self.say(format!("note on skill {name}: only people use it, by typing its name"));
        }
    }

    fn document(&mut self, given: &Given) -> Option<(Value, PathBuf)> {
        match given {
            Given::Inline(document) => Some((document.clone(), self.root.join(manifest::FILE))),
            Given::File(file) if file.symlink_metadata().is_err() => {
                let usual = ["hooks/hooks.json", ".mcp.json", portable::SERVERS];
                if !usual.iter().any(|name| *file == self.root.join(name)) {
                    self.fail(Problem::unreadable(file, Refusal::Missing));
                }
                None
            }
            Given::File(file) => match manifest::json(&self.root, file) {
                Ok(document) => Some((document, file.clone())),
                Err(problem) => {
                    self.fail(problem);
                    None
                }
            },
        }
    }

    fn hooks(&mut self, given: &Given) {
        if let Some((document, file)) = self.document(given) {
            self.handlers(&document, &file);
        }
    }

    fn handlers(&mut self, document: &Value, file: &Path) {
        let read = match handlers::read(document, &self.values) {
            Ok(read) => read,
            Err(why) => {
                let hint = "write `{\"hooks\": {EVENT: [{\"hooks\": [..]}]}}`";
                return self.fail(Problem::new(file, why, hint));
            }
        };
        for handler in &read.handlers {
            let matcher = match handler.matcher.text() {
                "*" => String::new(),
                matcher => format!(" for {matcher}"),
            };
            let (event, title) = (handler.event.name(), handler.title());
            self.say(format!("loaded hook of {event}{matcher}: {title}"));
        }
        for what in &read.ignored {
            self.ignore(what);
        }
        for what in read.faults {
            self.fail(Problem::new(
                file,
                format!("{what}, so it is left out"),
                "correct the entry",
            ));
        }
        self.loaded.handlers.extend(read.handlers);
    }

    fn servers(&mut self, given: &Given, form: Form) {
        let Some((document, file)) = self.document(given) else { return };
        let found = if form == Form::Portable {
            portable::servers(&document, &self.root, &self.values.data)
        } else {
            servers::read(&document, &self.values).map(|found| (found, Vec::new()))
        };
        match found {
            Ok((servers, ignored)) => {
                let shown = self.shown(&file);
                let files = servers.keys().map(|name| (name.clone(), shown.clone()));
                self.loaded.server_files.extend(files);
                for what in ignored {
                    let problem = Problem::new(&file, what, "correct the entry");
                    self.fail(problem);
                }
                self.loaded.servers.extend(servers);
            }
            Err(why) => self.fail(Problem::new(&file, why, "correct the file")),
        }
    }
}
