//! A process gets the environment, limits and network of its profile.

use contract::sandbox::{Exit, Limits, Network};

use sandbox::Backend;

use crate::fixture::{Mode, World, backends, is_root, skip};

#[tokio::test]
async fn only_profile_environment_variables_are_visible() {
    for backend in backends() {
        let mut world = World::new();
        world.profile.env.clear();
        world.profile.env.insert("MINE".to_owned(), "a b\nc".to_owned());
        let output = world.run(Mode::Confined(backend), "printf '%s' \"$MINE\"; env -0").await;
        let names: Vec<&str> = output
            .stdout
            .trim_start_matches("a b\nc")
            .split('\0')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, _)| name)
            .collect();
        assert!(output.stdout.starts_with("a b\nc"), "{output:?}");
        for name in names {
            let known = ["MINE", "HOME", "TMPDIR", "PWD", "SHLVL", "_", "OLDPWD"];
            let is_proxy = name.to_lowercase().ends_with("_proxy");
            assert!(known.contains(&name) || is_proxy, "S03 {backend}: {name}");
        }
    }
}

#[tokio::test]
async fn linker_environment_variables_reach_only_the_command() {
    for backend in backends() {
        let mut world = World::new();
        world.profile.env.insert("LD_DEBUG".to_owned(), "libs".to_owned());
        world
            .profile
            .env
            .insert("LD_DEBUG_OUTPUT".to_owned(), format!("{}/ld", world.work.display()));
        world.run(Mode::Confined(backend), "exec true").await;
        let traces = std::fs::read_dir(&world.work).unwrap().flatten().filter(|entry| {
            entry.file_name().to_string_lossy().starts_with("ld.")
                && std::fs::read_to_string(entry.path()).unwrap().contains("bwrap")
        });
        assert_eq!(traces.count(), 0, "{backend}");
    }
}

#[tokio::test]
async fn resources_are_limited() {
    const MEGABYTE: u64 = 1 << 20;
    for backend in backends() {
        let mut world = World::new();
        world.profile.limits = Limits {
            processes: 100,
            memory: 512 * MEGABYTE,
            file_size: 50 * MEGABYTE,
            open_files: 64,
            scratch: 40 * MEGABYTE,
        };
        let mut scripts = vec![
            ("R02", "$SP mem 700"),
            ("R03", "$SP falloc ./big 60"),
            ("R04", "$SP falloc ${TMPDIR}/big 60"),
            ("R05", "$SP falloc /dev/shm/big 45"),
        ];
        if backend == Backend::Bubblewrap {
            scripts.push(("R04b", "$SP falloc /tmp/big 45"));
            scripts.push((
                "R04c",
                "$SP falloc $HOME/big 45; $SP falloc /big 1; $SP falloc /dev/big 1",
            ));
        }
        match (bounds_processes(&world, backend), backend, is_root()) {
            (false, _, _) => skip(&format!("R01 on {backend}, whose doctor says that it lacks it")),
            // The highest number in a namespace cannot be lower than three hundred and some.
            (true, Backend::Bubblewrap, true) => scripts.push(("R01", "$SP forkbomb 450")),
            // Counted over all that the user runs.
            (true, Backend::Landlock, false) => scripts.push(("R01", "$SP forkbomb 4000")),
            (true, _, _) => scripts.push(("R01", "$SP forkbomb 150")),
        }
        for (id, script) in scripts {
            let output = world.run(Mode::Confined(backend), script).await;
            assert!(!output.stdout.contains("ESC"), "{id} {backend}: {output:?}");
            assert!(output.stdout.contains("refused"), "{id} {backend} did not try: {output:?}");
        }
        let output = world.run(Mode::Confined(backend), "ulimit -c; ulimit -n").await;
        assert_eq!(output.stdout, "0\n64\n", "{backend}");
        assert_eq!(output.exit, Exit::Code(0));
    }
}

#[tokio::test]
async fn a_process_may_raise_its_memory_limit_to_reserve() {
    // The number is `MAP_NORESERVE`.
    const RESERVE: &str = "python3 -c 'import mmap as m; m.mmap(-1, 1 << 40, \
        flags=m.MAP_PRIVATE | m.MAP_ANONYMOUS | 0x4000); print(\"reserved\")'";
    for backend in backends() {
        let mut world = World::new();
        world.profile.limits.memory = 256 << 20;
        let mode = Mode::Confined(backend);
        let output = world.run(mode, RESERVE).await;
        assert!(!output.stdout.contains("reserved"), "{backend}: {output:?}");
        let output = world.run(mode, &format!("ulimit -d unlimited; {RESERVE}")).await;
        assert_eq!(output.stdout, "reserved\n", "{backend}: {output:?}");
    }
}

fn bounds_processes(world: &World, backend: Backend) -> bool {
    let reports = sandbox::doctor(&world.settings(Some(backend)));
    let report = reports.into_iter().find(|report| report.backend == backend).unwrap();
    report.holds.iter().any(|words| words.contains("number of processes"))
}

#[tokio::test]
async fn granted_network_excludes_local_sockets() {
    for backend in backends() {
        let mut world = World::new();
        world.start_host();
        world.profile.network = Network::Host;
        let mode = Mode::Confined(backend);
        let output = world.run(mode, "$SP tcp $TCP").await;
        assert!(output.stdout.contains("ESC"), "{backend}: {output:?}");
        let script = "$SP abstract $NAME; $SP unix $REAL/run/docker.sock; $SP unix $W/dev.sock; \
                      $SP socket 16 3 0";
        let output = world.run(mode, script).await;
        assert!(!output.stdout.contains("ESC"), "{backend}: {output:?}");
    }
}
