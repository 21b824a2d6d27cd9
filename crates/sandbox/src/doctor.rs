//! Why a rung does not work here, in words, and what to do about it.

use crate::failure::Cause;
use crate::{Rung, Settings, seatbelt};

/// The state of one rung on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RungReport {
    /// The rung.
    pub rung: Rung,
    pub usable: Result<(), Cause>,
    /// The limits on a command.
    pub holds: Vec<String>,
    /// Dangers that it does not prevent, and actions that it does not allow.
    pub lacks: Vec<String>,
    /// True if it is the rung in use.
    pub chosen: bool,
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
        Rung::Bubblewrap => crate::bubblewrap::probe(),
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

/// Memory that no limit counts, for users.
#[cfg(target_os = "linux")]
const UNCOUNTED: &str = "memory that processes share (shared mappings, memory files, shared segments) \
                         is not counted against the limit on memory";

#[cfg(target_os = "linux")]
fn lacks(rung: Rung) -> Vec<String> {
    use crate::self_restrict::{Strength, strength};
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
        (_, _) => {
            lacks.push("the second restriction, Landlock, is missing or incomplete".to_owned());
        }
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
