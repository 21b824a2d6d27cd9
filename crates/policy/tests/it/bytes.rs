//! Names of files that are no text: what a pattern stands for is where they lead, like any other.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use contract::policy::{Decision, Mode};
use policy::Settings;
use policy::ground::{Entry, Ground, Look};
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, rules, run};

/// A workspace with links whose names are no text.
struct Odd;

const LINKS: &[(&[u8], &str)] = &[
    (b"/w/zz\xff", "/etc/passwd"),
    (b"/w/zd\xe2\x82", "/etc"),
    (b"/w/yy\xff", "/w/secrets/api.key"),
    (b"/w/hh\xff", "/home/u"),
    (b"/w/nn\xff", "/w/src"),
];
const FILES: &[&str] =
    &["/w/src/main.rs", "/w/a.txt", "/w/secrets/api.key", "/home/u/x", "/etc/passwd"];

fn links() -> Vec<(PathBuf, &'static str)> {
    let path = |link: &[u8]| PathBuf::from(OsString::from_vec(link.to_vec()));
    LINKS.iter().map(|(link, end)| (path(link), *end)).collect()
}

impl Look for Odd {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let mut path: PathBuf = path.components().collect();
        while let Some((link, end)) = links().into_iter().find(|(link, _)| path.starts_with(link)) {
            path = Path::new(end).join(path.strip_prefix(link).ok()?).components().collect();
        }
        FILES.iter().any(|file| Path::new(file).starts_with(&path)).then_some(path)
    }

    fn names(&self, folder: &Path) -> Option<Vec<String>> {
        let entries = self.entries(folder)?.into_iter();
        Some(entries.map(|(name, _)| name.to_string_lossy().into_owned()).collect())
    }

    fn entries(&self, folder: &Path) -> Option<Vec<(OsString, Entry)>> {
        let folder = self.real(folder)?;
        let all = FILES.iter().map(PathBuf::from).chain(links().into_iter().map(|(link, _)| link));
        let below = all.filter_map(|path| path.strip_prefix(&folder).ok().map(Path::to_owned));
        let first = |path: PathBuf| Some(path.components().next()?.as_os_str().to_owned());
        Some(below.filter_map(first).map(|name| (name, Entry::Other)).collect())
    }

    fn is_own(&self, _program: &str) -> bool {
        true
    }
}

fn check(mode: Mode, wanted: Decision, commands: &[&str]) {
    let rules = rules(&json!({ "deny": ["Read(secrets/**)"] }), Scope::User);
    let judge = policy::policy(Settings { rules, ground: Ground::new(Odd), ..bare() });
    let mut wrong = Vec::new();
    for command in commands {
        let ruling = run(&judge, command, mode);
        if ruling.decision != wanted {
            wrong.push(format!("{command}: {:?}", ruling.deciding()));
        }
    }
    assert!(wrong.is_empty(), "wanted {wanted:?}:\n{}", wrong.join("\n"));
}

#[test]
fn a_link_whose_name_is_no_text_is_followed_where_a_pattern_meets_it() {
    let asked =
        ["cat ./zz*", "cat ./z*", "cat ./zz?", "cat ./zz[!a]", "head ./zd*/*", "head zd??/passwd"];
    check(Mode::Normal, Decision::Ask, &asked);
    let denied =
        ["cat ./yy*", "cat y*", "cat ./yy?", "grep -r x ./yy*", "for f in yy*; do cat $f; done"];
    check(Mode::Normal, Decision::Deny, &denied);
    check(Mode::Yolo, Decision::Deny, &denied);
    let spelled = ["cat yy$'\\xff'", "cat $'yy\\377'", "cat $'secrets/\\x61pi.key'"];
    check(Mode::Yolo, Decision::Deny, &spelled);
    let allowed = ["cat ./a*", "cat ./nn*/main.rs", "cat n*/*.rs", "cat src/*"];
    check(Mode::Normal, Decision::Allow, &allowed);
}

#[test]
fn the_floor_follows_such_a_link_too() {
    check(Mode::Yolo, Decision::Deny, &["rm -rf hh*/", "rm -rf ./hh*/*", "find -L hh* -delete"]);
    check(Mode::Yolo, Decision::Ask, &["rm -rf hh*/x", "chmod -R 777 hh*"]);
    check(Mode::Yolo, Decision::Allow, &["rm -rf nn*/*", "rm -rf ./hh*", "chmod -R 777 nn*"]);
}
