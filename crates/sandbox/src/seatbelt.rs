//! The backend of macOS: a Seatbelt profile, generated as text, given to `sandbox-exec`.

use std::fmt::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::sandbox::{CHANNEL_IN, CHANNEL_OUT, Child, Network};

use crate::channel::PrivateChannel;
use crate::cleanup::Cleanup;
use crate::denied_paths::DeniedPaths;
use crate::failure::{Cause, Failure, start_error};
use crate::launch::{self, Launcher};
use crate::request::Request;
use crate::running::{End, Running};
use crate::{Backend, Settings, git_directory, proxy, tokens, tree, visible_paths};

const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The limits of this backend, for users.
pub(crate) const LACKS: [&str; 4] = [
    "no limits on processes, memory and file sizes",
    "a process that leaves its process group outlives the command",
    "no loopback network without the host's network",
    "a process that replaces a directory of the project by a symlink while a file is moved out of it or \
     put back can redirect that move",
];

/// Directories that hold programs and what they need.
#[rustfmt::skip]
const SYSTEM: [&str; 12] = [
    "/bin", "/sbin", "/usr", "/opt", "/System", "/Library", "/Applications/Xcode.app",
    "/private/etc", "/private/var/db/timezone", "/private/var/db/dyld", "/private/var/select",
    "/dev",
];

/// Services that programs cannot start without.
const SERVICES: [&str; 4] = [
    "com.apple.system.logger",
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
];

/// Services for names and certificates on the network.
const NETWORK_SERVICES: [&str; 4] = [
    "com.apple.SystemConfiguration.configd",
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.trustd",
    "com.apple.trustd.agent",
];

/// Returns why Seatbelt cannot be used, if it cannot.
pub(crate) fn usable() -> Result<(), Cause> {
    if !cfg!(target_os = "macos") {
        return Err(Cause::new("it needs macOS", ""));
    }
    if Path::new(PROGRAM).exists() {
        Ok(())
    } else {
        Err(Cause::new("/usr/bin/sandbox-exec is missing", "repair macOS"))
    }
}

/// Starts `request`.
pub(crate) fn start(
    request: &Request,
    settings: &Settings,
    launcher: &Arc<Launcher>,
) -> Result<Child, Failure> {
    usable().map_err(Failure::Setup)?;
    let fault = |error| Failure::from(start_error(&request.program, error));
    let denied = DeniedPaths::find(request, settings)?;
    let trees = tree::all(&request.writable(), settings)?;
    let mut after = Cleanup::begin(trees, request.private(), settings)?;
    let mut kept: Vec<PathBuf> = after.mounts().flat_map(|it| it.read_only.clone()).collect();
    // Seatbelt needs no file to deny it.
    let names = || files::protected::names().filter(|name| *name != ".git");
    let git = |root: &Path| git_directory::PARTS.map(|part| root.join(".git").join(part));
    for root in request.writable() {
        kept.extend(names().map(|name| root.join(name)).chain(git(&root)));
    }
    kept.sort();
    kept.dedup();
    let scratch = tempfile::tempdir().map_err(fault)?;
    let path = std::fs::canonicalize(scratch.path()).map_err(fault)?;
    let (ours, theirs) =
        PrivateChannel::split(PrivateChannel::open(request.channel).map_err(fault)?);
    let mut command = launch::command(Path::new(PROGRAM), request.stdin);
    command.arg("-p").arg(profile(request, (&kept, &denied), &path));
    if let Some([reader, writer]) = &theirs {
        command.args(["/bin/sh", "-c", &placed(reader.as_raw_fd(), writer.as_raw_fd()), "sh"]);
    }
    command
        .arg(&request.program)
        .args(&request.args)
        .envs(&request.env)
        .env("TMPDIR", &path)
        .current_dir(&request.cwd);
    after.directory = Some(scratch);
    proxy::tell_refused(&request.network, Backend::Seatbelt, settings.notice.as_ref());
    let child = launcher.launch(command, theirs.into_iter().flatten().collect()).map_err(fault)?;
    Running::adopt(child, ours, End::Group, after, Arc::clone(launcher)).map_err(fault)
}

/// A shell's line that moves the ends of a channel to their places and becomes its arguments.
/// The detour keeps one move from closing what the next one needs.
fn placed(reader: RawFd, writer: RawFd) -> String {
    format!(
        "exec 8<&{reader} 9>&{writer} && exec {CHANNEL_IN}<&8 {CHANNEL_OUT}>&9 8<&- 9>&- && \
         exec \"$@\""
    )
}

/// The profile of `request` with the protected paths `kept`; a later rule overrides an earlier one.
fn profile(
    request: &Request,
    (kept, denied): (&[PathBuf], &DeniedPaths),
    scratch: &Path,
) -> String {
    let mut text = String::from(
        "(version 1)\n(deny default)\n(allow process-fork)\n(allow process-exec)\n\
         (allow signal (target same-sandbox))\n(allow process-info* (target same-sandbox))\n\
         (allow sysctl-read)\n(allow ipc-posix-sem)\n(allow pseudo-tty)\n\
         (allow file-read-metadata)\n(allow file-read* (literal \"/\"))\n\
         (allow file-read* file-write* file-ioctl (literal \"/dev/null\") (literal \"/dev/tty\") \
         (literal \"/dev/ptmx\") (regex #\"^/dev/ttys[0-9]+$\"))\n",
    );
    let mut read: Vec<PathBuf> = SYSTEM.map(PathBuf::from).into();
    if let Some(home) = &request.home {
        read.extend(visible_paths::toolchains(home).into_iter().map(|name| home.join(name)));
    }
    read.extend(request.read.clone());
    read.extend(request.roots.clone());
    rule(&mut text, "allow file-read*", "subpath", &read);
    let tokens = request.home.as_deref().map(tokens::tokens).unwrap_or_default();
    rule(&mut text, "deny file-read*", "literal", &tokens);
    rule(&mut text, "allow file-read* file-write*", "subpath", &[scratch.to_owned()]);
    rule(&mut text, "allow file-read* file-write*", "subpath", &request.private());
    let writable = request.writable();
    if !writable.is_empty() {
        rule(&mut text, "allow file-write*", "subpath", &writable);
        rule(&mut text, "deny file-write-unlink", "literal", &writable);
        rule(&mut text, "deny file-write*", "subpath", kept);
        rule(&mut text, "deny file-write-unlink", "literal", &directories_above(kept, &writable));
        rule(&mut text, "deny file-write*", "subpath", &denied.read_only);
        rule(&mut text, "deny file-write-unlink", "literal", &denied.fixed_parents);
    }
    rule(&mut text, "deny file-read* file-write*", "subpath", &denied.hidden);
    text.push_str("(deny file-write-setugid)\n");
    services(&mut text, &SERVICES);
    if request.network == Network::Host {
        text.push_str("(allow network*)\n(deny network* (remote unix-socket))\n");
        services(&mut text, &NETWORK_SERVICES);
    }
    text
}

/// The directories between the roots and `kept`: whoever could move one away could put another in its
/// place.
fn directories_above(kept: &[PathBuf], roots: &[PathBuf]) -> Vec<PathBuf> {
    let below = |path: &Path| roots.iter().any(|root| path.starts_with(root) && path != root);
    let mut directories: Vec<PathBuf> = kept
        .iter()
        .flat_map(|path| path.ancestors().skip(1).take_while(|directory| below(directory)))
        .map(Path::to_owned)
        .collect();
    directories.sort();
    directories.dedup();
    directories
}

fn rule<'a>(
    text: &mut String,
    action: &str,
    kind: &str,
    paths: impl IntoIterator<Item = &'a PathBuf>,
) {
    for path in paths {
        let path = quoted(&path.to_string_lossy());
        let _ = writeln!(text, "({action} ({kind} {path}))");
    }
}

fn services(text: &mut String, names: &[&str]) {
    for name in names {
        let _ = writeln!(text, "(allow mach-lookup (global-name {}))", quoted(name));
    }
}

fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use contract::sandbox::{Access, Channel, Limits, Stdin};

    use super::*;

    fn request(access: Access, network: Network) -> Request {
        Request {
            program: PathBuf::from("/bin/sh"),
            args: Vec::new(),
            cwd: PathBuf::from("/srv/app"),
            stdin: Stdin::Null,
            channel: Channel::None,
            env: BTreeMap::new(),
            roots: vec![PathBuf::from("/srv/app")],
            workspace: PathBuf::from("/srv/app"),
            fixed: Vec::new(),
            read: vec![PathBuf::from("/srv/\"odd\\name")],
            names: BTreeMap::new(),
            own: Vec::new(),
            access,
            network,
            limits: Limits::default(),
            home: None,
            own_home: None,
        }
    }

    fn text(access: Access, network: Network) -> String {
        let names = files::protected::names();
        let mut kept: Vec<PathBuf> = names.map(|name| Path::new("/srv/app").join(name)).collect();
        kept.push(PathBuf::from("/srv/app/lib/sub/.git"));
        let denied = DeniedPaths {
            hidden: [PathBuf::from("/srv/app/lib/.env")].into(),
            read_only: [PathBuf::from("/srv/app/tests")].into(),
            fixed_parents: [PathBuf::from("/srv/app/lib")].into(),
        };
        let scratch = Path::new("/private/tmp/scratch");
        profile(&request(access, network), (&kept, &denied), scratch)
    }

    #[test]
    fn seatbelt_denies_by_default() {
        let text = text(Access::ReadOnly, Network::None);
        assert!(text.starts_with("(version 1)\n(deny default)\n"));
        assert!(!text.contains("(allow network"));
        assert!(!text.contains("Users"));
    }

    #[test]
    fn a_read_only_workspace_gets_no_write_rule() {
        let read_only = text(Access::ReadOnly, Network::None);
        assert!(read_only.contains("(allow file-read* (subpath \"/srv/app\"))"));
        assert!(!read_only.contains("(allow file-write* (subpath \"/srv/app\"))"));
        let writable = text(Access::Workspace, Network::None);
        assert!(writable.contains("(allow file-write* (subpath \"/srv/app\"))"));
    }

    #[test]
    fn protected_names_are_denied_after_the_root_is_allowed() {
        let text = text(Access::Workspace, Network::None);
        let allowed = text.find("(allow file-write* (subpath \"/srv/app\"))").unwrap();
        for name in files::protected::names() {
            let rule = format!("(deny file-write* (subpath \"/srv/app/{name}\"))");
            assert!(text.find(&rule).unwrap() > allowed, "{name}");
        }
    }

    #[test]
    fn denied_paths_follow_all_allow_rules() {
        let hidden = "(deny file-read* file-write* (subpath \"/srv/app/lib/.env\"))";
        let kept = "(deny file-write* (subpath \"/srv/app/tests\"))";
        for access in [Access::ReadOnly, Access::Workspace] {
            let text = text(access, Network::None);
            assert!(text.find(hidden).unwrap() > text.rfind("(allow file-").unwrap());
            assert_eq!(text.contains(kept), access == Access::Workspace);
        }
        let text = text(Access::Workspace, Network::None);
        assert!(text.find(kept) > text.rfind("(allow file-write*"));
    }

    #[test]
    fn channel_gets_its_descriptor_numbers() {
        let line = placed(12, 13);
        assert_eq!(line, "exec 8<&12 9>&13 && exec 3<&8 4>&9 8<&- 9>&- && exec \"$@\"");
    }

    #[test]
    fn parents_of_protected_names_cannot_be_moved() {
        let text = text(Access::Workspace, Network::None);
        for directory in ["/srv/app", "/srv/app/lib", "/srv/app/lib/sub"] {
            let rule = format!("(deny file-write-unlink (literal \"{directory}\"))");
            assert!(text.contains(&rule), "{directory}");
        }
        assert!(text.contains("(deny file-write* (subpath \"/srv/app/lib/sub/.git\"))"));
    }

    #[test]
    fn apple_events_and_mach_services_are_denied() {
        for network in [Network::None, Network::Host] {
            let text = text(Access::Workspace, network);
            assert!(!text.contains("appleevent") && !text.contains("mach-register"));
            assert!(!text.contains("(allow mach-lookup)") && !text.contains("launchd"));
            assert!(!text.contains("docker") && !text.contains("(allow file-ioctl)"));
        }
    }

    #[test]
    fn quotes_and_backslashes_cannot_end_a_string() {
        let text = text(Access::ReadOnly, Network::None);
        assert!(text.contains(r#"(subpath "/srv/\"odd\\name")"#));
    }

    #[test]
    fn the_network_never_includes_local_sockets() {
        let text = text(Access::ReadOnly, Network::Host);
        let allowed = text.find("(allow network*)").unwrap();
        let denied = text.find("(deny network* (remote unix-socket))").unwrap();
        assert!(denied > allowed);
    }
}
