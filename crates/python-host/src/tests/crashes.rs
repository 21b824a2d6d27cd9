//! Workers that die, hang, flood, and are made to stop.

use std::time::Duration;

use serde_json::json;

use super::*;

const PID: (&str, &str) = ("tools/pid.py", "");

fn pid_file() -> String {
    tool_file("pid", "return ToolResult(True, str(os.getpid()))")
}

async fn pid(world: &World) -> String {
    run(&*world.tool("pid").await, json!({})).await.unwrap().output
}

fn broken(result: Result<ToolOutput, ToolError>) -> String {
    match result {
        Err(ToolError::Broken(words)) => words,
        other => panic!("it did not break: {other:?}"),
    }
}

#[tokio::test]
async fn crash_fails_its_call_alone_and_shows_the_last_output() {
    let body = "sys.stderr.write('last\\x1b words\\n'); sys.stderr.flush(); os._exit(3)";
    let world = World::new(&[("tools/dies.py", &tool_file("dies", body)), (PID.0, &pid_file())]);
    let before = pid(&world).await;
    let words = broken(run(&*world.tool("dies").await, json!({})).await);
    assert!(words.contains("ended with exit code 3"), "{words}");
    assert!(words.contains("last\\u{1b} words"), "{words}");
    assert_ne!(pid(&world).await, before);
    world.host.shutdown().await;
}

#[tokio::test]
async fn repeatedly_crashing_worker_is_not_restarted() {
    let world = World::new(&[("tools/dies.py", &tool_file("dies", "os._exit(1)"))]);
    let tool = world.tool("dies").await;
    for _ in 0..3 {
        let words = broken(run(&*tool, json!({})).await);
        assert!(words.contains("exit code 1"), "{words}");
    }
    let words = broken(run(&*tool, json!({})).await);
    assert!(words.contains("keeps failing and is left alone for"), "{words}");
}

#[tokio::test]
async fn timeout_cancels_the_call_and_not_the_worker() {
    let sleeps = tool_file("sleeps", "await asyncio.sleep(600)");
    let mut world = World::new(&[("tools/sleeps.py", &sleeps), (PID.0, &pid_file())]);
    world.plugin.facts.timeout = Some(Duration::from_millis(1500));
    let before = pid(&world).await;
    let output = run(&*world.tool("sleeps").await, json!({})).await.unwrap();
    assert_eq!(
        output.error.as_deref(),
        Some("`sleeps` did not finish within 1.5 s and was stopped (plugins.demo.timeout)")
    );
    assert_eq!(pid(&world).await, before);
    world.host.shutdown().await;
}

#[tokio::test]
async fn call_that_blocks_its_worker_ends_the_worker() {
    let blocks = tool_file("blocks", "time.sleep(600)");
    let mut world = World::new(&[("tools/blocks.py", &blocks), (PID.0, &pid_file())]);
    world.plugin.facts.timeout = Some(Duration::from_millis(1500));
    let before = pid(&world).await;
    let output = run(&*world.tool("blocks").await, json!({})).await.unwrap();
    assert!(output.error.unwrap().contains("did not finish within 1.5 s"));
    assert_ne!(pid(&world).await, before);
    world.host.shutdown().await;
}

#[tokio::test]
async fn cancelled_call_stops_in_the_plugin() {
    let body = "print('begun', flush=True)\n        try: await asyncio.sleep(600)\n        \
                finally: print('undone', flush=True)";
    let world = World::new(&[("tools/sleeps.py", &tool_file("sleeps", body))]);
    let tool = world.tool("sleeps").await;
    let cancel = CancellationToken::new();
    let stop = async {
        while !world.heard().contains("begun") {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(run_until(&*tool, json!({}), cancel.clone()), stop);
    assert!(matches!(result, Err(ToolError::Cancelled)), "{result:?}");
    world.host.shutdown().await;
    assert!(world.heard().contains("undone"));
}

#[tokio::test]
async fn dropped_call_is_cancelled() {
    let body = "print('begun', flush=True)\n        try: await asyncio.sleep(600)\n        \
                finally: print('undone', flush=True)";
    let world = World::new(&[("tools/sleeps.py", &tool_file("sleeps", body))]);
    let tool = world.tool("sleeps").await;
    let begun = async {
        while !world.heard().contains("begun") {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = run(&*tool, json!({})) => panic!("it sleeps"),
        () = begun => {}
    }
    while !world.heard().contains("undone") {
        tokio::task::yield_now().await;
    }
    world.host.shutdown().await;
}

#[tokio::test]
async fn a_flood_of_output_is_cut_and_large_input_arrives() {
    let floods = "print('x' * 5_000_000); return ToolResult(True, 'y' * 20_000_000)";
    let counts = "return ToolResult(True, str(len(input['x'])))";
    let world = World::new(&[
        ("tools/floods.py", &tool_file("floods", floods)),
        ("tools/counts.py", &tool_file("counts", counts)),
    ]);
    let output = run(&*world.tool("floods").await, json!({})).await.unwrap();
    assert!((10_000_000..11_000_000).contains(&output.output.len()), "{}", output.output.len());
    let big = "é".repeat(3_000_000);
    let output = run(&*world.tool("counts").await, json!({"x": big})).await.unwrap();
    assert_eq!(output.output, "3000000");
    world.host.shutdown().await;
}

#[tokio::test]
async fn invalid_answer_line_ends_the_worker() {
    let body = "[os.write(n, b'garbage\\n') for n in range(3, 12) if not os.set_blocking(n, True)] \
                if False else [self.garble(n) for n in range(3, 20)]; await asyncio.sleep(600)\n    \
                def garble(self, n):\n        try: os.write(n, b'garbage\\n')\n        \
                except OSError: pass";
    let world = World::new(&[("tools/garbles.py", &tool_file("garbles", body))]);
    let words = broken(run(&*world.tool("garbles").await, json!({})).await);
    assert!(words.contains("it sent what is not an answer: garbage"), "{words}");
}

#[tokio::test]
async fn shutdown_calls_close_and_kills_a_stuck_worker() {
    let closes = tool_file("closes", "return None")
        + "    async def close(self):\n        print('closed', flush=True)\n";
    let world = World::new(&[("tools/closes.py", &closes)]);
    run(&*world.tool("closes").await, json!({})).await.unwrap();
    world.host.shutdown().await;
    assert!(world.heard().contains("closed"));
    let stays =
        tool_file("stays", "return None") + "    async def close(self):\n        time.sleep(600)\n";
    let world = World::new(&[("tools/stays.py", &stays)]);
    run(&*world.tool("stays").await, json!({})).await.unwrap();
    world.host.shutdown().await;
}
