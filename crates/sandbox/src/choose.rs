//! The ladder: the first start tries the rungs from the strongest and keeps the one that works.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use contract::sandbox::{Access, Child, Enforcement, Profile, Sandbox, SandboxError, Spawn};

use crate::doctor;
use crate::failure::{Cause, Failure, start_error};
use crate::grants::Data;
use crate::launch::Launcher;
use crate::request::Request;
use crate::symlinks::Writable;
use crate::{Rung, Settings, none, seatbelt};

/// Starts processes by the strongest rung that works, or unconfined.
pub(crate) struct Ladder {
    settings: Settings,
    kind: Kind,
    /// The messages that the user has seen.
    told: Mutex<BTreeSet<String>>,
    chosen: OnceLock<Rung>,
    launcher: OnceLock<Arc<Launcher>>,
    #[cfg(target_os = "linux")]
    bubblewrap: crate::bubblewrap::Bubblewrap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Confined,
    Open,
}

impl Ladder {
    /// A ladder that refuses what it cannot confine.
    pub(crate) fn confined(settings: Settings) -> Self {
        Self::new(settings, Kind::Confined)
    }

    /// A ladder that confines nothing.
    pub(crate) fn open(settings: Settings) -> Self {
        Self::new(settings, Kind::Open)
    }

    fn new(settings: Settings, kind: Kind) -> Self {
        Self {
            settings,
            kind,
            told: Mutex::default(),
            chosen: OnceLock::new(),
            launcher: OnceLock::new(),
            #[cfg(target_os = "linux")]
            bubblewrap: crate::bubblewrap::Bubblewrap::default(),
        }
    }

    /// The thread that starts processes; its first use also tidies up after a killed program.
    fn launcher(&self) -> io::Result<&Arc<Launcher>> {
        if let Some(launcher) = self.launcher.get() {
            return Ok(launcher);
        }
        let launcher = Launcher::new()?;
        #[cfg(target_os = "linux")]
        if self.kind == Kind::Confined {
            crate::scratch::sweep(&self.settings.state);
        }
        Ok(self.launcher.get_or_init(|| launcher))
    }

    fn rungs(&self) -> Vec<Rung> {
        match self.chosen.get().copied().or(self.settings.rung) {
            Some(rung) => vec![rung],
            None => Rung::ALL.into(),
        }
    }

    fn start_on(&self, rung: Rung, request: &Request) -> Result<Child, Failure> {
        let launcher = self.launcher().map_err(|error| start_error(&request.program, error))?;
        match rung {
            #[cfg(target_os = "linux")]
            Rung::Bubblewrap => self.bubblewrap.start(request, &self.settings, launcher),
            #[cfg(target_os = "linux")]
            Rung::Landlock => crate::landlock::start(request, &self.settings, launcher),
            #[cfg(not(target_os = "linux"))]
            Rung::Bubblewrap | Rung::Landlock => {
                Err(Failure::Setup(Cause::new("it needs Linux", "")))
            }
            Rung::Seatbelt => seatbelt::start(request, &self.settings, launcher),
        }
    }

    fn climb(&self, request: &Request) -> Result<Child, SandboxError> {
        let mut causes: Vec<(Rung, Cause)> = Vec::new();
        for rung in self.rungs() {
            match self.start_on(rung, request).and_then(|child| compared(child, rung, request)) {
                Ok(child) => {
                    if self.chosen.set(rung).is_ok() {
                        self.tell_of_weakness(rung, &causes);
                    }
                    return Ok(child);
                }
                Err(Failure::Fatal(error)) => return Err(error),
                Err(Failure::Setup(cause)) => causes.push((rung, cause)),
            }
        }
        Err(unavailable(&causes))
    }

    /// Says what was not said before.
    fn tell_once(&self, words: Vec<String>) {
        let Some(notice) = &self.settings.notice else { return };
        for text in words {
            if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone()) {
                notice(text);
            }
        }
    }

    fn tell_of_weakness(&self, rung: Rung, causes: &[(Rung, Cause)]) {
        if let (Some(notice), Some((better, cause))) = (&self.settings.notice, causes.first()) {
            notice(format!("the sandbox is {rung}, which is weaker than {better}: {cause}"));
        }
    }
}

impl fmt::Debug for Ladder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Ladder")
            .field("kind", &self.kind)
            .field("chosen", &self.chosen)
            .finish_non_exhaustive()
    }
}

impl Sandbox for Ladder {
    fn describe(&self) -> String {
        if self.kind == Kind::Open {
            return "none (processes run with all your rights)".to_owned();
        }
        let known = self.chosen.get().copied().or(self.settings.rung);
        match known.or_else(doctor::likely) {
            Some(Rung::Bubblewrap) => {
                "bubblewrap (namespaces, system call filter, limits)".to_owned()
            }
            Some(Rung::Landlock) => {
                "landlock (file rules, system call filter, limits; weaker than bubblewrap)"
                    .to_owned()
            }
            Some(Rung::Seatbelt) => "seatbelt (file and network rules, no limits)".to_owned(),
            None => "refuse (nothing on this machine can confine a process)".to_owned(),
        }
    }

    fn enforces(&self) -> Enforcement {
        let rung = self.chosen.get().copied().or(self.settings.rung).or_else(doctor::likely);
        let rung = rung.filter(|_| self.kind == Kind::Confined);
        Enforcement {
            confined: rung.is_some(),
            file_rules: matches!(rung, Some(Rung::Bubblewrap | Rung::Seatbelt)),
            single_hosts: !matches!(rung, Some(Rung::Landlock | Rung::Seatbelt)),
        }
    }

    fn start(&self, spawn: &Spawn, profile: &Profile) -> Result<Child, SandboxError> {
        if self.kind == Kind::Confined && profile.access != Access::Host {
            let Settings { state, home, rules, .. } = &self.settings;
            let known = Writable::known(state);
            let request = Request::check(spawn, profile, home.as_deref(), &known)?;
            let data = Data::beside(state);
            self.tell_once(request.missing(&profile.own, &data));
            let request = request.with_grants_guarded(&data);
            let (request, denied) = request.without_denied(rules.as_deref(), &data)?;
            self.tell_once(denied);
            let writable = request.writable();
            known.note(state, &[writable.as_slice(), &request.private()].concat())?;
            return self.climb(&request);
        }
        let mut request = Request::unchecked(spawn, profile);
        if profile.access == Access::Host {
            request.env.clone_from(&self.settings.host_env);
            request.env.extend(spawn.env.clone());
        }
        let launcher = self.launcher().map_err(|error| start_error(&request.program, error))?;
        none::start(&request, &self.settings, launcher).map_err(|failure| match failure {
            Failure::Fatal(error) => error,
            Failure::Setup(cause) => unavailable(&[(Rung::Bubblewrap, cause)]),
        })
    }
}

/// The process, unless a file that the rung could not put into its place is another one by now.
fn compared(child: Child, rung: Rung, request: &Request) -> Result<Child, Failure> {
    match request.changed(rung) {
        None => Ok(child),
        Some(path) => {
            let words = format!("`{}` was changed while it was started", path.display());
            Err(SandboxError::Refused(words).into())
        }
    }
}

fn unavailable(causes: &[(Rung, Cause)]) -> SandboxError {
    let join = |words: Vec<String>| words.join("; ");
    SandboxError::Unavailable {
        cause: join(causes.iter().map(|(rung, cause)| format!("{rung}: {cause}")).collect()),
        hint: join(
            causes
                .iter()
                .filter(|(_, cause)| !cause.remedy.is_empty())
                .map(|(_, cause)| cause.remedy.clone())
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_every_cause_and_remedy() {
        let error = unavailable(&[
            (Rung::Bubblewrap, Cause::new("not installed", "install it")),
            (Rung::Landlock, Cause::new("kernel too old", "update")),
            (Rung::Seatbelt, Cause::new("it needs macOS", "")),
        ]);
        let SandboxError::Unavailable { cause, hint } = error else {
            panic!("nothing is available");
        };
        assert_eq!(
            cause,
            "bubblewrap: not installed; landlock: kernel too old; seatbelt: it needs macOS"
        );
        assert_eq!(hint, "install it; update");
    }
}
