// One opened session: its stream of events, its transcript, its open questions, and what a user can
// do with it. The server's own view (`detail`) wins over what the page concludes from events.

import { eventPage, get, isUnreached, patch, post, remove, sessionPath } from './api.js';
import { isKept, Transcript } from './fold.js';
import { changed, complain, state, toast } from './state.js';
import { Stream } from './stream.js';

const TAIL = 500;
const PAGE = 1000;
const DETAIL_DELAY = 150;
/** Time after which a page that nobody sees leaves its connection to others. */
const LEAVE_AFTER = 5000;

export class Session {
  constructor(id) {
    Object.assign(this, {
      id, detail: null, missing: null, state: 'idle', link: 'connecting', events: [], from: 1, transcript: new Transcript(),
      asked: new Map(), closed: new Map(), unsent: [], changes: null, isLoadingEarlier: false,
    });
    this.hide = () => this.follow();
    document.addEventListener('visibilitychange', this.hide);
    this.refresh();
    this.follow();
  }

  /** Reads the stream of events while the page is visible. A browser has six connections for a server. */
  follow() {
    clearTimeout(this.leaving);
    if (document.visibilityState === 'hidden') {
      this.leaving = setTimeout(() => { this.stream?.close(); this.stream = null; }, LEAVE_AFTER);
      return;
    }
    if (this.stream || this.missing) return;
    this.stream = new Stream(() => this.url(), {
      opened: () => {
        this.transcript.dropDrafts();
        this.refresh();
        this.resend();
      },
      message: event => this.take(event),
      changed: link => { this.link = link; changed(); },
      failed: () => this.refresh(),
      events: {
        start: ({ from }) => { if (!this.events.length) this.from = from; },
        ping: status => {
          this.setState(status);
          if (this.state === 'idle') this.unsent = this.unsent.filter(item => item.state !== 'accepted');
          changed();
        },
      },
    });
  }

  url() {
    const path = sessionPath(this.id, 'events');
    return this.transcript.last ? `${path}?after=${this.transcript.last}` : `${path}?tail=${TAIL}`;
  }

  close() {
    document.removeEventListener('visibilitychange', this.hide);
    clearTimeout(this.leaving);
    clearTimeout(this.refreshing);
    this.stream?.close();
    this.isClosed = true;
  }

  /** Asks the server for its view. Events that came since count on top of it. */
  async refresh() {
    try {
      const detail = await get(sessionPath(this.id));
      if (!this.isClosed) this.accept(detail);
    } catch (error) {
      if (error.status !== 404 || this.isClosed) return;
      this.missing = error;
      this.stream?.close();
      this.stream = null;
      changed();
    }
  }

  refreshSoon() {
    clearTimeout(this.refreshing);
    this.refreshing = setTimeout(() => this.refresh(), DETAIL_DELAY);
  }

  accept(detail) {
    // Replies of two requests can arrive in either order.
    if (detail.seq < (this.detail?.seq ?? 0)) return;
    this.detail = detail;
    this.setState(detail);
    const later = [...this.asked.values()].filter(event => event.seq > detail.seq);
    this.asked = new Map();
    for (const event of [...(detail.pending ?? []), ...later]) {
      if (!((this.closed.get(event.call) ?? 0) > detail.seq)) this.asked.set(event.call, event);
    }
    changed();
  }

  /** Takes the state that the server told at an event, unless later events have arrived since. */
  setState({ seq, state: told }) {
    if (told && seq >= this.transcript.last) this.state = told;
  }

  summarized(summary) {
    if (summary.id !== this.id) return;
    this.state = summary.state;
    if (this.detail) Object.assign(this.detail, { title: summary.title });
    if (summary.questions !== this.asked.size) this.refreshSoon();
  }

  take(event) {
    if (isKept(event)) {
      if (event.seq <= this.transcript.last && !this.isAnswerOnly(event)) return;
      this.events.push(event);
    }
    this.transcript.take(event);
    this.follows(event);
    changed();
  }

  /** A notice that is not in the log, such as the output of a command, has the position of the last event. */
  isAnswerOnly({ type, seq, text }) {
    const last = this.events[this.events.length - 1];
    return type === 'notice' && seq === this.transcript.last && !(last?.type === 'notice' && last.text === text);
  }

  /** The consequences of an event outside of the transcript. */
  follows(event) {
    const isOwn = !event.within;
    // What the server said of the session is later than the events of its replay.
    const isNew = event.seq > (this.detail?.seq ?? 0);
    switch (event.type) {
      case 'turn_started':
        if (isOwn && isNew) this.state = 'running';
        if (isOwn) this.arrived(event.prompt, true);
        break;
      case 'injected':
        if (event.origin === 'person') this.arrived(event.text, false);
        break;
      case 'asked':
        this.closed.delete(event.call);
        this.asked.set(event.call, event);
        if (isNew) this.state = 'asking';
        break;
      case 'answered': case 'tool_finished':
        this.closed.set(event.call, event.seq);
        if (this.asked.delete(event.call) && !this.asked.size && this.state === 'asking') this.state = 'running';
        if (event.type === 'tool_finished') this.refreshSoon();
        break;
      case 'turn_finished':
        if (isOwn && isNew) this.state = 'idle';
        if (isOwn) { this.changes = null; this.refreshSoon(); }
        break;
      case 'files_restored': this.changes = null; break;
      case 'titled': if (this.detail) this.detail.title = event.title; break;
      case 'configured': case 'reply_finished': case 'compacted': this.refreshSoon(); break;
      default:
    }
  }

  /** True if another program has opened the session, so that only that one takes inputs. */
  get isElsewhere() {
    return this.state === 'elsewhere' || state.sessions.get(this.id)?.state === 'elsewhere';
  }

  get isRunning() { return this.state === 'running' || this.state === 'asking'; }

  get questions() { return [...this.asked.values()]; }

  async loadEarlier() {
    this.isLoadingEarlier = true;
    changed();
    try {
      const after = Math.max(0, this.from - 1 - PAGE);
      const earlier = (await eventPage(this.id, after, this.from - 1 - after)).filter(event => event.seq < this.from);
      this.events = [...earlier, ...this.events];
      this.from = after + 1;
      const transcript = new Transcript();
      for (const event of this.events) transcript.take(event);
      // What is arriving stays: its pieces are not among the kept events.
      for (const block of this.transcript.lane.draft) transcript.lane.draft.push(transcript.push(transcript.lane, block));
      this.transcript = transcript;
    } catch (error) { complain(error); }
    this.isLoadingEarlier = false;
    changed();
  }

  async input(input) {
    return post(sessionPath(this.id, 'inputs'), input);
  }

  /** Sends a prompt, or a message to the model at work. It has an id, so that sending it twice is harmless. */
  async send(text) {
    const [, mode] = /^\/mode\s+(\S+)$/.exec(text) ?? [];
    if (mode) return void this.change({ mode });
    const item = { id: crypto.randomUUID(), text, state: 'sending' };
    this.unsent.push(item);
    changed();
    await this.deliver(item);
  }

  async deliver(item) {
    item.state = 'sending';
    try {
      await this.input({ input: 'prompt', text: item.text, id: item.id });
      item.state = 'accepted';
      if (item.text.startsWith('/')) this.dropUnsent(item);
    } catch (error) {
      if (isUnreached(error)) item.state = 'waiting';
      else {
        this.dropUnsent(item);
        this.onReturned?.(item.text);
        complain(error);
      }
    }
    changed();
  }

  resend() {
    for (const item of this.unsent) if (item.state === 'waiting') this.deliver(item);
  }

  dropUnsent(item) {
    this.unsent = this.unsent.filter(other => other !== item);
    changed();
  }

  arrived(text, isTurn) {
    const item = this.unsent.find(other => other.text === text) ?? (isTurn ? this.unsent.find(other => other.state === 'accepted') : null);
    if (item) this.dropUnsent(item);
  }

  /** Answers a question. If somebody else was first, their answer counts. */
  async answer(call, answer) {
    try {
      await this.input({ input: 'answer', call, ...answer });
      this.settle(call);
    } catch (error) {
      if (error.status === 409 && error.body.answer) {
        this.settle(call);
        toast(`Answered already: ${error.body.answer.answer}`);
      } else if (isUnreached(error)) toast('The answer was not sent: no connection', 'error', 'It can be given again when the connection is back');
      else complain(error);
    }
    changed();
  }

  settle(call) {
    this.closed.set(call, Infinity);
    this.asked.delete(call);
  }

  async attempt(action) {
    try { return await action(); } catch (error) { complain(error); return undefined; }
  }

  interrupt() { return this.attempt(() => this.input({ input: 'interrupt' })); }

  compact() { return this.attempt(() => this.input({ input: 'compact' })); }

  clear() { return this.attempt(() => this.input({ input: 'clear' })); }

  change(what) {
    return this.attempt(async () => this.accept(await patch(sessionPath(this.id), what)));
  }

  erase() { return this.attempt(async () => { await remove(sessionPath(this.id)); return true; }); }

  loadChanges() {
    return this.attempt(async () => {
      this.changes = (await get(`${sessionPath(this.id, 'changes')}?diff=1`)).turns ?? [];
      changed();
    });
  }

  /** `direction` is `undo` or `redo`. */
  restore(direction) {
    return this.attempt(async () => {
      const { files = [], kept = [] } = await post(sessionPath(this.id, direction), {});
      const left = kept.length ? `Left as they are, because they changed since: ${kept.join(', ')}` : '';
      const words = direction === 'undo' ? 'Undone' : 'Made again';
      toast(files.length ? `${words}: ${files.length === 1 ? String(files[0].path ?? files[0]) : `${files.length} files`}` : `Nothing to ${direction}`, 'info', left);
      await this.loadChanges();
    });
  }
}
