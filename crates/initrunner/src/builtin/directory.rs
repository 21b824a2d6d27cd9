//! The directory that an entry works in, which no path leaves by `..` or a symlink.

use std::io;
use std::path::{Component, Path, PathBuf};

use ::files::bounded;

use super::ToolHost;
use super::options::Options;

pub(super) struct Directory {
    pub(super) root: PathBuf,
    /// In lower case, without a dot; all files may be used if there is none.
    extensions: Vec<String>,
}

impl Directory {
    /// The directory `root_path`, from where the user is.
    pub(super) fn new(
        options: &Options<'_>,
        tool_host: &ToolHost,
        extensions: &[impl AsRef<str>],
    ) -> Result<Self, String> {
        let root = tool_host.surroundings.cwd.join(options.text("root_path")?.unwrap_or("."));
        let plain = |text: &str| text.trim_start_matches('.').to_lowercase();
        Ok(Self {
            // One that does not exist is an error when something is asked of it.
            root: root.canonicalize().unwrap_or(root),
            extensions: extensions.iter().map(|it| plain(it.as_ref())).collect(),
        })
    }

    /// The whole path of a file or directory. An error is text for the model.
    pub(super) fn path(&self, given: &str) -> Result<PathBuf, String> {
        if given.contains('\0') {
            return Err(String::from("a path cannot hold a NUL byte"));
        }
        let outside = || format!("Error: path '{given}' is outside allowed directories");
        let path = Path::new(given);
        let path = if path.is_absolute() {
            path.strip_prefix(&self.root).map_err(|_| outside())?
        } else {
            path
        };
        let mut relative = PathBuf::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => relative.push(name),
                Component::CurDir => {}
                Component::ParentDir if relative.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(outside());
                }
            }
        }
        let mut step = self.root.clone();
        for part in &relative {
            step.push(part);
            if step.is_symlink() {
                let part = part.to_string_lossy();
                return Err(format!("Error: path component '{part}' is a symlink"));
            }
        }
        // Without the dot that an empty path would end in.
        Ok(self.root.components().chain(relative.components()).collect())
    }

    /// The whole path of a file whose extension is allowed. An error is text for the model.
    pub(super) fn file(&self, given: &str) -> Result<PathBuf, String> {
        let path = self.path(given)?;
        let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
        let extension = extension.unwrap_or_default();
        if self.extensions.is_empty() || self.extensions.contains(&extension) {
            return Ok(path);
        }
        let allowed: Vec<String> = self.extensions.iter().map(|it| format!(".{it}")).collect();
        let allowed = allowed.join(", ");
        Err(format!("Error: file type .{extension} is not allowed (allowed: {allowed})"))
    }
}

/// Reads a file of at most so many megabytes; none if it is longer. An error is text for the model.
pub(super) fn read(path: &Path, given: &str, megabytes: usize) -> Result<Option<Vec<u8>>, String> {
    let explained = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => format!("Error: file not found: {given}"),
        _ => format!("Error: cannot read {given}: {error}"),
    };
    let file = bounded::open_exactly(path).map_err(explained)?;
    bounded::up_to(file, (megabytes as u64) << 20).map_err(explained)
}
