//! Which Python runs a plugin: its own venv, the one that is configured, or `python3`. What an
//! interpreter is like is found out once and kept.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::sandbox::{Access, Channel, Limits, Network, Profile, Spawn, Stdin};
use files::surroundings::on_path;
use files::{cache, private};
use serde::{Deserialize, Serialize};

use crate::job;
use crate::settings::Settings;

/// The oldest Python that works, as minor version of 3.
const OLDEST: u32 = 9;
const REPORT_TIME: Duration = Duration::from_mins(1);

/// Prints what we need to know, then compiles the payload.
const REPORT_SCRIPT: &str = "\
import sys, json
sites = [p for p in sys.path if p.endswith('-packages')]
try:
    import sysconfig
    sites += [sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]
except Exception:
    pass
print(json.dumps({'program': sys.executable, 'minor': sys.version_info[1], 'major': sys.version_info[0],
                  'prefix': sys.prefix, 'base': getattr(sys, 'base_prefix', sys.prefix),
                  'sites': sites}))
sys.stdout.flush()
if sys.version_info >= (3, 9):
    import compileall
    compileall.compile_dir(sys.argv[1], quiet=2)
";

/// A Python that can run plugins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Interpreter {
    /// The program itself, no script that looks for it.
    pub(crate) program: PathBuf,
    /// The directories of its parts.
    prefixes: Vec<PathBuf>,
    /// The minor version of Python 3.
    pub(crate) minor: u32,
    /// The directories of its packages.
    pub(crate) sites: Vec<PathBuf>,
}

/// The answer of [`REPORT_SCRIPT`].
#[derive(Deserialize)]
struct InterpreterReport {
    program: String,
    major: u32,
    minor: u32,
    prefix: PathBuf,
    base: PathBuf,
    sites: Vec<PathBuf>,
}

impl Interpreter {
    /// The directories that must be readable. Nothing that holds a home is among them.
    pub(crate) fn directories(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let is_wide = |directory: &Path| {
            directory.parent().is_none() || home.is_some_and(|home| home.starts_with(directory))
        };
        let library = format!("lib/python3.{}", self.minor);
        let mut directories = Vec::new();
        for prefix in &self.prefixes {
            if is_wide(prefix) {
                directories.extend([
                    prefix.join("bin"),
                    prefix.join("include"),
                    prefix.join(&library),
                ]);
            } else {
                directories.push(prefix.clone());
            }
        }
        directories
    }

    /// Tells it from other interpreters.
    pub(crate) fn identity(&self) -> String {
        let stamp = fs::metadata(&self.program).map(|found| stamp(&found)).unwrap_or_default();
        format!("{} {stamp}", self.program.display())
    }

    /// Changes when packages are installed or removed.
    fn packages(&self) -> String {
        let stamps = self.sites.iter().filter_map(|site| fs::metadata(site).ok());
        stamps.map(|found| stamp(&found)).collect::<Vec<_>>().join(" ")
    }
}

/// An interpreter with its signs, taken once.
#[derive(Clone)]
pub(crate) struct KnownInterpreter {
    pub(crate) interpreter: Interpreter,
    /// See [`Interpreter::identity`].
    pub(crate) identity: String,
    /// See [`Interpreter::packages`].
    pub(crate) packages: String,
}

impl KnownInterpreter {
    pub(crate) fn new(interpreter: Interpreter) -> Self {
        let (identity, packages) = (interpreter.identity(), interpreter.packages());
        Self { interpreter, identity, packages }
    }
}

fn stamp(found: &Metadata) -> String {
    format!("{}.{}.{}", found.mtime(), found.mtime_nsec(), found.size())
}

fn python_of(venv: &Path) -> PathBuf {
    venv.join("bin/python")
}

/// The interpreter of a venv. Runs nothing: what lies in a venv may be the plugin's own.
pub(crate) fn of_venv(venv: &Path) -> Result<Interpreter, String> {
    let program = python_of(venv);
    let real = fs::canonicalize(&program).map_err(|error| {
        format!("{} leads nowhere ({error}); make the venv again", program.display())
    })?;
    let settings = fs::read_to_string(venv.join("pyvenv.cfg")).unwrap_or_default();
    let version = settings.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        matches!(name.trim(), "version" | "version_info").then(|| value.trim().to_owned())
    });
    let minor = version.and_then(|text| text.strip_prefix("3.")?.split('.').next()?.parse().ok());
    let minor = minor.or_else(|| minor_by_library(venv)).ok_or_else(|| {
        format!("{} does not say which Python it is for", venv.join("pyvenv.cfg").display())
    })?;
    check_version(&program, 3, minor)?;
    let library = format!("lib/python3.{minor}");
    let mut prefixes = vec![venv.to_owned()];
    // Where the link leads must look like a Python, so that no venv opens another directory.
    let base = real.parent().and_then(Path::parent).filter(|base| base.join(&library).is_dir());
    prefixes.extend(base.map(Path::to_owned));
    let sites = vec![venv.join(library).join("site-packages")];
    Ok(Interpreter { program, prefixes, minor, sites })
}

fn minor_by_library(venv: &Path) -> Option<u32> {
    let entries = fs::read_dir(venv.join("lib")).ok()?.flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.find_map(|name| name.strip_prefix("python3.")?.parse().ok())
}

fn check_version(program: &Path, major: u32, minor: u32) -> Result<(), String> {
    if major == 3 && minor >= OLDEST {
        return Ok(());
    }
    Err(format!(
        "{} is Python {major}.{minor}; plugins need 3.{OLDEST} or later: install one, or name it \
         with `plugins.python`",
        program.display()
    ))
}

/// The path of the interpreter that is configured, or of `python3`.
pub(crate) fn shared_program(settings: &Settings) -> Result<PathBuf, String> {
    let surroundings = &settings.surroundings;
    let search_path = surroundings.env.get("PATH");
    if let Some(named) = &settings.python {
        let found = if named.components().count() > 1 || named.starts_with("~") {
            Some(surroundings.resolve(named)).filter(|path| path.is_file())
        } else {
            on_path(&named.to_string_lossy(), search_path, &surroundings.workspace)
        };
        // The directory of an environment is accepted for its interpreter.
        let inside =
            || Some(surroundings.resolve(named).join("bin/python")).filter(|it| it.is_file());
        return found.or_else(inside).ok_or_else(|| {
            format!("`plugins.python` names {}, which is not a program", named.display())
        });
    }
    on_path("python3", search_path, &surroundings.workspace).ok_or_else(|| {
        format!(
            "there is no `python3` outside of the project: install Python 3.{OLDEST} or later, or \
             name one with `plugins.python`"
        )
    })
}

/// Looks at the interpreter that is configured or found, unless that was done before.
pub(crate) async fn shared(settings: &Settings, payload: &Path) -> Result<Interpreter, String> {
    let program = shared_program(settings)?;
    if let Some(known) = known(settings, payload, &program) {
        return Ok(known);
    }
    let interpreter = query(settings, payload, &program).await?;
    remember(settings, payload, &program, &interpreter);
    Ok(interpreter)
}

/// Reads what is known of an interpreter without running it.
pub(crate) fn known(settings: &Settings, payload: &Path, program: &Path) -> Option<Interpreter> {
    let known: BTreeMap<String, Interpreter> =
        cache::read(&settings.state.join("interpreters.json"))?;
    known.get(&key(settings, payload, program)?).filter(|it| it.program.exists()).cloned()
}

fn remember(settings: &Settings, payload: &Path, program: &Path, found: &Interpreter) {
    let file = settings.state.join("interpreters.json");
    let Some(key) = key(settings, payload, program) else { return };
    let mut known: BTreeMap<String, Interpreter> = cache::read(&file).unwrap_or_default();
    if known.len() > 50 {
        known.clear();
    }
    known.insert(key, found.clone());
    // Without it the interpreter is looked at again the next time.
    let _ = cache::write(&file, &known);
}

/// Names an interpreter as it is; a script that chooses one says so by what it reads.
fn key(settings: &Settings, payload: &Path, program: &Path) -> Option<String> {
    let found = fs::metadata(program).ok()?;
    let chosen = program.parent().and_then(Path::parent).map(|base| base.join("version"));
    let chosen = chosen.and_then(|file| fs::metadata(file).ok()).map(|found| stamp(&found));
    let version = settings.surroundings.env.get("PYENV_VERSION").cloned().unwrap_or_default();
    Some(format!(
        "{} {} {} {version} {}",
        program.display(),
        stamp(&found),
        chosen.unwrap_or_default(),
        payload.file_name()?.to_string_lossy()
    ))
}

/// The profile of a job that serves no plugin: it reads one directory and writes another.
pub(crate) fn bare_profile(
    settings: &Settings,
    read: PathBuf,
    own: PathBuf,
) -> Result<Profile, String> {
    let nowhere = settings.state.join("nowhere");
    private::make_directory(&nowhere)
        .map_err(|error| format!("cannot make {}: {error}", nowhere.display()))?;
    let mut env = settings.surroundings.env.clone();
    env.retain(|name, _| !name.starts_with("PYTHON") && name != "VIRTUAL_ENV");
    Ok(Profile {
        workspace: nowhere,
        access: Access::ReadOnly,
        read: vec![read],
        write: Vec::new(),
        own: vec![own],
        fixed: Vec::new(),
        network: Network::None,
        env,
        limits: Limits::default(),
    })
}

async fn query(settings: &Settings, payload: &Path, program: &Path) -> Result<Interpreter, String> {
    let surroundings = &settings.surroundings;
    let spawn = Spawn {
        program: program.to_owned(),
        args: ["-I", "-S", "-X", "utf8", "-c", REPORT_SCRIPT]
            .map(Into::into)
            .into_iter()
            .chain([payload.as_os_str().to_owned()])
            .collect(),
        // Not the workspace: a file in it must not choose the interpreter.
        cwd: payload.to_owned(),
        stdin: Stdin::Null,
        channel: Channel::None,
        env: BTreeMap::new(),
        home: None,
    };
    let around = |program: &Path| {
        let base = program.parent().and_then(Path::parent);
        let is_wide = |base: &&Path| {
            base.parent().is_none()
                || surroundings.home.as_ref().is_some_and(|it| it.starts_with(base))
        };
        base.filter(|base| !is_wide(base)).unwrap_or(program).to_owned()
    };
    let mut profile = bare_profile(settings, around(program), payload.to_owned())?;
    // An environment's interpreter is a link to the one that it was made with.
    profile.read.extend(fs::canonicalize(program).ok().map(|real| around(&real)));
    let done = job::run(&*settings.sandbox, (&spawn, &profile), REPORT_TIME).await;
    let done = done.map_err(|why| format!("cannot look at {}: {why}", program.display()))?;
    let query =
        done.stdout.lines().find_map(|line| serde_json::from_str::<InterpreterReport>(line).ok());
    let Some(query) = query else {
        return Err(format!(
            "{} does not work as a Python:\n{}",
            program.display(),
            if done.last.is_empty() { "it says nothing" } else { &done.last }
        ));
    };
    check_version(program, query.major, query.minor)?;
    // Without its packages an interpreter cannot say that it is that of an environment.
    let venv = program.parent().and_then(Path::parent);
    if let Some(venv) = venv.filter(|venv| venv.join("pyvenv.cfg").is_file()) {
        return of_venv(venv);
    }
    let program = if query.program.is_empty() { program.to_owned() } else { query.program.into() };
    let mut prefixes = vec![query.prefix, query.base];
    prefixes.dedup();
    let mut sites = query.sites;
    sites.sort();
    sites.dedup();
    Ok(Interpreter { program, prefixes, minor: query.minor, sites })
}
