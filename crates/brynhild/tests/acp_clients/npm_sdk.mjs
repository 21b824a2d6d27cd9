// Drives `brynhild acp` with the TypeScript SDK. Arguments: the program, the project, an MCP server, an address of one.

import assert from "node:assert";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

// The package is installed elsewhere, where the tests are told.
const require = createRequire(process.env.ACP_CLIENTS + "/");
const { client, methods, ndJsonStream } = await import(
  pathToFileURL(require.resolve("@agentclientprotocol/sdk"))
);

const [program, project, server, address] = process.argv.slice(2);
const { session: of } = methods.agent;
let updates = [];
let choice = "once";
const done = (step) => console.log("ok", step);
const kinds = () => updates.map((update) => update.sessionUpdate);
const until = async (found) => {
  while (!found()) await new Promise((resolve) => setTimeout(resolve, 10));
};

async function connected(work) {
  const child = spawn(program, ["--mode", "ask", "acp"], { stdio: ["pipe", "pipe", "inherit"] });
  const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  await client({ name: "test" })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update);
    })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      if (choice === "cancel") return { outcome: { outcome: "cancelled" } };
      assert(params.options.some((option) => option.optionId === choice));
      return { outcome: { outcome: "selected", optionId: choice } };
    })
    .connectWith(stream, async (ctx) => {
      const about = await ctx.request(methods.agent.initialize, {
        protocolVersion: 1,
        clientCapabilities: {},
      });
      assert.equal(about.protocolVersion, 1);
      await work(ctx, child);
    });
  child.kill("SIGKILL");
}

const say = async (ctx, sessionId, text, more = []) => {
  const prompt = [{ type: "text", text }, ...more];
  return (await ctx.request(of.prompt, { sessionId, prompt })).stopReason;
};

let session;
await connected(async (ctx) => {
  done("initialize");
  const opened = await ctx.request(of.new, { cwd: project, mcpServers: [] });
  session = opened.sessionId;
  assert.equal(opened.modes.currentModeId, "ask");
  await until(() => kinds().includes("available_commands_update"));
  done("new, commands");
  const link = { type: "resource_link", uri: `file://${project}/a.rs`, name: "a.rs" };
  assert.equal(await say(ctx, session, "hello ", [link]), "end_turn");
  done("prompt with a link");
  for (const [answer, reason, exists] of [
    ["deny", "end_turn", false],
    ["cancel", "cancelled", false],
    ["once", "end_turn", true],
  ]) {
    choice = answer;
    assert.equal(await say(ctx, session, "write"), reason);
    assert.equal(existsSync(`${project}/made.txt`), exists);
    done(`permission ${answer}`);
  }
  updates = [];
  const prompt = say(ctx, session, "sleep");
  await until(() => JSON.stringify(updates).includes("begun"));
  await ctx.notify(of.cancel, { sessionId: session });
  assert.equal(await prompt, "cancelled");
  done("cancel in a tool");
  await ctx.request(of.setMode, { sessionId: session, modeId: "normal" });
  done("set_mode");
  const all = await ctx.request(of.setConfigOption, {
    sessionId: session,
    configId: "mode",
    value: "ask",
  });
  assert.equal(all.configOptions[0].currentValue, "ask");
  done("set_config_option");
});
updates = [];
await connected(async (ctx) => {
  await ctx.request(of.load, { sessionId: session, cwd: project, mcpServers: [] });
  assert(kinds().includes("user_message_chunk") && kinds().includes("tool_call"));
  assert.equal(await say(ctx, session, "hello"), "end_turn");
  done("load after kill -9");
  const ids = [];
  let cursor;
  do {
    const page = await ctx.request(of.list, cursor ? { cwd: project, cursor } : { cwd: project });
    ids.push(...page.sessions.map((entry) => entry.sessionId));
    cursor = page.nextCursor;
  } while (cursor);
  assert(ids.includes(session) && new Set(ids).size === ids.length && ids.length > 50);
  done("list with cursor");
  await ctx.request(of.close, { sessionId: session });
  done("close");
  updates = [];
  await ctx.request(of.resume, { sessionId: session, cwd: project, mcpServers: [] });
  assert(!kinds().includes("user_message_chunk"));
  assert.equal(await say(ctx, session, "hello"), "end_turn");
  done("resume");
  const opened = await ctx.request(of.new, {
    cwd: project,
    mcpServers: [
      { name: "theirs", command: "python3", args: [server], env: [{ name: "KEY", value: "v" }] },
      { type: "http", name: "web", url: address, headers: [] },
    ],
  });
  for (const [step, prompt] of [
    ["stdio", "use stdio server"],
    ["HTTP", "use web server"],
  ]) {
    updates = [];
    assert.equal(await say(ctx, opened.sessionId, prompt), "end_turn");
    assert(updates.some((update) => update.status === "completed"), JSON.stringify(updates));
    done(`${step} MCP server`);
  }
  await ctx.request(of.delete, { sessionId: session });
  const page = await ctx.request(of.list, { cwd: project });
  assert(!page.sessions.some((entry) => entry.sessionId === session));
  done("delete");
});
console.log("finished");
process.exit(0);
