//! Attacks on files outside of the workspace, on secrets, and on resources.

use contract::sandbox::{Exit, Limits};

use crate::probe::{Kind, assert_all, of, probe};
use crate::rig::{Mode, World, is_root, rungs, skip};

#[tokio::test]
async fn nothing_outside_of_the_workspace_is_written() {
    assert_all(&[
        probe("F01", "echo x > $C"),
        probe("F02", "touch $REAL/outside/new"),
        probe("F03", "echo evil >> $REAL/.bashrc"),
        probe("F04", "ln -s $C l; echo x > l"),
        probe("F05", "ln -s $REAL/outside d; echo x > d/new"),
        probe("F07", "echo x > ../outside/canary.txt"),
        probe("F08", "echo x > /proc/self/root$C"),
        probe("F09", "for r in /proc/[0-9]*/root; do echo x > $r$C; done 2>/dev/null; true"),
        probe(
            "F10",
            "(cd $REAL/outside 2>/dev/null && exec sleep 5) & sleep 0.3; \
             for c in /proc/[0-9]*/cwd; do [ -e $c/canary.txt ] && echo x > $c/canary.txt; done; true",
        ),
        probe("F11", "ln $C hl && echo x > hl; mkdir -p /tmp/hl.$$; ln $C /tmp/hl.$$/x && echo x > /tmp/hl.$$/x"),
        probe("F12", "mv $C stolen"),
        probe("F20", "echo x > ${REAL%/home}/tmp_canary"),
        probe("F21", "f=/dev/shm/brynhild.$$; echo x > $f; $SP fdwrite 99 >/dev/null; [ -e $f ] && [ $(stat -fc %b /dev/shm) -gt 200000 ] && echo ESC; rm -f $f"),
        probe("F22", "cp /bin/true su1; chmod 4755 su1; [ -u su1 ] && echo ESC"),
        probe("F22b", "$SP suid ./su2"),
        probe("F22c", "$SP openat2 ./su3"),
        probe("P11", "echo evil > $REAL/.config/agent/plugins/evil.py; echo evil > $REAL/.config/agent/config.json"),
        probe("P12", "echo evil > $REAL/.local/bin/git"),
        probe("P14", "mkdir -p $REAL/.config/systemd/user && echo x > $REAL/.config/systemd/user/e.service"),
    ])
    .await;
}

#[tokio::test]
async fn mounts_and_devices_stay_out_of_reach() {
    assert_all(&[
        of(Kind::Root, "F13", "$SP mount /usr"),
        of(
            Kind::ConfinedOnly,
            "F13b",
            "$SP umount $W/.git; $SP mount $W/.git; $SP umount $W; $SP mount /",
        ),
        of(
            Kind::ConfinedOnly,
            "F14",
            "unshare -Urm bash -c \"mount -o remount,bind,rw / ; echo x > $C; echo ESC\"",
        ),
        of(Kind::ConfinedOnly, "F15", "bwrap --dev-bind / / bash -c \"echo x > $C; echo ESC\""),
        of(Kind::Root, "F18", "$SP mknod ./blk"),
        of(
            Kind::Root,
            "F19",
            "f=/proc/sys/kernel/core_pattern; cat $f > was; cat was > $f && echo ESC",
        ),
        of(
            Kind::Root,
            "F19b",
            "for f in /sys/fs/cgroup/*/release_agent; do [ -w $f ] && echo ESC; done",
        ),
        of(Kind::Root, "F23", "$SP fsopen; $SP open_tree"),
    ])
    .await;
}

#[tokio::test]
async fn a_file_handle_made_on_the_host_opens_nothing() {
    if !is_root() {
        return skip("F16 is refused to ordinary users by the kernel");
    }
    let mut world = World::new();
    let made = world.run(Mode::Open, "$SP handle_make $C").await;
    world.profile.env.insert("HANDLE".to_owned(), made.stdout.trim().to_owned());
    let open = world.run(Mode::Open, "$SP handle $HANDLE").await;
    assert!(open.stdout.contains("ESC"), "{open:?}");
    for rung in rungs() {
        let output = world.run(Mode::Confined(rung), "$SP handle $HANDLE").await;
        assert!(!output.stdout.contains("ESC"), "{rung}: {output:?}");
    }
}

#[tokio::test]
async fn a_link_that_the_repository_brought_leads_nowhere() {
    for rung in rungs() {
        let world = World::new();
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(world.home.join(target), world.work.join(name)).unwrap();
        };
        link("outside/canary.txt", "planted_link");
        link("outside", "planted_dir");
        let before = world.surroundings();
        let script = "echo x > planted_link; echo x > planted_dir/new; cat planted_link";
        let output = world.run(Mode::Confined(rung), script).await;
        assert_eq!(world.surroundings(), before, "F06 {rung}");
        assert!(!output.stdout.contains("original"), "F06 {rung}");
        world.run(Mode::Open, script).await;
        assert_ne!(world.surroundings(), before, "F06 proves nothing");
    }
}

#[tokio::test]
async fn inherited_descriptors_are_closed() {
    use std::os::fd::AsRawFd;
    let world = World::new();
    let path = world.base().join("inherited");
    let file = std::fs::File::create(&path).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let script = format!("$SP fdwrite {}; ls -l /proc/self/fd", file.as_raw_fd());
    for rung in rungs() {
        let output = world.run(Mode::Confined(rung), &script).await;
        assert!(!output.stdout.contains("ESC"), "F17 {rung}: {output:?}");
    }
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    let number = file.as_raw_fd();
    let open = crate::rig::plain(&crate::rig::python())
        .args(["-c", &format!("import os; os.write({number}, b'x')")])
        .status()
        .unwrap();
    assert!(open.success(), "F17 proves nothing");
}

#[tokio::test]
async fn secrets_are_not_seen() {
    assert_all(&[
        probe("S01", "cat $REAL/.ssh/id_ed25519"),
        probe("S02", "cat $REAL/.aws/credentials"),
        probe("S02b", "cat $REAL/.cargo/credentials.toml"),
        probe("S04", "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a VICTIM_SECRET; true; : $VPID"),
        probe("S05", "ls /proc/$VPID >/dev/null 2>&1 && cat /proc/$VPID/cmdline | tr '\\0' ' ' | grep -aq hostd && echo ESC; [ -r /proc/$VPID/cmdline ] && grep -aq AF_UNIX /proc/$VPID/cmdline && echo ESC"),
        probe("S06", "$SP keyctl_read $NAME"),
        probe("S07", "$SP shm $SHM"),
        of(Kind::Root, "S08", "head -c 1 /etc/shadow | grep -q . && echo ESC"),
    ])
    .await;
}

#[tokio::test]
async fn only_the_variables_of_the_profile_are_seen() {
    for rung in rungs() {
        let mut world = World::new();
        world.profile.env.clear();
        world.profile.env.insert("MINE".to_owned(), "a b\nc".to_owned());
        let output = world.run(Mode::Confined(rung), "printf '%s' \"$MINE\"; env -0").await;
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
            assert!(known.contains(&name), "S03 {rung}: {name}");
        }
    }
}

#[tokio::test]
async fn variables_of_the_linker_reach_only_the_command() {
    for rung in rungs() {
        let mut world = World::new();
        world.profile.env.insert("LD_DEBUG".to_owned(), "libs".to_owned());
        world
            .profile
            .env
            .insert("LD_DEBUG_OUTPUT".to_owned(), format!("{}/ld", world.work.display()));
        world.run(Mode::Confined(rung), "exec true").await;
        let traces = std::fs::read_dir(&world.work).unwrap().flatten().filter(|entry| {
            entry.file_name().to_string_lossy().starts_with("ld.")
                && std::fs::read_to_string(entry.path()).unwrap().contains("bwrap")
        });
        assert_eq!(traces.count(), 0, "{rung}");
    }
}

#[tokio::test]
async fn resources_have_bounds() {
    const MEGABYTE: u64 = 1 << 20;
    for rung in rungs() {
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
        if rung == sandbox::Rung::Bubblewrap {
            scripts.push(("R04b", "$SP falloc /tmp/big 45"));
            scripts.push((
                "R04c",
                "$SP falloc $HOME/big 45; $SP falloc /big 1; $SP falloc /dev/big 1",
            ));
        }
        if is_root() {
            skip("R01: the kernel does not bind root by a limit on processes");
        } else if rung == sandbox::Rung::Bubblewrap {
            scripts.push(("R01", "$SP forkbomb 150"));
        } else {
            scripts.push(("R01", "$SP forkbomb 4000"));
        }
        for (id, script) in scripts {
            let output = world.run(Mode::Confined(rung), script).await;
            assert!(!output.stdout.contains("ESC"), "{id} {rung}: {output:?}");
            assert!(output.stdout.contains("refused"), "{id} {rung} did not try: {output:?}");
        }
        let output = world.run(Mode::Confined(rung), "ulimit -c; ulimit -n").await;
        assert_eq!(output.stdout, "0\n64\n", "{rung}");
        assert_eq!(output.exit, Exit::Code(0));
    }
}
