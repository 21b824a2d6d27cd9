//! Programs of the system: taken from where nobody but root can change them, or not at all.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The real path of `place`, if nobody but root can change what it names.
pub(crate) fn trusted(place: &Path) -> io::Result<PathBuf> {
    let path = std::fs::canonicalize(place)?;
    for part in path.ancestors() {
        let metadata = std::fs::metadata(part)?;
        let is_sticky = metadata.mode() & 0o1000 != 0 && metadata.is_dir();
        if metadata.uid() != 0 || (metadata.mode() & 0o022 != 0 && !is_sticky) {
            let part = part.display();
            return Err(io::Error::other(format!(
                "is not used, because others than root can change {part}"
            )));
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn program_writable_by_others_is_not_trusted() {
        let directory = tempfile::tempdir().unwrap();
        let fake = directory.path().join("bwrap");
        fs::write(&fake, "#!/bin/sh\n").unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = trusted(&fake).unwrap_err().to_string();
        assert!(error.contains("others than root can change"), "{error}");
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(trusted(&fake).is_err());
        assert!(trusted(Path::new("/usr/bin/env")).is_ok());
    }
}
