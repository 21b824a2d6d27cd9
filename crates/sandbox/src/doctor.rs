//! Why a backend does not work here, in words, and what to do about it.

use crate::failure::Cause;
use crate::{Backend, Settings, seatbelt};

/// The state of one backend on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendReport {
    /// The backend.
    pub backend: Backend,
    pub usable: Result<(), Cause>,
    /// The limits on a command.
    pub holds: Vec<String>,
    /// Dangers that it does not prevent, and actions that it does not allow.
    pub lacks: Vec<String>,
    /// True if it is the backend in use.
    pub chosen: bool,
}

/// Examines every backend.
pub(crate) fn examine(settings: &Settings) -> Vec<BackendReport> {
    let mut reports: Vec<BackendReport> = Backend::ALL
        .into_iter()
        .map(|backend| {
            let mut report = BackendReport {
                backend,
                usable: usable(backend),
                holds: Vec::new(),
                lacks: lacks(backend),
                chosen: false,
            };
            tell_of_limits(&mut report);
            report
        })
        .collect();
    let chosen = reports.iter_mut().find(|report| {
        report.usable.is_ok() && settings.backend.is_none_or(|forced| forced == report.backend)
    });
    if let Some(report) = chosen {
        report.chosen = true;
    }
    reports
}

#[cfg(target_os = "linux")]
fn usable(backend: Backend) -> Result<(), Cause> {
    match backend {
        Backend::Bubblewrap => crate::bubblewrap::probe(),
        Backend::Landlock => crate::landlock::usable().map(|_| ()),
        Backend::Seatbelt => seatbelt::usable(),
    }
}

#[cfg(not(target_os = "linux"))]
fn usable(backend: Backend) -> Result<(), Cause> {
    match backend {
        Backend::Bubblewrap | Backend::Landlock => Err(Cause::new("it needs Linux", "")),
        Backend::Seatbelt => seatbelt::usable(),
    }
}

/// Memory that no limit counts, for users.
#[cfg(target_os = "linux")]
const UNCOUNTED: &str = "memory that processes share (shared mappings, memory files, shared segments) \
                         is not counted against the limit on memory";

#[cfg(target_os = "linux")]
fn lacks(backend: Backend) -> Vec<String> {
    use crate::self_restrict::{Strength, strength};
    let mut lacks: Vec<String> = match backend {
        Backend::Bubblewrap => vec![
            "sockets that appear in the workspace while a command runs are not hidden, nor deep ones \
             of another network namespace"
                .into(),
        ],
        Backend::Landlock => crate::landlock::LACKS.map(str::to_owned).into(),
        Backend::Seatbelt => return seatbelt::LACKS.map(str::to_owned).into(),
    };
    lacks.push(UNCOUNTED.to_owned());
    match (backend, strength()) {
        (_, Strength::Scoped) => {}
        (Backend::Landlock, _) => lacks.push(
            "the kernel's Landlock is older than 6.12: other processes of the user can be signaled"
                .to_owned(),
        ),
        (_, _) => {
            lacks.push("the second restriction, Landlock, is missing or incomplete".to_owned());
        }
    }
    lacks
}

#[cfg(target_os = "linux")]
fn tell_of_limits(report: &mut BackendReport) {
    if report.backend == Backend::Seatbelt || report.usable.is_err() {
        return;
    }
    match crate::process_limit::describe(report.backend) {
        Ok(words) => report.holds.push(words.to_owned()),
        Err(words) => report.lacks.push(words.to_owned()),
    }
}

#[cfg(not(target_os = "linux"))]
fn tell_of_limits(_report: &mut BackendReport) {}

#[cfg(not(target_os = "linux"))]
fn lacks(backend: Backend) -> Vec<String> {
    match backend {
        Backend::Bubblewrap | Backend::Landlock => Vec::new(),
        Backend::Seatbelt => seatbelt::LACKS.map(str::to_owned).into(),
    }
}

/// The backend that would be used, as far as that can be said without starting anything.
#[cfg(target_os = "linux")]
pub(crate) fn likely() -> Option<Backend> {
    if crate::bubblewrap::find().is_ok() {
        return Some(Backend::Bubblewrap);
    }
    crate::landlock::usable().ok().map(|_| Backend::Landlock)
}

/// The backend that would be used, as far as that can be said without starting anything.
#[cfg(not(target_os = "linux"))]
pub(crate) fn likely() -> Option<Backend> {
    seatbelt::usable().ok().map(|()| Backend::Seatbelt)
}
