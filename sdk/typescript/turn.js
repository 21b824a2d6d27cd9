// One turn: what is said, asked and changed until it ends. Does no input and output.

import { InvalidAnswer, LimitReached, SetupError, TaskFailed } from "./errors.js";

/** Answers to a question. `Answer.nobody()` says that there is nobody to ask. */
export const Answer = {
  once: () => ({ answer: "once" }),
  session: () => ({ answer: "session" }),
  project: () => ({ answer: "project" }),
  always: () => ({ answer: "always" }),
  deny: (reason = null) => ({ answer: "deny", reason }),
  cancel: () => ({ answer: "cancel" }),
  nobody: () => ({ answer: "nobody" }),
};

function questionOf(event) {
  const { call, tool, args, why, actions = [], destructive = false } = event;
  const isReadOnly = actions.length > 0 && actions.every((action) => action.action === "read");
  return { call, tool, args, why, actions, destructive, isReadOnly, event };
}

/** Collects the events of a turn. */
export class Turn {
  result = { text: "", outcome: "", details: {}, usage: {}, cost: null, session: "", changes: [], structured: undefined, unanswered: [] };
  isFinished = false;
  #hasSchema;
  #isStarted;
  #isCommand;
  #isInterrupted = false;
  #steered = 0;
  // The end of a turn that an answer may resume.
  #brokenOff = null;
  #open = new Map();
  // Answers whose effect has not shown, and the number of the last event.
  #sent;
  #seq;

  constructor(hasSchema, prompt, reply, previous) {
    // A command may only show something, and begin no turn.
    this.isFinished = reply.turn === false;
    if (this.isFinished) Object.assign(this.result, { outcome: "answered", text: reply.text ?? "" });
    this.#hasSchema = hasSchema;
    this.#isStarted = prompt === null;
    this.#isCommand = prompt !== null && prompt.startsWith("/");
    this.#sent = previous ? previous.#sent : new Map();
    this.#seq = reply.seq || (previous ? previous.#seq : 0);
  }

  /** Notes that the turn was interrupted. */
  interrupted() {
    this.#isInterrupted = true;
  }

  /** Notes that a steering message was sent. */
  steered() {
    this.#steered += 1;
  }

  /** Notes an answer and returns the input for it. */
  answered(question, answer) {
    this.#sent.set(question.call, answer.answer);
    return { input: "answer", call: question.call, ...answer };
  }

  /** Takes an event. Returns the question if it is one. */
  take(event) {
    const isOwn = event.within == null;
    this.result.session = event.session ?? this.result.session;
    if (event.type === "notice") this.#takeNotice(event);
    this.#seq = event.seq ?? this.#seq;
    if (event.type === "asked") {
      const question = questionOf(event);
      this.#open.set(question.call, question);
      return question;
    }
    if (event.type === "answered") this.#takeAnswer(event);
    else if (event.type === "files_changed") this.result.changes.push(...event.files);
    else if (isOwn && event.type === "turn_started") this.#start();
    else if (isOwn && event.type === "injected" && event.origin === "person") {
      if (this.#isStarted) this.#steered -= 1;
      // Another client of the session has a turn, and the prompt became part of it.
      this.#isStarted = true;
    } else if (isOwn && event.type === "reply_finished") {
      const texts = event.reply.parts.filter((part) => part.type === "text").map((part) => part.text);
      this.result.text = texts.join("") || this.result.text;
    } else if (isOwn && event.type === "turn_finished" && this.#isStarted) this.#finish(event);
    return null;
  }

  #start() {
    this.#isStarted = true;
    if (this.#brokenOff) {
      this.#brokenOff = null;
      this.#sent.clear();
    }
  }

  #takeAnswer(event) {
    const question = this.#open.get(event.call);
    this.#open.delete(event.call);
    if (this.#sent.get(event.call) === event.answer.answer) this.#sent.delete(event.call);
    if (event.answer.answer === "nobody" && question) this.result.unanswered.push(question);
  }

  #takeNotice(event) {
    if (event.topic === "message_unsent") {
      this.#steered -= 1;
      return;
    }
    // Every notice of the conversation has a number of its own; one about an input has not.
    if (event.seq !== this.#seq) return;
    if (event.level !== "error" && (!this.#isCommand || this.#isStarted)) return;
    if (this.#sent.size > 0) {
      // The question was settled before its answer arrived.
      this.#sent.delete(this.#sent.keys().next().value);
      if (this.#brokenOff) this.#finish(this.#brokenOff);
    } else if (!this.#isStarted) {
      this.isFinished = true;
      throw new SetupError(event.hint ? `${event.text} (${event.hint})` : event.text);
    }
  }

  #finish(event) {
    const resumes = [...this.#sent.values()].some((kind) => kind !== "cancel" && kind !== "nobody");
    const isResumable = resumes && !this.#isInterrupted && !this.#brokenOff;
    if (event.outcome.outcome === "cancelled" && isResumable) {
      // The server was restarted at a question. It continues when it has the answer.
      this.#brokenOff = event;
      return;
    }
    if (this.#steered > 0) {
      // It came too late for this turn, and begins another one.
      this.#steered -= 1;
      return;
    }
    const result = this.result;
    result.details = event.outcome;
    result.outcome = event.outcome.outcome;
    result.usage = event.usage;
    result.cost = event.usage.cost_usd ?? null;
    result.text ||= event.outcome.summary ?? "";
    this.isFinished = true;
  }

  /** Returns the result of a finished turn, or throws the error for it. */
  check() {
    const result = this.result;
    const error = errorOfOutcome(result);
    if (error) throw error;
    if (this.#hasSchema && result.outcome !== "cancelled") {
      try {
        result.structured = JSON.parse(result.text);
      } catch (error) {
        throw new InvalidAnswer(`the answer is not JSON: ${error.message}`, result);
      }
    }
    return result;
  }
}

function errorOfOutcome(result) {
  const details = result.details;
  if (result.outcome === "failed") {
    return new TaskFailed(details.hint ? `${details.error} (${details.hint})` : details.error, result);
  }
  if (result.outcome === "blocked") {
    return new TaskFailed(`hook ${details.hook} blocked the prompt: ${details.reason}`, result);
  }
  if (result.outcome === "finished" && ["failed", "blocked"].includes(details.status)) {
    return new TaskFailed(`the model finished with the status \`${details.status}\`: ${details.summary}`, result);
  }
  if (result.outcome === "limited") {
    return new LimitReached(details.told || `the limit \`${details.limit}\` was reached`, result);
  }
  if (result.outcome === "stuck") return new LimitReached(`the model repeated itself: ${details.why}`, result);
  return null;
}
