//! The instructions for the helper: the program, its environment, and the restrictions to apply.
//!
//! A plan travels through an inherited descriptor, never through arguments or the environment,
//! because other users can read the former and the dynamic linker obeys the latter.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use contract::sandbox::Limits;

use crate::mount_check::ExpectedMounts;

/// A program with everything the helper does before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) env: BTreeMap<String, String>,
    /// A directory in which its home is made.
    pub(crate) home: Option<PathBuf>,
    pub(crate) restrictions: Restrictions,
    pub(crate) limits: Limits,
    /// Readable and executable hierarchies.
    pub(crate) read: Vec<PathBuf>,
    /// Writable hierarchies.
    pub(crate) write: Vec<PathBuf>,
    /// Files and device nodes that can be read and written, not created or removed.
    pub(crate) devices: Vec<PathBuf>,
    /// The files that the program must find at mounted paths.
    pub(crate) expected: ExpectedMounts,
    /// The filter of system calls, as text. It is the last of all that is written: a plan that was cut
    /// off has none.
    pub(crate) filter: String,
}

/// The restrictions that the helper applies to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restrictions {
    /// Inside namespaces: seccomp and limits, Landlock as far as the kernel has it.
    Inner,
    /// Without namespaces: Landlock must hold, and seccomp also closes what namespaces would.
    Alone,
    /// None.
    Open,
}

impl Restrictions {
    fn name(self) -> &'static str {
        match self {
            Self::Inner => "inner",
            Self::Alone => "alone",
            Self::Open => "open",
        }
    }
}

impl Plan {
    /// The bytes of the plan: pairs of key and value, each ended by a zero.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4096);
        let mut put = |key: &str, value: &[u8]| {
            bytes.extend_from_slice(key.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(value);
            bytes.push(0);
        };
        put("program", self.program.as_bytes());
        for arg in &self.args {
            put("arg", arg.as_bytes());
        }
        put("cwd", self.cwd.as_os_str().as_bytes());
        for (name, value) in &self.env {
            put("env", format!("{name}={value}").as_bytes());
        }
        if let Some(home) = &self.home {
            put("home", home.as_os_str().as_bytes());
        }
        put("restrictions", self.restrictions.name().as_bytes());
        let Limits { processes, memory, file_size, open_files, scratch } = self.limits;
        let limits = format!("{processes} {memory} {file_size} {open_files} {scratch}");
        put("limits", limits.as_bytes());
        for (key, paths) in
            [("read", &self.read), ("write", &self.write), ("device", &self.devices)]
        {
            for path in paths {
                put(key, path.as_os_str().as_bytes());
            }
        }
        for meant in self.expected.encode() {
            put("meant", &meant);
        }
        put("filter", self.filter.as_bytes());
        bytes
    }

    /// Reads a plan back. `None` where the bytes are none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut plan = Self {
            program: OsString::new(),
            args: Vec::new(),
            cwd: PathBuf::new(),
            env: BTreeMap::new(),
            home: None,
            restrictions: Restrictions::Alone,
            limits: Limits::default(),
            read: Vec::new(),
            write: Vec::new(),
            devices: Vec::new(),
            expected: ExpectedMounts::default(),
            filter: String::new(),
        };
        let mut fields = bytes.split(|&byte| byte == 0);
        loop {
            let key = fields.next()?;
            if key.is_empty() {
                break;
            }
            plan.take(std::str::from_utf8(key).ok()?, fields.next()?)?;
        }
        (!plan.program.is_empty()).then_some(plan)
    }

    fn take(&mut self, key: &str, value: &[u8]) -> Option<()> {
        let text = || OsStr::from_bytes(value).to_owned();
        match key {
            "program" => self.program = text(),
            "arg" => self.args.push(OsString::from_vec(value.to_vec())),
            "cwd" => self.cwd = text().into(),
            "env" => {
                let (name, value) = std::str::from_utf8(value).ok()?.split_once('=')?;
                self.env.insert(name.to_owned(), value.to_owned());
            }
            "home" => self.home = Some(text().into()),
            "restrictions" => {
                self.restrictions = [Restrictions::Inner, Restrictions::Alone, Restrictions::Open]
                    .into_iter()
                    .find(|restrictions| restrictions.name().as_bytes() == value)?;
            }
            "read" => self.read.push(text().into()),
            "write" => self.write.push(text().into()),
            "device" => self.devices.push(text().into()),
            "meant" => self.expected.decode(value)?,
            "filter" => self.filter = String::from_utf8(value.to_vec()).ok()?,
            "limits" => {
                let mut numbers = std::str::from_utf8(value).ok()?.split(' ');
                let mut next = || numbers.next()?.parse().ok();
                self.limits = Limits {
                    processes: next()?,
                    memory: next()?,
                    file_size: next()?,
                    open_files: next()?,
                    scratch: next()?,
                };
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::mount_check::ExpectedMount;

    fn plan() -> Plan {
        let mut expected = ExpectedMounts::default();
        expected.add(
            Path::new("/work dir"),
            ExpectedMount::Mounted { file: (7, 8), is_read_only: false },
        );
        Plan {
            program: OsString::from("sh"),
            args: vec![OsString::new(), OsString::from_vec(vec![0xff, b'a'])],
            cwd: PathBuf::from("/work dir"),
            env: BTreeMap::from([("A".to_owned(), "x=y\nz".to_owned())]),
            home: Some(PathBuf::from("/data/home")),
            restrictions: Restrictions::Inner,
            limits: Limits { processes: 7, ..Limits::default() },
            read: vec![PathBuf::from("/usr")],
            write: vec![PathBuf::from("/tmp"), PathBuf::from("/work dir")],
            devices: vec![PathBuf::from("/dev/null")],
            expected,
            filter: "0020000000000004".to_owned(),
        }
    }

    #[test]
    fn plan_survives_encoding() {
        assert_eq!(Plan::decode(&plan().encode()), Some(plan()));
    }

    #[test]
    fn truncated_plan_is_refused() {
        let bytes = plan().encode();
        for end in 0..bytes.len() {
            let torn = Plan::decode(&bytes[..end]);
            assert_ne!(torn, Some(plan()), "cut at {end}");
            let is_whole = |torn: Plan| torn.filter == plan().filter;
            assert!(!torn.is_some_and(is_whole), "cut at {end}");
        }
        assert_eq!(Plan::decode(b"program\0sh\0surprise\0x\0"), None);
    }
}
