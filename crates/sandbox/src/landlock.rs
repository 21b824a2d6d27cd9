//! The rung without namespaces: Landlock, the system call filter and limits, raised by a helper
//! whose warden ends all that the command started.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::sandbox::{Child, SandboxError};
use rustix::fs::{FlockOperation, flock};

use crate::choose::Failure;
use crate::cleanup::Cleanup;
use crate::contents::private_directory;
use crate::doctor::Cause;
use crate::expected::{EXCHANGED, Expected};
use crate::launch::Launcher;
use crate::plan::{Plan, Walls};
use crate::request::Request;
use crate::tree::{self, ProtectedMounts};
use crate::view::{self, System};
use crate::walls::{self, Strength};
use crate::warden::Warden;
use crate::{Rung, Settings, mirror, proxy, tokens};

/// What this rung cannot do, for people.
pub(crate) const LACKS: [&str; 6] = [
    "protected files can be changed while a command runs; changes are undone when it has ended",
    "deny rules for files are not enforced, and single hosts cannot be granted",
    "times and permissions of files elsewhere can be changed unless access is read-only",
    "no private /tmp and /dev/shm (TMPDIR names a private directory), no loopback network, no local \
     sockets, no /proc/self for child processes",
    "names, sizes and times of files in the hidden home can be learned, not their content",
    "the limit on processes counts what the user runs already, and a killed supervisor leaves the \
     command's processes behind",
];

/// Parts of `/proc` that say nothing about other processes.
#[rustfmt::skip]
const PROC: [&str; 10] = [
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime",
    "/proc/version", "/proc/filesystems", "/proc/sys/kernel", "/proc/sys/vm", "/proc/self",
];

#[rustfmt::skip]
const DEVICES: [&str; 8] = [
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx",
    "/dev/pts",
];

/// Whether the kernel can do it.
pub(crate) fn usable() -> Result<Strength, Cause> {
    match walls::strength() {
        Strength::Missing => Err(Cause::new(
            "the kernel has no Landlock, or it is switched off",
            "use Linux 5.13 or later and add `landlock` to the kernel parameter `lsm=`",
        )),
        strength => Ok(strength),
    }
}

/// Starts `request`.
pub(crate) fn start(
    request: &Request,
    settings: &Settings,
    launcher: &Arc<Launcher>,
) -> Result<Child, Failure> {
    usable().map_err(Failure::Setup)?;
    let warden = Warden::call(request, settings, launcher)?;
    let home = request.home.as_deref().map(|home| (home, view::toolchains(home)));
    let scratch = Scratch::new(&settings.state, home.as_ref())
        .and_then(|scratch| {
            let places = request.read.iter().map(|path| (path, path));
            scratch.show(request.home.as_deref(), places.chain(&request.names))?;
            Ok(scratch)
        })
        .map_err(|error| SandboxError::Refused(format!("cannot make scratch space: {error}")))?;
    let trees = tree::all(&request.writable(), settings)?;
    let mut after = Cleanup::begin(trees, request.private(), settings)?;
    // Landlock cannot exclude a path below a writable directory: everything is compared.
    for (_, mounts) in &mut after.trees {
        *mounts = ProtectedMounts::default();
    }
    let tokens = request.home.as_deref().map(tokens::tokens).unwrap_or_default();
    let toolchains = home.iter().flat_map(|(home, names)| names.iter().map(|name| home.join(name)));
    let toolchains = toolchains.flat_map(|path| tokens::toolchain_without(&path, &tokens));
    let plan = plan(request, scratch.directory.path(), toolchains.collect());
    let plan = plan.map_err(SandboxError::Refused)?;
    after.disks.push(scratch.directory.path().to_owned());
    after.scratch = Some(scratch);
    proxy::tell_refused(&request.network, Rung::Landlock, settings.notice.as_ref());
    warden.watch(request, &plan, after)
}

/// A directory for one process alone.
#[derive(Debug)]
pub(crate) struct Scratch {
    directory: tempfile::TempDir,
    /// Locked while in use, so that a sweep knows what was abandoned.
    _lock: File,
}

impl Scratch {
    /// Makes one whose `home` leads to these toolchains of the real one.
    fn new(state: &Path, home: Option<&(&Path, Vec<&str>)>) -> io::Result<Self> {
        let parent = state.join("scratch");
        private_directory(&parent)?;
        let directory = tempfile::Builder::new().prefix("run-").tempdir_in(parent)?;
        let lock = File::open(directory.path())?;
        flock(&lock, FlockOperation::LockShared)?;
        private_directory(&directory.path().join("tmp"))?;
        let own = directory.path().join("home");
        private_directory(&own)?;
        for (home, name) in
            home.iter().flat_map(|(home, names)| names.iter().map(move |name| (home, name)))
        {
            let link = own.join(name);
            if let Some(parent) = link.parent() {
                private_directory(parent)?;
            }
            std::os::unix::fs::symlink(home.join(name), link)?;
        }
        Ok(Self { directory, _lock: lock })
    }

    /// Adds symlinks to readable paths of the real home, unless something is in the way.
    fn show<'a>(
        &self,
        home: Option<&Path>,
        names: impl Iterator<Item = (&'a PathBuf, &'a PathBuf)>,
    ) -> io::Result<()> {
        let own = self.directory.path().join("home");
        for (path, real) in names {
            let below = home.and_then(|home| path.strip_prefix(home).ok());
            let Some(link) = below.map(|below| own.join(below)).filter(|it| *it != own) else {
                continue;
            };
            let is_led = link.ancestors().take_while(|it| *it != own).any(Path::is_symlink);
            if is_led || link.exists() {
                continue;
            }
            std::fs::create_dir_all(link.parent().unwrap_or(&own))?;
            std::os::unix::fs::symlink(real, link)?;
        }
        Ok(())
    }
}

/// Removes scratch space and views that a killed program left.
pub(crate) fn sweep(state: &Path) {
    let entries = ["scratch", mirror::VIEWS].map(|name| std::fs::read_dir(state.join(name)));
    for entry in entries.into_iter().flatten().flatten().flatten() {
        let path = entry.path();
        let is_abandoned = File::open(&path)
            .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok());
        if is_abandoned {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

fn plan(request: &Request, scratch: &Path, toolchains: Vec<PathBuf>) -> Result<Plan, String> {
    let mut env = request.env.clone();
    let text = |name: &str| scratch.join(name).to_string_lossy().into_owned();
    env.insert("HOME".to_owned(), text("home"));
    env.insert("TMPDIR".to_owned(), text("tmp"));
    if !request.fixed.is_empty() {
        // What Python has cached beside modules would be taken in their place.
        env.insert("PYTHONPYCACHEPREFIX".to_owned(), text("tmp/pycache"));
    }
    let mut read: Vec<PathBuf> = PROC.map(PathBuf::from).into();
    // Only root could read secrets among them.
    let is_root = rustix::process::geteuid().is_root();
    let secrets: Vec<PathBuf> = view::secrets().filter(|_| is_root).collect();
    for entry in view::system() {
        if let System::Directory(path) = entry {
            read.extend(tokens::without(path.clone(), &secrets));
        }
    }
    read.extend(toolchains);
    read.extend(request.read.clone());
    read.extend(outermost(&request.roots));
    let mut write = vec![scratch.to_owned()];
    write.extend(request.private());
    write.extend(outermost(&request.writable()));
    // Another confined process could put a link to anything there before the rights are given.
    let mut expected = Expected::default();
    for path in request.roots.iter().chain(&request.own).chain(&request.read) {
        let noted = expected.add_directory(path);
        noted.map_err(|error| format!("{EXCHANGED} {}: {error}", path.display()))?;
    }
    Ok(Plan {
        program: request.program.clone().into(),
        args: request.args.clone(),
        cwd: request.cwd.clone(),
        env,
        home: request.own_home.clone(),
        walls: Walls::Alone,
        limits: request.limits,
        read,
        write,
        devices: DEVICES.map(PathBuf::from).into(),
        expected,
        filter: walls::filter(Walls::Alone, &request.network, request.access)?,
    })
}

/// The roots that lie in no other one: what leads to the others could be exchanged by who may write these.
fn outermost(roots: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let is_inner = |root: &PathBuf| roots.iter().any(|it| it != root && root.starts_with(it));
    roots.iter().filter(move |root| !is_inner(root)).cloned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_root_in_another_one_is_not_looked_for_by_its_path() {
        let roots = ["/p", "/q/r", "/p/build", "/p/build/x", "/px"].map(PathBuf::from);
        let found: Vec<PathBuf> = outermost(&roots).collect();
        assert_eq!(found, ["/p", "/q/r", "/px"].map(PathBuf::from));
    }

    #[test]
    fn readable_paths_of_the_home_are_found_in_its_place() {
        let base = tempfile::tempdir().unwrap();
        let (state, home) = (base.path().join("state"), base.path().join("home"));
        let hooks = home.join(".config/brynhild/hooks");
        fs::create_dir_all(&hooks).unwrap();
        fs::write(hooks.join("gate.sh"), "x").unwrap();
        let scratch = Scratch::new(&state, None).unwrap();
        let paths =
            [hooks.clone(), hooks.join("gate.sh"), hooks.clone(), home.clone(), "/usr".into()];
        let (name, gate) = (home.join(".gate"), hooks.join("gate.sh"));
        let names = paths.iter().map(|path| (path, path)).chain([(&name, &gate)]);
        scratch.show(Some(&home), names).unwrap();
        assert_eq!(fs::read(scratch.directory.path().join("home/.gate")).unwrap(), b"x");
        let found = scratch.directory.path().join("home/.config/brynhild/hooks/gate.sh");
        assert_eq!(fs::read(found).unwrap(), b"x");
        assert_eq!(fs::read_dir(scratch.directory.path().join("home")).unwrap().count(), 2);
    }

    #[test]
    fn abandoned_scratch_space_is_removed_and_used_space_is_not() {
        let state = tempfile::tempdir().unwrap();
        let used = Scratch::new(state.path(), None).unwrap();
        let abandoned = state.path().join("scratch/run-x");
        fs::create_dir_all(abandoned.join("tmp")).unwrap();
        sweep(state.path());
        assert!(used.directory.path().is_dir() && !abandoned.exists());
    }
}
