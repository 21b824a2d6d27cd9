//! The rung of macOS: a Seatbelt profile, generated as text, given to `sandbox-exec`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::policy::Access;
use contract::sandbox::{Child, Network};

use crate::choose::{Failure, start_error};
use crate::doctor::Cause;
use crate::guard::After;
use crate::launch::{self, Launcher};
use crate::request::Request;
use crate::running::{End, Running};
use crate::{Settings, protected, view};

const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// What this rung cannot do, for people.
pub(crate) const LACKS: [&str; 3] = [
    "no limits on processes, memory and file sizes",
    "a process that leaves its process group outlives the command",
    "no loopback network without the host's network",
];

/// Folders that hold programs and what they need.
const SYSTEM: [&str; 12] = [
    "/bin",
    "/sbin",
    "/usr",
    "/opt",
    "/System",
    "/Library",
    "/Applications/Xcode.app",
    "/private/etc",
    "/private/var/db/timezone",
    "/private/var/db/dyld",
    "/private/var/select",
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

/// Whether this machine has Seatbelt.
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
    let mut after = After::default();
    if request.access == Access::Workspace {
        for root in &request.roots {
            // Nothing is made of the answer: a link at a protected name is refused.
            protected::find(root)?;
        }
        after = After::watch(&request.roots, settings.notice.clone());
    }
    let scratch = tempfile::tempdir().map_err(fault)?;
    let path = std::fs::canonicalize(scratch.path()).map_err(fault)?;
    let mut command = launch::command(Path::new(PROGRAM), request.stdin);
    command
        .arg("-p")
        .arg(profile(request, &path))
        .arg(&request.program)
        .args(&request.args)
        .envs(&request.env)
        .env("TMPDIR", &path)
        .current_dir(&request.cwd);
    after.folder = Some(scratch);
    let child = launcher.launch(command, Vec::new()).map_err(fault)?;
    Running::adopt(child, End::Group, after, Arc::clone(launcher)).map_err(fault)
}

/// The profile of `request`; a later rule overrides an earlier one.
pub(crate) fn profile(request: &Request, scratch: &Path) -> String {
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
        read.extend(view::toolchains(home).into_iter().map(|name| home.join(name)));
    }
    read.extend(request.read.clone());
    read.extend(request.roots.clone());
    rule(&mut text, "allow file-read*", "subpath", &read);
    rule(&mut text, "allow file-read* file-write*", "subpath", &[scratch.to_owned()]);
    if request.access == Access::Workspace {
        rule(&mut text, "allow file-write*", "subpath", &request.roots);
        rule(&mut text, "deny file-write-unlink", "literal", &request.roots);
        let kept: Vec<PathBuf> = request
            .roots
            .iter()
            .flat_map(|root| protected::NAMES.map(|name| root.join(name)))
            .collect();
        rule(&mut text, "deny file-write*", "subpath", &kept);
    }
    text.push_str("(deny file-write-setugid)\n");
    services(&mut text, &SERVICES);
    if request.network == Network::Host {
        text.push_str("(allow network*)\n(deny network* (remote unix-socket))\n");
        services(&mut text, &NETWORK_SERVICES);
    }
    text
}

fn rule(text: &mut String, action: &str, kind: &str, paths: &[PathBuf]) {
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

    use contract::sandbox::{Limits, Stdin};

    use super::*;

    fn request(access: Access, network: Network) -> Request {
        Request {
            program: PathBuf::from("/bin/sh"),
            args: Vec::new(),
            cwd: PathBuf::from("/srv/app"),
            stdin: Stdin::Null,
            env: BTreeMap::new(),
            roots: vec![PathBuf::from("/srv/app")],
            read: vec![PathBuf::from("/srv/\"odd\\name")],
            access,
            network,
            limits: Limits::default(),
            home: None,
        }
    }

    fn text(access: Access, network: Network) -> String {
        profile(&request(access, network), Path::new("/private/tmp/scratch"))
    }

    #[test]
    fn everything_is_denied_first() {
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
        for name in protected::NAMES {
            let rule = format!("(deny file-write* (subpath \"/srv/app/{name}\"))");
            assert!(text.find(&rule).unwrap() > allowed, "{name}");
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
