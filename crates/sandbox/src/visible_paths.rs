//! The files of the machine that a confined process sees: system directories, toolchains, the git
//! directory of a worktree; and files that must be hidden although their directory is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use files::path::normalize;

use crate::symlinks::Writable;
use crate::tokens;

/// Directories at the root of the file system that hold programs and their configuration.
#[rustfmt::skip]
const SYSTEM: [&str; 11] = [
    "/usr", "/etc", "/opt", "/nix", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
    "/gnu/store",
];

/// Toolchains in a home directory, none of which keeps credentials at these places but in settings, of
/// which `tokens` knows.
#[rustfmt::skip]
const TOOLCHAINS: [&str; 62] = [
    ".cargo/bin", ".cargo/config", ".cargo/config.toml", ".cargo/env", ".cargo/git",
    ".cargo/registry", ".rustup", ".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".rvm", ".nvm",
    ".fnm", ".volta", ".asdf", ".tool-versions", ".local/share/mise", ".local/share/fnm",
    ".local/share/pnpm", ".local/share/pipx", ".local/share/uv/python", ".local/share/uv/tools",
    ".local/share/virtualenvs", ".local/pipx", ".local/bin", ".local/lib", ".local/opt",
    ".bun/bin", ".bun/install", ".deno/bin", ".sdkman/candidates", ".m2/repository",
    ".dotnet/dotnet", ".dotnet/host", ".dotnet/library-packs", ".dotnet/metadata", ".dotnet/packs",
    ".dotnet/sdk", ".dotnet/sdk-manifests", ".dotnet/shared", ".dotnet/templates", ".dotnet/tools",
    ".ghcup", ".elan", ".opam", ".juliaup", ".swiftly", ".yarn/bin", ".nix-profile", ".poetry",
    "go/bin", "go/pkg", "sdk", "miniconda3", "miniforge3", "mambaforge", "anaconda3", ".gem/ruby",
    ".gem/specs", ".gem/bin",
];

/// Secrets of the system, which only root could read.
#[rustfmt::skip]
const SECRETS: [&str; 13] = [
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
    "/etc/sudoers.d", "/etc/krb5.keytab", "/etc/ssh", "/etc/ssl/private", "/etc/wireguard",
    "/etc/NetworkManager/system-connections", "/etc/kubernetes", "/etc/rancher",
];

/// Places in a home where secrets lie.
#[rustfmt::skip]
const PRIVATE: [&str; 14] = [
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".config/gh",
    ".config/gcloud", ".cargo/credentials.toml", ".git-credentials", ".netrc", ".npmrc", ".pypirc",
];

/// The place of secrets in `home` that a directory is, or lies in.
pub fn secrets_around(directory: &Path, home: &Path) -> Option<PathBuf> {
    let mut places = PRIVATE.into_iter().filter_map(|name| fs::canonicalize(home.join(name)).ok());
    places.find(|place| directory.starts_with(place))
}

/// Files that change the kernel for the whole machine.
pub(crate) const KERNEL_SETTINGS: [&str; 6] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"];

/// Lists of the keys that the kernel stores for the user. It uses the same user inside the sandbox.
pub(crate) const KEYRINGS: [&str; 2] = ["/proc/keys", "/proc/key-users"];

/// Something at the root of the file system.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// A directory to show.
    Directory(PathBuf),
    /// A link to repeat.
    Link { path: PathBuf, target: PathBuf },
}

/// The system directories of this machine, and every link beside them, as they were when first asked
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
        .map(System::Directory)
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

/// Returns true if a path is among the system's programs and settings.
pub(crate) fn is_of_system(path: &Path) -> bool {
    system().iter().any(|entry| match entry {
        System::Directory(directory) => path.starts_with(directory),
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
/// that the user can run by name should be found by name. What commands may write has none: a link of
/// a project could be called so and lead anywhere.
pub(crate) fn toolchains_on(
    search_path: &str,
    home: Option<&Path>,
    writable: &Writable,
) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = std::env::split_paths(search_path)
        .filter(|directory| directory.is_absolute())
        .filter_map(|directory| {
            let is_home = |base: &&Path| {
                let rest = directory.strip_prefix(base).ok();
                rest.is_some_and(|rest| TOOLCHAINS.iter().any(|it| is_of(rest, Path::new(it))))
            };
            directory.ancestors().find(is_home).map(Path::to_owned)
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

/// Returns true if a directory is in a toolchain, or contains its program.
fn is_of(directory: &Path, toolchain: &Path) -> bool {
    directory.starts_with(toolchain) || directory == ".dotnet" && toolchain.starts_with(directory)
}

/// System secrets that exist.
pub(crate) fn secrets() -> impl Iterator<Item = PathBuf> {
    let known = SECRETS.iter().map(PathBuf::from);
    known.filter(|path| fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink()))
}

/// The sockets of other programs beneath `roots` that the kernel lists: by their full path, or by one
/// that starts in the working directory of some process.
pub(crate) fn sockets_listed(roots: &[PathBuf]) -> Vec<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    let table = fs::read("/proc/net/unix").unwrap_or_default();
    // A name that is not text is none that a program could be told of, and must not hide the others.
    let table = String::from_utf8_lossy(&table);
    let (mut paths, relative): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) =
        listed(&table).partition(|path| path.is_absolute());
    if !relative.is_empty() {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let directories =
            processes.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok());
        let directories: BTreeSet<PathBuf> = directories.collect();
        let whole = |directory: &PathBuf| {
            relative.iter().map(|path| normalize(&directory.join(path))).collect::<Vec<_>>()
        };
        paths.extend(directories.iter().flat_map(whole));
    }
    // The kernel lists what a program said, by links and dots.
    let mut directories: BTreeMap<PathBuf, Option<PathBuf>> = BTreeMap::new();
    let mut real = |path: &Path| {
        let directory = path.parent()?;
        let known = directories.entry(directory.to_owned());
        let directory = known.or_insert_with(|| fs::canonicalize(directory).ok()).as_ref()?;
        Some(directory.join(path.file_name()?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_programs_are_visible() {
        let found = system();
        assert!(found.contains(&System::Directory(PathBuf::from("/usr"))));
        let shell = found.iter().any(|entry| match entry {
            System::Directory(path) | System::Link { path, .. } => path == Path::new("/bin"),
        });
        assert!(shell);
    }

    #[test]
    fn toolchains_of_another_home_are_found_by_the_search_path() {
        let base = tempfile::tempdir().expect("tempdir");
        let base = base.path().canonicalize().expect("a path");
        for directory in [".pyenv/shims", ".rustup", ".ssh"] {
            fs::create_dir_all(base.join(directory)).expect("a directory");
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
        let directories = [".ssh", ".gem/ruby", ".local/share/uv/credentials", ".dotnet/corefx"];
        for name in directories {
            fs::create_dir_all(home.path().join(name)).unwrap();
        }
        assert_eq!(toolchains(home.path()), [".cargo/bin", ".cargo/config", ".gem/ruby"]);
    }

    #[test]
    fn sockets_of_other_programs_are_listed() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b/c")).unwrap();
        let near = root.path().join("a/b/near");
        let _near = std::os::unix::net::UnixListener::bind(&near).unwrap();
        let far = root.path().join("a/b/c/far one");
        let _far = std::os::unix::net::UnixListener::bind(&far).unwrap();
        assert_eq!(sockets_listed(&[root.path().to_owned()]), [far, near]);
    }

    #[test]
    fn sockets_are_found_by_their_resolved_paths() {
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
    fn socket_table_is_parsed() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01 11111 /a/far one\n\
                     0000000000000000: 00000003 00000000 00000000 0001 03 22222\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01     3 @abstract\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01     4 dev.sock\n";
        let found: Vec<PathBuf> = listed(table).collect();
        assert_eq!(found, [PathBuf::from("/a/far one"), PathBuf::from("dev.sock")]);
    }
}
