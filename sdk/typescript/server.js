// Conversations on `brynhild serve`: the same inputs and events, over HTTP.

import { randomUUID } from "node:crypto";
import http from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionLost, SetupError } from "./errors.js";
import { Inbox } from "./transport.js";

// A stream is lost if it is silent for so long: the server sends something every 10 seconds.
const SILENCE_MS = 35_000;
// Opening a session may start the servers and plugins of its project.
const REPLY_MS = 120_000;
const GRACE_MS = 30_000;
const RETRY_MS = 500;
// The server refuses longer bodies.
const LONGEST_BODY = 8 << 20;
// Inputs that may be sent twice.
const REPEATABLE = ["prompt", "answer", "interrupt", "mode"];

/** Times that tests shorten. */
export const limits = {
  // Time in which a server must come back.
  lostMs: 30_000,
};

/** The server refused a request. */
class Refused extends SetupError {
  constructor(message, status) {
    super(message);
    this.name = "SetupError";
    this.status = status;
  }
}

const pathOf = (session) => `/v1/sessions/${encodeURIComponent(session)}`;

/** Converses with a server at a URL: `http://…`, `https://…`, or `unix:PATH` for a socket. */
export class Server {
  #options;
  #target;

  constructor(options) {
    this.#options = options;
    this.url = options.url;
    this.#target = targetOf(options.url);
  }

  /** Opens a new session, or one to resume or to copy. */
  async connect({ name, resume, fork }, schema, tools) {
    if (schema || tools.size > 0) {
      const what = schema ? "`outputSchema`" : "a tool of your own";
      throw new SetupError(`${what} needs a program of its own; leave \`url\` out`);
    }
    try {
      return new ServerTransport(this, await this.#open(name, resume, fork));
    } catch (error) {
      if (error instanceof ConnectionLost) throw new SetupError(`${error.message}; is \`brynhild serve\` running?`);
      throw error;
    }
  }

  async undo(session, turns) {
    return this.request("POST", `${pathOf(await this.#found(session))}/undo`, { turns });
  }

  /** Nothing: the session stays with the server. */
  async release() {}

  async #open(name, resume, fork) {
    const { cwd, model, mode } = this.#options;
    const options = { ...(model != null && { model }), ...(mode != null && { mode }) };
    const create = async (how) => (await this.request("POST", "/v1/sessions", { ...how, ...options })).id;
    if (resume) {
      const session = await this.#found(resume);
      if (!fork) return this.#resumed(session, options);
      const { seq } = await this.request("GET", pathOf(session));
      return create({ fork: { session, seq } });
    }
    if (!name) return create({ cwd });
    try {
      return await this.#resumed(name, options);
    } catch (error) {
      if (error.status !== 404) throw error;
      return create({ cwd, name });
    }
  }

  async #resumed(session, options) {
    const changes = Object.keys(options).length > 0;
    const details = await this.request(changes ? "PATCH" : "GET", pathOf(session), changes ? options : undefined);
    return details.id;
  }

  async #found(session) {
    if (session !== "last") return session;
    const { cwd } = this.#options;
    const { sessions } = await this.request("GET", `/v1/sessions?limit=1&cwd=${encodeURIComponent(cwd)}`);
    if (sessions.length === 0) throw new SetupError(`there is no session in ${cwd}`);
    return sessions[0].id;
  }

  /** Sends a request and returns the reply. Throws `Refused` or `ConnectionLost`. */
  async request(method, path, body) {
    const response = await this.#send(method, path, body, {}, REPLY_MS);
    const text = await this.#text(response);
    try {
      return text ? JSON.parse(text) : null;
    } catch {
      throw new Refused(`${this.url} does not answer like \`brynhild serve\``, response.statusCode);
    }
  }

  async stream(path, after) {
    const headers = { Accept: "text/event-stream", "Last-Event-ID": String(after) };
    const response = await this.#send("GET", path, undefined, headers, SILENCE_MS);
    // Whoever reads it sees that it broke off.
    return response.on("error", () => {});
  }

  async #send(method, path, body, headers, timeout) {
    const data = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    if (data && data.length > LONGEST_BODY) {
      throw new Refused(`an input of ${data.length} bytes is too long; the limit is ${LONGEST_BODY}`, 413);
    }
    const { module, ...target } = this.#target;
    const all = { "Content-Type": "application/json", ...headers };
    if (data) all["Content-Length"] = data.length;
    if (this.#options.token != null) all.Authorization = `Bearer ${this.#options.token}`;
    const response = await new Promise((resolve, reject) => {
      const request = module.request({ ...target, method, path, headers: all, timeout, agent: false }, resolve);
      request.on("timeout", () => request.destroy(new Error("the server does not answer")));
      request.on("error", (error) => reject(this.#lost(error)));
      request.end(data);
    });
    if (response.statusCode < 400) return response;
    const text = await this.#text(response);
    let message = `${this.url} answered ${response.statusCode} ${response.statusMessage}`;
    try {
      const { error } = JSON.parse(text);
      message = error.hint ? `${error.message} (${error.hint})` : error.message;
    } catch {
      // It is not a reply of ours.
    }
    throw new Refused(message, response.statusCode);
  }

  async #text(response) {
    try {
      const blocks = [];
      for await (const block of response) blocks.push(block);
      return Buffer.concat(blocks).toString("utf8");
    } catch (error) {
      throw this.#lost(error);
    }
  }

  #lost(error) {
    return new ConnectionLost(`cannot reach ${this.url}: ${error.message || error.code}`);
  }
}

function targetOf(url) {
  if (url.startsWith("unix:") && url.length > 5) {
    return { module: http, socketPath: url.slice(5), headers: {} };
  }
  let parts = null;
  try {
    parts = new URL(url);
  } catch {
    // It is none.
  }
  if (parts?.protocol !== "http:" && parts?.protocol !== "https:") {
    throw new SetupError(`\`${url}\` is not the URL of a server, such as http://127.0.0.1:4117 or unix:PATH`);
  }
  const module = parts.protocol === "http:" ? http : https;
  // An IPv6 address has brackets in a URL only.
  return { module, host: parts.hostname.replace(/^\[|\]$/g, ""), port: parts.port };
}

/** A session of a server. Each turn has a stream of its own, and inputs are sent one after another. */
class ServerTransport {
  #server;
  #path;
  #stream = null;
  #isInterrupted = false;
  #isClosed = false;
  // Answers that no event has confirmed.
  #answers = new Map();
  #sent = Promise.resolve();

  constructor(server, session) {
    this.#server = server;
    this.session = session;
    this.#path = pathOf(session);
  }

  get pid() {
    return null;
  }

  async begin(message) {
    this.#stream?.close();
    this.#isInterrupted = false;
    this.#answers = new Map();
    const { seq } = await this.#server.request("GET", this.#path);
    const stream = new EventStream(this.#server, this.#path, this.#answers, (answer) => this.send(answer));
    await stream.open(seq);
    this.#stream = stream;
    try {
      // The server takes a prompt with the same ID once.
      const named = message.input === "prompt" ? { ...message, id: randomUUID() } : message;
      const reply = await this.#queue(named);
      if (reply.turn === false) stream.close();
      else stream.start(reply.seq);
      return reply;
    } catch (error) {
      stream.close();
      throw error;
    }
  }

  send(message) {
    if (message.input === "answer") this.#answers.set(message.call, message);
    this.#isInterrupted ||= message.input === "interrupt";
    this.#queue(message).catch((error) => {
      if (error instanceof Refused) this.#stream?.refused(message, error);
      else this.#stream?.inbox.end(error);
    });
  }

  async receive() {
    return this.#stream.inbox.receive();
  }

  async close() {
    this.#stream?.inbox.close();
    if (this.#isInterrupted) {
      const timer = new AbortController();
      const grace = sleep(GRACE_MS, null, { signal: timer.signal }).catch(() => {});
      await Promise.race([this.#stream.isOver, grace]);
      timer.abort();
    }
    this.#isClosed = true;
    await this.#sent;
    this.#stream?.close();
  }

  #queue(message) {
    const sending = this.#sent.then(() => this.#post(message));
    this.#sent = sending.catch(() => {});
    return sending;
  }

  async #post(message) {
    const until = Date.now() + limits.lostMs;
    for (;;) {
      try {
        return await this.#server.request("POST", `${this.#path}/inputs`, message);
      } catch (error) {
        const isFinal = !REPEATABLE.includes(message.input) || Date.now() > until || this.#isClosed;
        if (!(error instanceof ConnectionLost) || isFinal) throw error;
      }
      await sleep(RETRY_MS);
    }
  }
}

/** The events of a session from a position on. Connects again where it was cut off. */
class EventStream {
  inbox = new Inbox(
    () => {
      if (!this.#resume) this.#room = new Promise((resolve) => (this.#resume = resolve));
    },
    () => {
      this.#resume?.();
      this.#resume = null;
    },
  );
  #room = Promise.resolve();
  #resume = null;
  #server;
  #path;
  #answers;
  #send;
  #response = null;
  #position = 0;
  #seen = 0;
  #last = { seq: 0, session: "", at: "" };
  #isStarted = false;
  #isClosed = false;
  #until = null;
  #over;

  constructor(server, path, answers, send) {
    this.#server = server;
    this.#path = path;
    this.#answers = answers;
    this.#send = send;
    // Settled when the turn has ended, or no further event comes.
    this.isOver = new Promise((resolve) => (this.#over = resolve));
  }

  async open(after) {
    this.#seen = after;
    this.#response = await this.#server.stream(`${this.#path}/events`, after);
  }

  /** Begins to read the events after a position. */
  start(position) {
    this.#seen = this.#position = this.#last.seq = position;
    this.#run()
      .catch((error) => this.inbox.end(error))
      .finally(() => {
        this.#response.destroy();
        this.#over();
      });
  }

  /** Reports a refused input as the program does: by a notice without a number of its own. */
  refused(message, error) {
    const notice = { ...this.#last, type: "notice", level: "error", text: error.message };
    if (message.input === "prompt") notice.topic = "message_unsent";
    this.inbox.put(Buffer.from(JSON.stringify(notice)));
  }

  close() {
    this.#isClosed = true;
    this.inbox.close();
    this.#response.destroy();
  }

  async #run() {
    while (!this.#isClosed) {
      const read = messages((id, name, data) => name === null && this.#take(id, data));
      try {
        for await (const block of this.#response) {
          read(block);
          this.#checkEnd();
          await this.#room;
        }
      } catch (error) {
        // Otherwise the connection was cut off.
        if (error instanceof ConnectionLost) throw error;
      }
      this.#response.destroy();
      if (!this.#isClosed) await this.#reconnect();
    }
  }

  #take(id, data) {
    const event = JSON.parse(data.toString("utf8"));
    // Some happened before the turn.
    if (event.seq < this.#position || (id !== null && Number(id) <= this.#seen)) return;
    this.#last = { seq: event.seq, session: event.session, at: event.at };
    this.inbox.put(data);
    if (id !== null) this.#seen = Number(id);
    if (event.type === "answered") this.#answers.delete(event.call);
    if (event.within != null) return;
    // A server that was restarted at the questions has the answers.
    if (event.type === "turn_started") this.#answers.clear();
    this.#isStarted ||= event.type === "turn_started" || event.type === "injected";
    if (event.type === "turn_finished") this.#over();
  }

  #checkEnd() {
    if (this.#until !== null && this.#seen >= this.#until) {
      throw new ConnectionLost("the server ended in the middle of the turn");
    }
  }

  async #reconnect() {
    const until = Date.now() + limits.lostMs;
    for (;;) {
      try {
        this.#until = await this.#end();
        this.#checkEnd();
        this.#response = await this.#server.stream(`${this.#path}/events`, this.#seen);
        return;
      } catch (error) {
        const isFinal = this.#until !== null || this.#isClosed || Date.now() > until;
        if (!(error instanceof ConnectionLost) || isFinal) throw error;
      }
      await sleep(RETRY_MS);
    }
  }

  /** Returns the position of the last event, if nobody works in the session any more. */
  async #end() {
    const details = await this.#server.request("GET", this.#path);
    const lost = details.pending.map(({ call }) => this.#answers.get(call)).filter(Boolean);
    lost.forEach((answer) => this.#send(answer));
    // An answer that nothing has confirmed is about to resume the turn.
    const isIdle = details.state === "idle" && this.#isStarted && this.#answers.size === 0;
    const isOver = details.state === "ended" || isIdle;
    return isOver ? details.seq : null;
  }
}

/** Returns a function that takes blocks of an event stream, and passes each complete message on. */
function messages(take) {
  let [rest, id, name, data] = [[], null, null, []];
  const field = (line) => {
    const end = line.indexOf(58);
    const key = line.subarray(0, end === -1 ? line.length : end).toString("latin1");
    const value = end === -1 ? Buffer.alloc(0) : line.subarray(line[end + 1] === 32 ? end + 2 : end + 1);
    if (key === "id") id = value.toString("latin1");
    else if (key === "event") name = value.toString("latin1");
    else if (key === "data") data.push(data.length > 0 ? Buffer.from("\n") : Buffer.alloc(0), value);
  };
  return (block) => {
    let start = 0;
    for (let end; (end = block.indexOf(10, start)) !== -1; start = end + 1) {
      const line = Buffer.concat([...rest, block.subarray(start, end)]);
      rest = [];
      if (line.length > 0) {
        field(line);
        continue;
      }
      if (data.length > 0) take(id, name, Buffer.concat(data));
      [id, name, data] = [null, null, []];
    }
    if (start < block.length) rest.push(block.subarray(start));
  };
}
