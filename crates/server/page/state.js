// The state of the page that is not one session's: the list of sessions, the connection, messages to
// the user, and the address. Views read it; `changed()` draws them again with the next frame.

import { get, query } from './api.js';
import { Stream } from './stream.js';
import { announce, mark } from './notify.js';

export const state = {
  phase: 'starting', // or 'login', 'ready'
  loginMessage: null,
  sessions: new Map(),
  cursor: null,
  search: '',
  found: null, // the sessions of a search; null without one
  link: 'connecting', // 'open', 'waiting'
  session: null, // the opened Session
  panel: null, // 'changes', 'todos', 'details'
  isListOpen: false, // on a phone
  question: null, // a dialog: { title, text, yes, action }
  toasts: [],
};

const listeners = new Set();
let frame = 0;

/** Calls `listener` once per frame in which something changed. */
export const watch = listener => listeners.add(listener);

export function changed() {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    for (const listener of listeners) listener();
  });
}

let toasts = 0;

/** Shows a short message. */
export function toast(text, level = 'info', hint = '') {
  const item = { key: ++toasts, text, level, hint };
  state.toasts = [...state.toasts.slice(-3), item];
  changed();
  setTimeout(() => dismiss(item), level === 'error' ? 12_000 : 5000);
}

export function dismiss(item) {
  state.toasts = state.toasts.filter(other => other !== item);
  changed();
}

export const complain = error => toast(error.message, 'error', error.hint);

const PAGE = 100;
let list = null;

function put(summary) {
  const before = state.sessions.get(summary.id);
  state.sessions.set(summary.id, summary);
  if (summary.questions > (before?.questions ?? 0)) announce(summary);
  if (state.found?.some(session => session.id === summary.id)) {
    state.found = state.found.map(session => (session.id === summary.id ? summary : session));
  }
}

function refreshed() {
  let questions = 0;
  for (const session of state.sessions.values()) questions += session.questions ?? 0;
  mark(questions);
  changed();
}

export async function loadSessions(more = false) {
  const reply = await get(`/v1/sessions${query({ limit: PAGE, cursor: more ? state.cursor ?? '' : '' })}`);
  if (!more) {
    // A session that was removed while this page was not connected is not in the first pages either.
    const known = new Set(reply.sessions.map(session => session.id));
    if (!reply.cursor) for (const id of [...state.sessions.keys()]) if (!known.has(id)) state.sessions.delete(id);
  }
  reply.sessions.forEach(put);
  state.cursor = reply.cursor ?? null;
  refreshed();
}

let searches = 0;

export async function search(words) {
  state.search = words;
  const number = ++searches;
  if (!words.trim()) state.found = null;
  else {
    try {
      const reply = await get(`/v1/sessions${query({ q: words, limit: PAGE })}`);
      if (number === searches) state.found = reply.sessions;
    } catch (error) { complain(error); }
  }
  changed();
}

/** Newest first; sessions with questions before all others. */
export function orderedSessions() {
  const all = state.found ?? [...state.sessions.values()];
  return [...all].sort((a, b) => (b.questions > 0) - (a.questions > 0) || String(b.updated_at).localeCompare(String(a.updated_at)));
}

const events = {
  opened: () => loadSessions().catch(() => {}),
  message(summary) {
    put(summary);
    state.session?.summarized(summary);
    refreshed();
  },
  changed(link) {
    state.link = link;
    changed();
  },
  // Tells whether the server is away or no longer knows this browser.
  failed: () => loadSessions().catch(() => {}),
  removed({ id }) {
    state.sessions.delete(id);
    if (state.session?.id === id) go('/');
    refreshed();
  },
};

/**
 * Follows the list of sessions. A browser has six connections for a server, so one tab reads the
 * stream for all tabs; the next one takes over if that tab is closed.
 */
export function followSessions() {
  unfollowSessions();
  const { locks } = navigator;
  const channel = locks && new BroadcastChannel('brynhild-sessions');
  const tell = name => value => {
    events[name](value);
    channel?.postMessage([name, value]);
  };
  const [opened, message, link, failed, removed] = ['opened', 'message', 'changed', 'failed', 'removed'].map(tell);
  const read = () => new Stream(() => '/v1/events', { opened, message, changed: link, failed, events: { removed } });
  if (!locks) {
    const stream = read();
    list = { close: () => stream.close() };
    return;
  }
  channel.onmessage = ({ data: [name, value] }) => events[name]?.(value);
  const leaving = new AbortController();
  let stream = null;
  let release = () => {};
  list = {
    close() {
      leaving.abort();
      channel.close();
      stream?.close();
      release();
    },
  };
  locks.request('brynhild-sessions', { signal: leaving.signal }, () => new Promise(resolve => {
    release = resolve;
    if (leaving.signal.aborted) resolve();
    else stream = read();
  })).catch(() => { /* this page left before it was its turn */ });
  // A page that waits for its turn has the list as it is now, then what the other page tells.
  loadSessions().then(() => { if (!stream) events.changed('open'); }).catch(() => {});
}

export function unfollowSessions() {
  list?.close();
  list = null;
}

/** Goes to an address of the page: `/`, or `/session/ID`. */
export function go(address) {
  location.hash = address;
}

export const addressOf = id => `/session/${encodeURIComponent(id)}`;
