//! Attacks on other processes, sockets, the network and the kernel's surface.

use contract::sandbox::Network;

use crate::probe::{Kind, assert_all, of, probe};
use crate::rig::{Mode, World, rungs};

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    assert_all(&[
        probe("K01", "kill -0 $VPID && echo ESC"),
        of(Kind::ConfinedOnly, "K01b", "kill -9 $VPID && echo ESC"),
        probe("K03", "$SP ptrace $VPID"),
        probe("K04", "$SP pvm $VPID"),
        probe("K05", "$SP ptrace_child"),
        probe("K06", "$SP pidfd_getfd $VPID"),
        of(Kind::Root, "K07", "$SP setns $VPID"),
        probe("K08", "$SP unshare_user"),
        probe("K09", "$SP clone3_user"),
    ])
    .await;
}

#[tokio::test]
async fn a_kill_of_everything_hits_only_what_is_inside() {
    for rung in rungs() {
        let mut world = World::new();
        world.start_host();
        world.run(Mode::Confined(rung), "kill -9 -1").await;
        let open = world.run(Mode::Open, "kill -0 $VPID && echo alive").await;
        assert!(open.stdout.contains("alive"), "K02 {rung}");
    }
}

#[tokio::test]
async fn privileges_are_gone() {
    assert_all(&[probe("K10", "exec $SP nnp")]).await;
}

#[tokio::test]
async fn sockets_of_the_host_are_out_of_reach() {
    assert_all(&[
        probe("I01", "$SP unix $REAL/run/docker.sock"),
        probe("I03", "$SP unix $W/dev.sock"),
        probe("I04", "$SP abstract $NAME"),
        probe("I05", "$SP unixdgram $REAL/run/dgram.sock"),
        probe("I06", "$SP tiocsti"),
        probe("I07", "$SP tiocsti_hi"),
    ])
    .await;
}

#[tokio::test]
async fn the_network_is_out_of_reach() {
    assert_all(&[
        probe("N01", "$SP tcp $TCP"),
        probe(
            "N02",
            "exec 3<>/dev/tcp/127.0.0.1/$TCP && head -c 5 <&3 | grep -q hello && echo ESC",
        ),
        probe("N03", "$SP udp $UDP"),
        probe("N04", "$SP tfo $TCP"),
        probe("N07", "$SP socket 40 1 0"),
        probe("N08", "$SP socket 16 3 0"),
        of(Kind::Root, "N09", "$SP socket 17 3 768"),
        of(Kind::Root, "N10", "$SP socket 38 5 0"),
        of(Kind::Root, "N11", "$SP int80 2"),
        of(Kind::Root, "N12", "$SP int80 1"),
        probe("N13", "$SP unshare_net"),
    ])
    .await;
}

#[tokio::test]
async fn a_granted_network_is_the_network_and_not_the_sockets() {
    for rung in rungs() {
        let mut world = World::new();
        world.start_host();
        world.profile.network = Network::Host;
        let mode = Mode::Confined(rung);
        let output = world.run(mode, "$SP tcp $TCP").await;
        assert!(output.stdout.contains("ESC"), "{rung}: {output:?}");
        let script = "$SP abstract $NAME; $SP unix $REAL/run/docker.sock; $SP unix $W/dev.sock; \
                      $SP socket 16 3 0";
        let output = world.run(mode, script).await;
        assert!(!output.stdout.contains("ESC"), "{rung}: {output:?}");
    }
}

#[tokio::test]
async fn the_surface_of_the_kernel_is_small() {
    assert_all(&[
        of(Kind::Root, "X01", "$SP io_uring"),
        of(Kind::Root, "X02", "$SP userfaultfd"),
        of(Kind::Root, "X03", "$SP bpf"),
        of(Kind::Root, "X04", "$SP perf"),
        probe("X05", "$SP add_key"),
    ])
    .await;
}
