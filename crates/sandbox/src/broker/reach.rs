//! What git can reach. Git looks for links on its way and opens files later; a confined process that
//! runs meanwhile can put a link to the home there in between. So the thread that starts git raises
//! walls of Landlock around itself, which hold for all that it starts. Where the kernel has no Landlock
//! there are none.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::launch::Launcher;

/// Hierarchies that can be reached besides the programs of the system.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
}

impl Reach {
    /// What starts programs that reach this and nothing else.
    #[cfg(target_os = "linux")]
    pub(crate) fn launcher(self) -> io::Result<Arc<Launcher>> {
        use crate::view::{self, System};
        use crate::walls::{self, Strength};

        /// Where libraries and the time zone are found.
        const SETTINGS: [&str; 3] = ["/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime"];
        const DEVICES: [&str; 2] = ["/dev/null", "/dev/urandom"];

        if walls::strength() == Strength::Missing {
            return Launcher::new();
        }
        let programs = view::system().iter().filter_map(|entry| match entry {
            // Root could read secrets there.
            System::Folder(path) if !path.ends_with("etc") => Some(path.clone()),
            System::Folder(_) | System::Link { .. } => None,
        });
        let read = programs.chain(SETTINGS.map(PathBuf::from)).chain(self.read).collect();
        let devices = DEVICES.map(PathBuf::from).into();
        let files = walls::Files { read, write: self.write, devices };
        Launcher::after(move || files.keep().map_err(io::Error::other))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn launcher(self) -> io::Result<Arc<Launcher>> {
        Launcher::new()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use contract::sandbox::Stdin;

    use super::*;
    use crate::launch;
    use crate::walls::{Strength, strength};

    #[tokio::test]
    async fn no_link_leads_out_of_it() {
        if strength() == Strength::Missing {
            return;
        }
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        for folder in ["home", "work", "objects"] {
            fs::create_dir(base.join(folder)).unwrap();
            fs::write(base.join(folder).join("text"), folder).unwrap();
        }
        symlink("../home", base.join("work/x")).unwrap();
        symlink("../home", base.join("objects/x")).unwrap();
        let reach = Reach { read: vec![base.join("work")], write: vec![base.join("objects")] };
        let launcher = reach.launcher().unwrap();
        let script = "cat work/text; echo more >> objects/text; cat objects/text; chmod 2755 objects; \
             cat work/x/text; echo x > objects/x/new; echo x > work/new; rm work/text; ls home; \
             mv objects/text home/";
        let mut command = launch::command(Path::new("/bin/bash"), Stdin::Null);
        command.args(["-c", script]).env("PATH", "/usr/bin:/bin").current_dir(&base);
        let output = launcher.launch(command, Vec::new()).unwrap().wait_with_output().await;
        let output = output.unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "workobjectsmore\n");
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(words.matches("Permission denied").count(), 6, "{words}");
        assert_eq!(fs::read_dir(base.join("home")).unwrap().count(), 1);
        assert_eq!(fs::read(base.join("home/text")).unwrap(), b"home");
        // This thread is not behind the walls.
        fs::write(base.join("home/new"), "x").unwrap();
    }
}
