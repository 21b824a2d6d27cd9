// A project with a home of its own, and a model that plays a scenario.

import { execFile, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Brynhild, findBinary } from "../index.js";

export const TOKEN = "0123456789abcdef";
export const call = (name, input = {}) => ({ tool_calls: [{ name, input }] });
export const WRITE = call("Write", { file_path: "f", content: "x" });

export let home, project;
let atEnd;

beforeEach(() => {
  home = path.join(realpathSync(mkdtempSync(path.join(tmpdir(), "brynhild-sdk-test-"))), "home");
  project = path.join(home, "project");
  mkdirSync(path.join(project, ".git"), { recursive: true });
  atEnd = [];
});

afterEach(async () => {
  for (const end of atEnd.reverse()) await end();
  rmSync(path.dirname(home), { recursive: true, force: true });
});

/** Has a function called when the test is over. */
export function after(end) {
  atEnd.push(end);
}

export function environment() {
  return { HOME: home, XDG_CONFIG_HOME: path.join(home, ".config") };
}

/** Returns the options of a client whose model gives these answers. */
export function scripted(turns, options = {}) {
  const model = path.join(home, "scenario.yaml");
  writeFileSync(model, JSON.stringify({ turns }));
  return { cwd: project, provider: "script", model, env: environment(), ...options };
}

export function open(options) {
  const client = new Brynhild(options);
  after(() => client.close());
  return client;
}

/** Runs an example of the repository in the project. Returns its output. */
export function example(name, args, env) {
  const examples = fileURLToPath(new URL("../../../examples", import.meta.url));
  cpSync(path.join(examples, "sdk", name), path.join(home, name));
  mkdirSync(path.join(home, "node_modules"));
  symlinkSync(fileURLToPath(new URL("..", import.meta.url)), path.join(home, "node_modules/brynhild-sdk"));
  const options = { cwd: project, env: { ...process.env, ...env }, encoding: "utf8" };
  // The server of the test writes to this process.
  return promisify(execFile)(process.execPath, [path.join(home, name), ...args], options);
}

/** Starts a server whose model gives these answers. */
export async function serve(turns, listen = "127.0.0.1:0") {
  const { model } = scripted(turns);
  const config = path.join(home, ".config/brynhild/config.yaml");
  mkdirSync(path.dirname(config), { recursive: true });
  writeFileSync(config, JSON.stringify({ providers: { default: "script" }, models: { default: model } }));
  const ours = { kill, restart, url: null, options: null };
  await start(listen);
  return ours;

  async function start(listen) {
    const args = ["serve", `--listen=${listen}`, "--token-env=TOKEN"];
    const env = { ...process.env, ...environment(), TOKEN };
    const child = spawn(findBinary(), args, { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] });
    const ended = new Promise((resolve) => child.on("close", resolve));
    ours.end = async (signal) => {
      child.kill(signal);
      await ended;
    };
    after(() => ours.end("SIGINT"));
    const isSocket = listen.startsWith("unix:");
    const output = createInterface({ input: isSocket ? child.stderr : child.stdout });
    const first = await new Promise((resolve) => output.once("line", resolve));
    ours.url = isSocket ? listen : first.split("/#")[0];
    ours.options = { cwd: project, url: ours.url, token: TOKEN };
  }

  async function kill() {
    await ours.end("SIGKILL");
  }

  /** Kills the server, and starts another one at the same place. */
  async function restart() {
    await kill();
    await start(ours.url.replace("http://", ""));
  }
}
