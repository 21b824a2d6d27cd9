//! Restricts a project's settings: they may tighten what is in force, never loosen it. A trusted
//! project may set more, but not all. The rule for each key is in the table of keys.

use std::path::Path;

use serde_json::Value;

use crate::origin::{Content, Joining, Node, shown};
use crate::report::{Report, UntrustedSetting, shown_path, shown_value, whole_setting};
use crate::schema::{NamedEntries, ProjectRule, ROOT, ValueKind};

/// The rights of a project.
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
        restriction.entries(entries, |name| ROOT.entry(name), Some(in_force));
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

    fn entries(
        &mut self,
        entries: &mut Vec<(String, Node)>,
        rule: impl Fn(&str) -> Option<(&'static ValueKind, ProjectRule)>,
        in_force: Option<&Node>,
    ) {
        entries.retain_mut(|(name, node)| {
            let Some((kind, rule)) = rule(name) else {
                return false;
            };
            self.path.push(name.clone());
            let below = in_force.and_then(|node| node.get(name));
            let is_kept = self.entry(node, kind, rule, below);
            self.path.pop();
            is_kept
        });
    }

    fn entry(
        &mut self,
        node: &mut Node,
        kind: &'static ValueKind,
        rule: ProjectRule,
        in_force: Option<&Node>,
    ) -> bool {
        let (rule, needs_trust) = match rule {
            ProjectRule::Inside => return self.inside(node, kind, in_force),
            ProjectRule::Always(rule) => (*rule, false),
            rule => (rule, true),
        };
        let allowed = if needs_trust && self.rights == Rights::Trusted {
            // Rules of the user stay in force.
            let is_allow = self.path == ["permissions", "allow"];
            if is_allow { add(node, in_force) } else { Ok(()) }
        } else {
            judge(node, rule, in_force)
        };
        let Err(reason) = allowed else {
            if let (ProjectRule::Announced, Rights::Tighten) = (rule, self.rights) {
                self.announce(node, in_force);
            }
            return true;
        };
        if needs_trust && let Some(file) = node.place.file.as_deref().map(Path::to_path_buf) {
            let setting = whole_setting(node, &self.path);
            self.report.untrusted.push(UntrustedSetting { file, setting });
        }
        if needs_trust && self.rights == Rights::Tighten {
            self.ignore(node, " until you trust the project");
        } else {
            self.refuse(node, &reason);
        }
        false
    }

    fn inside(
        &mut self,
        node: &mut Node,
        kind: &'static ValueKind,
        in_force: Option<&Node>,
    ) -> bool {
        if node.place.joining != Joining::Merge {
            self.refuse(node, "a project may not remove or replace it");
            return false;
        }
        let Content::Map(entries) = &mut node.content else { return false };
        match kind {
            ValueKind::Section(section) => {
                self.entries(entries, |name| section.entry(name), in_force);
            }
            ValueKind::Each(NamedEntries { kind, project, .. }) => {
                self.entries(entries, |_| Some((kind, *project)), in_force);
            }
            _ => return false,
        }
        !entries.is_empty()
    }

    /// Says that the project alone chose a value.
    fn announce(&mut self, node: &Node, in_force: Option<&Node>) {
        if in_force.is_some_and(|below| below.to_value() == node.to_value()) {
            return;
        }
        let text = format!("`{}` is this project's choice", self.shown(node));
        let hint = "your own variable or flag overrides it; trust the project to hide this message";
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

/// Decides on one value, with the reason if it is refused. Adds the items in force to a list that
/// may only grow.
fn judge(node: &mut Node, rule: ProjectRule, in_force: Option<&Node>) -> Result<(), String> {
    let is = |wanted: bool| node.to_value() == Value::Bool(wanted);
    match rule {
        ProjectRule::Free | ProjectRule::Announced => Ok(()),
        ProjectRule::Nothing | ProjectRule::Inside | ProjectRule::Always(_) => {
            Err("only your own configuration may set it".into())
        }
        _ if node.place.joining == Joining::Delete => {
            Err("a project may not remove or replace it".into())
        }
        ProjectRule::TurnOn if is(true) => Ok(()),
        ProjectRule::TurnOn => Err("a project may only turn it on".into()),
        ProjectRule::TurnOff if is(false) => Ok(()),
        ProjectRule::TurnOff => Err("a project may only turn it off".into()),
        ProjectRule::Lower => lower(node, in_force),
        ProjectRule::Stricter(row, usual) => stricter(node, in_force, row, usual),
        ProjectRule::Add => add(node, in_force),
        ProjectRule::Narrow => narrow(node, in_force),
        ProjectRule::IfUnset if in_force.is_none() => Ok(()),
        ProjectRule::IfUnset => Err("it means something else already".into()),
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
        if all.iter().all(|other| other.to_value() != item.to_value()) {
            all.push(item);
        }
    }
    *items = all;
    Ok(())
}

fn narrow(node: &Node, in_force: Option<&Node>) -> Result<(), String> {
    let Content::List(items) = &node.content else {
        return Err("a project may only narrow it".into());
    };
    let current = in_force.map(Node::items).unwrap_or_default();
    let is_new = |item: &&Node| current.iter().all(|other| other.to_value() != item.to_value());
    let Some(extra) = items.iter().find(is_new) else { return Ok(()) };
    let extra = shown_value(extra, &[]);
    Err(format!("a project may only narrow it, and {extra} is not in it"))
}
