import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Answer, Brynhild, InvalidAnswer, LimitReached, ProcessDied, SetupError, TaskFailed } from "../index.js";
import { WRITE, after, call, environment, example, home, open, project, scripted } from "./scripted.js";

const GENERATE = fileURLToPath(new URL("../../generate", import.meta.url));
const SCHEMA = { type: "object", properties: { lines: { type: "integer" } }, required: ["lines"] };

test("types are current", () => {
  execFileSync("python3", [GENERATE, "--check"]);
});

test("turns share one process and session", async () => {
  const usage = { input: 9, output: 4, cost: 0.002 };
  const b = open(scripted([{ text: "one", usage }, { text: "two" }]));
  const first = await b.run("a");
  const pid = b.pid;
  const second = await b.run("b");
  assert.equal(b.pid, pid);
  assert.deepEqual([first.text, first.outcome, first.cost], ["one", "answered", 0.002]);
  assert.deepEqual([second.text, second.session], ["two", first.session]);
  await b.close();
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
});

test("stream yields events and returns the result", async () => {
  const b = open(scripted([WRITE, { text: "done" }]));
  const events = b.stream("write");
  const kinds = [];
  let step;
  while (!(step = await events.next()).done) kinds.push(step.value.type);
  assert.deepEqual([kinds[0], kinds.at(-1)], ["session_started", "turn_finished"]);
  assert.deepEqual(step.value.changes, [{ path: "f", change: "created" }]);
});

test("many questions with a slow callback", async () => {
  const calls = Array.from({ length: 200 }, (_, n) => ({ name: "Read", input: { file_path: "/etc/passwd", limit: n + 1 } }));
  const turns = [0, 100].map((start) => ({ tool_calls: calls.slice(start, start + 100) }));
  const b = open(scripted([...turns, { text: "done" }], { mode: "ask" }));
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

test("a question without a callback is nobody", async () => {
  const b = open(scripted([WRITE, { text: "sorry" }], { mode: "ask" }));
  const result = await b.run("write");
  assert.deepEqual(result.unanswered.map((it) => it.tool), ["Write"]);
  assert.ok(!existsSync(path.join(project, "f")));
});

test("answers deny, and questions know that they only read", async () => {
  const seen = [];
  const onQuestion = (question) => {
    seen.push([question.tool, question.isReadOnly]);
    return question.isReadOnly ? Answer.once() : Answer.deny("not now");
  };
  const turns = [call("Read", { file_path: "/etc/hostname" }), WRITE, { text: "ok" }];
  const b = open(scripted(turns, { mode: "ask", onQuestion }));
  const finished = [];
  for await (const event of b.stream("go")) if (event.type === "tool_finished") finished.push(event);
  assert.deepEqual(seen, [["Read", true], ["Write", false]]);
  assert.equal(finished[1].outcome, "denied");
  assert.match(finished[1].content, /not now/);
});

test("a kill inside a callback throws, and the session goes on", async () => {
  const b = open(scripted([WRITE, { text: "ok" }], { mode: "ask" }));
  const onQuestion = () => {
    process.kill(b.pid, "SIGKILL");
    return Answer.once();
  };
  await assert.rejects(b.run("write", { onQuestion }), (error) => {
    return error instanceof ProcessDied && /killed by signal SIGKILL/.test(error.message);
  });
  assert.equal((await b.run("again")).text, "ok");
});

test("an error in a callback stops the turn", async () => {
  const b = open(scripted([WRITE, { text: "later" }], { mode: "ask" }));
  const onQuestion = () => {
    throw new RangeError("no");
  };
  await assert.rejects(b.run("write", { onQuestion }), RangeError);
  assert.equal((await b.run("again")).text, "later");
});

test("an abandoned stream does not block the next turn", async () => {
  const b = open(scripted([call("Bash", { command: "sleep 60" }), { text: "next" }]));
  for await (const event of b.stream("wait")) if (event.type === "tool_judged") break;
  assert.equal((await b.run("again")).text, "next");
});

test("interrupt and steer", async () => {
  const faster = { expect: { last_user: { equals: "hurry" } }, text: "faster" };
  const b = open(scripted([WRITE, faster, call("Bash", { command: "sleep 60" })], { mode: "ask" }));
  assert.throws(() => b.steer("too early"), /no turn is running/);
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

test("resume and fork", async () => {
  const options = scripted([{ text: "one" }, { text: "two" }]);
  const b = open({ ...options, session: "login" });
  await b.run("a");
  const fork = b.fork();
  after(() => fork.close());
  assert.equal((await fork.run("b")).text, "two");
  assert.notEqual(fork.session, "login");
  await b.close();
  const resumed = Brynhild.resume("login", options);
  after(() => resumed.close());
  const result = await resumed.run("b");
  assert.deepEqual([result.text, result.session], ["two", "login"]);
});

test("undo restores files, and the session goes on", async () => {
  const file = path.join(project, "f.txt");
  writeFileSync(file, "before\n");
  const b = open(scripted([call("Bash", { command: "echo after > f.txt" }), { text: "done" }, { text: "next" }]));
  await b.run("change");
  assert.equal(readFileSync(file, "utf8"), "after\n");
  const undone = await b.undo();
  assert.equal(readFileSync(file, "utf8"), "before\n");
  assert.deepEqual([undone.files.length, undone.kept], [1, []]);
  assert.equal((await b.run("go on")).text, "next");
});

test("structured output", async () => {
  const texts = ["no", '{"lines": 2}', "plain", "no", "never"];
  const b = open(scripted(texts.map((text) => ({ text }))));
  assert.deepEqual((await b.run("count", { outputSchema: SCHEMA })).structured, { lines: 2 });
  assert.equal((await b.run("talk")).structured, undefined);
  await assert.rejects(b.run("count", { outputSchema: SCHEMA }), (error) => {
    return error instanceof InvalidAnswer && error.result.text === "never";
  });
});

test("exit codes are errors", async () => {
  await assert.rejects(open({ binary: "/nowhere" }).run("x"), SetupError);
  await assert.rejects(open({ ...scripted([]), model: "none.yaml" }).run("x"), (error) => {
    return error instanceof SetupError && /no such file/.test(error.message);
  });
  await assert.rejects(open(scripted([{ error: { kind: "auth", message: "bad key" } }])).run("x"), TaskFailed);
  const calls = [0, 1, 2, 3].map((n) => call("Read", { file_path: `${n}` }));
  await assert.rejects(open(scripted(calls, { maxTurns: 2 })).run("x"), LimitReached);
  assert.throws(() => new Brynhild({ modell: "x" }), /no option `modell`/);
});

test("a refused prompt throws, and the next one runs", async () => {
  const b = open(scripted([{ text: "one" }, { text: "two" }]));
  await assert.rejects(b.run("/help"), /\/help/);
  assert.equal((await b.run("a")).text, "one");
  await assert.rejects(b.run("/help"), /\/help/);
  assert.equal((await b.run("b")).text, "two");
});

test("clear and mode", async () => {
  const b = open(scripted([{ text: "one" }, WRITE, { text: "two" }]));
  await b.run("a");
  b.setMode("ask");
  assert.equal((await b.run("b")).unanswered.length, 1);
  assert.equal((await b.clear()).details.stop_reason, "cleared");
});

test("compact replaces the conversation", async () => {
  const b = open(scripted([{ text: "one" }, { text: "a summary" }]));
  await b.run("a");
  assert.equal((await b.compact("keep the names")).details.stop_reason, "compacted");
  // The model has no answer of its own before it.
  assert.equal((await b.run("b")).text, "one");
});

test("the program of the package comes before the path", () => {
  const modules = path.join(home, "node_modules");
  cpSync(fileURLToPath(new URL("..", import.meta.url)), path.join(modules, "brynhild-sdk"), { recursive: true });
  const places = [path.join(modules, "brynhild/bin"), path.join(home, "path")];
  for (const place of places) {
    mkdirSync(place, { recursive: true });
    writeFileSync(path.join(place, "brynhild"), "", { mode: 0o755 });
  }
  writeFileSync(path.join(modules, "brynhild/package.json"), '{"name": "brynhild"}');
  const found = () => {
    const code = 'import { findBinary } from "brynhild-sdk"; console.log(findBinary())';
    const args = ["--input-type=module", "-e", code];
    return execFileSync(process.execPath, args, { cwd: home, env: { PATH: places[1] }, encoding: "utf8" }).trim();
  };
  assert.equal(found(), path.join(places[0], "brynhild"));
  rmSync(path.join(modules, "brynhild"), { recursive: true });
  assert.equal(found(), path.join(places[1], "brynhild"));
});

test("own tools answer calls, and their errors go to the model", async () => {
  const calls = Array.from({ length: 20 }, (_, n) => ({ name: "mcp__app__double", input: { number: n } }));
  const turns = [{ tool_calls: calls }, call("mcp__app__fail"), { text: "{{last_tool_result}}" }];
  const b = open(scripted(turns));
  const doubled = [];
  const schema = { type: "object", properties: { number: { type: "integer" } } };
  b.tool({ name: "double", description: "Doubles a number.", schema }, async ({ number }) => {
    await sleep(2);
    doubled.push(number);
    return number * 2;
  });
  b.tool({ name: "fail", description: "Fails." }, () => {
    throw new Error("no such thing");
  });
  const outputs = [];
  let last;
  for await (const event of b.stream("double")) {
    if (event.type === "tool_finished") outputs.push(event.content);
    if (event.type === "reply_finished") last = event.reply.parts;
  }
  assert.deepEqual(doubled.sort((a, b) => a - b), calls.map((it) => it.input.number));
  assert.deepEqual(outputs.slice(0, 20), calls.map((it) => String(it.input.number * 2)));
  assert.match(last[0].text, /no such thing/);
});

test("the example runs", async () => {
  writeFileSync(path.join(project, "notes.txt"), "one two\nthree\n");
  const scenario = fileURLToPath(new URL("../../../examples/scenarios/word-count.yaml", import.meta.url));
  const { stdout } = await example("word_count.mjs", [scenario], environment());
  assert.equal(stdout, "notes.txt has 3 words.\n");
});

/** A program that does what the real one cannot be made to do. */
function fake(body) {
  const file = path.join(home, "fake");
  const end = [
    { type: "turn_started", prompt: "" },
    { type: "turn_finished", outcome: { outcome: "answered", stop_reason: "x" }, usage: {} },
  ];
  writeFileSync(
    file,
    `#!${process.execPath}
const e = (event) => process.stdout.write(JSON.stringify({ seq: 1, session: "s", at: "", ...event }) + "\\n");
require("node:readline").createInterface({ input: process.stdin }).on("line", () => {
  ${body}
  ${JSON.stringify(end)}.forEach(e);
});`,
  );
  chmodSync(file, 0o755);
  return open({ cwd: project, binary: file });
}

test("a line of a hundred megabytes arrives", async () => {
  const b = fake('e({ type: "tool_progress", call: "c", text: "x".repeat(100 << 20) });');
  let longest = 0;
  for await (const event of b.stream("x")) longest = Math.max(longest, event.text?.length ?? 0);
  assert.equal(longest, 100 << 20);
});

test("unknown events pass through", async () => {
  const events = [];
  for await (const event of fake('e({ type: "new_in_2030", deep: { a: [1] } });').stream("x")) events.push(event);
  assert.deepEqual(events[0].deep, { a: [1] });
});

test("an input over the limit is refused", async () => {
  const b = fake("");
  await assert.rejects(b.run("x".repeat(33 << 20)), /too long/);
  assert.equal((await b.run("x")).outcome, "answered");
});
