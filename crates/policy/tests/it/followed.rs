//! Searches and copies that follow links on their way come upon what these lead to.

use std::path::{Path, PathBuf};

use contract::policy::{Decision, Mode};
use policy::Settings;
use policy::ground::{Ground, Look, Sought, Width};
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, rules, run};

const LINKS: &[(&str, &str)] = &[
    ("/w/file/k.rs", "/w/.env"),
    ("/w/folder/k", "/w/secret"),
    ("/w/far/k", "/w/folder"),
    ("/w/harmless/k", "/w/src"),
];
const FILES: &[&str] = &["/w/.env", "/w/secret/s", "/w/src/a.rs", "/w/harmless/b.rs"];

/// A project with links to what is denied.
struct Linked;

impl Look for Linked {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let is_entered = path.to_string_lossy().ends_with("/.");
        let path: PathBuf = path.components().collect();
        let end = LINKS.iter().find_map(|(link, end)| {
            Some(Path::new(end).join(path.strip_prefix(link).ok()?).components().collect())
        });
        let end: PathBuf = end.unwrap_or_else(|| path.clone());
        let mut all = FILES.iter().chain(LINKS.iter().map(|(link, _)| link)).map(Path::new);
        let is_there = all.any(|it| it.starts_with(&end) && (it != end || !is_entered));
        is_there.then_some(end)
    }

    fn names(&self, _folder: &Path) -> Option<Vec<String>> {
        None
    }

    fn seek(&self, folder: &Path, _: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let all = FILES.iter().chain(LINKS.iter().map(|(link, _)| link)).map(Path::new);
        let mut below = all.filter(|path| path.starts_with(folder));
        below.find(|path| wanted(path)).map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }
}

fn check(wanted: Decision, commands: &[&str], folders: &[&str]) {
    let rules = rules(&json!({ "deny": ["Read(.env)", "Read(secret/**)"] }), Scope::User);
    let judge = policy::policy(Settings { rules, ground: Ground::new(Linked), ..bare() });
    let all =
        commands.iter().flat_map(|it| folders.iter().map(|folder| it.replace("FOLDER", folder)));
    let wrong: Vec<String> =
        all.filter(|command| run(&judge, command, Mode::Yolo).decision != wanted).collect();
    assert!(wrong.is_empty(), "not {wanted:?}:\n{}", wrong.join("\n"));
}

const FOLLOWING: &[&str] = &[
    "find -L FOLDER -type f -exec cat {} +",
    "find FOLDER -follow -type f -exec cat {} +",
    "find -L FOLDER -type f | xargs cat",
    "cp -rL FOLDER y",
    "cp -r --deref FOLDER y",
    "tar chf x.tar FOLDER",
    "tar -c --dereference -f x.tar FOLDER",
    "rsync -aL FOLDER/ /tmp/x",
    "rsync -a --copy-links FOLDER/ /tmp/x",
    "rg -L S FOLDER",
    "rg --follow S FOLDER",
    "grep -R S FOLDER",
    "grep --der S FOLDER",
    "zip -r x.zip FOLDER",
    "fd -L . FOLDER -x cat",
    "fd . FOLDER --follow -x cat",
    "scp -r FOLDER h:x",
];

#[test]
fn what_a_followed_link_leads_to_is_come_upon() {
    check(Decision::Deny, FOLLOWING, &["file", "folder", "far"]);
    check(Decision::Deny, &["find -L FOLDER -name '*.rs' -exec cat {} +"], &["file"]);
}

#[test]
fn a_link_that_is_found_is_opened_by_what_it_is_given_to() {
    let commands = [
        "find FOLDER -exec cat {} +",
        "find FOLDER -type l -exec cat {} +",
        "find FOLDER ! -type f -exec cat {} +",
        "find FOLDER -type f -o -name 'k*' -exec cat {} +",
        "find FOLDER -exec cat -type f {} +",
        "find FOLDER -name 'k*' | xargs cat",
        "find FOLDER -exec sed -i s/a/b/ {} +",
    ];
    check(Decision::Deny, &commands, &["file", "folder"]);
    check(Decision::Allow, &commands, &["harmless"]);
    let others = [
        "find FOLDER -type f -exec cat {} +",
        "find FOLDER -name '*.py' -exec cat {} +",
        "find FOLDER -exec rm {} +",
        "find FOLDER -exec ls {} +",
    ];
    check(Decision::Allow, &others, &["file", "folder"]);
}

#[test]
fn links_that_are_not_followed_or_lead_to_nothing_denied_do_not_matter() {
    // Those with an option that is not known may search where they run.
    let is_known = |it: &&str| !["grep", "rg"].iter().any(|name| it.starts_with(name));
    let following: Vec<&str> = FOLLOWING.iter().copied().filter(is_known).collect();
    check(Decision::Allow, &following, &["harmless"]);
    let others = [
        "find FOLDER -type f -exec cat {} +",
        "cp -r FOLDER y",
        "tar cf x.tar FOLDER",
        "rsync -a FOLDER/ /tmp/x",
        "rg S FOLDER",
        "grep -r S FOLDER",
        "zip -ry x.zip FOLDER",
        "find -L FOLDER -name '*.py' -exec cat {} +",
    ];
    check(Decision::Allow, &others, &["file", "folder", "far", "harmless"]);
}
