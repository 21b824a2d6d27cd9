//! What a confined process sees of the machine: system folders, toolchains, the git directory of a
//! worktree; and what must be hidden although its folder is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;

use contract::text::normalize;

use crate::contents;
use crate::discovery;
use crate::git_settings::settings;
use crate::led::Writable;
use crate::tokens;

/// Folders at the root of the file system that hold programs and their configuration.
const SYSTEM: [&str; 11] = [
    "/usr",
    "/etc",
    "/opt",
    "/nix",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/gnu/store",
];

/// Toolchains in a home directory, none of which keeps credentials at these places but in settings, of
/// which `tokens` knows.
const TOOLCHAINS: [&str; 62] = [
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".rustup",
    ".pyenv",
    ".rbenv",
    ".nodenv",
    ".goenv",
    ".jenv",
    ".rvm",
    ".nvm",
    ".fnm",
    ".volta",
    ".asdf",
    ".tool-versions",
    ".local/share/mise",
    ".local/share/fnm",
    ".local/share/pnpm",
    ".local/share/pipx",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/virtualenvs",
    ".local/pipx",
    ".local/bin",
    ".local/lib",
    ".local/opt",
    ".bun/bin",
    ".bun/install",
    ".deno/bin",
    ".sdkman/candidates",
    ".m2/repository",
    ".dotnet/dotnet",
    ".dotnet/host",
    ".dotnet/library-packs",
    ".dotnet/metadata",
    ".dotnet/packs",
    ".dotnet/sdk",
    ".dotnet/sdk-manifests",
    ".dotnet/shared",
    ".dotnet/templates",
    ".dotnet/tools",
    ".ghcup",
    ".elan",
    ".opam",
    ".juliaup",
    ".swiftly",
    ".yarn/bin",
    ".nix-profile",
    ".poetry",
    "go/bin",
    "go/pkg",
    "sdk",
    "miniconda3",
    "miniforge3",
    "mambaforge",
    "anaconda3",
    ".gem/ruby",
    ".gem/specs",
    ".gem/bin",
];

/// Secrets of the system, which only root could read.
const SECRETS: [&str; 13] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/krb5.keytab",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/kubernetes",
    "/etc/rancher",
];

/// Folders of settings of the system, where programs keep further ones.
const SETTINGS: [&str; 2] = ["/etc", "/usr/local/etc"];

/// The program's own folder.
const OWN: &str = ".config/brynhild";
/// Places in a home where secrets lie.
const PRIVATE: [&str; 16] = [
    "",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".config/gh",
    ".config/gcloud",
    OWN,
    ".cargo/credentials.toml",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
];
const PRIVATE_ENTRIES: usize = 500;
/// Settings of git that are longer show nothing.
const MOST_BYTES: u64 = 1 << 20;

/// The place of secrets in `home` that a folder is, or lies in. Plugins are written in the program's own, of which
/// the sandbox has its own opinion.
pub fn secrets_around(folder: &Path, home: &Path) -> Option<PathBuf> {
    let named = PRIVATE.into_iter().filter(|name| !["", OWN].contains(name));
    let places = named.filter_map(|name| fs::canonicalize(home.join(name)).ok());
    places.into_iter().find(|place| folder.starts_with(place))
}

/// Secrets in `home`, with what lies directly in their folders.
pub(crate) fn private(home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in PRIVATE {
        let path = if name.is_empty() { home.to_owned() } else { home.join(name) };
        // By a link nothing is put back.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        let entries = entries.take(if name.is_empty() { 0 } else { PRIVATE_ENTRIES });
        found.extend(entries.map(|entry| entry.path()));
        found.push(path);
    }
    found
}

/// What changes the kernel for everybody.
pub(crate) const KERNEL_SETTINGS: [&str; 6] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"];

/// What lists the keys that the kernel keeps for the person, whom it knows inside as well.
pub(crate) const KEYRINGS: [&str; 2] = ["/proc/keys", "/proc/key-users"];

const SCAN_DEPTH: usize = 3;
const SCAN_ENTRIES: usize = 2000;
const SCAN_SKIPS: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// Something at the root of the file system.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// A folder to show.
    Folder(PathBuf),
    /// A link to repeat.
    Link { path: PathBuf, target: PathBuf },
}

/// The system folders of this machine, and every link beside them, as they were when first asked
/// for.
pub(crate) fn system() -> &'static [System] {
    static KNOWN: OnceLock<Vec<System>> = OnceLock::new();
    KNOWN.get_or_init(find_system)
}

fn find_system() -> Vec<System> {
    let mut found: Vec<System> = SYSTEM
        .iter()
        .map(PathBuf::from)
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()))
        .map(System::Folder)
        .collect();
    let links = fs::read_dir("/").into_iter().flatten().flatten();
    for entry in links.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())) {
        if let Ok(target) = fs::read_link(entry.path()) {
            let path = entry.path();
            found.push(System::Link { path, target });
        }
    }
    found
}

/// Whether a path lies among the system's programs and settings.
pub(crate) fn is_of_system(path: &Path) -> bool {
    system().iter().any(|entry| match entry {
        System::Folder(folder) => path.starts_with(folder),
        System::Link { .. } => false,
    })
}

/// The toolchains that exist in `home`, relative to it.
pub(crate) fn toolchains(home: &Path) -> Vec<&'static str> {
    // One listing is quicker than fifty looks.
    let names: BTreeSet<OsString> =
        fs::read_dir(home).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    let may_exist = |name: &&str| {
        let top = name.split('/').next().unwrap_or(name);
        names.contains(OsStr::new(top))
    };
    let is_shown = |name: &&str| home.join(name).exists() && !tokens::is_secret(home, name);
    TOOLCHAINS.into_iter().filter(may_exist).filter(is_shown).collect()
}

/// The toolchains beside those that the search path leads to, in homes other than `home`: programs
/// that the person can run by name should be found by name. What commands may write has none: a link of
/// a project could be called so and lead anywhere.
pub(crate) fn toolchains_on(
    search_path: &str,
    home: Option<&Path>,
    writable: &Writable,
) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .filter_map(|folder| {
            let is_home = |base: &&Path| {
                let rest = folder.strip_prefix(base).ok();
                rest.is_some_and(|rest| TOOLCHAINS.iter().any(|it| is_of(rest, Path::new(it))))
            };
            folder.ancestors().find(is_home).map(Path::to_owned)
        })
        .filter_map(|base| fs::canonicalize(base).ok())
        .filter(|base| home != Some(base) && !writable.holds(base))
        .collect();
    homes.sort();
    homes.dedup();
    homes
        .iter()
        .flat_map(|base| {
            let tokens = tokens::tokens(base);
            let all = toolchains(base).into_iter().map(|name| base.join(name));
            all.flat_map(|path| tokens::toolchain_without(&path, &tokens)).collect::<Vec<_>>()
        })
        .filter_map(|path| fs::canonicalize(path).ok())
        .collect()
}

/// Whether a folder lies in a toolchain, or holds its program.
fn is_of(folder: &Path, toolchain: &Path) -> bool {
    folder.starts_with(toolchain) || folder == ".dotnet" && toolchain.starts_with(folder)
}

/// System secrets that exist: what is known for one, and what others than root may not read in the folders
/// of settings, as it was when first asked for.
pub(crate) fn secrets() -> impl Iterator<Item = PathBuf> {
    let known = SECRETS.iter().map(PathBuf::from).chain(closed().iter().cloned());
    known.filter(|path| fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink()))
}

static CLOSED: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Does something, and meanwhile looks for what has to be hidden from root, which takes a millisecond.
pub(crate) fn while_looking<T>(act: impl FnOnce() -> T) -> T {
    if !rustix::process::geteuid().is_root() || CLOSED.get().is_some() {
        return act();
    }
    thread::scope(|scope| {
        scope.spawn(closed);
        act()
    })
}

fn closed() -> &'static [PathBuf] {
    let is_known = |path: &Path| SECRETS.iter().any(|secret| path.starts_with(secret));
    CLOSED.get_or_init(|| {
        let found = SETTINGS.iter().flat_map(|folder| closed_to_others(Path::new(folder)));
        found.filter(|path| !is_known(path)).collect()
    })
}

/// What lies beneath a folder, belongs to the user and is closed to others, empty files left out. What
/// belongs to somebody else the user could not read without capabilities.
fn closed_to_others(folder: &Path) -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let (mut folders, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let needed = if metadata.is_dir() { 0o5 } else { 0o4 };
            let is_closed = metadata.uid() == user && metadata.mode() & needed != needed;
            let holds_something = metadata.is_dir() || (metadata.is_file() && metadata.len() > 0);
            if is_closed && holds_something {
                found.push(entry.path());
            } else if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    found
}

/// The sockets of other programs beneath `roots` that the kernel lists: by their full path, or by one
/// that starts in the working directory of some process.
pub(crate) fn sockets_listed(roots: &[PathBuf]) -> Vec<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    let table = fs::read("/proc/net/unix").unwrap_or_default();
    // A name that is no text is none that a program could be told of, and must not hide the others.
    let table = String::from_utf8_lossy(&table);
    let (mut paths, relative): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) =
        listed(&table).partition(|path| path.is_absolute());
    if !relative.is_empty() {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let folders = processes.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok());
        let folders: BTreeSet<PathBuf> = folders.collect();
        let whole = |folder: &PathBuf| {
            relative.iter().map(|path| normalize(&folder.join(path))).collect::<Vec<_>>()
        };
        paths.extend(folders.iter().flat_map(whole));
    }
    // The kernel lists what a program said, by links and dots.
    let mut folders: BTreeMap<PathBuf, Option<PathBuf>> = BTreeMap::new();
    let mut real = |path: &Path| {
        let folder = path.parent()?;
        let known = folders.entry(folder.to_owned());
        let folder = known.or_insert_with(|| fs::canonicalize(folder).ok()).as_ref()?;
        Some(folder.join(path.file_name()?))
    };
    let paths: BTreeSet<PathBuf> = paths.iter().filter_map(|path| real(path)).collect();
    let is_beneath = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root));
    let is_socket = |path: &PathBuf| {
        fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
    };
    paths.into_iter().filter(is_beneath).filter(is_socket).collect()
}

/// The paths in a list of the kernel's, in the eighth field; abstract sockets begin with `@`.
fn listed(table: &str) -> impl Iterator<Item = PathBuf> {
    let path = |line: &str| {
        let mut rest = line;
        for _ in 0..7 {
            rest = rest.trim_start().split_once(' ')?.1;
        }
        (!rest.is_empty() && !rest.starts_with('@')).then(|| PathBuf::from(rest))
    };
    table.lines().skip(1).filter_map(path)
}

/// The sockets near the top of `root`, three levels and two thousand entries deep, so that the search
/// stays cheap in any tree.
pub(crate) fn sockets_near(root: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    let mut found = Vec::new();
    let mut level = vec![root.to_owned()];
    let mut seen = 0;
    for _ in 0..SCAN_DEPTH {
        let mut below = Vec::new();
        for entry in level.iter().flat_map(fs::read_dir).flatten().flatten() {
            seen += 1;
            if seen > SCAN_ENTRIES {
                return found;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_socket() => found.push(entry.path()),
                Ok(kind) if kind.is_dir() && !is_skipped(&entry.file_name()) => {
                    below.push(entry.path());
                }
                _ => {}
            }
        }
        level = below;
    }
    found
}

fn is_skipped(name: &std::ffi::OsStr) -> bool {
    SCAN_SKIPS.iter().any(|skip| name == *skip)
}

/// The git directories outside of `workspace` that its `.git` file names, where they name the
/// workspace in turn: a hostile `.git` file shows nothing that is not its own repository.
pub(crate) fn git_directory(workspace: &Path) -> Vec<PathBuf> {
    linked_git(workspace).unwrap_or_default()
}

fn linked_git(workspace: &Path) -> Option<Vec<PathBuf>> {
    let file = workspace.join(".git");
    if !fs::symlink_metadata(&file).ok()?.is_file() {
        return None;
    }
    let directory = discovery::git_directory(workspace)?;
    let back = discovery::told(&directory.join("gitdir"), b"");
    if back.is_some_and(|back| fs::canonicalize(directory.join(back)).ok() == Some(file)) {
        let common = discovery::common(&directory).ok()?;
        let is_inside = directory.starts_with(common.join("worktrees"));
        return (is_inside && is_repository(&common)).then_some(vec![common]);
    }
    let settings = settings(&contents::file(&directory.join("config"), MOST_BYTES).known()?)?;
    let worktree = settings.iter().rev().find(|setting| setting.is("core", "worktree"))?;
    let named = fs::canonicalize(directory.join(worktree.path())).ok()?;
    (named == workspace && is_repository(&directory)).then_some(vec![directory])
}

fn is_repository(directory: &Path) -> bool {
    directory.join("HEAD").is_file() && directory.join("objects").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_seen_through_links_or_folders() {
        let found = system();
        assert!(found.contains(&System::Folder(PathBuf::from("/usr"))));
        let shell = found.iter().any(|entry| match entry {
            System::Folder(path) | System::Link { path, .. } => path == Path::new("/bin"),
        });
        assert!(shell);
    }

    #[test]
    fn what_is_closed_to_others_is_a_secret() {
        use std::os::unix::fs::PermissionsExt;
        let base = tempfile::tempdir().unwrap();
        let path = |name: &str| base.path().join(name);
        for (name, text) in
            [("open/key", "x"), ("open/free", "x"), ("open/empty", ""), ("shut/key", "x")]
        {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), text).unwrap();
        }
        let modes =
            [("open/key", 0o640), ("open/free", 0o644), ("open/empty", 0o600), ("shut", 0o750)];
        for (name, mode) in modes.into_iter().chain([("open", 0o755)]) {
            fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut found = closed_to_others(base.path());
        found.sort();
        assert_eq!(found, [path("open/key"), path("shut")]);
    }

    #[test]
    fn toolchains_of_another_home_are_found_by_the_search_path() {
        let base = tempfile::tempdir().expect("tempdir");
        let base = base.path().canonicalize().expect("a path");
        for folder in [".pyenv/shims", ".rustup", ".ssh"] {
            fs::create_dir_all(base.join(folder)).expect("a folder");
        }
        let search_path = format!("/usr/bin:{}/.pyenv/shims", base.display());
        let found = toolchains_on(&search_path, None, &Writable::default());
        assert_eq!(found, [base.join(".rustup"), base.join(".pyenv")]);
        assert!(toolchains_on(&search_path, Some(&base), &Writable::default()).is_empty());
        assert!(toolchains_on("/usr/bin::.pyenv/shims", None, &Writable::default()).is_empty());
        let ours = Writable::default().with([base.clone()]);
        assert!(toolchains_on(&search_path, None, &ours).is_empty());
    }

    #[test]
    fn toolchains_are_shown_and_credentials_are_not() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".cargo/bin")).unwrap();
        fs::write(home.path().join(".cargo/credentials.toml"), "token").unwrap();
        fs::write(home.path().join(".cargo/config"), "[build]\njobs = 2\n").unwrap();
        let token = "[registries.x]\ntoken = \"t\"\n";
        fs::write(home.path().join(".cargo/config.toml"), token).unwrap();
        let folders = [".ssh", ".gem/ruby", ".local/share/uv/credentials", ".dotnet/corefx"];
        for name in folders {
            fs::create_dir_all(home.path().join(name)).unwrap();
        }
        assert_eq!(toolchains(home.path()), [".cargo/bin", ".cargo/config", ".gem/ruby"]);
    }

    #[test]
    fn sockets_near_the_top_are_found() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b/c")).unwrap();
        let near = root.path().join("a/b/near");
        let _near = std::os::unix::net::UnixListener::bind(&near).unwrap();
        let far = root.path().join("a/b/c/far one");
        let _far = std::os::unix::net::UnixListener::bind(&far).unwrap();
        assert_eq!(sockets_near(root.path()), std::slice::from_ref(&near));
        assert_eq!(sockets_listed(&[root.path().to_owned()]), [far, near]);
    }

    #[test]
    fn sockets_are_found_where_they_really_lie() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let path = |name: &str| base.join(name);
        fs::create_dir_all(path("w/real")).unwrap();
        fs::create_dir(path("elsewhere")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", path("w/out")).unwrap();
        std::os::unix::fs::symlink("w/real", path("in")).unwrap();
        let names = ["w/out/a", "w/real/../b", "in/c"];
        let _all = names.map(|name| std::os::unix::net::UnixListener::bind(path(name)).unwrap());
        assert_eq!(sockets_listed(&[path("w")]), ["w/b", "w/real/c"].map(path));
    }

    #[test]
    fn a_list_of_sockets_is_read() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01 11111 /a/far one\n\
                     0000000000000000: 00000003 00000000 00000000 0001 03 22222\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01     3 @abstract\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01     4 dev.sock\n";
        let found: Vec<PathBuf> = listed(table).collect();
        assert_eq!(found, [PathBuf::from("/a/far one"), PathBuf::from("dev.sock")]);
    }

    #[test]
    fn a_git_file_shows_only_a_repository_that_points_back() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let (main, work) = (base.join("main/.git"), base.join("work"));
        let link = main.join("worktrees/work");
        fs::create_dir_all(&link).unwrap();
        fs::create_dir_all(main.join("objects")).unwrap();
        fs::create_dir(&work).unwrap();
        fs::write(main.join("HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(link.join("commondir"), "../..\n").unwrap();
        fs::write(work.join(".git"), format!("gitdir: {}\n", link.display())).unwrap();
        assert!(git_directory(&work).is_empty());
        fs::write(link.join("gitdir"), format!("{}\n", work.join(".git").display())).unwrap();
        assert_eq!(git_directory(&work), [main]);
    }

    #[test]
    fn a_submodule_shows_its_directory_where_that_names_the_submodule() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let (modules, work) = (base.join(".git/modules/sub"), base.join("sub"));
        fs::create_dir_all(modules.join("objects")).unwrap();
        fs::create_dir(&work).unwrap();
        fs::write(modules.join("HEAD"), "ref: refs/heads/main").unwrap();
        fs::write(work.join(".git"), "gitdir: ../.git/modules/sub\n").unwrap();
        fs::write(modules.join("config"), "[core]\n\tworktree = ../../../other\n").unwrap();
        assert!(git_directory(&work).is_empty());
        fs::write(modules.join("config"), "[core]\n\tworktree = ../../../sub\n").unwrap();
        assert_eq!(git_directory(&work), std::slice::from_ref(&modules));
        let long = "# nothing\n".repeat(200_000) + "[core]\n\tworktree = ../../../sub\n";
        fs::write(modules.join("config"), long).unwrap();
        assert!(git_directory(&work).is_empty());
    }
}
