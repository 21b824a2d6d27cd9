//! The table of keys in `docs/reference/config.md`, made from the table of known keys. `UPDATE=1`
//! rewrites it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::load::defaults;
use crate::origin::Node;
use crate::schema::{OtherKeys, ProjectRule, ROOT, Section, ValueKind};

mod meanings;

const BEGIN: &str =
    "<!-- The table below is generated: UPDATE=1 cargo test -p config reference -->\n";

#[test]
fn documented_table_of_keys_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/config.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, _) = page.split_once(BEGIN).expect("the mark where the table begins");
    let current = format!("{before}{BEGIN}\n{}", table());
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &current).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap();
    assert!(
        written == current,
        "docs/reference/config.md is stale; run `UPDATE=1 cargo test -p config reference`"
    );
}

#[test]
fn every_key_has_a_description_and_vice_versa() {
    let keys: Vec<String> = rows().into_iter().map(|row| row.key).collect();
    let known: Vec<&str> = meanings::MEANINGS.iter().map(|(key, _)| *key).collect();
    for key in &keys {
        assert!(known.contains(&key.as_str()), "{key} has no meaning");
    }
    for key in known {
        assert!(keys.iter().any(|it| it == key), "{key} is not a key");
    }
}

struct Row {
    key: String,
    holds: String,
    project: ProjectRule,
}

fn table() -> String {
    let tree = defaults();
    let mut text = String::new();
    let mut group = String::new();
    for row in rows() {
        let first = row.key.split_once('.').map_or("At the top", |(first, _)| first);
        if first != group {
            first.clone_into(&mut group);
            let title = if first == "At the top" { first.to_owned() } else { format!("`{first}`") };
            let gap = if text.is_empty() { "" } else { "\n" };
            writeln!(
                text,
                "{gap}### {title}\n\n| key | value | default | a project may | meaning |"
            )
            .unwrap();
            writeln!(text, "|---|---|---|---|---|").unwrap();
        }
        let meaning = meanings::MEANINGS.iter().find(|(key, _)| *key == row.key);
        let meaning = meaning.map(|(_, meaning)| *meaning).unwrap_or_default();
        let default = default(&tree, &row.key);
        writeln!(
            text,
            "| `{}` | {} | {default} | {} | {meaning} |",
            row.key,
            row.holds,
            may(row.project)
        )
        .unwrap();
    }
    text
}

fn default(tree: &Node, key: &str) -> String {
    let path: Vec<&str> = key.split('.').collect();
    match tree.find(&path) {
        Some(node) => format!("`{}`", node.to_value().to_string().replace('"', "")),
        None => String::new(),
    }
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    section("", &ROOT, &mut rows);
    // Keys of their own come before sections, as in a file.
    rows.sort_by_key(|row| row.key.contains('.'));
    rows
}

fn section(path: &str, section: &'static Section, rows: &mut Vec<Row>) {
    let below =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for key in section.keys {
        entry(below(key.name), &key.kind, key.project, rows);
    }
    if let OtherKeys::Named(named) = &section.others {
        // Names directly under `providers` are another spelling of its instances.
        if path != "providers" {
            entry(below("NAME"), named.kind, named.project, rows);
        }
    }
}

fn entry(path: String, kind: &'static ValueKind, project: ProjectRule, rows: &mut Vec<Row>) {
    match kind {
        ValueKind::Section(inner) => section(&path, inner, rows),
        ValueKind::Each(named) => entry(format!("{path}.NAME"), named.kind, named.project, rows),
        ValueKind::ShortOr(_, inner) => {
            rows.push(Row { key: path.clone(), holds: holds(kind), project });
            section(&path, inner, rows);
        }
        _ => rows.push(Row { key: path, holds: holds(kind), project }),
    }
}

fn holds(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Switch => "true, false".into(),
        ValueKind::Count { least, most } if least == most => least.to_string(),
        ValueKind::Count { least, most: i64::MAX } => format!("number from {least}"),
        ValueKind::Count { least, most } => format!("number, {least} to {most}"),
        ValueKind::Text => "text".into(),
        ValueKind::Path => "path".into(),
        ValueKind::Choice(words) => words.join(", "),
        ValueKind::Template(_) => "text with placeholders".into(),
        ValueKind::Texts => "list of texts".into(),
        ValueKind::Paths => "list of paths".into(),
        ValueKind::List => "list".into(),
        ValueKind::Anything => "anything".into(),
        ValueKind::Prices => "prices".into(),
        ValueKind::Maybe(kind) => format!("{} or null", holds(kind)),
        ValueKind::ShortOr(kind, _) => format!("{} or a map", holds(kind)),
        ValueKind::Section(_) | ValueKind::Each(_) => "map".into(),
    }
}

fn may(project: ProjectRule) -> String {
    match project {
        ProjectRule::Free | ProjectRule::Inside => "set it".into(),
        ProjectRule::Announced => "set it, which is told".into(),
        ProjectRule::Nothing => "when trusted".into(),
        ProjectRule::Always(ProjectRule::Nothing) => "never".into(),
        ProjectRule::Always(project) => rule(*project).into(),
        project => format!("{}; more when trusted", rule(project)),
    }
}

fn rule(project: ProjectRule) -> &'static str {
    match project {
        ProjectRule::Free
        | ProjectRule::Announced
        | ProjectRule::Inside
        | ProjectRule::Nothing
        | ProjectRule::Always(_) => "–",
        ProjectRule::TurnOn => "turn it on",
        ProjectRule::TurnOff => "turn it off",
        ProjectRule::Lower => "lower it",
        ProjectRule::Stricter(..) => "make it stricter",
        ProjectRule::Add => "add to it",
        ProjectRule::Narrow => "narrow it",
        ProjectRule::IfUnset => "set it where nothing else does",
    }
}
