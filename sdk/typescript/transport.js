// The connection to the program: inputs out, events in. Knows nothing of turns.

import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { SetupError, errorOfExit } from "./errors.js";

// The program refuses longer lines.
const LONGEST_INPUT = (32 << 20) - 1;
const STDERR_TAIL = 64 << 10;
const GRACE_MS = 30_000;

/** Returns the program: the argument, $BRYNHILD_BIN, that of the package `brynhild`, or that in PATH. */
export function findBinary(binary) {
  const named = binary ?? process.env.BRYNHILD_BIN;
  const found = named
    ? isProgram(named) && path.resolve(named)
    : [packaged(), ...(process.env.PATH ?? "").split(path.delimiter).map((it) => it && path.join(it, "brynhild"))].find(
        (it) => it && isProgram(it),
      );
  if (found) return found;
  const what = named ? `there is no program \`${named}\`` : "the program `brynhild` is not installed";
  throw new SetupError(`${what}; pass \`binary\`, set BRYNHILD_BIN, or \`npm install brynhild\``);
}

function packaged() {
  try {
    const manifest = createRequire(import.meta.url).resolve("brynhild/package.json");
    return path.join(path.dirname(manifest), "bin/brynhild");
  } catch {
    return null; // The package is not installed.
  }
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * Events that nobody has taken, as lines of JSON. They are limited in bytes, not in number: the
 * source is paused while there are too many.
 */
export class Inbox {
  static LIMIT = 64 << 20;
  #lines = [];
  #waitingBytes = 0;
  #isClosed = false;
  #error = null;
  #wake = () => {};
  #pause;
  #resume;

  constructor(pause, resume) {
    this.#pause = pause;
    this.#resume = resume;
  }

  /** Adds a line; a closed inbox drops it. */
  put(line) {
    if (this.#isClosed) return;
    this.#lines.push(line);
    this.#waitingBytes += line.length;
    if (this.#waitingBytes >= Inbox.LIMIT) this.#pause();
    this.#wake();
  }

  /** Throws an error for the reader after all lines. */
  end(error) {
    this.#error ??= error;
    this.#wake();
  }

  close() {
    this.#isClosed = true;
    this.#resume();
  }

  async receive() {
    while (this.#lines.length === 0) {
      if (this.#error) throw this.#error;
      await new Promise((resolve) => (this.#wake = resolve));
    }
    const line = this.#lines.shift();
    this.#waitingBytes -= line.length;
    if (this.#waitingBytes < Inbox.LIMIT) this.#resume();
    return JSON.parse(line.toString("utf8"));
  }
}

/**
 * A child process that reads and writes lines of JSON. Reading and writing do not wait for each
 * other. If nobody takes the events, the child waits.
 *
 * Another transport needs `session`, `begin`, `send`, `receive` and `close`.
 */
export class ProcessTransport {
  /** The ID of the session, if it is known before the first event. */
  session = null;
  #child;
  #inbox;
  #partial = [];
  #stderr = "";
  #ended;

  constructor(command, cwd, env) {
    this.#child = spawn(command[0], command.slice(1), { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
    const { stdout, stderr, stdin } = this.#child;
    this.#inbox = new Inbox(
      () => stdout.pause(),
      () => stdout.resume(),
    );
    stdout.on("data", (chunk) => this.#read(chunk));
    stderr.setEncoding("utf8").on("data", (text) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_TAIL);
    });
    // The child has gone. Its exit tells why.
    stdin.on("error", () => {});
    this.#ended = new Promise((resolve) => {
      const end = (error) => {
        this.#inbox.end(error);
        resolve();
      };
      this.#child.on("error", (error) => end(new SetupError(`cannot start ${command[0]}: ${error.message}`)));
      this.#child.on("close", (code, signal) => end(errorOfExit(code, signal, this.#stderr)));
    });
  }

  get pid() {
    return this.#child.pid;
  }

  /** Sends the input that begins a turn. Returns the reply, with the position before it or 0 as `seq`. */
  async begin(message) {
    this.send(message);
    return { seq: 0 };
  }

  /** Queues an input. Never blocks; a lost connection shows in `receive`. */
  send(message) {
    const line = JSON.stringify(message) + "\n";
    const size = Buffer.byteLength(line);
    if (size > LONGEST_INPUT) {
      throw new SetupError(`an input of ${size} bytes is too long; the limit is ${LONGEST_INPUT}`);
    }
    if (this.#child.stdin.writable) this.#child.stdin.write(line);
  }

  /** Waits for the next event. Throws the reason if the connection has ended. */
  async receive() {
    return this.#inbox.receive();
  }

  /** Ends the connection in order, and waits until it has ended. */
  async close() {
    this.#inbox.close();
    this.#child.stdin.end();
    const timers = ["SIGTERM", "SIGKILL"].map((signal, index) =>
      setTimeout(() => this.#child.kill(signal), GRACE_MS * (index + 1)),
    );
    await this.#ended;
    timers.forEach(clearTimeout);
  }

  #read(chunk) {
    let start = 0;
    for (let end; (end = chunk.indexOf(10, start)) !== -1; start = end + 1) {
      this.#partial.push(chunk.subarray(start, end));
      this.#inbox.put(Buffer.concat(this.#partial));
      this.#partial = [];
    }
    if (start < chunk.length) this.#partial.push(chunk.subarray(start));
  }
}
