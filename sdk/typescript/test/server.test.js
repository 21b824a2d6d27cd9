import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Answer, Brynhild, ConnectionLost, SetupError } from "../index.js";
import { limits } from "../server.js";
import { TOKEN, WRITE, after, call, example, home, open, project, serve } from "./scripted.js";

const SLEEP = call("Bash", { command: "sleep 60" });

/** Asks a server beside its clients. */
async function ask(ours, path, { body, accept } = {}) {
  const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json", ...(accept && { accept }) };
  const reply = await fetch(`${ours.url}/v1/sessions/${path}`, { method: body ? "POST" : "GET", headers, body });
  return reply.text();
}

test("turns share one session of the server", async () => {
  const ours = await serve([{ text: "one", usage: { input: 9, output: 4, cost: 0.002 } }, { text: "two" }]);
  const b = open(ours.options);
  const first = await b.run("a");
  const second = await b.run("b");
  assert.deepEqual([first.text, first.outcome, first.cost], ["one", "answered", 0.002]);
  assert.deepEqual([second.text, second.session], ["two", first.session]);
});

test("the server's stream yields events and returns the result", async () => {
  const events = open((await serve([WRITE, { text: "done" }])).options).stream("write");
  const kinds = [];
  let step;
  while (!(step = await events.next()).done) kinds.push(step.value.type);
  assert.deepEqual([kinds[0], kinds.at(-1)], ["session_started", "turn_finished"]);
  assert.deepEqual(step.value.changes, [{ path: "f", change: "created" }]);
});

test("many questions of the server with a slow callback", async () => {
  const calls = Array.from({ length: 200 }, (_, n) => ({ name: "Read", input: { file_path: "/etc/passwd", limit: n + 1 } }));
  const turns = [0, 100].map((start) => ({ tool_calls: calls.slice(start, start + 100) }));
  const b = open({ ...(await serve([...turns, { text: "done" }])).options, mode: "ask" });
  const asked = [];
  const onQuestion = async (question) => {
    await sleep(2);
    asked.push(question.args.limit);
    return Answer.once();
  };
  const result = await b.run("read many times", { onQuestion });
  assert.deepEqual(asked, calls.map((it) => it.input.limit));
  assert.deepEqual([result.text, result.unanswered], ["done", []]);
});

test("a question of the server without a callback is nobody", async () => {
  const result = await open({ ...(await serve([WRITE, { text: "sorry" }])).options, mode: "ask" }).run("write");
  assert.deepEqual(result.unanswered.map((it) => it.tool), ["Write"]);
  assert.ok(!existsSync(path.join(project, "f")));
});

test("the answer of another client counts", async () => {
  const ours = await serve([WRITE, { text: "ok" }, { text: "next" }]);
  const b = open({ ...ours.options, mode: "ask" });
  const onQuestion = async ({ call }) => {
    await ask(ours, `${b.session}/inputs`, { body: JSON.stringify({ input: "answer", call, answer: "deny" }) });
    return Answer.once();
  };
  const outcomes = [];
  for await (const event of b.stream("write", { onQuestion })) if (event.type === "tool_finished") outcomes.push(event.outcome);
  assert.deepEqual(outcomes, ["denied"]);
  assert.equal((await b.run("again")).text, "next");
});

test("an error in a callback stops the turn on the server", async () => {
  const b = open({ ...(await serve([WRITE, { text: "later" }])).options, mode: "ask" });
  const onQuestion = () => {
    throw new RangeError("no");
  };
  await assert.rejects(b.run("write", { onQuestion }), RangeError);
  assert.equal((await b.run("again")).text, "later");
});

test("an abandoned stream of the server does not block the next turn", async () => {
  const b = open((await serve([SLEEP, { text: "next" }])).options);
  for await (const event of b.stream("wait")) if (event.type === "tool_judged") break;
  assert.equal((await b.run("again")).text, "next");
});

test("interrupt and steer reach the server", async () => {
  const faster = { expect: { last_user: { equals: "hurry" } }, text: "faster" };
  const b = open({ ...(await serve([WRITE, faster, SLEEP])).options, mode: "ask" });
  const onQuestion = () => {
    b.steer("hurry");
    return Answer.once();
  };
  assert.equal((await b.run("write", { onQuestion })).text, "faster");
  const events = b.stream("sleep");
  let step;
  while (!(step = await events.next()).done) if (step.value.type === "tool_judged") b.interrupt();
  assert.equal(step.value.outcome, "cancelled");
});

test("steering of the server that comes too late gets a turn", async () => {
  const b = open((await serve([{ text: "first" }, { text: "second" }])).options);
  const stream = b.stream("go");
  let step;
  while (!(step = await stream.next()).done) {
    if (step.value.type === "reply_finished" && JSON.stringify(step.value).includes("first")) b.steer("and this");
  }
  assert.equal(step.value.text, "second");
});

test("resume, fork and undo on the server", async () => {
  const ours = await serve([WRITE, { text: "one" }, { text: "two" }, { text: "three" }]);
  const b = open({ ...ours.options, session: "login" });
  await b.run("a");
  const fork = b.fork();
  after(() => fork.close());
  assert.equal((await fork.run("b")).text, "two");
  assert.notEqual(fork.session, "login");
  const undone = await b.undo();
  assert.deepEqual([undone.files.length, undone.kept], [1, []]);
  assert.ok(!existsSync(path.join(project, "f")));
  assert.equal((await b.run("b")).text, "two");
  const resumed = Brynhild.resume("last", ours.options);
  after(() => resumed.close());
  const result = await resumed.run("c");
  assert.deepEqual([result.text, result.session], ["three", "login"]);
});

test("a command that begins no turn returns at once", async () => {
  const b = open({ ...(await serve([{ text: "one" }])).options, session: "own" });
  const help = await b.run("/help");
  assert.deepEqual([help.outcome, help.session], ["answered", "own"]);
  assert.match(help.text, /List commands/);
  assert.equal((await b.run("/effort")).outcome, "answered");
  assert.equal((await b.run("/clear")).outcome, "answered");
});

test("a prompt that the server refuses throws, and the next one runs", async () => {
  const b = open((await serve([{ text: "one" }, { text: "two" }])).options);
  for (const text of ["one", "two"]) {
    await assert.rejects(b.run("/nonesuch"), /nonesuch/);
    await assert.rejects(b.run("x".repeat(9 << 20)), /too long/);
    assert.equal((await b.run("a")).text, text);
  }
  b.setMode("ask");
  assert.equal((await b.clear()).details.stop_reason, "cleared");
});

test("a socket needs no token", async () => {
  const { url } = await serve([{ text: "one" }], `unix:${home}/s`);
  assert.equal((await open({ cwd: project, url }).run("a")).text, "one");
});

test("setup errors of a server say what to do", async () => {
  const ours = await serve([]);
  assert.throws(() => new Brynhild({ url: ours.url, maxCost: 1 }), /`maxCost` is an option of the program/);
  assert.throws(() => new Brynhild({ url: "nowhere" }), /`nowhere` is not the URL/);
  for (const [options, words] of [
    [{ token: "x" }, /credentials are missing or wrong/],
    [{ url: `unix:${home}/none` }, /is `brynhild serve` running/],
    [{ resume: "none" }, /there is no session/],
    [{ cwd: "/none" }, /\/none is not the absolute path/],
  ]) {
    await assert.rejects(open({ ...ours.options, ...options }).run("x"), (error) => {
      return error instanceof SetupError && words.test(error.message);
    });
  }
  const b = open(ours.options);
  await assert.rejects(b.run("x", { outputSchema: {} }), /`outputSchema` needs a program of its own/);
  b.tool({ name: "t", description: "Does it." }, () => 1);
  await assert.rejects(b.run("x"), /a tool of your own needs a program/);
});

test("a server of another kind is refused", async () => {
  const page = http.createServer((_, reply) => reply.end("<p>Welcome</p>"));
  await new Promise((resolve) => page.listen(0, "127.0.0.1", resolve));
  after(() => page.close());
  const url = `http://127.0.0.1:${page.address().port}`;
  await assert.rejects(open({ url }).run("x"), (error) => {
    return error instanceof SetupError && /does not answer like `brynhild serve`/.test(error.message);
  });
});

test("the example of a server runs", async () => {
  writeFileSync(path.join(project, "notes.txt"), "one two\nthree\n");
  const ours = await serve([call("Read", { file_path: "notes.txt" }), { text: "3 words." }]);
  const { stdout } = await example("remote.mjs", [ours.url, "How many words?"], { TOKEN });
  assert.equal(stdout, "calls Read\n3 words.\n");
});

test("a turn survives a kill of the server inside a callback", async () => {
  const ours = await serve([WRITE, WRITE, { text: "ok" }]);
  const b = open({ ...ours.options, mode: "ask" });
  let kills = 0;
  const onQuestion = async () => {
    if (kills++ === 0) await ours.restart();
    return Answer.once();
  };
  assert.equal((await b.run("write", { onQuestion })).text, "ok");
  assert.ok(existsSync(path.join(project, "f")));
});

test("a kill of the server inside a command ends the turn", async () => {
  const ours = await serve([SLEEP, { text: "next" }]);
  const b = open(ours.options);
  const watch = async () => {
    for await (const event of b.stream("wait")) if (event.type === "tool_judged") await ours.restart();
  };
  await assert.rejects(watch(), (error) => error instanceof ConnectionLost && /in the middle/.test(error.message));
  assert.equal((await b.run("again")).text, "next");
});

test("a server that stays away ends the turn", async () => {
  const ours = await serve([WRITE]);
  const b = open({ ...ours.options, mode: "ask" });
  const before = limits.lostMs;
  limits.lostMs = 100;
  after(() => (limits.lostMs = before));
  const onQuestion = async () => {
    await ours.kill();
    return Answer.once();
  };
  await assert.rejects(b.run("write", { onQuestion }), (error) => {
    return error instanceof ConnectionLost && error.result.session === b.session;
  });
});

test("a stream that breaks off repeats nothing and misses nothing", async () => {
  const reads = Array.from({ length: 40 }, (_, n) => ({ name: "Read", input: { file_path: "big.txt", offset: n + 1, limit: 2 } }));
  writeFileSync(path.join(project, "big.txt"), "a line of the file\n".repeat(300));
  const turns = Array.from({ length: 4 }, (_, n) => ({ tool_calls: reads.slice(n * 10, n * 10 + 10) }));
  const ours = await serve([...turns, { text: "done" }]);
  const proxy = await cutting(ours.url);
  const b = open({ ...ours.options, url: proxy.url });
  const events = [];
  for await (const event of b.stream("read")) events.push(event);
  assert.ok(proxy.cuts >= 30, `${proxy.cuts} cuts`);
  const page = await ask(ours, `${b.session}/events?limit=100000`, { accept: "application/x-ndjson" });
  const log = page.trim().split("\n").map((line) => JSON.parse(line));
  const transient = ["request_sent", "reply_delta", "tool_progress"];
  assert.deepEqual(events.filter((event) => !transient.includes(event.type)), log);
});

/** Passes connections on, and cuts every event stream off after some bytes. */
async function cutting(url) {
  const target = url.replace("http://", "");
  const [host, port] = target.split(":");
  const proxy = { cuts: 0, url: null };
  let seed = 7;
  const server = net.createServer((client) => {
    const upstream = net.connect(Number(port), host);
    let left = null;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on("error", end);
    client.on("close", end);
    // What was read still arrives.
    upstream.on("close", () => client.end());
    client.once("data", (head) => {
      const text = head.toString("latin1").replace(proxy.url.replace("http://", ""), target);
      if (text.includes("event-stream")) left = 600 + ((seed = (seed * 48271) % 2147483647) % 2400);
      upstream.write(text, "latin1");
      client.pipe(upstream);
    });
    upstream.on("data", (block) => {
      client.write(left === null ? block : block.subarray(0, left));
      if (left === null || (left -= block.length) > 0) return;
      proxy.cuts += 1;
      client.end();
      upstream.destroy();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  proxy.url = `http://127.0.0.1:${server.address().port}`;
  return proxy;
}
