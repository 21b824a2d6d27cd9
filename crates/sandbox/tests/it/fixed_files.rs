//! Files that a process must find with the bytes that were looked at, whatever is done to them on the
//! host while it runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use contract::sandbox::{Access, Exit, Fixed, Spawn, Stdin};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use sandbox::Backend;
use tokio::io::AsyncWriteExt;

use crate::fixture::{Mode, World, backends, collect, has_bubblewrap, host_shell};

fn fix(world: &mut World, name: &str, text: &str) {
    let place = world.work.join(name);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(&place, text).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    let bytes = text.as_bytes().into();
    world.profile.fixed.push(Fixed { place, bytes, mode: 0o755 });
}

fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

#[tokio::test]
async fn process_sees_fixed_files_despite_host_changes() {
    if !has_bubblewrap() {
        return;
    }
    for access in [Access::Workspace, Access::ReadOnly] {
        let mut world = World::with_git();
        world.profile.access = access;
        fix(&mut world, "h.sh", "#!/bin/sh\n. ./tools/lib.sh\necho good\n");
        fix(&mut world, "tools/lib.sh", "echo lib\n");
        fix(&mut world, ".brynhild/hooks/k.sh", "#!/bin/sh\necho kept\n");
        let work = world.work.clone();
        for name in ["evil.sh", "evil/lib.sh", "evil/hooks/k.sh"] {
            fs::create_dir_all(work.join(name).parent().unwrap()).unwrap();
            fs::write(work.join(name), "#!/bin/sh\necho EVIL\n").unwrap();
            fs::set_permissions(work.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(work.join("tools/data"), "data\n").unwrap();
        let script = "read go; ./h.sh; cat tools/data a.txt; .brynhild/hooks/k.sh; pwd";
        let spawn = Spawn { stdin: Stdin::Piped, ..world.spawn(script) };
        let sandbox = world.sandbox(Mode::Confined(Backend::Bubblewrap));
        let mut child = sandbox.start(&spawn, &world.profile).unwrap();
        exchange(&work.join("h.sh"), &work.join("evil.sh"));
        exchange(&work.join("tools"), &work.join("evil"));
        exchange(&work.join(".brynhild"), &work.join("tools"));
        child.stdin.take().unwrap().write_all(b"go\n").await.unwrap();
        let output = collect(child).await;
        let wanted = format!("lib\ngood\ndata\nx\nkept\n{}\n", work.display());
        assert_eq!(output.stdout, wanted, "{access:?}: {}", output.stderr);
    }
}

#[tokio::test]
async fn process_with_fixed_files_writes_the_workspace() {
    for backend in backends() {
        let mut world = World::with_git();
        fix(&mut world, "h.sh", "#!/bin/sh\necho good\n");
        fix(&mut world, ".brynhild/hooks/k.sh", "true\n");
        fs::create_dir(world.work.join("src")).unwrap();
        for name in ["old", "gone", "src/main"] {
            fs::write(world.work.join(name), "before\n").unwrap();
        }
        let script = "./h.sh && echo made > made && mkdir -p deep/er && echo x > deep/er/file && \
                      sed -i s/before/after/ old src/main && rm gone && echo more >> a.txt && \
                      git status --short && ! echo evil > .brynhild/hooks/k.sh";
        let read = |name: &str| fs::read_to_string(world.work.join(name)).unwrap();
        if backend == Backend::Landlock {
            // If the file is changed before the comparison, the start is refused.
            if let Ok(child) = world.start(Mode::Confined(backend), script) {
                collect(child).await;
                assert_eq!(read(".brynhild/hooks/k.sh"), "true\n", "{backend}");
            }
            continue;
        }
        let output = world.run(Mode::Confined(backend), script).await;
        assert_eq!(read(".brynhild/hooks/k.sh"), "true\n", "{backend}");
        assert_eq!(output.exit, Exit::Code(0), "{backend}: {output:?}");
        assert!(output.stdout.starts_with("good\n"), "{backend}: {output:?}");
        assert_eq!((read("made"), read("old")), ("made\n".to_owned(), "after\n".to_owned()));
        assert_eq!(
            (read("deep/er/file"), read("a.txt")),
            ("x\n".to_owned(), "x\nmore\n".to_owned())
        );
        assert_eq!(read("src/main"), "after\n");
        assert!(!world.work.join("gone").exists() && world.notices.lock().unwrap().is_empty());
        let left: Vec<_> = fs::read_dir(world.state().join("views")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[tokio::test]
async fn landlock_refuses_a_start_with_changed_files() {
    if !backends().contains(&Backend::Landlock) {
        return;
    }
    let mut world = World::new();
    fix(&mut world, "h.sh", "#!/bin/sh\necho good\n");
    fs::write(world.work.join("h.sh"), "#!/bin/sh\necho EVIL\n").unwrap();
    let error = world.start(Mode::Confined(Backend::Landlock), "sleep 60").err().unwrap();
    assert!(error.to_string().contains("h.sh` was changed while it was started"), "{error}");
}

#[tokio::test]
async fn cached_bytecode_is_not_imported() {
    const PLANT: &str = "mkdir -p t; echo 'print(\"evil\")' > evil.py; $PY -c '
import importlib.util, py_compile
unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
cache = importlib.util.cache_from_source(\"t/lib.py\")
py_compile.compile(\"evil.py\", cfile=cache, invalidation_mode=unchecked)'";
    for backend in backends() {
        let mut world = World::new();
        let python = world.profile.env["SP"].split(' ').next().unwrap().to_owned();
        fs::create_dir(world.work.join("t")).unwrap();
        for (name, text) in [("t/x.py", "import lib\n"), ("t/lib.py", "print('trusted')\n")] {
            fs::write(world.work.join(name), text).unwrap();
            let (place, bytes) = (world.work.join(name), text.as_bytes().into());
            world.profile.fixed.push(Fixed { place, bytes, mode: 0o644 });
        }
        let planted = host_shell(&world, &format!("PY={python}; {PLANT}; $PY t/x.py"));
        assert_eq!(String::from_utf8_lossy(&planted.stdout), "evil\n", "it proves nothing");
        let output = world.run(Mode::Confined(backend), &format!("{python} t/x.py")).await;
        assert_eq!(output.stdout, "trusted\n", "{backend}: {output:?}");
    }
}
