// Events become blocks: the transcript is a fold over the log, with the pieces of the reply that is
// arriving at its end. A sub-agent's events become the blocks of the call that started it.
// A block that changes gets a new `version`; nothing else tells the view to draw it again.

let keys = 0;

export const isKept = event =>
  event.type !== 'reply_delta' && event.type !== 'tool_progress' && event.type !== 'request_sent';

const text = value => (typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value));

export class Transcript {
  constructor() {
    this.lane = { blocks: [], draft: [], owner: null };
    this.calls = new Map();
    this.turn = null;
    this.turns = 0;
    this.configured = null;
    this.last = 0;
  }

  get blocks() { return this.lane.blocks; }

  take(event) {
    if (isKept(event)) this.last = Math.max(this.last, event.seq);
    this[`on_${event.type}`]?.(event, this.laneOf(event.within));
  }

  /** Forgets the pieces that arrived of a reply: after a reconnect the server sends them again. */
  dropDrafts() {
    for (const lane of [this.lane, ...[...this.calls.values()].map(block => block.lane)]) {
      if (lane) this.clearDraft(lane);
    }
  }

  laneOf(within) {
    if (!within) return this.lane;
    const owner = this.call(within.call, this.lane);
    owner.agent = text(within.agent);
    owner.lane ??= { blocks: [], draft: [], owner };
    return owner.lane;
  }

  push(lane, block) {
    block = { key: `b${++keys}`, version: 0, ...block };
    lane.blocks.push(block);
    this.touchLane(lane);
    return block;
  }

  touch(block, lane) {
    block.version++;
    this.touchLane(lane ?? block.home);
  }

  touchLane(lane) {
    for (let owner = lane?.owner; owner; owner = owner.home?.owner) owner.version++;
  }

  clearDraft(lane) {
    if (!lane.draft.length) return [];
    const draft = lane.draft;
    lane.draft = [];
    lane.blocks = lane.blocks.filter(block => !draft.includes(block));
    this.touchLane(lane);
    return draft;
  }

  /** The block of a call, a new one if the log was read from a later position. */
  call(id, lane, name = '', args = undefined) {
    let block = this.calls.get(id);
    if (!block) {
      block = this.push(lane, { kind: 'tool', id, name: text(name), args, state: 'called', actions: [], progress: '', home: lane });
      this.calls.set(id, block);
    }
    if (name && !block.name) block.name = text(name);
    return block;
  }

  on_session_started({ cwd, forked_from: origin }, lane) {
    this.cwd = text(cwd);
    if (origin) this.push(lane, { kind: 'line', text: `Forked from ${text(origin.session)}` });
  }

  on_configured(event, lane) {
    if (event.within) return;
    const { model, mode } = event;
    const old = this.configured;
    this.configured = { model: text(model), mode: text(mode) };
    if (!old) return;
    const said = [];
    if (old.model !== this.configured.model) said.push(`Model ${this.configured.model}`);
    if (old.mode !== this.configured.mode) said.push(`Mode ${this.configured.mode}`);
    if (said.length) this.push(lane, { kind: 'line', text: said.join(' · ') });
  }

  on_turn_started({ prompt, at, within }, lane) {
    if (!within) this.turn = { at, files: new Map() };
    this.push(lane, { kind: 'user', text: text(prompt), turn: within ? 0 : ++this.turns });
  }

  on_injected({ origin, text: words, within }, lane) {
    const kind = origin === 'person' && !within ? 'user' : 'injected';
    this.push(lane, { kind, text: text(words), origin: text(origin), isSteering: true });
  }

  on_reply_delta({ piece, text: words, name }, lane) {
    if (piece === 'restart') return void this.clearDraft(lane);
    if (piece === 'call') {
      lane.draft.push(this.push(lane, { kind: 'arriving', name: text(name) }));
      return;
    }
    const end = lane.draft[lane.draft.length - 1];
    if (end?.kind === piece) {
      end.text += text(words);
      this.touch(end, lane);
    } else if (piece === 'text' || piece === 'thinking') {
      lane.draft.push(this.push(lane, { kind: piece, text: text(words), isLive: true }));
    }
  }

  on_reply_finished({ reply }, lane) {
    const draft = this.clearDraft(lane);
    for (const part of reply?.parts ?? []) {
      if (part.type === 'call') this.call(part.id, lane, part.name, part.args);
      else if (text(part.text).trim()) {
        // The key of the piece stays, so that an opened block stays open.
        const at = draft.findIndex(block => block.kind === part.type);
        const key = at < 0 ? {} : { key: draft.splice(at, 1)[0].key };
        this.push(lane, { kind: part.type, text: text(part.text), ...key });
      }
    }
  }

  on_tool_called({ call }, lane) {
    const block = this.call(call.id, lane, call.name, call.args);
    this.touch(block);
  }

  on_tool_judged({ call, args, actions, ruling, source }, lane) {
    const block = this.call(call, lane);
    Object.assign(block, { args, actions: actions ?? [], source, isDestructive: ruling?.destructive === true });
    block.state = ruling?.decision === 'allow' ? 'running' : 'called';
    this.touch(block);
  }

  on_asked(event, lane) {
    const block = this.call(event.call, lane, event.tool, event.args);
    block.state = 'asking';
    if (!block.actions.length) block.actions = event.actions ?? [];
    this.touch(block);
  }

  on_answered({ call, answer, by }, lane) {
    const block = this.call(call, lane);
    Object.assign(block, { answer, by, state: 'running' });
    this.touch(block);
  }

  on_tool_progress({ call, text: words }, lane) {
    const block = this.call(call, lane);
    const LONGEST = 20_000;
    block.progress = `${block.progress}${block.progress ? '\n' : ''}${text(words)}`.slice(-LONGEST);
    block.state = 'running';
    this.touch(block);
  }

  on_tool_finished({ call, name, outcome, output, duration_ms: duration }, lane) {
    const block = this.call(call, lane, name);
    Object.assign(block, { outcome, output: output ?? {}, duration, progress: '', state: 'done' });
    this.touch(block);
  }

  on_notice({ level, text: words, hint }, lane) {
    this.push(lane, { kind: 'notice', level, text: text(words), hint: text(hint) });
  }

  on_compacted({ strategy, dropped, summary }, lane) {
    const said = strategy === 'clear' ? 'Conversation cleared' : `Conversation compacted: ${dropped} messages`;
    this.push(lane, { kind: 'line', text: said, more: text(summary) });
  }

  on_files_changed({ files }) {
    for (const file of files ?? []) this.turn?.files.set(text(file.path), text(file.change));
  }

  on_files_restored({ direction, count, turns, kept }, lane) {
    const done = direction === 'undo' ? 'Undone' : 'Made again';
    const left = kept?.length ? `; left as they are: ${kept.map(text).join(', ')}` : '';
    const files = count === 1 ? '1 file' : `${count} files`;
    this.push(lane, { kind: 'line', text: `${done}: ${files} of turn ${(turns ?? []).join(', ')}${left}` });
  }

  on_job_started({ job, command }, lane) {
    this.push(lane, { kind: 'line', text: `Job ${job} started: ${text(command)}` });
  }

  on_job_finished({ job, outcome }, lane) {
    this.push(lane, { kind: 'line', text: `Job ${job} ended: ${text(outcome)}` });
  }

  on_turn_finished({ outcome, usage, at, within }, lane) {
    this.clearDraft(lane);
    if (within) return;
    const seconds = this.turn && (Date.parse(at) - Date.parse(this.turn.at)) / 1000;
    const files = this.turn ? [...this.turn.files] : [];
    const isShort = ['compacted', 'cleared'].includes(outcome?.stop_reason);
    if (!isShort) this.push(lane, { kind: 'end', outcome: outcome ?? {}, usage: usage ?? {}, seconds, files });
    this.turn = null;
  }
}
