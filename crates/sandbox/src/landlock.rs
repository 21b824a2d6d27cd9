//! The backend without namespaces: Landlock, the system call filter and limits, raised by a helper
//! whose supervisor ends all that the command started.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::sandbox::{Child, SandboxError};

use crate::cleanup::Cleanup;
use crate::failure::{Cause, Failure};
use crate::launch::Launcher;
use crate::mount_check::ExpectedMounts;
use crate::plan::{Plan, Restrictions};
use crate::request::Request;
use crate::scratch::Scratch;
use crate::self_restrict::{self, Strength};
use crate::supervisor::Supervisor;
use crate::tree::{self, ProtectedMounts};
use crate::visible_paths::{self, System};
use crate::{Backend, Settings, proxy, tokens};

/// The limits of this backend, for users.
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

/// Returns the strength of Landlock in this kernel, or why it cannot be used.
pub(crate) fn usable() -> Result<Strength, Cause> {
    match self_restrict::strength() {
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
    let supervisor = Supervisor::call(request, settings, launcher)?;
    let home = request.home.as_deref().map(|home| (home, visible_paths::toolchains(home)));
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
    proxy::tell_refused(&request.network, Backend::Landlock, settings.notice.as_ref());
    supervisor.watch(request, &plan, after)
}

fn plan(request: &Request, scratch: &Path, toolchains: Vec<PathBuf>) -> Result<Plan, String> {
    let mut env = request.env.clone();
    let text = |name: &str| scratch.join(name).to_string_lossy().into_owned();
    env.insert("HOME".to_owned(), text("home"));
    env.insert("TMPDIR".to_owned(), text("tmp"));
    if !request.fixed.is_empty() {
        // Python would load cached bytecode beside modules in place of the modules.
        env.insert("PYTHONPYCACHEPREFIX".to_owned(), text("tmp/pycache"));
    }
    let mut read: Vec<PathBuf> = PROC.map(PathBuf::from).into();
    // Only root could read secrets among them.
    let is_root = rustix::process::geteuid().is_root();
    let secrets: Vec<PathBuf> = visible_paths::secrets().filter(|_| is_root).collect();
    for entry in visible_paths::system() {
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
    let mut expected = ExpectedMounts::default();
    for path in request.roots.iter().chain(&request.own).chain(&request.read) {
        let noted = expected.add_directory(path);
        noted.map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    }
    Ok(Plan {
        program: request.program.clone().into(),
        args: request.args.clone(),
        cwd: request.cwd.clone(),
        env,
        home: request.own_home.clone(),
        restrictions: Restrictions::Alone,
        limits: request.limits,
        read,
        write,
        devices: DEVICES.map(PathBuf::from).into(),
        expected,
        filter: self_restrict::filter(Restrictions::Alone, &request.network, request.access)?,
    })
}

/// The roots that lie in no other one: what leads to the others could be exchanged by who may write these.
fn outermost(roots: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let is_inner = |root: &PathBuf| roots.iter().any(|it| it != root && root.starts_with(it));
    roots.iter().filter(move |root| !is_inner(root)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_roots_are_covered_by_the_outermost() {
        let roots = ["/p", "/q/r", "/p/build", "/p/build/x", "/px"].map(PathBuf::from);
        let found: Vec<PathBuf> = outermost(&roots).collect();
        assert_eq!(found, ["/p", "/q/r", "/px"].map(PathBuf::from));
    }
}
