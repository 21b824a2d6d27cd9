//! Finds out if bubblewrap works on this machine, and why not.

use crate::failure::Cause;

/// Runs bubblewrap with every namespace around a program that does nothing.
#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
pub(crate) fn probe() -> Result<(), Cause> {
    let program = super::find()?;
    let output = std::process::Command::new(&program)
        .env_clear()
        .args(["--unshare-user", "--unshare-pid", "--unshare-ipc"])
        .args(["--unshare-net", "--unshare-uts", "--unshare-cgroup-try"])
        .args(["--die-with-parent", "--cap-drop", "ALL"])
        .args(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"])
        .args(["--", "/bin/sh", "-c", ":"])
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(explain(String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(Cause::new(
            &format!("{} cannot be started: {error}", program.display()),
            "reinstall bubblewrap from your distribution",
        )),
    }
}

/// The cause behind what bubblewrap said when it could not set up a sandbox.
pub(crate) fn explain(words: &str) -> Cause {
    let setting = |name: &str| {
        std::fs::read_to_string(format!("/proc/sys/{name}")).ok().map(|text| text.trim().to_owned())
    };
    diagnose(words, &setting)
}

fn diagnose(words: &str, setting: &dyn Fn(&str) -> Option<String>) -> Cause {
    const APPARMOR: &str = "kernel.apparmor_restrict_unprivileged_userns";
    let is = |name: &str, value: &str| setting(name).as_deref() == Some(value);
    let denied = ["namespace", "uid map", "RTM_NEWADDR", "Permission denied", "not permitted"]
        .iter()
        .any(|part| words.contains(part));
    if !denied {
        let said = if words.is_empty() { "nothing" } else { words };
        return Cause::new(
            &format!("bubblewrap failed and said: {said}"),
            "run `brynhild sandbox doctor`, or update the package `bubblewrap`",
        );
    }
    if is("user/max_user_namespaces", "0") {
        return Cause::new(
            "user namespaces are switched off (`user.max_user_namespaces` is 0)",
            "run `sudo sysctl user.max_user_namespaces=15000`",
        );
    }
    if is("kernel/unprivileged_userns_clone", "0") {
        return Cause::new(
            "user namespaces are for root only (`kernel.unprivileged_userns_clone` is 0)",
            "run `sudo sysctl kernel.unprivileged_userns_clone=1`",
        );
    }
    if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        return Cause::new(
            &format!("AppArmor restricts user namespaces (`{APPARMOR}` is 1)"),
            "install an AppArmor profile for /usr/bin/bwrap (package `apparmor-profiles`), or run \
             `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
        );
    }
    if words.contains("mount proc") {
        return Cause::new(
            &format!(
                "this container hides parts of /proc, so no fresh one can be mounted ({words})"
            ),
            "start the container with `--security-opt systempaths=unconfined`",
        );
    }
    Cause::new(
        &format!("the kernel or this container's system call filter forbids namespaces ({words})"),
        "start the container with `--security-opt seccomp=unconfined`, or allow user namespaces",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(words: &str, name: &str, value: &str) -> Cause {
        diagnose(words, &|asked: &str| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn probe_distinguishes_every_obstacle() {
        let map = "bwrap: setting up uid map: Permission denied";
        let apparmor = cause(map, "kernel/apparmor_restrict_unprivileged_userns", "1");
        assert!(apparmor.what.contains("AppArmor"));
        let none = "bwrap: Creating new namespace failed: nesting depth or \
                    /proc/sys/user/max_*_namespaces exceeded (ENOSPC)";
        let off = cause(none, "user/max_user_namespaces", "0");
        assert!(off.remedy.contains("max_user_namespaces=15000"));
        let debian = cause(map, "kernel/unprivileged_userns_clone", "0");
        assert!(debian.remedy.contains("unprivileged_userns_clone=1"));
        let proc = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted";
        assert!(cause(proc, "", "").remedy.contains("systempaths"));
        let container = "bwrap: No permissions to create new namespace";
        assert!(cause(container, "", "").remedy.contains("seccomp=unconfined"));
        let strange = cause("bwrap: Unknown option --frob", "", "");
        assert!(strange.what.contains("--frob"));
    }
}
