//! A package to install, made with plain Python.

use std::path::Path;
use std::process::Command;

/// Writes a wheel that holds one module.
const WHEEL: &str = "import sys, zipfile\n\
    z, name = zipfile.ZipFile(sys.argv[1], 'w'), sys.argv[2]\n\
    z.writestr(name + '.py', 'KIND = \"apple\"\\n')\n\
    z.writestr(name + '-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: ' + name + '\\nVersion: 1.0\\n')\n\
    z.writestr(name + '-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\n\
    Root-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
    z.writestr(name + '-1.0.dist-info/RECORD', '')\n\
    z.close()\n";

/// Makes a package of one module, whose `KIND` is `apple`, in a directory; returns how it is named as a
/// requirement.
#[expect(clippy::disallowed_methods, reason = "the tests need a process and no sandbox")]
pub fn wheel(name: &str, directory: &Path) -> String {
    let file = directory.join(format!("{name}-1.0-py3-none-any.whl"));
    let made = Command::new("/usr/bin/env")
        .args(["python3", "-c", WHEEL])
        .args([file.as_os_str(), name.as_ref()])
        .status()
        .expect("python3 runs");
    assert!(made.success(), "no wheel {name}");
    format!("{name} @ file://{}", file.display())
}
