//! The choice of a backend: the first start tries the backends from the strongest and keeps the one that works.

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
use crate::{Backend, Settings, none, seatbelt};

/// Starts processes by the strongest backend that works, or unconfined.
pub(crate) struct StrongestBackend {
    settings: Settings,
    kind: Kind,
    /// The messages that the user has seen.
    told: Mutex<BTreeSet<String>>,
    chosen: OnceLock<Backend>,
    launcher: OnceLock<Arc<Launcher>>,
    #[cfg(target_os = "linux")]
    bubblewrap: crate::bubblewrap::Bubblewrap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Confined,
    Open,
}

impl StrongestBackend {
    /// A sandbox that refuses what it cannot confine.
    pub(crate) fn confined(settings: Settings) -> Self {
        Self::new(settings, Kind::Confined)
    }

    /// A sandbox that confines nothing.
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

    fn backends(&self) -> Vec<Backend> {
        match self.chosen.get().copied().or(self.settings.backend) {
            Some(backend) => vec![backend],
            None => Backend::ALL.into(),
        }
    }

    fn start_on(&self, backend: Backend, request: &Request) -> Result<Child, Failure> {
        let launcher = self.launcher().map_err(|error| start_error(&request.program, error))?;
        match backend {
            #[cfg(target_os = "linux")]
            Backend::Bubblewrap => self.bubblewrap.start(request, &self.settings, launcher),
            #[cfg(target_os = "linux")]
            Backend::Landlock => crate::landlock::start(request, &self.settings, launcher),
            #[cfg(not(target_os = "linux"))]
            Backend::Bubblewrap | Backend::Landlock => {
                Err(Failure::Setup(Cause::new("it needs Linux", "")))
            }
            Backend::Seatbelt => seatbelt::start(request, &self.settings, launcher),
        }
    }

    fn start_strongest(&self, request: &Request) -> Result<Child, SandboxError> {
        let mut causes: Vec<(Backend, Cause)> = Vec::new();
        for backend in self.backends() {
            match self
                .start_on(backend, request)
                .and_then(|child| compared(child, backend, request))
            {
                Ok(child) => {
                    if self.chosen.set(backend).is_ok() {
                        self.tell_of_weakness(backend, &causes);
                    }
                    return Ok(child);
                }
                Err(Failure::Fatal(error)) => return Err(error),
                Err(Failure::Setup(cause)) => causes.push((backend, cause)),
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

    fn tell_of_weakness(&self, backend: Backend, causes: &[(Backend, Cause)]) {
        if let (Some(notice), Some((better, cause))) = (&self.settings.notice, causes.first()) {
            notice(format!("the sandbox is {backend}, which is weaker than {better}: {cause}"));
        }
    }
}

impl fmt::Debug for StrongestBackend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StrongestBackend")
            .field("kind", &self.kind)
            .field("chosen", &self.chosen)
            .finish_non_exhaustive()
    }
}

impl Sandbox for StrongestBackend {
    fn describe(&self) -> String {
        if self.kind == Kind::Open {
            return "none (processes run with all your rights)".to_owned();
        }
        let known = self.chosen.get().copied().or(self.settings.backend);
        match known.or_else(doctor::likely) {
            Some(Backend::Bubblewrap) => {
                "bubblewrap (namespaces, system call filter, limits)".to_owned()
            }
            Some(Backend::Landlock) => {
                "landlock (file rules, system call filter, limits; weaker than bubblewrap)"
                    .to_owned()
            }
            Some(Backend::Seatbelt) => "seatbelt (file and network rules, no limits)".to_owned(),
            None => "refuse (no sandbox works on this machine)".to_owned(),
        }
    }

    fn enforces(&self) -> Enforcement {
        let backend = self.chosen.get().copied().or(self.settings.backend).or_else(doctor::likely);
        let backend = backend.filter(|_| self.kind == Kind::Confined);
        Enforcement {
            confined: backend.is_some(),
            file_rules: matches!(backend, Some(Backend::Bubblewrap | Backend::Seatbelt)),
            single_hosts: !matches!(backend, Some(Backend::Landlock | Backend::Seatbelt)),
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
            return self.start_strongest(&request);
        }
        let mut request = Request::unchecked(spawn, profile);
        if profile.access == Access::Host {
            request.env.clone_from(&self.settings.host_env);
            request.env.extend(spawn.env.clone());
        }
        let launcher = self.launcher().map_err(|error| start_error(&request.program, error))?;
        none::start(&request, &self.settings, launcher).map_err(|failure| match failure {
            Failure::Fatal(error) => error,
            Failure::Setup(cause) => unavailable(&[(Backend::Bubblewrap, cause)]),
        })
    }
}

/// The process, unless a file that the backend could not put into its place is another one by now.
fn compared(child: Child, backend: Backend, request: &Request) -> Result<Child, Failure> {
    match request.changed(backend) {
        None => Ok(child),
        Some(path) => {
            let words = format!("`{}` was changed while it was started", path.display());
            Err(SandboxError::Refused(words).into())
        }
    }
}

fn unavailable(causes: &[(Backend, Cause)]) -> SandboxError {
    let join = |words: Vec<String>| words.join("; ");
    SandboxError::Unavailable {
        cause: join(causes.iter().map(|(backend, cause)| format!("{backend}: {cause}")).collect()),
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
            (Backend::Bubblewrap, Cause::new("not installed", "install it")),
            (Backend::Landlock, Cause::new("kernel too old", "update")),
            (Backend::Seatbelt, Cause::new("it needs macOS", "")),
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
