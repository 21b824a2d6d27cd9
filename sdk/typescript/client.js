// The client. It keeps one process for all turns.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { BrynhildError, SetupError, errorOfExit } from "./errors.js";
import { SERVER_NAME, ToolServer } from "./tools.js";
import { ProcessTransport, findBinary } from "./transport.js";
import { Answer, Turn } from "./turn.js";

// Options that are flags of the program.
const FLAGS = {
  model: "model",
  provider: "provider",
  profile: "profile",
  mode: "mode",
  agent: "agent",
  systemPrompt: "system-prompt",
  appendSystemPrompt: "append-system-prompt",
  maxCost: "max-cost",
  maxTurns: "max-turns",
  maxTokens: "max-tokens",
  timeout: "timeout",
};
const OTHERS = ["cwd", "allowedTools", "mcpServers", "session", "resume", "fork", "onQuestion", "binary", "env"];

/** A conversation. Close it in the end, which ends the program. */
export class Brynhild {
  #options;
  #tools = new Map();
  #session = null;
  #transport = null;
  #server = null;
  #files = null;
  #startedWith = null;
  #turn = null;
  #isReading = false;

  constructor(options = {}) {
    const unknown = Object.keys(options).find((name) => !(name in FLAGS) && !OTHERS.includes(name));
    if (unknown) throw new SetupError(`there is no option \`${unknown}\``);
    this.#options = { ...options, cwd: path.resolve(options.cwd ?? ".") };
  }

  /** Continues a session; `last` is the newest one of the directory. */
  static resume(session, options = {}) {
    return new Brynhild({ ...options, resume: session });
  }

  /** The ID of the session; null before its first turn. */
  get session() {
    return this.#session;
  }

  /** The ID of the process; null if none runs. */
  get pid() {
    return this.#transport?.pid ?? null;
  }

  /** Registers a function as a tool, from the next turn on. */
  tool({ name, description, schema = { type: "object" } }, run) {
    if (!name || !description) throw new SetupError("a tool needs a name and a description");
    this.#tools.set(name, { name, description, schema, run });
    return this;
  }

  /** Runs one turn. A question without `onQuestion` is answered with `nobody`. */
  async run(prompt, options = {}) {
    return finish(this.stream(prompt, options));
  }

  /** Returns the events of one turn, which begins when the first one is awaited. */
  stream(prompt, { onQuestion = this.#options.onQuestion, outputSchema = null } = {}) {
    return this.#events({ input: "prompt", text: prompt }, () => outputSchema, onQuestion);
  }

  /** Replaces the conversation by a summary of it, for the model. */
  async compact(instructions = null) {
    return finish(this.#events({ input: "compact", instructions }, () => this.#startedWith?.schema ?? null));
  }

  /** Clears the conversation for the model. The session keeps it. */
  async clear() {
    return finish(this.#events({ input: "clear" }, () => this.#startedWith?.schema ?? null));
  }

  /** Sends a message to the model at work. It reads it at its next step. */
  steer(text) {
    if (text.trimStart().startsWith("/")) throw new SetupError("a steering message cannot be a command");
    if (!this.#isBusy()) throw new BrynhildError("no turn is running; call `run`");
    this.#turn.steered();
    this.#transport.send({ input: "prompt", text });
  }

  /** Stops the turn that runs, if one does. Its outcome is `cancelled`. */
  interrupt() {
    if (this.#isBusy()) this.#transport.send({ input: "interrupt" });
  }

  /** Gives tools more or less freedom: less at once, more from the next turn. */
  setMode(mode) {
    this.#options.mode = mode;
    this.#transport?.send({ input: "mode", mode });
  }

  /** Undoes the file changes of the last turns. Returns `files`, and `kept`: those that others changed. */
  async undo(turns = 1) {
    const target = this.#session ?? this.#options.resume ?? this.#options.session;
    if (!target) throw new BrynhildError("there is no session before the first turn");
    this.#checkIdle();
    await this.close();
    const args = ["session", "undo", "--json", `--turns=${turns}`, "--", target];
    const { error, stdout, stderr } = await new Promise((resolve) => {
      const options = { cwd: this.#options.cwd, env: this.#env(), maxBuffer: 1 << 30 };
      execFile(findBinary(this.#options.binary), args, options, (error, stdout, stderr) =>
        resolve({ error, stdout, stderr }),
      );
    });
    let reply;
    try {
      reply = JSON.parse(stdout);
    } catch {
      throw errorOfExit(error?.code ?? 0, error?.signal, stderr);
    }
    if (reply.error) throw new SetupError(reply.error);
    return reply;
  }

  /** Returns a client that continues in a copy of the session. */
  fork() {
    if (!this.#session) throw new BrynhildError("there is no session to fork before the first turn");
    const { session: _, ...options } = this.#options;
    const fork = new Brynhild({ ...options, resume: this.#session, fork: true });
    fork.#tools = new Map(this.#tools);
    return fork;
  }

  /** Ends the program. A turn that still runs is interrupted. */
  async close() {
    this.interrupt();
    const transport = this.#transport;
    this.#transport = this.#turn = null;
    await transport?.close();
    await this.#release();
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.close();
  }

  #isBusy() {
    return this.#transport !== null && this.#turn !== null && !this.#turn.isFinished;
  }

  #checkIdle() {
    if (this.#isReading) throw new BrynhildError("a turn is running; wait for it, or call `steer`");
  }

  async *#events(message, schema, onQuestion) {
    const turn = await this.#begin(message, schema());
    try {
      while (!turn.isFinished) {
        const event = await this.#receive(turn);
        const question = turn.take(event);
        this.#session = turn.result.session || this.#session;
        if (question) {
          const answer = (await onQuestion?.(question)) ?? Answer.nobody();
          if (typeof answer.answer !== "string") throw new TypeError("onQuestion returned no answer");
          if (this.#turn === turn) this.#transport.send(turn.answered(question, answer));
        }
        yield event;
      }
      return turn.check();
    } finally {
      // An error, or a consumer that left: the next turn goes on in the same session.
      if (!turn.isFinished && this.#turn === turn) await this.close();
      turn.isFinished = true;
    }
  }

  async #receive(turn) {
    this.#checkIdle();
    if (this.#turn !== turn || !this.#transport) {
      throw new BrynhildError("the turn was stopped: the client was closed, or began another one");
    }
    this.#isReading = true;
    try {
      return await this.#transport.receive();
    } catch (error) {
      turn.isFinished = true;
      error.result ??= turn.result;
      await this.close();
      throw error;
    } finally {
      this.#isReading = false;
    }
  }

  /** Starts the program if needed, and sends the input that begins a turn. */
  async #begin(message, schema) {
    this.#checkIdle();
    const startedWith = { schema, tools: [...this.#tools.values()] };
    if (this.#transport && (this.#isBusy() || !isDeepStrictEqual(this.#startedWith, startedWith))) await this.close();
    if (!this.#transport) await this.#start(startedWith);
    this.#transport.send(message);
    this.#turn = new Turn(schema !== null, message.input === "prompt", this.#turn);
    return this.#turn;
  }

  async #start(startedWith) {
    const options = this.#options;
    const command = [findBinary(options.binary), "chat", "--input-format=stream-json", "--output-format=stream-json"];
    for (const [name, flag] of Object.entries(FLAGS)) {
      if (options[name] != null) command.push(`--${flag}=${options[name]}`);
    }
    if (this.#session) command.push(`--resume=${this.#session}`);
    else if (options.resume) command.push(`--resume=${options.resume}`, ...(options.fork ? ["--fork"] : []));
    else if (options.session) command.push(`--session=${options.session}`);
    const allowed = [...(options.allowedTools ?? [])];
    const servers = { ...options.mcpServers };
    try {
      this.#files = await mkdtemp(path.join(tmpdir(), "brynhild-sdk-"));
      if (this.#tools.size > 0) {
        this.#server = new ToolServer(new Map(this.#tools));
        servers[SERVER_NAME] = await this.#server.open();
        allowed.push(...[...this.#tools.keys()].map((name) => `mcp__${SERVER_NAME}__${name}`));
      }
      if (Object.keys(servers).length > 0) {
        command.push(`--mcp-config=${await this.#write("mcp.json", { mcpServers: servers })}`);
      }
      command.push(...allowed.map((rule) => `--allowed-tools=${rule}`));
      if (startedWith.schema) {
        command.push(`--output-schema=${await this.#write("schema.json", startedWith.schema)}`);
      }
      this.#transport = new ProcessTransport(command, options.cwd, this.#env());
      this.#startedWith = startedWith;
    } catch (error) {
      await this.#release();
      throw error;
    }
  }

  async #write(name, value) {
    const file = path.join(this.#files, name);
    await writeFile(file, JSON.stringify(value));
    return file;
  }

  #env() {
    const { BRYNHILD_BIN: _, ...env } = { ...process.env, ...this.#options.env };
    return env;
  }

  async #release() {
    const [server, files] = [this.#server, this.#files];
    this.#server = this.#files = null;
    await server?.close();
    if (files) await rm(files, { recursive: true, force: true });
  }
}

async function finish(events) {
  for (;;) {
    const { done, value } = await events.next();
    if (done) return value;
  }
}
