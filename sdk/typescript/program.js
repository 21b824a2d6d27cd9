// Starts the program for a conversation: options become flags, and tools a server of their own.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { SetupError, errorOfExit } from "./errors.js";
import { SERVER_NAME, ToolServer } from "./tools.js";
import { ProcessTransport, findBinary } from "./transport.js";

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
/** Options that only a program of its own takes. */
export const PROGRAM_OPTIONS = [
  ...Object.keys(FLAGS).filter((name) => name !== "model" && name !== "mode"),
  ...["allowedTools", "mcpServers", "binary", "env"],
];

/** Converses with a child process. */
export class Program {
  #options;
  #server = null;
  #files = null;

  constructor(options) {
    this.#options = options;
  }

  /** Starts the program with a new session, or with one to resume or to copy. */
  async connect({ name, resume, fork }, schema, tools) {
    const options = this.#options;
    const command = [findBinary(options.binary), "chat", "--input-format=stream-json", "--output-format=stream-json"];
    for (const [option, flag] of Object.entries(FLAGS)) {
      if (options[option] != null) command.push(`--${flag}=${options[option]}`);
    }
    if (resume) command.push(`--resume=${resume}`, ...(fork ? ["--fork"] : []));
    else if (name) command.push(`--session=${name}`);
    const allowed = [...(options.allowedTools ?? [])];
    const servers = { ...options.mcpServers };
    try {
      this.#files = await mkdtemp(path.join(tmpdir(), "brynhild-sdk-"));
      if (tools.size > 0) {
        this.#server = new ToolServer(new Map(tools));
        servers[SERVER_NAME] = await this.#server.open();
        allowed.push(...[...tools.keys()].map((tool) => `mcp__${SERVER_NAME}__${tool}`));
      }
      if (Object.keys(servers).length > 0) {
        command.push(`--mcp-config=${await this.#write("mcp.json", { mcpServers: servers })}`);
      }
      command.push(...allowed.map((rule) => `--allowed-tools=${rule}`));
      if (schema) command.push(`--output-schema=${await this.#write("schema.json", schema)}`);
      return new ProcessTransport(command, options.cwd, this.#env());
    } catch (error) {
      await this.release();
      throw error;
    }
  }

  /** Undoes file changes of a session that is not open. */
  async undo(session, turns) {
    const args = ["session", "undo", "--json", `--turns=${turns}`, "--", session];
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

  /** Removes what the program needed while it ran. */
  async release() {
    const [server, files] = [this.#server, this.#files];
    this.#server = this.#files = null;
    await server?.close();
    if (files) await rm(files, { recursive: true, force: true });
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
}
