//! The floor where links lead elsewhere and disks are mounted: what counts is where a target lies in the end.

use std::path::{Path, PathBuf};

use contract::policy::{Decision, Mode};
use policy::Settings;
use policy::ground::{Ground, Look};

use crate::setting::{bare, run};

/// A workspace with links and mount points.
struct Linked {
    /// Whether the system has a list of what is mounted.
    lists_mounts: bool,
}

const LINKS: &[(&str, &str)] = &[
    ("/w/self", "/w"),
    ("/w/gitlink", "/w/.git"),
    ("/w/homelink", "/home/u"),
    ("/w/etclink", "/etc"),
    ("/w/near", "/w/src"),
    ("/w/data", "/mnt/data"),
    ("/w/log", "/mnt/data/log"),
];
const FILES: &[&str] = &[
    "/w/src/main.rs",
    "/w/a.txt",
    "/w/.git/config",
    "/home/u/x",
    "/etc/hosts",
    "/mnt/data/log",
    "/w/disk/x",
    "/tmp/disk/x",
    "/w/vendor/cache/x",
];
const MOUNTS: &[&str] = &["/", "/proc", "/w/disk", "/w/vendor/cache", "/tmp/disk", "/mnt/data"];

impl Look for Linked {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let mut path: PathBuf = path.components().collect();
        while let Some((link, end)) = LINKS.iter().find(|(link, _)| path.starts_with(link)) {
            path = Path::new(end).join(path.strip_prefix(link).ok()?).components().collect();
        }
        FILES.iter().any(|file| Path::new(file).starts_with(&path)).then_some(path)
    }

    fn names(&self, folder: &Path) -> Option<Vec<String>> {
        let folder = self.real(folder)?;
        let all = FILES.iter().copied().chain(LINKS.iter().map(|(link, _)| *link));
        let below = all.filter_map(|path| Path::new(path).strip_prefix(&folder).ok());
        let names = below.filter_map(|path| path.components().next());
        Some(names.map(|name| name.as_os_str().to_string_lossy().into_owned()).collect())
    }

    fn mounts(&self) -> Option<Vec<PathBuf>> {
        self.lists_mounts.then(|| MOUNTS.iter().map(PathBuf::from).collect())
    }

    fn is_mount(&self, folder: &Path) -> bool {
        MOUNTS.iter().any(|mount| Path::new(mount) == folder)
    }
}

fn check(wanted: Decision, commands: &[&str]) {
    check_on(Linked { lists_mounts: true }, wanted, commands);
}

fn check_on(disk: Linked, wanted: Decision, commands: &[&str]) {
    let judge = policy::policy(Settings { ground: Ground::new(disk), ..bare() });
    let mut wrong = Vec::new();
    for command in commands {
        let ruling = run(&judge, command, Mode::Yolo);
        if ruling.decision != wanted {
            wrong.push(format!("{command}: {:?}", ruling.deciding()));
        }
    }
    assert!(wrong.is_empty(), "wanted {wanted:?}:\n{}", wrong.join("\n"));
}

#[test]
fn what_is_destroyed_through_a_link_is_what_it_leads_to() {
    let asked = [
        "rm -rf self/*",
        "rm -rf ./self/*",
        "rm -rf /w/self/*",
        "rm -rf s*/*",
        "rm -rf h*/x",
        "rm -rf gitlink/*",
        "rm -rf gitlink/",
        "rm -rf near/../.git",
        "cd self && rm -rf *",
        "find gitlink/ -delete",
        "find self/ -exec rm {} +",
        "chmod -R 777 homelink",
        "chmod -R 777 homelink/",
        "chmod -RL 777 homelink",
        "chmod -R 777 h*k",
        "chown -R x etclink/",
        "mv gitlink/ x",
        "mv homelink/* x",
        "rsync -a --remove-source-files homelink/ x",
        "tar -cf x.tar --remove-files gitlink/",
        "shred log",
        "truncate -s 0 log",
        "rm -rf data/*",
        "rm -rf data/old",
    ];
    check(Decision::Ask, &asked);
    let denied = [
        "rm -rf self/",
        "rm -rf homelink/",
        "rm -rf homelink/*",
        "rm -rf etclink/",
        "cd homelink && rm -rf *",
        "find homelink/ -delete",
        "find -L homelink -delete",
        "find homelink -follow -delete",
        "rm -rf src/../homelink/",
        "rm -rf homelink/..",
        "rm -rf h*/",
        "rm -rf h*/*",
    ];
    check(Decision::Deny, &denied);
}

#[test]
fn a_link_itself_and_what_lies_in_the_workspace_by_whatever_way_may_go() {
    let allowed = [
        "rm self",
        "rm -rf self",
        "rm -rf gitlink homelink etclink",
        "rm -f ./homelink",
        "find homelink -delete",
        "mv homelink x",
        "mv gitlink x",
        "rm -rf near/*",
        "rm -rf near/",
        "rm -rf self/src",
        "rm -rf self/src/*",
        "rm -rf src/build/*",
        "rm -rf src/build/",
        "rm -rf */target",
        "rm -rf */*.o",
        "chmod -R u+w src/",
        "chmod -R u+w near",
        "chmod -R u+w s*c",
        "truncate -s 0 a.txt",
        "find near/ -delete",
        "mv src/* x",
        "rm -rf /tmp/x/*",
    ];
    check(Decision::Allow, &allowed);
}

#[test]
fn what_is_mounted_is_not_destroyed_unasked() {
    let named = [
        "rm -rf disk",
        "rm -rf ./disk",
        "rm -rf disk/",
        "rm -rf disk/*",
        "rm -rf a.txt disk",
        "rm -rf /w/disk",
        "rm -rf self/disk",
        "cd self && rm -rf disk",
        "rm -rf src/../disk",
        "rm -rf d*",
        "rm -rf d?sk/*",
        "rm -rf vendor/cach[e]",
        "chmod -R 777 disk",
        "chown -R u disk",
        "mv disk x",
        "mv -t x disk",
        "mv disk/* x",
        "find disk -delete",
        "find disk -exec rm -rf {} +",
        "rsync -a --delete src/ disk/",
        "rimraf disk",
        "python3 -c 'import shutil; shutil.rmtree(\"disk\")'",
        "rm -rf /tmp/disk",
        "rm -rf /tmp/d*",
        "cd vendor && rm -rf cache",
        "(cd vendor; rm -rf ./cache/)",
        "sh -c 'rm -rf disk'",
        "find . -maxdepth 1 -name d -o -print | xargs true; rm -r disk",
    ];
    check(Decision::Ask, &named);
    check_on(Linked { lists_mounts: false }, Decision::Ask, &named);
    let holding = [
        "rm -rf vendor",
        "rm -rf vendor/",
        "rm -rf vendor/*",
        "rm -rf vend*",
        "rm -rf ve*/*",
        "find vendor -delete",
        "chmod -R a-w vendor",
        "mv vendor /tmp/x",
    ];
    check(Decision::Ask, &holding);
}

#[test]
fn what_lies_on_a_disk_that_is_mounted_may_go() {
    let allowed = [
        "rm -rf disk/old",
        "rm -rf disk/old/*",
        "rm -rf disk/o*",
        "rm -rf vendor/cache/x vendor/other",
        "rm -rf src build target/debug",
        "rm -rf disks dis vendor2",
        "rm disk",
        "rm -f disk/x",
        "rm -rf /tmp/disk/x /tmp/disk2",
        "find vendor -name '*.o' -delete",
        "find disk -name '*.o' -delete",
        "find . -name '*.o' -delete",
        "chmod 755 disk",
        "chmod -R u+w disk/x",
        "mv x disk",
        "mv disk/x src",
        "rsync -a --delete src/ disk/copy/",
    ];
    check(Decision::Allow, &allowed);
    check_on(Linked { lists_mounts: false }, Decision::Allow, &allowed);
}
