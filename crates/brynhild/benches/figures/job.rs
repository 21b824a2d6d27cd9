//! A program to be run and measured, and the project it is run in.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testkit::{ModelServer, Project, Terminal};

use crate::floor::Role;

/// What a run cost.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    pub(crate) peak_megabytes: f64,
}

/// A program with its arguments, directory and variables.
#[derive(Clone)]
pub(crate) struct Job {
    program: PathBuf,
    args: Vec<OsString>,
    cwd: PathBuf,
    env: Vec<(&'static str, PathBuf)>,
    output: PathBuf,
    errors: Errors,
}

/// What becomes of what a program says beside its output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Errors {
    Shown,
    Dropped,
}

impl Job {
    /// Adds an argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Has it say nothing but its output.
    pub(crate) fn hushed(self) -> Self {
        Self { errors: Errors::Dropped, ..self }
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &'static str, value: impl Into<PathBuf>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Runs it in another directory, which is the project.
    pub(crate) fn project(mut self, directory: &Path) -> Self {
        directory.clone_into(&mut self.cwd);
        self.env.push(("BRYNHILD_PROJECT_ROOT", directory.to_owned()));
        self
    }

    /// Runs it. Returns when it was started and how long it took.
    pub(crate) fn run(&self) -> (Instant, Duration) {
        let mut command = self.command();
        let started = Instant::now();
        let status = command.status();
        let wall = started.elapsed();
        let program = self.program.display();
        let status = status.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
        assert!(status.success(), "{program} {:?} ended with {status}", self.args);
        (started, wall)
    }

    /// Starts it and leaves it to itself.
    pub(crate) fn spawn(&self) -> Child {
        let started = self.command().spawn();
        started.unwrap_or_else(|error| panic!("cannot run {}: {error}", self.program.display()))
    }

    /// Runs it and waits for its end; returns how long it took.
    pub(crate) fn wall(&self) -> Duration {
        self.run().1
    }

    /// Runs it below a small process of its own, so that what it used is counted apart.
    pub(crate) fn cost(&self) -> Cost {
        let report = self.output.with_extension("cost");
        let mut words = vec![report.clone().into_os_string(), self.program.clone().into()];
        words.extend(self.args.iter().cloned());
        let wrapper = Self { program: this_program(), args: Vec::new(), ..self.clone() };
        let wrapper = wrapper.arg(Role::Measure.name());
        words.iter().fold(wrapper, Job::arg).run();
        let text = fs::read_to_string(&report).expect("the report of the measuring process");
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let [wall, cpu, peak_megabytes] = numbers[..] else { panic!("a report of {text:?}") };
        Cost {
            wall: Duration::from_secs_f64(wall),
            cpu: Duration::from_secs_f64(cpu),
            peak_megabytes,
        }
    }

    fn command(&self) -> Command {
        let output = File::create(&self.output).expect("a file for the output");
        let mut command = command(&self.program);
        command
            .args(&self.args)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output);
        if self.errors == Errors::Dropped {
            command.stderr(Stdio::null());
        }
        command
    }
}

/// A project, a home and a configuration in which jobs are run.
pub(crate) struct Rig {
    project: Project,
}

impl Rig {
    /// An empty project.
    pub(crate) fn new() -> Self {
        let project = Project::with_binary(env!("CARGO_BIN_EXE_brynhild"));
        fs::create_dir(project.home().join("tmp")).expect("a directory for temporary files");
        Self { project }
    }

    /// A project whose model is this server.
    pub(crate) fn with_model(server: &ModelServer) -> Self {
        let rig = Self::new();
        rig.use_model(server);
        rig
    }

    /// Makes another server the model.
    pub(crate) fn use_model(&self, server: &ModelServer) {
        self.project.config(&format!(
            "providers:\n  default: test\n  instances:\n    test:\n      type: openai\n      \
             base_url: {}/v1\n      default_model: test-model\n\
             behavior:\n  max_tool_rounds: 400\n",
            server.url()
        ));
    }

    /// Adds to the configuration.
    pub(crate) fn more(&self, yaml: &str) {
        self.project.config_more(yaml);
    }

    /// Where configuration and sessions are.
    pub(crate) fn config_directory(&self) -> PathBuf {
        self.project.config_directory()
    }

    /// The shipped program with these arguments.
    pub(crate) fn brynhild(&self, args: &[&str]) -> Job {
        self.job(env!("CARGO_BIN_EXE_brynhild"), args)
    }

    /// The interactive interface, on a terminal of so many columns and rows.
    pub(crate) fn terminal(&self, size: (u16, u16)) -> Terminal {
        self.project.terminal::<&str>(&[], size)
    }

    /// The minimal program in this role.
    pub(crate) fn floor(&self, role: Role) -> Job {
        self.job(this_program(), &[role.name()])
    }

    /// Any program.
    pub(crate) fn job(&self, program: impl Into<PathBuf>, args: &[&str]) -> Job {
        let home = self.project.home();
        let job = Job {
            program: program.into(),
            args: Vec::new(),
            cwd: self.project.path(),
            env: vec![
                ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
                ("HOME", home.clone()),
                ("TMPDIR", home.join("tmp")),
            ],
            output: home.join("output"),
            errors: Errors::Shown,
        };
        args.iter().fold(job, Job::arg)
    }

    /// A path beside the project, on the disk that holds the sessions.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.project.home().join(name)
    }

    /// Deletes sessions and logs: names are made of seconds, and many runs fit into one.
    pub(crate) fn forget(&self) {
        let sessions = self.project.config_directory().join("sessions");
        let logs = fs::read_dir(self.path("tmp")).into_iter().flatten().flatten();
        for directory in logs.map(|entry| entry.path()).chain([sessions]) {
            for file in fs::read_dir(directory).into_iter().flatten().flatten() {
                // What cannot be deleted does no harm.
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// Starts a program the way a shell does.
#[expect(
    clippy::disallowed_methods,
    reason = "a measurement starts programs as a user does, without a sandbox around them"
)]
pub(crate) fn command(program: &Path) -> Command {
    Command::new(program)
}

fn this_program() -> PathBuf {
    std::env::current_exe().expect("the path of this program")
}
