//! Why a rung does not work here, in words, and what to do about it.

use std::fmt;

use crate::{Rung, Settings, seatbelt};

/// Why a rung does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What is in the way.
    pub what: String,
    /// What to do about it; empty where nothing helps.
    pub remedy: String,
}

/// What is known about one rung.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RungReport {
    /// The rung.
    pub rung: Rung,
    /// Whether it works here.
    pub usable: Result<(), Cause>,
    /// What bounds a command here.
    pub holds: Vec<String>,
    /// What it does not protect from, or does not allow, here.
    pub lacks: Vec<String>,
    /// Whether this is the rung that would be used.
    pub chosen: bool,
}

impl Cause {
    pub(crate) fn new(what: &str, remedy: &str) -> Self {
        Self { what: what.to_owned(), remedy: remedy.to_owned() }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

/// Examines every rung.
pub(crate) fn examine(settings: &Settings) -> Vec<RungReport> {
    let mut reports: Vec<RungReport> = Rung::ALL
        .into_iter()
        .map(|rung| {
            let mut report = RungReport {
                rung,
                usable: usable(rung),
                holds: Vec::new(),
                lacks: lacks(rung),
                chosen: false,
            };
            tell_of_limits(&mut report);
            report
        })
        .collect();
    let chosen = reports.iter_mut().find(|report| {
        report.usable.is_ok() && settings.rung.is_none_or(|forced| forced == report.rung)
    });
    if let Some(report) = chosen {
        report.chosen = true;
    }
    reports
}

#[cfg(target_os = "linux")]
fn usable(rung: Rung) -> Result<(), Cause> {
    match rung {
        Rung::Bubblewrap => probe(),
        Rung::Landlock => crate::landlock::usable().map(|_| ()),
        Rung::Seatbelt => seatbelt::usable(),
    }
}

#[cfg(not(target_os = "linux"))]
fn usable(rung: Rung) -> Result<(), Cause> {
    match rung {
        Rung::Bubblewrap | Rung::Landlock => Err(Cause::new("it needs Linux", "")),
        Rung::Seatbelt => seatbelt::usable(),
    }
}

/// What no limit of this program holds back, for people.
#[cfg(target_os = "linux")]
const UNCOUNTED: &str = "memory that processes share (shared mappings, memory files, shared segments) \
                         is not counted against the limit on memory";

#[cfg(target_os = "linux")]
fn lacks(rung: Rung) -> Vec<String> {
    use crate::walls::{Strength, strength};
    let mut lacks: Vec<String> = match rung {
        Rung::Bubblewrap => vec![
            "sockets that appear in the workspace while a command runs are not hidden, nor deep ones \
             of another network namespace"
                .into(),
        ],
        Rung::Landlock => crate::landlock::LACKS.map(str::to_owned).into(),
        Rung::Seatbelt => return seatbelt::LACKS.map(str::to_owned).into(),
    };
    lacks.push(UNCOUNTED.to_owned());
    match (rung, strength()) {
        (_, Strength::Scoped) => {}
        (Rung::Landlock, _) => lacks.push(
            "the kernel's Landlock is older than 6.12: other processes of the user can be signaled"
                .to_owned(),
        ),
        (_, _) => lacks.push("the second wall, Landlock, is missing or incomplete".to_owned()),
    }
    lacks
}

#[cfg(target_os = "linux")]
fn tell_of_limits(report: &mut RungReport) {
    if report.rung == Rung::Seatbelt || report.usable.is_err() {
        return;
    }
    match crate::process_limit::describe(report.rung) {
        Ok(words) => report.holds.push(words.to_owned()),
        Err(words) => report.lacks.push(words.to_owned()),
    }
}

#[cfg(not(target_os = "linux"))]
fn tell_of_limits(_report: &mut RungReport) {}

#[cfg(not(target_os = "linux"))]
fn lacks(rung: Rung) -> Vec<String> {
    match rung {
        Rung::Bubblewrap | Rung::Landlock => Vec::new(),
        Rung::Seatbelt => seatbelt::LACKS.map(str::to_owned).into(),
    }
}

/// The rung that would be used, as far as that can be said without starting anything.
#[cfg(target_os = "linux")]
pub(crate) fn likely() -> Option<Rung> {
    if crate::bubblewrap::find().is_ok() {
        return Some(Rung::Bubblewrap);
    }
    crate::landlock::usable().ok().map(|_| Rung::Landlock)
}

/// The rung that would be used, as far as that can be said without starting anything.
#[cfg(not(target_os = "linux"))]
pub(crate) fn likely() -> Option<Rung> {
    seatbelt::usable().ok().map(|()| Rung::Seatbelt)
}

/// Runs bubblewrap with every namespace around a program that does nothing.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
pub(crate) fn probe() -> Result<(), Cause> {
    let program = crate::bubblewrap::find()?;
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
#[cfg(target_os = "linux")]
pub(crate) fn explain(words: &str) -> Cause {
    let setting = |name: &str| {
        std::fs::read_to_string(format!("/proc/sys/{name}")).ok().map(|text| text.trim().to_owned())
    };
    diagnose(words, &setting)
}

#[cfg(target_os = "linux")]
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn cause(words: &str, name: &str, value: &str) -> Cause {
        diagnose(words, &|asked: &str| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn each_obstacle_is_told_from_the_others() {
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
