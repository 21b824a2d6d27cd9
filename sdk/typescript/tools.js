// Tools of the application, served to the program over MCP. The server listens on this machine
// only. Its address has a secret part, and calls carry a token.

import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

export const SERVER_NAME = "app";
const CALL_SECONDS = 86_400;

/** Serves tools until it is closed. */
export class ToolServer {
  #tools;
  #token = randomBytes(24).toString("base64url");
  #path = `/${randomBytes(8).toString("hex")}`;
  #http = createServer((request, response) => this.#serve(request, response));

  constructor(tools) {
    this.#tools = tools;
  }

  /** Starts to listen, and returns the entry of the server in an MCP configuration. */
  async open() {
    await new Promise((resolve, reject) => {
      this.#http.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    this.#http.unref();
    return {
      type: "http",
      url: `http://127.0.0.1:${this.#http.address().port}${this.#path}`,
      headers: { Authorization: `Bearer ${this.#token}` },
      timeout: CALL_SECONDS,
    };
  }

  async close() {
    await new Promise((resolve) => {
      this.#http.close(resolve);
      this.#http.closeAllConnections?.();
    });
  }

  async #serve(request, response) {
    const send = (status, body = "") => {
      response.writeHead(status, { "Content-Type": "application/json" }).end(body);
    };
    try {
      const parts = [];
      for await (const part of request) parts.push(part);
      if (request.method !== "POST") return send(405);
      if (!this.#isAllowed(request)) return send(403);
      const reply = await this.#reply(JSON.parse(Buffer.concat(parts).toString("utf8")));
      if (reply) send(200, JSON.stringify(reply));
      else send(202);
    } catch (error) {
      // The client reads it as the failure of its request.
      send(400, JSON.stringify({ error: error.message }));
    }
  }

  #isAllowed(request) {
    const given = Buffer.from(request.headers.authorization ?? "");
    const expected = Buffer.from(`Bearer ${this.#token}`);
    return request.url === this.#path && given.length === expected.length && timingSafeEqual(given, expected);
  }

  async #reply({ id, method, params = {} }) {
    if (id === undefined) return null;
    const reply = (result) => ({ jsonrpc: "2.0", id, result });
    const tool = this.#tools.get(params.name);
    if (method === "initialize") {
      const serverInfo = { name: SERVER_NAME, version: "1" };
      return reply({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
    }
    if (method === "ping") return reply({});
    if (method === "tools/list") {
      const tools = [...this.#tools.values()];
      return reply({ tools: tools.map(({ name, description, schema }) => ({ name, description, inputSchema: schema })) });
    }
    if (method === "tools/call" && tool) return reply(await call(tool, params.arguments ?? {}));
    return { jsonrpc: "2.0", id, error: { code: -32601, message: `there is no method \`${method}\` for this` } };
  }
}

async function call(tool, args) {
  try {
    const value = await tool.run(args);
    const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
    return { content: [{ type: "text", text }] };
  } catch (error) {
    // The model reads it and can react; the turn goes on.
    return { content: [{ type: "text", text: String(error) }], isError: true };
  }
}
