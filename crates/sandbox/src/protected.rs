//! The names that a confined process must not touch in a writable root: what the host, an editor or
//! an assistant executes or obeys later.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use contract::protected::{FOREMOST, OTHERS};
use contract::sandbox::SandboxError;
use rustix::fs::{Dir, DirEntry, Mode, OFlags};

use crate::contents::{self, Found};
use crate::discovery::real;
use crate::git_settings::{Setting, guessed, settings};
use crate::guard::{SAVED_BYTES, SAVED_ENTRIES};
use crate::nested::Nested;
use crate::other_repositories;

const MODULES_BYTES: u64 = 1 << 20;
const MODULES: usize = 128;
/// Names below the top for which there is a mount each: every one makes the next more costly.
const MOUNTS: usize = 64;

/// Protected paths under one root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Protected {
    /// Those that exist.
    pub(crate) present: Vec<PathBuf>,
    /// Those that do not.
    pub(crate) absent: Vec<PathBuf>,
    /// Those that do not, and are looked for afterwards.
    pub(crate) watched: Vec<PathBuf>,
    /// Those that exist beyond the number for which mounts are made.
    pub(crate) more: Vec<PathBuf>,
    /// Empty folders of submodules that are not checked out: nothing is to be put there, and git takes
    /// a stub for a broken repository.
    pub(crate) empty: Vec<PathBuf>,
    /// Folders on the way to what lies deeper: moving one away would take along what is protected.
    pub(crate) way: Vec<PathBuf>,
}

/// Sorts the protected paths under `root`, deeper in which `nested` was found, into present and absent
/// ones.
pub(crate) fn find(root: &Path, nested: &Nested) -> Result<Protected, SandboxError> {
    let home = nested.user.as_ref().and_then(|user| user.home.as_ref());
    let own = home.map(|home| home.join(".config/brynhild"));
    if own.is_some_and(|own| fs::canonicalize(&own).unwrap_or(own) == root) {
        return Err(SandboxError::Refused(format!(
            "{} holds the settings that decide what may run, so nothing that runs may write there; \
             work in another folder, or use read-only access",
            root.display()
        )));
    }
    if nested.is_unclear {
        return Err(SandboxError::Refused(format!(
            "the settings or hooks of git in {}, or what your shell loads there, cannot all be read or \
             name more files than can be looked at, any of which a command could write for git to \
             run; make them shorter and readable, or use read-only access",
            root.display()
        )));
    }
    if let Some(link) = nested.around.first() {
        return Err(SandboxError::Refused(format!(
            "{} is a link to a folder that it lies in, so what programs find by its name cannot be \
             protected; remove it, or use read-only access",
            link.display()
        )));
    }
    let mut found = Protected::default();
    for name in FOREMOST {
        sort(root.join(name), &mut found)?;
    }
    // For the many names that few use a stub each would cost too much: what is planted there is
    // found when the command has ended.
    let mut others = Protected::default();
    for name in OTHERS.into_iter().filter(|name| !other_repositories::is_name(name)) {
        sort(root.join(name), &mut others)?;
    }
    found.present.extend(others.present);
    found.watched = others.absent;
    let mut modules: BTreeSet<PathBuf> = submodules(root)?.into_iter().collect();
    let links = nested.links.iter().filter_map(|git| git.parent());
    modules.extend(links.filter(|path| is_real_directory(root, path)).map(Path::to_owned));
    for module in modules {
        add_module(module, &mut found)?;
    }
    add_nested(root, nested, &mut found);
    for path in &nested.pointers {
        add_pointer(root, path, usize::MAX, &mut found);
    }
    for path in &nested.further {
        add_pointer(root, path, MOUNTS, &mut found);
    }
    let deep = found.present.iter().chain(&found.absent).chain(&found.empty);
    let deep = deep.filter(|path| path.parent() != Some(root));
    let way = deep.flat_map(|path| path.ancestors().skip(1).take_while(|it| *it != root));
    let way: BTreeSet<PathBuf> = way.map(Path::to_owned).collect();
    found.way = way.into_iter().collect();
    Ok(found)
}

/// Adds the repository of a submodule, or the folder that is to become one.
fn add_module(folder: PathBuf, found: &mut Protected) -> Result<(), SandboxError> {
    let mut module = Protected::default();
    sort(folder.join(".git"), &mut module)?;
    found.present.append(&mut module.present);
    if !module.absent.is_empty() && is_empty_folder(&folder) {
        found.empty.push(folder);
    }
    found.watched.append(&mut module.absent);
    Ok(())
}

/// What is too large to be saved comes first, then repositories, of which little is saved, then other names;
/// of a link what it leads to is protected, as what settings lead to is.
fn add_nested(root: &Path, nested: &Nested, found: &mut Protected) {
    let is_new = |path: &&PathBuf| !found.present.contains(path) && is_real(root, path);
    let is_git = |path: &PathBuf| path.ends_with(".git") || nested.parts.contains_key(path);
    let names = nested.names.iter().chain(&nested.parts);
    let names = names.filter(|(_, target)| target.is_none()).map(|(path, _)| path);
    let names = names.filter(|path| other_repositories::obeyed(path).is_none());
    let mut names: Vec<PathBuf> = names.filter(is_new).cloned().collect();
    if names.len() > MOUNTS {
        // What has no mount is saved, so what cannot be saved has one.
        names.sort_by_cached_key(|path| {
            if is_git(path) {
                Kind::Repository
            } else if can_be_saved(path, &mut (SAVED_ENTRIES, SAVED_BYTES)) {
                Kind::Other
            } else {
                Kind::Large
            }
        });
    }
    found.more = names.split_off(names.len().min(MOUNTS));
    found.present.extend(names);
}

/// What needs a mount more comes first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Large,
    Repository,
    Other,
}

/// Whether what lies at a path is within the bounds for what is saved, of which it takes its part.
fn can_be_saved(path: &Path, left: &mut (usize, u64)) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    let size = if found.is_file() { found.len() } else { 0 };
    let (Some(entries), Some(bytes)) = (left.0.checked_sub(1), left.1.checked_sub(size)) else {
        return false;
    };
    *left = (entries, bytes);
    if !found.is_dir() {
        return true;
    }
    let listed = fs::read_dir(path);
    listed.is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| can_be_saved(&entry.path(), left)))
    })
}

/// Adds what settings lead to; with a mount where there are fewer than `most`.
fn add_pointer(root: &Path, path: &Path, most: usize, found: &mut Protected) {
    // What a link leads to is what git would take.
    let path = real(path);
    let is_known = found.present.iter().any(|known| path.starts_with(known));
    // A link to the root leads to no name in it, and is looked at afterwards.
    if is_known || path == root || !path.starts_with(root) {
        return;
    }
    if !path.exists() {
        found.watched.push(path);
    } else if found.present.len() < FOREMOST.len().saturating_add(most) {
        found.present.push(path);
    } else if !found.more.contains(&path) {
        found.more.push(path);
    }
}

/// Whether it is still there, and no link leads to it.
fn is_real(root: &Path, path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
        && path.parent().is_some_and(|folder| is_real_directory(root, folder))
}

/// Whether it is a folder, not a link to one, with nothing in it. Asked dozens of times for each
/// command, so with no more calls to the kernel than it takes.
pub(crate) fn is_empty_folder(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).and_then(Dir::new);
    let Ok(mut entries) = opened else { return false };
    let is_itself = |entry: DirEntry| [c".", c".."].contains(&entry.file_name());
    entries.all(|entry| entry.is_ok_and(is_itself))
}

/// Whether a bare repository lies at `root`: git would take its configuration.
pub(crate) fn is_bare_repository(root: &Path) -> bool {
    would_be_bare_repository(root, "")
}

/// Whether one would lie there if `part` were beside what is there.
pub(crate) fn would_be_bare_repository(root: &Path, part: &str) -> bool {
    let has = |name: &str| {
        name.eq_ignore_ascii_case(part) || fs::symlink_metadata(root.join(name)).is_ok()
    };
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

fn sort(path: PathBuf, found: &mut Protected) -> Result<(), SandboxError> {
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_symlink() => Err(SandboxError::Refused(format!(
            "{} is a symbolic link, so it cannot be protected; replace it by what it points to, \
             or use read-only access",
            path.display()
        ))),
        Ok(_) => {
            found.present.push(path);
            Ok(())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            found.absent.push(path);
            Ok(())
        }
        Err(error) => {
            Err(SandboxError::Refused(format!("cannot examine {}: {error}", path.display())))
        }
    }
}

/// The submodule folders that exist: git on the host looks into each of them.
fn submodules(root: &Path) -> Result<Vec<PathBuf>, SandboxError> {
    let path = root.join(".gitmodules");
    let text = match contents::plain_file(&path, MODULES_BYTES) {
        Found::Read(text) => text,
        Found::Absent => return Ok(Vec::new()),
        // A sandbox beside this one holds a folder there.
        Found::Unknown if path.is_dir() => return Ok(Vec::new()),
        Found::Unknown => {
            return Err(SandboxError::Refused(format!(
                "{} cannot be read, or is longer than 1 MiB; make it a file that can, or use \
                 read-only access",
                path.display()
            )));
        }
    };
    let settings = settings(&text).unwrap_or_else(|| guessed(&text));
    Ok(settings
        .iter()
        .filter(|setting| setting.key == "path")
        .map(Setting::path)
        .filter(|path| is_plain(path))
        .map(|path| root.join(path))
        .filter(|path| is_real_directory(root, path))
        .take(MODULES)
        .collect())
}

fn is_plain(path: &Path) -> bool {
    path.components().next().is_some()
        && path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// Whether `path` is a folder beneath `root` that no link leads through.
pub(crate) fn is_real_directory(root: &Path, path: &Path) -> bool {
    path.ancestors()
        .take_while(|ancestor| *ancestor != root)
        .all(|part| fs::symlink_metadata(part).is_ok_and(|metadata| metadata.is_dir()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nested::look;

    fn find(root: &Path) -> Result<Protected, SandboxError> {
        super::find(root, &look(root, None))
    }

    #[test]
    fn every_name_is_either_present_or_absent() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".git")).unwrap();
        fs::write(root.path().join(".mcp.json"), "{}").unwrap();
        let found = find(root.path()).unwrap();
        assert_eq!(found.present, [root.path().join(".git"), root.path().join(".mcp.json")]);
        assert_eq!(found.absent.len(), FOREMOST.len() - 2);
        let others = OTHERS.into_iter().filter(|name| !other_repositories::is_name(name));
        assert_eq!(found.watched.len(), others.count());
    }

    #[test]
    fn the_program_s_own_folder_is_no_place_to_write() {
        let home = tempfile::tempdir().unwrap();
        let own = home.path().canonicalize().unwrap().join(".config/brynhild");
        fs::create_dir_all(own.join("plugin-data/x")).unwrap();
        let user = crate::User { home: Some(home.path().to_owned()), ..Default::default() };
        let find = |root: &Path| super::find(root, &look(root, Some(&user)));
        let error = find(&own).unwrap_err().to_string();
        assert!(error.contains("decide what may run"), "{error}");
        assert!(find(&own.join("plugin-data/x")).is_ok());
    }

    #[test]
    fn a_symbolic_link_at_a_protected_name_is_refused() {
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", root.path().join(".vscode")).unwrap();
        let error = find(root.path()).unwrap_err().to_string();
        assert!(error.contains(".vscode is a symbolic link"), "{error}");
    }

    #[test]
    fn the_git_entry_of_each_submodule_is_protected() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        fs::create_dir(root.path().join("c")).unwrap();
        fs::write(root.path().join("c/.git"), "gitdir: ../.git/modules/c").unwrap();
        std::os::unix::fs::symlink("/etc", root.path().join("d")).unwrap();
        fs::write(
            root.path().join(".gitmodules"),
            "[submodule \"x\"]\n\tpath = a/b\n[submodule \"y\"]\npath=\"c\"\n\
             [submodule \"z\"]\npath = ../out\n[submodule \"l\"]\npath = d\n",
        )
        .unwrap();
        let found = find(root.path()).unwrap();
        assert_eq!(found.empty, [root.path().join("a/b")]);
        assert!(found.watched.contains(&root.path().join("a/b/.git")));
        assert!(found.present.contains(&root.path().join("c/.git")));
        let all = found.present.len() + found.absent.len();
        assert_eq!(all, FOREMOST.len() + 1);
        assert_eq!(found.way, ["a", "c"].map(|name| root.path().join(name)));
    }

    #[test]
    fn names_further_down_are_protected_where_they_exist_large_ones_and_repositories_first() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for number in 0..MOUNTS {
            fs::create_dir_all(path(&format!("a/{number}/.vscode/x"))).unwrap();
        }
        fs::create_dir_all(path("b/c/.git/x")).unwrap();
        fs::create_dir_all(path("z/.claude/worktrees")).unwrap();
        let large = fs::File::create(path("z/.claude/worktrees/blob")).unwrap();
        large.set_len(SAVED_BYTES + 1).unwrap();
        std::os::unix::fs::symlink("x", path("b/.mcp.json")).unwrap();
        let found = find(root.path()).unwrap();
        assert_eq!(found.present.len(), MOUNTS);
        assert_eq!((&found.present[0], found.more.len()), (&path("z/.claude"), 2));
        assert_eq!(found.present[1], path("b/c/.git"));
        assert!(found.way.contains(&path("b")) && found.way.contains(&path("b/c")));
        for number in 0..MOUNTS {
            fs::create_dir_all(path(&format!("r/{number}/.git/objects"))).unwrap();
        }
        let found = find(root.path()).unwrap();
        assert_eq!((&found.present[0], found.present.len()), (&path("z/.claude"), MOUNTS));
        assert!(found.present[1..].iter().all(|path| path.ends_with(".git")));
    }
}
