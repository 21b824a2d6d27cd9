//! The options of bubblewrap, and the mounts that they must result in.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use contract::sandbox::Network;

use super::INSIDE;
use crate::cleanup::Cleanup;
use crate::deny_mounts::Mounts;
use crate::mount_check::{ExpectedMount, ExpectedMounts, Number, look};
use crate::request::Request;
use crate::self_restrict::{self, Strength};
use crate::tokens;
use crate::trusted_copies::TrustedCopies;
use crate::visible_paths::{self, System};

const SMALL: u64 = 16 << 20;

/// Options for bubblewrap, each ended by a zero.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) bytes: Vec<u8>,
    /// The mounts that other confined processes could exchange.
    pub(super) expected: ExpectedMounts,
}

/// How something is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bind {
    Free,
    ReadOnly,
}

impl Options {
    /// The options for `request`. Fails if something that is to be mounted has gone.
    pub(super) fn of(
        request: &Request,
        (after, denied): (&Cleanup, &Mounts),
        helper: RawFd,
        can_disable: bool,
    ) -> io::Result<Self> {
        let mut options = Self::default();
        options.flags(&[
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
            "--die-with-parent",
            "--clearenv",
        ]);
        options.add("--cap-drop", ["ALL"]);
        if can_disable {
            options.flags(&["--disable-userns"]);
        }
        if request.network != Network::Host {
            options.flags(&["--unshare-net"]);
        }
        options.system(request);
        options.home(request);
        for path in &request.read {
            options.bind_if_there(Bind::ReadOnly, path);
        }
        for (name, real) in &request.names {
            options.add("--symlink", [real, name]);
        }
        options.workspace(request, (after, denied))?;
        options.add("--remount-ro", ["/dev"]);
        options.add("--remount-ro", ["/"]);
        // Late, because bubblewrap goes through all mounts whenever it binds or changes one.
        for path in &denied.directories {
            options.cover(path, "0000")?;
        }
        for path in &denied.files {
            options.expect_in(path)?;
            options.put_over(Bind::ReadOnly, &denied.seal, path)?;
        }
        // Last, because nothing can run without it: neither where options are missing at the end.
        options.add("--symlink", [&format!("/proc/self/fd/{helper}"), INSIDE]);
        Ok(options)
    }

    /// The roots, with what is protected in them.
    fn workspace(
        &mut self,
        request: &Request,
        (after, denied): (&Cleanup, &Mounts),
    ) -> io::Result<()> {
        let writable = request.writable();
        for root in &request.roots {
            let bind = if writable.contains(root) { Bind::Free } else { Bind::ReadOnly };
            self.root(bind, root, after)?;
        }
        // A path that is covered later, or is a copied directory, needs no mount.
        let is_covered = |path: &Path| denied.directories.iter().any(|it| path.starts_with(it));
        let is_mirrored =
            |path: &Path| after.trusted.as_ref().is_some_and(|trusted| trusted.is_directory(path));
        let is_ours = |path: &Path| is_covered(path) || is_mirrored(path);
        let pinned =
            after.mounts().flat_map(|mounts| &mounts.pinned).chain(&denied.found.fixed_parents);
        for path in pinned.filter(|path| !is_ours(path) && !request.roots.contains(path)) {
            self.bind(Bind::Free, path)?;
        }
        let read_only = after.mounts().flat_map(|mounts| &mounts.read_only);
        for path in read_only.chain(&denied.found.read_only).filter(|path| !is_ours(path)) {
            self.bind(Bind::ReadOnly, path)?;
        }
        for directory in request.private() {
            self.bind(Bind::Free, &directory)?;
        }
        for socket in visible_paths::sockets_listed(&request.roots) {
            self.expect_in(&socket)?;
            self.put_over(Bind::ReadOnly, Path::new("/dev/null"), &socket)?;
        }
        Ok(())
    }

    /// A directory that may be written as a whole.
    fn root(&mut self, bind: Bind, root: &Path, after: &Cleanup) -> io::Result<()> {
        match after.trusted.as_ref().filter(|trusted| trusted.root == *root) {
            Some(trusted) => self.trusted(trusted, bind),
            None => self.bind(bind, root),
        }
    }

    /// Mounts what lies at a path there.
    fn bind(&mut self, bind: Bind, path: &Path) -> io::Result<()> {
        let file = look(path).map_err(|error| named(path, &error))?;
        let is_read_only = bind == Bind::ReadOnly;
        self.add(if is_read_only { "--ro-bind" } else { "--bind" }, [path, path]);
        self.expected.add(path, ExpectedMount::Mounted { file, is_read_only });
        Ok(())
    }

    fn bind_if_there(&mut self, bind: Bind, path: &Path) {
        if let Ok(file) = look(path) {
            self.mount(bind, path, path, file);
        }
    }

    /// Mounts something of ours at a path.
    fn put_over(&mut self, bind: Bind, ours: &Path, path: &Path) -> io::Result<()> {
        let found = fs::metadata(ours).map_err(|error| named(ours, &error))?;
        self.mount(bind, ours, path, (found.dev(), found.ino()));
        Ok(())
    }

    /// Covers a directory by one in memory.
    fn cover(&mut self, path: &Path, mode: &str) -> io::Result<()> {
        self.expect_in(path)?;
        self.scratch(path, 0, mode);
        self.expected.add(path, ExpectedMount::Memory);
        Ok(())
    }

    /// Notes the directory that holds what is to be covered: only there that is to be found.
    fn expect_in(&mut self, path: &Path) -> io::Result<()> {
        let directory = path.parent().unwrap_or(path);
        let there = look(path).map(drop);
        let noted = there.and_then(|()| self.expected.add_directory(directory));
        noted.map_err(|error| named(path, &error))
    }

    fn mount(&mut self, bind: Bind, from: &Path, to: &Path, file: Number) {
        let is_read_only = bind == Bind::ReadOnly;
        self.add(if is_read_only { "--ro-bind" } else { "--bind" }, [from, to]);
        self.expected.add(to, ExpectedMount::Mounted { file, is_read_only });
    }

    fn flags(&mut self, flags: &[&str]) {
        for flag in flags {
            self.put(OsStr::new(flag));
        }
    }

    fn add<T: AsRef<OsStr>>(&mut self, flag: &str, values: impl IntoIterator<Item = T>) {
        self.put(OsStr::new(flag));
        for value in values {
            self.put(value.as_ref());
        }
    }

    fn put(&mut self, word: &OsStr) {
        self.bytes.extend_from_slice(word.as_bytes());
        self.bytes.push(0);
    }

    /// Mounts a path read-only at the same place, if it exists.
    fn put_if_there(&mut self, path: &Path) {
        if path.exists() {
            self.add("--ro-bind-try", [path, path]);
        }
    }

    fn scratch(&mut self, path: &Path, size: u64, mode: &str) {
        self.add("--perms", [mode]);
        self.add("--size", [size.max(4096).to_string()]);
        self.add("--tmpfs", [path]);
    }

    /// Programs, devices and scratch space; the shares of the latter add up to the limit.
    fn system(&mut self, request: &Request) {
        for entry in visible_paths::system() {
            match entry {
                System::Directory(path) => self.add("--ro-bind", [path, path]),
                System::Link { path, target } => self.add("--symlink", [target, path]),
            }
        }
        if rustix::process::geteuid().is_root() {
            for secret in visible_paths::secrets().filter_map(|it| fs::canonicalize(it).ok()) {
                if secret.is_dir() {
                    // As with stubs, to make it read-only would cost more than it is worth.
                    self.scratch(&secret, 0, "0555");
                } else {
                    self.add("--ro-bind", [Path::new("/dev/null"), &secret]);
                }
            }
        }
        self.add("--proc", ["/proc"]);
        for path in visible_paths::KEYRINGS.map(Path::new).into_iter().filter(|path| path.exists())
        {
            self.add("--ro-bind", [Path::new("/dev/null"), path]);
        }
        if rustix::process::geteuid().is_root() && self_restrict::strength() == Strength::Missing {
            // The kernel lets root change these without any capability; Landlock does not.
            for path in visible_paths::KERNEL_SETTINGS {
                self.put_if_there(Path::new(path));
            }
        }
        self.add("--dev", ["/dev"]);
        let share = request.limits.scratch / 4;
        self.scratch(Path::new("/dev/shm"), share, "1777");
        self.scratch(Path::new("/tmp"), share * 2, "1777");
        self.scratch(Path::new("/run"), SMALL.min(share), "0755");
        self.scratch(Path::new("/var"), SMALL.min(share), "0755");
        self.add("--dir", ["/var/tmp"]);
        if request.network == Network::Host {
            self.resolver();
        }
    }

    /// The file that says how to resolve names is often a link out of `/etc`.
    fn resolver(&mut self) {
        if let Ok(path) = std::fs::canonicalize("/etc/resolv.conf")
            && !path.starts_with("/etc")
        {
            self.put_if_there(&path);
        }
    }

    /// A workspace in which trusted files lie where nobody can exchange them.
    fn trusted(&mut self, trusted: &TrustedCopies, bind: Bind) -> io::Result<()> {
        self.put_over(bind, &trusted.view, &trusted.root)?;
        for (directory, place, is_free) in trusted.directories() {
            self.put_over(if is_free { bind } else { Bind::ReadOnly }, &directory, &place)?;
        }
        for path in &trusted.mounted {
            let bind = if trusted.is_held(path) { Bind::ReadOnly } else { bind };
            self.bind_if_there(bind, path);
        }
        for (copy, place) in &trusted.copies {
            self.put_over(Bind::ReadOnly, copy, place)?;
        }
        Ok(())
    }

    fn home(&mut self, request: &Request) {
        let Some(home) = &request.home else {
            return;
        };
        self.scratch(home, request.limits.scratch / 4, "0700");
        for name in visible_paths::toolchains(home) {
            self.put_if_there(&home.join(name));
        }
        for token in tokens::tokens(home) {
            self.add("--ro-bind", [Path::new("/dev/null"), &token]);
        }
    }

    #[cfg(test)]
    fn words(&self) -> Vec<std::ffi::OsString> {
        self.bytes.split(|&byte| byte == 0).map(|word| OsStr::from_bytes(word).to_owned()).collect()
    }
}

/// An error with the path that it is about.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn arguments_keep_their_order_and_bytes() {
        let mut options = Options::default();
        options.flags(&["--new-session"]);
        options.add("--bind", [OsStr::from_bytes(b"/\xff"), OsStr::new("/x y")]);
        let words = options.words();
        assert_eq!(words[1..3], ["--bind".into(), OsString::from(OsStr::from_bytes(b"/\xff"))]);
        assert_eq!(words[3], "/x y");
    }
}
