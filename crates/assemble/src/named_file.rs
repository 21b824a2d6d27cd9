//! Files that the user names for Brynhild to read or write. A symlink that a command could have
//! created, or that came with the project, is not followed.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::exit::Problem;
use crate::run_context::RunContext;

/// Creates or truncates a file; a new one is private to the user.
pub fn create(run: &RunContext, named: &Path) -> Result<File, Problem> {
    let place = place(run, named)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    if !is_device(&place) {
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    }
    let file = options.open(place);
    file.map_err(|error| Problem::failed(format!("cannot write {}: {error}", named.display())))
}

/// Returns true for a path like `/dev/stdout`, where only the system creates symlinks.
fn is_device(path: &Path) -> bool {
    path.starts_with("/dev") || path.starts_with("/proc")
}

/// The real path of a named file, which need not exist.
pub fn place(run: &RunContext, named: &Path) -> Result<PathBuf, Problem> {
    let path = run.environment.cwd.join(named);
    if is_device(&path) {
        return Ok(path);
    }
    if let Some(real) = led(run, named, &path)? {
        return Ok(real);
    }
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path) };
    Ok(led(run, named, directory)?.unwrap_or_else(|| directory.to_owned()).join(name))
}

fn led(run: &RunContext, named: &Path, path: &Path) -> Result<Option<PathBuf>, Problem> {
    let state = run.loaded.config_dir.as_deref().map(|dir| dir.join(setup::user_files::SANDBOX));
    sandbox::file_at(path, run.place(), &state.unwrap_or_default()).map_err(|astray| {
        let (link, real) = (astray.link.display(), astray.real.display());
        let named = named.display();
        Problem::failed(format!(
            "{named} resolves to {real} through the symlink {link}: a command or the project could have made it"
        ))
        .hint(format!("remove the link, or, if it is yours, name {real}"))
    })
}
