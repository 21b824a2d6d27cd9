// The client. It keeps one connection for all turns.

import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { BrynhildError, SetupError } from "./errors.js";
import { PROGRAM_OPTIONS, Program } from "./program.js";
import { Server } from "./server.js";
import { Answer, Turn } from "./turn.js";

const OPTIONS = ["cwd", "url", "token", "model", "mode", "session", "resume", "fork", "onQuestion", ...PROGRAM_OPTIONS];

/** A conversation. Close it in the end, which ends the program if one was started. */
export class Brynhild {
  #options;
  #backend;
  #tools = new Map();
  #session = null;
  #transport = null;
  #startedWith = null;
  #turn = null;
  #isReading = false;

  constructor(options = {}) {
    const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
    if (unknown) throw new SetupError(`there is no option \`${unknown}\``);
    this.#options = { ...options, cwd: path.resolve(options.cwd ?? ".") };
    const { url } = options;
    const foreign = url != null && PROGRAM_OPTIONS.find((name) => options[name] != null);
    if (foreign) throw new SetupError(`\`${foreign}\` is an option of the program; the server at ${url} has its own`);
    this.#backend = url == null ? new Program(this.#options) : new Server(this.#options);
  }

  /** Continues a session; `last` is the newest one of the directory. */
  static resume(session, options = {}) {
    return new Brynhild({ ...options, resume: session });
  }

  /** The ID of the session; null before its first turn. */
  get session() {
    return this.#session;
  }

  /** The ID of the process; null if none was started. */
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
    if (!this.#isBusy()) return;
    this.#turn.interrupted();
    this.#transport.send({ input: "interrupt" });
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
    return this.#backend.undo(target, turns);
  }

  /** Returns a client that continues in a copy of the session. */
  fork() {
    if (!this.#session) throw new BrynhildError("there is no session to fork before the first turn");
    const { session: _, ...options } = this.#options;
    const fork = new Brynhild({ ...options, resume: this.#session, fork: true });
    fork.#tools = new Map(this.#tools);
    return fork;
  }

  /** Ends the connection, and the program if one was started. A turn that still runs is interrupted. */
  async close() {
    this.interrupt();
    const transport = this.#transport;
    this.#transport = this.#turn = null;
    await transport?.close();
    await this.#backend.release();
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

  /** Connects if needed, and sends the input that begins a turn. */
  async #begin(message, schema) {
    this.#checkIdle();
    const startedWith = { schema, tools: [...this.#tools.values()] };
    if (this.#transport && (this.#isBusy() || !isDeepStrictEqual(this.#startedWith, startedWith))) await this.close();
    if (!this.#transport) await this.#connect(startedWith);
    const reply = await this.#transport.begin(message);
    const prompt = message.input === "prompt" ? message.text : null;
    this.#turn = new Turn(schema !== null, prompt, reply, this.#turn);
    this.#turn.result.session = this.#session ?? "";
    return this.#turn;
  }

  async #connect(startedWith) {
    const { session: name, resume, fork } = this.#options;
    const target = this.#session ? { resume: this.#session } : { name, resume, fork };
    this.#transport = await this.#backend.connect(target, startedWith.schema, this.#tools);
    this.#session = this.#transport.session ?? this.#session;
    this.#startedWith = startedWith;
  }
}

async function finish(events) {
  for (;;) {
    const { done, value } = await events.next();
    if (done) return value;
  }
}
