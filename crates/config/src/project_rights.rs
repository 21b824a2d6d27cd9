//! Holds a project to its rights: it may tighten what is in force, never loosen it, and when it is
//! trusted it may set more, but not all. The rights themselves stand in the table of known keys.

use std::path::Path;

use crate::origin::{Content, Joining, Node, shown};
use crate::report::{Report, UntrustedSetting, shown_path, shown_value, whole_setting};
use crate::schema::{Kind, Named, Project, ROOT, Section};

/// How far a project's word goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    /// It may tighten.
    Tighten,
    /// The user trusts these bytes.
    Trusted,
}

/// Takes everything out of a checked layer that a project may not set over `in_force`.
pub(crate) fn restrict(
    mut layer: Node,
    in_force: &Node,
    (user_file, rights): (Option<&Path>, Rights),
    report: &mut Report,
) -> Node {
    let mut restriction = Restriction { user_file, rights, report, path: Vec::new() };
    if let Content::Map(entries) = &mut layer.content {
        restriction.refuse_providers(entries, in_force);
        restriction.section(entries, &ROOT, Some(in_force));
    }
    layer
}

struct Restriction<'a> {
    user_file: Option<&'a Path>,
    rights: Rights,
    report: &'a mut Report,
    path: Vec<String>,
}

impl Restriction<'_> {
    /// Takes out provider instances that the user does not have.
    fn refuse_providers(&mut self, entries: &mut [(String, Node)], in_force: &Node) {
        let present = in_force.find(&["providers", "instances"]);
        let providers = entries.iter_mut().find(|(name, _)| name == "providers");
        let Some((_, Node { content: Content::Map(providers), .. })) = providers else {
            return;
        };
        for (_, instances) in providers.iter_mut().filter(|(name, _)| name == "instances") {
            let Content::Map(instances) = &mut instances.content else {
                continue;
            };
            instances.retain(|(name, node)| {
                let is_present = present.is_some_and(|present| present.get(name).is_some());
                if !is_present {
                    self.path = vec!["providers".into(), "instances".into(), name.clone()];
                    self.refuse(node, "only your own configuration may add a provider");
                    self.path.clear();
                }
                is_present
            });
        }
    }

    fn section(
        &mut self,
        entries: &mut Vec<(String, Node)>,
        section: &'static Section,
        in_force: Option<&Node>,
    ) {
        let rights = |name: &str| section.entry(name);
        self.entries(entries, rights, in_force);
    }

    fn entries(
        &mut self,
        entries: &mut Vec<(String, Node)>,
        rights: impl Fn(&str) -> Option<(&'static Kind, Project)>,
        in_force: Option<&Node>,
    ) {
        entries.retain_mut(|(name, node)| {
            let Some((kind, project)) = rights(name) else {
                return false;
            };
            self.path.push(name.clone());
            let below = in_force.and_then(|node| node.get(name));
            let is_kept = self.entry(node, kind, project, below);
            self.path.pop();
            is_kept
        });
    }

    fn entry(
        &mut self,
        node: &mut Node,
        kind: &'static Kind,
        project: Project,
        in_force: Option<&Node>,
    ) -> bool {
        let (project, is_liftable) = match project {
            Project::Inside => return self.inside(node, kind, in_force),
            Project::Kept(project) => (*project, false),
            Project::Free
            | Project::Told
            | Project::Never
            | Project::On
            | Project::Off
            | Project::Lower
            | Project::Stricter(..)
            | Project::Adds
            | Project::Subset
            | Project::Unused => (project, true),
        };
        let judged = if is_liftable && self.rights == Rights::Trusted {
            self.lift(node, in_force)
        } else {
            judge(node, project, in_force)
        };
        let Err(reason) = judged else {
            if let (Project::Told, Rights::Tighten) = (project, self.rights) {
                self.tell(node, in_force);
            }
            return true;
        };
        if is_liftable && let Some(file) = node.place.file.as_deref().map(Path::to_path_buf) {
            let setting = whole_setting(node, &self.path);
            self.report.untrusted.push(UntrustedSetting { file, setting });
        }
        if is_liftable && self.rights == Rights::Tighten {
            self.ignore(node, " until you trust the project");
        } else {
            self.refuse(node, &reason);
        }
        false
    }

    /// Lets a trusted project's value through. What the user allows stays allowed beside it.
    fn lift(&self, node: &mut Node, in_force: Option<&Node>) -> Result<(), String> {
        if self.path == ["permissions", "allow"] { add(node, in_force) } else { Ok(()) }
    }

    fn inside(&mut self, node: &mut Node, kind: &'static Kind, in_force: Option<&Node>) -> bool {
        if node.place.joining != Joining::Merge {
            self.refuse(node, "a project may not remove or replace it");
            return false;
        }
        match (&mut node.content, kind) {
            (Content::Map(entries), Kind::Section(section)) => {
                self.section(entries, section, in_force);
                !entries.is_empty()
            }
            (Content::Map(entries), Kind::Each(Named { kind, project, .. })) => {
                self.entries(entries, |_| Some((kind, *project)), in_force);
                !entries.is_empty()
            }
            _ => false,
        }
    }

    /// Says that a value is the project's word alone.
    fn tell(&mut self, node: &Node, in_force: Option<&Node>) {
        if in_force.is_some_and(|below| below.to_value() == node.to_value()) {
            return;
        }
        let text = format!("`{}` is this project's choice", self.shown(node));
        let hint = "a variable or flag of yours beats it; nothing is said where it is trusted";
        self.report.warn(&node.place, text, Some(hint.into()));
    }

    fn refuse(&mut self, node: &Node, reason: &str) {
        self.ignore(node, &format!(": {reason}"));
    }

    fn ignore(&mut self, node: &Node, why: &str) {
        let what = match node.content {
            Content::Scalar(_) if node.place.joining == Joining::Merge => self.shown(node),
            _ => shown_path(&self.path),
        };
        let text = format!("`{what}` is ignored{why}");
        let hint = self.user_file.map(|file| format!("set it in {} if you want it", shown(file)));
        self.report.warn(&node.place, text, hint);
    }

    fn shown(&self, node: &Node) -> String {
        format!("{}: {}", shown_path(&self.path), shown_value(node, &self.path))
    }
}

/// Decides on one value; adds what is in force to a list that may only grow.
fn judge(node: &mut Node, project: Project, in_force: Option<&Node>) -> Result<(), String> {
    let is_switch = |wanted: bool, node: &Node| matches!(node.content, Content::Scalar(serde_json::Value::Bool(found)) if found == wanted);
    if let Project::Free | Project::Told = project {
        return Ok(());
    }
    if let Project::Never | Project::Inside | Project::Kept(_) = project {
        return Err("only your own configuration may set it".into());
    }
    if node.place.joining == Joining::Delete {
        return Err("a project may not remove or replace it".into());
    }
    match project {
        Project::On if is_switch(true, node) => Ok(()),
        Project::On => Err("a project may only turn it on".into()),
        Project::Off if is_switch(false, node) => Ok(()),
        Project::Off => Err("a project may only turn it off".into()),
        Project::Lower => lower(node, in_force),
        Project::Stricter(row, usual) => stricter(node, in_force, row, usual),
        Project::Adds => add(node, in_force),
        Project::Subset => subset(node, in_force),
        Project::Unused if in_force.is_none() => Ok(()),
        Project::Unused => Err("it means something else already".into()),
        Project::Free | Project::Told | Project::Never | Project::Inside | Project::Kept(_) => {
            Ok(())
        }
    }
}

fn lower(node: &Node, in_force: Option<&Node>) -> Result<(), String> {
    let number = |node: &Node| node.to_value().as_i64();
    let bound = in_force.and_then(number);
    match (number(node), bound) {
        (Some(wanted), Some(bound)) if wanted <= bound => Ok(()),
        (_, Some(bound)) => Err(format!("a project may only lower it, and {bound} is in force")),
        (_, None) => Err("only your own configuration may set it".into()),
    }
}

fn stricter(node: &Node, in_force: Option<&Node>, row: &[&str], usual: &str) -> Result<(), String> {
    let current = in_force.and_then(Node::text).unwrap_or(usual);
    let rank = |word: &str| row.iter().position(|it| *it == word);
    match (node.text().and_then(rank), rank(current)) {
        (Some(wanted), Some(current)) if wanted >= current => Ok(()),
        _ => Err(format!("a project may only make it stricter, and `{current}` is in force")),
    }
}

fn add(node: &mut Node, in_force: Option<&Node>) -> Result<(), String> {
    let Content::List(items) = &mut node.content else {
        return Err("a project may only add to the list".into());
    };
    let mut all = in_force.map(|node| node.items().to_vec()).unwrap_or_default();
    for item in std::mem::take(items) {
        let is_there = all.iter().any(|other| other.to_value() == item.to_value());
        if !is_there {
            all.push(item);
        }
    }
    *items = all;
    Ok(())
}

fn subset(node: &Node, in_force: Option<&Node>) -> Result<(), String> {
    let Content::List(items) = &node.content else {
        return Err("a project may only narrow it".into());
    };
    let current: Vec<_> = in_force.map(Node::items).unwrap_or_default().iter().collect();
    let extra =
        items.iter().find(|item| current.iter().all(|other| other.to_value() != item.to_value()));
    match extra {
        None => Ok(()),
        Some(extra) => Err(format!(
            "a project may only narrow it, and {} is not in it",
            shown_value(extra, &[])
        )),
    }
}
