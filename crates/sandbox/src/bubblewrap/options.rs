//! What bubblewrap is told, and what must come of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use contract::sandbox::Network;

use super::{INSIDE, sockets};
use crate::expected::{Expected, Eyes, Meant, Number};
use crate::guard::After;
use crate::mirror::Mirror;
use crate::mount_points::{self, MountPoints};
use crate::request::Request;
use crate::seals::Mounts;
use crate::tokens;
use crate::view::{self, System};
use crate::walls::{self, Strength};

const SMALL: u64 = 16 << 20;
/// Where bubblewrap keeps what lies outside, from the root that it makes.
const OUTSIDE: &str = "/../oldroot";
/// A folder out there that every machine has, where no project lies and no other process reaches what is put
/// over it: it is gone with the rest of the outside.
const ASIDE: &str = "/proc/driver";

/// What a bubblewrap knows.
#[derive(Clone, Debug)]
pub(super) struct Knows {
    /// To forbid user namespaces.
    pub(super) disable: bool,
    /// To make what lies outside read-only.
    pub(super) close: bool,
    /// What of it stays as it is all the same.
    pub(super) open: BTreeSet<PathBuf>,
}

/// Options for bubblewrap, each ended by a zero.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) bytes: Vec<u8>,
    /// What they mount of what other confined processes could exchange.
    pub(super) expected: Expected,
    eyes: Eyes,
    /// Where something is mounted outside, which comes along with the folder it lies in.
    outside: MountPoints,
    /// The roots that bubblewrap has under a number, as far as they are not mounted yet.
    held: BTreeMap<PathBuf, RawFd>,
    /// What was mounted aside, and where.
    aside: BTreeMap<PathBuf, PathBuf>,
    /// Whether bubblewrap could make what it misses outside, while it mounts within a root.
    is_open: bool,
    /// What of the outside is made read-only, as bubblewrap has it.
    pub(super) closed: Vec<PathBuf>,
}

/// The folders on the way to what is mounted deeper, without those that are mounted for their own sake.
fn way(request: &Request, after: &After, barred: &Mounts) -> BTreeSet<PathBuf> {
    // What is covered later need not be there: each mount less is one that cannot go astray.
    let is_covered = |path: &PathBuf| barred.folders.iter().any(|folder| path.starts_with(folder));
    let is_mirrored =
        |path: &PathBuf| after.mirror.as_ref().is_some_and(|mirror| mirror.is_folder(path));
    let way = after.holds.iter().flat_map(|hold| &hold.way).chain(&barred.found.way);
    let is_ours = |path: &PathBuf| is_covered(path) || is_mirrored(path);
    // Whatever else is wrong, nothing above a root is mounted.
    let is_way = |path: &&PathBuf| is_within(path, &request.roots) && !request.roots.contains(path);
    way.filter(|path| is_way(path) && !is_ours(path)).cloned().collect()
}

/// Where bubblewrap has what lies at a path outside.
fn outside(path: &Path) -> PathBuf {
    Path::new(OUTSIDE).join(path.strip_prefix("/").unwrap_or(path))
}

/// Whether a folder lies in another of these.
fn is_within(folder: &Path, others: &[PathBuf]) -> bool {
    others.iter().any(|other| other != folder && folder.starts_with(other))
}

/// How something is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bind {
    Free,
    ReadOnly,
}

impl Options {
    /// Those for `request`; none where what is to be mounted is there no more.
    pub(super) fn of(
        request: &Request,
        (after, barred): (&After, &Mounts),
        (helper, held): (RawFd, BTreeMap<PathBuf, RawFd>),
        knows: &Knows,
    ) -> io::Result<Self> {
        let mut options = Self { outside: MountPoints::here()?, held, ..Self::default() };
        options.flags(&[
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--die-with-parent",
            "--clearenv",
        ]);
        options.add("--cap-drop", ["ALL"]);
        if knows.disable {
            options.flags(&["--disable-userns"]);
        }
        if after.group.is_none() {
            // From inside a namespace of its own nothing could enter a group outside of it.
            options.flags(&["--unshare-cgroup-try"]);
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
        options.workspace(request, (after, barred), knows)?;
        options.add("--remount-ro", ["/dev"]);
        options.add("--remount-ro", ["/"]);
        if options.is_open {
            // This fails where there is none, and so before one is made elsewhere.
            for path in after.holds.iter().flat_map(|hold| &hold.absent) {
                options.add("--chmod", [OsStr::new("0700"), path.as_os_str()]);
            }
        }
        // Late, because bubblewrap goes through all mounts whenever it binds or changes one.
        for path in after.holds.iter().flat_map(|hold| &hold.absent) {
            // What the owner of the folder writes here is seen by nobody and gone afterwards.
            options.cover(path, "0555")?;
        }
        for path in &barred.folders {
            options.cover(path, "0000")?;
        }
        for path in &barred.files {
            options.expect_in(path)?;
            options.put_over(Bind::ReadOnly, &barred.seal, path)?;
        }
        // Last, because nothing can run without it: neither where options are missing at the end.
        options.add("--symlink", [&format!("/proc/self/fd/{helper}"), INSIDE]);
        Ok(options)
    }

    /// What may be written, but for what may not.
    fn workspace(
        &mut self,
        request: &Request,
        (after, barred): (&After, &Mounts),
        knows: &Knows,
    ) -> io::Result<()> {
        let writable = request.writable();
        let bind = |root: &PathBuf| {
            if writable.contains(root) { Bind::Free } else { Bind::ReadOnly }
        };
        let apart = |paths: &[PathBuf]| -> (Vec<PathBuf>, Vec<PathBuf>) {
            paths.iter().cloned().partition(|path| !is_within(path, &request.roots))
        };
        let ((outer, inner), (beside, inside)) = (apart(&request.roots), apart(&request.private()));
        let way = way(request, after, barred);
        let deep: Vec<&PathBuf> = inner.iter().chain(&inside).chain(&way).collect();
        let is_held = |path: &&PathBuf| self.held.keys().any(|root| path.starts_with(root));
        // A mirror is put together from what lies outside.
        let is_mirror = |root: &PathBuf| after.mirror.as_ref().is_some_and(|it| it.root == *root);
        let can_close = knows.close && deep.iter().all(is_held) && !inner.iter().any(is_mirror);
        let is_aside = can_close && !deep.is_empty();
        let is_plain = deep.is_empty() && outer.iter().all(|root| is_held(&root));
        self.is_open = !(is_aside || is_plain);
        if is_aside {
            self.put_aside(&outer);
        }
        for root in &outer {
            self.root(bind(root), root, after)?;
        }
        for folder in &beside {
            self.bind(Bind::Free, folder)?;
        }
        if is_aside {
            self.close_outside(knows)?;
        }
        for root in &inner {
            self.root(bind(root), root, after)?;
        }
        for folder in &way {
            // What is mounted cannot be moved.
            self.bind(Bind::Free, folder)?;
        }
        // What is mounted from there later could not be written.
        if knows.close && !is_aside && !deep.is_empty() && inside.is_empty() {
            self.close_outside(knows)?;
        }
        let is_covered =
            |path: &PathBuf| barred.folders.iter().any(|folder| path.starts_with(folder));
        let is_mirrored =
            |path: &PathBuf| after.mirror.as_ref().is_some_and(|mirror| mirror.is_folder(path));
        let is_ours = |path: &&PathBuf| is_covered(path) || is_mirrored(path);
        let present = after.holds.iter().flat_map(|hold| hold.present.iter().chain(&hold.empty));
        for path in present.chain(&barred.found.kept).filter(|path| !is_ours(path)) {
            self.bind(Bind::ReadOnly, path)?;
        }
        for folder in &inside {
            self.bind(Bind::Free, folder)?;
        }
        for socket in sockets(request, after) {
            self.expect_in(&socket)?;
            self.put_over(Bind::ReadOnly, Path::new("/dev/null"), &socket)?;
        }
        Ok(())
    }

    /// A folder that may be written as a whole.
    fn root(&mut self, bind: Bind, root: &Path, after: &After) -> io::Result<()> {
        match after.mirror.as_ref().filter(|mirror| mirror.root == *root) {
            Some(mirror) => self.mirror(mirror, bind),
            None => self.bind(bind, root),
        }
    }

    /// Mounts roots where no other process reaches them. Mounted from the outside, once that is closed, what lies
    /// in them could not be written.
    fn put_aside(&mut self, roots: &[PathBuf]) {
        self.add("--tmpfs", [outside(Path::new(ASIDE))]);
        for root in roots {
            let Some(number) = self.held.remove(root) else { continue };
            let place = Path::new(ASIDE).join(number.to_string());
            self.add("--bind-fd", [PathBuf::from(number.to_string()), outside(&place)]);
            self.aside.insert(root.clone(), place);
        }
    }

    /// Lets nothing be made outside from here on. Bubblewrap makes what it misses on the way to what it mounts,
    /// and where a link takes the place of a folder meanwhile, that can lead to what lies outside.
    fn close_outside(&mut self, knows: &Knows) -> io::Result<()> {
        self.closed = mount_points::writable()?.iter().map(|mount| outside(mount)).collect();
        self.closed.retain(|place| !knows.open.contains(place));
        for place in self.closed.clone() {
            self.add("--remount-ro", [place]);
        }
        Ok(())
    }

    /// Mounts what lies at a path there.
    fn bind(&mut self, bind: Bind, path: &Path) -> io::Result<()> {
        let file = self.eyes.look(path).map_err(|error| named(path, &error))?;
        let is_read_only = bind == Bind::ReadOnly;
        let aside = self.aside.iter().find_map(|(root, place)| {
            Some(
                place
                    .components()
                    .chain(path.strip_prefix(root).ok()?.components())
                    .collect::<PathBuf>(),
            )
        });
        match (aside, self.held.remove(path)) {
            (Some(place), _) => {
                // It is not there yet when bubblewrap reads this.
                let flag = if is_read_only { "--ro-bind-try" } else { "--bind-try" };
                self.add(flag, [&place, path]);
            }
            (None, Some(number)) => {
                let flag = if is_read_only { "--ro-bind-fd" } else { "--bind-fd" };
                self.add(flag, [OsStr::new(&number.to_string()), path.as_os_str()]);
            }
            (None, None) => {
                self.add(if is_read_only { "--ro-bind" } else { "--bind" }, [path, path]);
            }
        }
        self.mounts_at(path, path);
        self.expected.add(path, Meant::Mounted { file, is_read_only });
        Ok(())
    }

    fn bind_if_there(&mut self, bind: Bind, path: &Path) {
        if let Ok(file) = self.eyes.look(path) {
            self.mount(bind, path, path, file);
        }
    }

    /// Mounts something of ours at a path.
    fn put_over(&mut self, bind: Bind, ours: &Path, path: &Path) -> io::Result<()> {
        let found = fs::metadata(ours).map_err(|error| named(ours, &error))?;
        self.mount(bind, ours, path, (found.dev(), found.ino()));
        Ok(())
    }

    /// Covers a folder by one in memory.
    fn cover(&mut self, path: &Path, mode: &str) -> io::Result<()> {
        self.expect_in(path)?;
        self.scratch(path, 0, mode);
        self.expected.add(path, Meant::Memory);
        Ok(())
    }

    /// Notes the folder that holds what is to be covered: only there that is to be found.
    fn expect_in(&mut self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(path);
        let there = self.eyes.look(path).map(drop);
        let noted = there.and_then(|()| self.expected.add_folder(folder, &mut self.eyes));
        noted.map_err(|error| named(path, &error))
    }

    fn mount(&mut self, bind: Bind, from: &Path, to: &Path, file: Number) {
        let is_read_only = bind == Bind::ReadOnly;
        self.put_at(if is_read_only { "--ro-bind" } else { "--bind" }, from, to);
        self.expected.add(to, Meant::Mounted { file, is_read_only });
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

    /// Has something mounted at a path, with what is mounted below it.
    fn put_at(&mut self, flag: &str, from: &Path, to: &Path) {
        self.add(flag, [from, to]);
        self.mounts_at(from, to);
    }

    fn mounts_at(&mut self, from: &Path, to: &Path) {
        self.expected.mounts.add(to.to_owned(), 1);
        if from == to {
            self.expected.mounts.add_below(from, &self.outside);
        }
    }

    /// The same, where it is there.
    fn put_if_there(&mut self, path: &Path) {
        if path.exists() {
            self.put_at("--ro-bind-try", path, path);
        }
    }

    /// Has something new mounted at a path.
    fn make_at(&mut self, flag: &str, path: &Path) {
        self.add(flag, [path]);
        self.expected.mounts.add(path.to_owned(), 1);
    }

    fn scratch(&mut self, path: &Path, size: u64, mode: &str) {
        self.add("--perms", [mode]);
        self.add("--size", [size.max(4096).to_string()]);
        self.make_at("--tmpfs", path);
    }

    /// Programs, devices and scratch space; the shares of the latter add up to the limit.
    fn system(&mut self, request: &Request) {
        for entry in view::system() {
            match entry {
                System::Folder(path) => self.put_at("--ro-bind", path, path),
                System::Link { path, target } => self.add("--symlink", [target, path]),
            }
        }
        if rustix::process::geteuid().is_root() {
            for secret in view::secrets().filter_map(|it| fs::canonicalize(it).ok()) {
                if secret.is_dir() {
                    // As with stubs, to make it read-only would cost more than it is worth.
                    self.scratch(&secret, 0, "0555");
                } else {
                    self.put_at("--ro-bind", Path::new("/dev/null"), &secret);
                }
            }
        }
        self.make_at("--proc", Path::new("/proc"));
        for path in view::KEYRINGS.map(Path::new).into_iter().filter(|path| path.exists()) {
            self.put_at("--ro-bind", Path::new("/dev/null"), path);
        }
        if rustix::process::geteuid().is_root() && walls::strength() == Strength::Missing {
            // The kernel lets root change these without any capability; Landlock does not.
            for path in view::KERNEL_SETTINGS {
                self.put_if_there(Path::new(path));
            }
        }
        self.make_at("--dev", Path::new("/dev"));
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
    fn mirror(&mut self, mirror: &Mirror, bind: Bind) -> io::Result<()> {
        self.put_over(bind, &mirror.view, &mirror.root)?;
        for (folder, place, is_free) in mirror.folders() {
            self.put_over(if is_free { bind } else { Bind::ReadOnly }, &folder, &place)?;
        }
        for path in &mirror.mounted {
            let bind = if mirror.is_held(path) { Bind::ReadOnly } else { bind };
            self.bind_if_there(bind, path);
        }
        for (copy, place) in &mirror.copies {
            self.put_over(Bind::ReadOnly, copy, place)?;
        }
        Ok(())
    }

    fn home(&mut self, request: &Request) {
        let Some(home) = &request.home else {
            return;
        };
        self.scratch(home, request.limits.scratch / 4, "0700");
        for name in view::toolchains(home) {
            self.put_if_there(&home.join(name));
        }
        for token in tokens::tokens(home) {
            self.put_at("--ro-bind", Path::new("/dev/null"), &token);
        }
    }

    #[cfg(test)]
    fn words(&self) -> Vec<std::ffi::OsString> {
        self.bytes.split(|&byte| byte == 0).map(|word| OsStr::from_bytes(word).to_owned()).collect()
    }
}

/// What went wrong at a path.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn words_keep_their_order_and_bytes() {
        let mut options = Options::default();
        options.flags(&["--new-session"]);
        options.add("--bind", [OsStr::from_bytes(b"/\xff"), OsStr::new("/x y")]);
        let words = options.words();
        assert_eq!(words[1..3], ["--bind".into(), OsString::from(OsStr::from_bytes(b"/\xff"))]);
        assert_eq!(words[3], "/x y");
    }
}
