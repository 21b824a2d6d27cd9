//! Finds servers that run whatever version of a package is newest. Knows the plain forms of the
//! usual package runners, such as `npx PACKAGE`; a runner behind a shell or another program is not
//! seen.

use regex::Regex;
use serde_json::Value;

use super::expand::with_defaults;

/// A package without a fixed version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpinnedPackage {
    package: String,
    /// An example of its name with a version.
    pinned: String,
}

impl UnpinnedPackage {
    /// A sentence about the server: the problem, and what to write instead.
    pub fn describe(&self) -> String {
        let Self { package, pinned } = self;
        format!("uses the newest version of `{package}`; pin one, such as `{pinned}`")
    }
}

/// The kind of registry that a runner takes packages from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Registry {
    Npm,
    Python,
    Images,
}

/// Programs that fetch a package and run it, with their subcommands.
#[rustfmt::skip]
const RUNNERS: [(&str, &[&str], Registry); 13] = [
    ("npx", &[], Registry::Npm), ("pnpx", &[], Registry::Npm), ("bunx", &[], Registry::Npm),
    ("npm", &["exec"], Registry::Npm), ("pnpm", &["dlx"], Registry::Npm), ("yarn", &["dlx"], Registry::Npm),
    ("bun", &["x"], Registry::Npm), ("deno", &["run"], Registry::Npm), ("uvx", &[], Registry::Python),
    ("uv", &["tool", "run"], Registry::Python), ("pipx", &["run"], Registry::Python),
    ("docker", &["run"], Registry::Images), ("podman", &["run"], Registry::Images),
];

/// Long options of `docker run` without a value.
const IMAGE_SWITCHES: [&str; 8] = [
    "--rm",
    "--init",
    "--interactive",
    "--tty",
    "--privileged",
    "--read-only",
    "--detach",
    "--quiet",
];

enum OptionKind {
    /// Its value is the package.
    Package,
    /// It has another value.
    Value,
    Switch,
}

impl Registry {
    fn option_kind(self, option: &str) -> OptionKind {
        match (self, option) {
            (Self::Npm, "-p" | "--package") | (Self::Python, "--from" | "--spec") => {
                OptionKind::Package
            }
            (Self::Npm, "--registry" | "--prefix" | "-c" | "--call")
            | (
                Self::Python,
                "-p" | "--python" | "--with" | "--index" | "--index-url" | "--env-file",
            ) => OptionKind::Value,
            (Self::Images, option) if !IMAGE_SWITCHES.contains(&option) => {
                let is_letters =
                    option.trim_start_matches('-').chars().all(|c| "itdPq".contains(c));
                if is_letters { OptionKind::Switch } else { OptionKind::Value }
            }
            _ => OptionKind::Switch,
        }
    }

    /// The package that the arguments of a runner name.
    fn package<'a>(self, arguments: &[&'a str]) -> Option<&'a str> {
        let mut rest = arguments.iter().copied();
        while let Some(word) = rest.next() {
            let (option, attached) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (word, None),
            };
            match self.option_kind(option) {
                _ if word == "--" => return rest.next(),
                _ if !word.starts_with('-') => return Some(word),
                OptionKind::Package => return attached.or_else(|| rest.next()),
                OptionKind::Value if attached.is_none() => drop(rest.next()),
                OptionKind::Value | OptionKind::Switch => {}
            }
        }
        None
    }

    /// An example of a package's name with a version. None if it has a version, or is not a package.
    fn pinned(self, package: &str) -> Option<String> {
        let is_local = package.starts_with(['.', '/', '~']) || package.starts_with("file:");
        if is_local || package.contains("${") {
            return None;
        }
        let is_remote = package.contains("://") || package.starts_with("github:");
        // The pattern of a version, the characters before one, and an example.
        let (version, marks, example) = match self {
            Self::Npm if is_remote => (r"#([0-9a-f]{7,64}|v?\d+\.\d[\w.+-]*)$", "#", "#COMMIT"),
            Self::Npm => (r".@v?\d+\.\d+\.\d+([-+][\w.+-]*)?(/.*)?$", "@", "@1.2.3"),
            Self::Python if is_remote => (r"@([0-9a-f]{7,64}|v?\d+\.\d[\w.+-]*)$", "@", "@COMMIT"),
            Self::Python => (r"^[^=<>~!@ ]+(==|@)\d[\w.!+]*$", "=<>~!@ ", "==1.2.3"),
            Self::Images => {
                (r":v?\d+\.\d[\w.-]*$|:\d{8,}$|:[0-9a-f]{7,64}$|@sha256:[0-9a-f]+$", ":@", ":1.2.3")
            }
        };
        // A scope, or a user's name before a host, begins with the same character.
        let name = package.rfind('/').map_or(0, |at| at + 1);
        let end = package[name..].find(|c| marks.contains(c)).map_or(package.len(), |at| name + at);
        let is_pinned = Regex::new(version).is_ok_and(|version| version.is_match(package));
        (!is_pinned).then(|| format!("{}{example}", &package[..end]))
    }
}

/// The package of a server's entry that has no fixed version. A variable without a default counts as
/// a version that the user chose.
pub fn unpinned_package(entry: &Value) -> Option<UnpinnedPackage> {
    let words = |key: &str| match entry.get(key) {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(value) => value.as_str().into_iter().collect::<Vec<_>>(),
        None => Vec::new(),
    };
    let mut line = words("command");
    if line.is_empty() {
        line = words("cmd");
    }
    line.extend(words("args"));
    let line: Vec<String> = line.into_iter().map(with_defaults).collect();
    let mut line = line.iter().map(String::as_str);
    let program = line.next()?.rsplit('/').next()?;
    let arguments: Vec<&str> = line.collect();
    let (registry, rest) = RUNNERS.iter().find_map(|(name, subcommand, registry)| {
        let rest = arguments.strip_prefix(*subcommand)?;
        (*name == program).then_some((registry, rest))
    })?;
    let package = registry.package(rest)?;
    let is_file = program == "deno" && !package.starts_with("npm:");
    let pinned = registry.pinned(package).filter(|_| !is_file)?;
    Some(UnpinnedPackage { package: package.to_owned(), pinned })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn unpinned(line: &str) -> Option<(String, String)> {
        let words: Vec<&str> = line.split(' ').collect();
        let found = unpinned_package(&json!({"command": words[0], "args": words[1..]}))?;
        Some((found.package, found.pinned))
    }

    #[test]
    fn package_without_a_version_is_found() {
        for (line, package, pinned) in [
            ("npx -y some-server", "some-server", "some-server@1.2.3"),
            ("npx -y @scope/server@latest /data", "@scope/server@latest", "@scope/server@1.2.3"),
            ("npx -y @scope/server", "@scope/server", "@scope/server@1.2.3"),
            ("npx -y some-server@^1.0", "some-server@^1.0", "some-server@1.2.3"),
            ("npx some-server@1", "some-server@1", "some-server@1.2.3"),
            ("npx some-server@1.x.x", "some-server@1.x.x", "some-server@1.2.3"),
            ("/usr/bin/npx -y --package=foo foo", "foo", "foo@1.2.3"),
            ("npx -y -p foo -- foo --port 1", "foo", "foo@1.2.3"),
            ("npx -y github:o/r", "github:o/r", "github:o/r#COMMIT"),
            ("npx -y foo@${V:-latest}", "foo@latest", "foo@1.2.3"),
            ("npm exec -- foo", "foo", "foo@1.2.3"),
            ("bunx --bun foo", "foo", "foo@1.2.3"),
            ("deno run -A npm:foo@1", "npm:foo@1", "npm:foo@1.2.3"),
            ("deno run npm:@s/foo", "npm:@s/foo", "npm:@s/foo@1.2.3"),
            ("uvx mcp-server-time", "mcp-server-time", "mcp-server-time==1.2.3"),
            ("uvx mcp-server-time>=1", "mcp-server-time>=1", "mcp-server-time==1.2.3"),
            ("uvx mcp-server-time==1.*", "mcp-server-time==1.*", "mcp-server-time==1.2.3"),
            ("uvx mcp-server-time@latest", "mcp-server-time@latest", "mcp-server-time==1.2.3"),
            ("uvx --python 3.12 --from a[x] run", "a[x]", "a[x]==1.2.3"),
            ("uvx --from git+https://h/o/r run", "git+https://h/o/r", "git+https://h/o/r@COMMIT"),
            (
                "uvx --from git+ssh://git@h/o/r x",
                "git+ssh://git@h/o/r",
                "git+ssh://git@h/o/r@COMMIT",
            ),
            ("uv tool run foo", "foo", "foo==1.2.3"),
            ("pipx run foo", "foo", "foo==1.2.3"),
            ("docker run -i --rm img", "img", "img:1.2.3"),
            (
                "docker run -i -e KEY -v /a:/b h:5000/o/img:latest x",
                "h:5000/o/img:latest",
                "h:5000/o/img:1.2.3",
            ),
            ("podman run -it --network=none img:main", "img:main", "img:1.2.3"),
            ("docker run --read-only -itv /a:/b img", "img", "img:1.2.3"),
        ] {
            let wanted = Some((package.to_owned(), pinned.to_owned()));
            assert_eq!(unpinned(line), wanted, "{line}");
        }
    }

    #[test]
    fn package_with_a_version_is_not_reported() {
        for line in [
            "npx -y some-server@1.2.3",
            "npx -y @scope/server@2026.1.14 .",
            "npx -y some-server@1.0.0-beta.2+build",
            "npx -y ./local",
            "npx -y github:o/r#0123abc",
            "npx -y foo@${VERSION}",
            "npx -y foo@${VERSION:-1.2.3}",
            "npx",
            "npm start",
            "uvx mcp-server-time@2026.1.26",
            "uvx mcp-server-time==1.2",
            "uvx mcp-server-time[x]==1.2.post1",
            "uvx --from git+https://h/o/r@v1.2.3 run",
            "uvx --from ./here run",
            "uv run server.py",
            "pipx run x==1.0",
            "docker run -i --rm -e KEY img:1.2.3",
            "docker run img@sha256:abc",
            "docker run ghcr.io/o/r:v0.5.0 stdio",
            "docker run o/r:0123abcd",
            "docker exec -i box server",
            "deno run -A server.ts",
            "deno run npm:foo@1.2.3/bin",
            "node server.js npx foo",
            "sh run.sh",
        ] {
            assert_eq!(unpinned(line), None, "{line}");
        }
    }

    #[test]
    fn command_is_read_in_every_spelling() {
        let package = |entry| unpinned_package(&entry).map(|found| found.package);
        assert_eq!(package(json!({"command": ["npx", "a"]})).as_deref(), Some("a"));
        assert_eq!(package(json!({"cmd": "uvx", "args": ["a"]})).as_deref(), Some("a"));
        assert_eq!(package(json!({"command": "${RUN:-npx}", "args": ["a"]})).as_deref(), Some("a"));
        assert_eq!(package(json!({"url": "https://npx"})), None);
        assert_eq!(package(json!({})), None);
    }
}
