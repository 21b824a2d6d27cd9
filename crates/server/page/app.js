// The page of `brynhild serve`: logs in, follows the sessions, and shows the one in the address.
// The fragment of the address is either the code of a login link, which leaves it at once, or a
// place in the page: `#/` or `#/session/ID`.

import { html, render, useEffect, useRef, useState } from './vendor/preact-htm.js';
import { get, isUnreached, post, whenLoggedOut } from './api.js';
import { Composer } from './composer.js';
import { Connection, Header } from './header.js';
import { Icon } from './icons.js';
import { setTitle } from './notify.js';
import { Panel } from './panel.js';
import { Questions } from './question.js';
import { Session } from './session.js';
import { Sidebar } from './sidebar.js';
import { Login, NewSession } from './start.js';
import { changed, dismiss, followSessions, go, state, unfollowSessions, watch } from './state.js';
import { Transcript } from './transcript.js';

function takeCode() {
  const fragment = location.hash.slice(1);
  if (!fragment || fragment.startsWith('/')) return '';
  history.replaceState(null, '', location.pathname);
  return fragment;
}

function open(id, detail) {
  if (state.session?.id === id) return state.session;
  state.session?.close();
  state.session = new Session(id);
  if (detail) state.session.accept(detail);
  changed();
  return state.session;
}

function follow() {
  const code = takeCode();
  if (code) {
    login(code);
    return;
  }
  const [, id] = /^#\/session\/([\w-]+)$/.exec(location.hash) ?? [];
  if (id) open(id);
  else {
    state.session?.close();
    state.session = null;
    state.panel = null;
  }
  changed();
}

function enter() {
  state.phase = 'ready';
  state.loginMessage = null;
  followSessions();
  follow();
}

function leave(message) {
  if (state.phase === 'login') return;
  state.phase = 'login';
  state.loginMessage = message;
  unfollowSessions();
  state.session?.close();
  state.session = null;
  setTitle('');
  changed();
}

async function login(code) {
  try {
    await post('/v1/login', { code });
    enter();
  } catch (error) {
    if (isUnreached(error)) throw error;
    // A page that is logged in already needs no link: it may be one that was opened twice.
    if (await isLoggedIn()) {
      enter();
      return;
    }
    state.phase = 'starting';
    leave('This link has expired or was used before.');
  }
}

async function isLoggedIn() {
  try {
    await get('/v1/sessions?limit=1');
    return true;
  } catch (error) {
    if (isUnreached(error)) throw error;
    return false;
  }
}

async function start() {
  const code = takeCode();
  try {
    if (code) await login(code);
    else if (await isLoggedIn()) enter();
    else { state.phase = 'starting'; leave(null); }
  } catch {
    state.phase = 'starting';
    leave('The server is not reachable.');
    setTimeout(start, 3000);
  }
}

function Dialog() {
  const box = useRef(null);
  const { question } = state;
  useEffect(() => { box.current?.showModal(); }, [question]);
  if (!question) return null;
  const close = () => { state.question = null; changed(); };
  const accept = () => { close(); question.action(); };
  return html`<dialog ref=${box} onClose=${close} aria-labelledby="dialog-title">
    <h2 id="dialog-title">${question.title}</h2><p>${question.text}</p>
    <div class="answers"><button class="danger" onClick=${accept}>${question.yes}</button><button onClick=${close} autofocus>Cancel</button></div>
  </dialog>`;
}

function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">${state.toasts.map(item => html`<div class="toast ${item.level}" key=${item.key}>
    <div>${item.text}${item.hint && html`<div class="hint">${item.hint}</div>`}</div>
    <button class="quiet" aria-label="Dismiss" onClick=${() => dismiss(item)}><${Icon} name="close" size="14" /></button></div>`)}</div>`;
}

function Missing({ error }) {
  return html`<div class="start-body"><h1>No such session</h1><p class="soft">${error.message}</p><p><a href="#/">New session</a></p></div>`;
}

function Main({ session }) {
  if (!session) return html`<${NewSession} open=${open} />`;
  if (session.missing) return html`<${Missing} error=${session.missing} />`;
  return html`<div class="session" key=${session.id}>
    <${Header} session=${session} />
    <${Transcript} session=${session} />
    <div class="dock"><${Questions} session=${session} /><${Composer} session=${session} /></div>
  </div>`;
}

function App() {
  const [, draw] = useState(0);
  useEffect(() => {
    watch(() => draw(number => number + 1));
    // Times of the list grow older.
    setInterval(changed, 30_000);
  }, []);
  const { phase, session, panel, isListOpen } = state;
  useEffect(() => { if (phase === 'ready') setTitle(session ? session.detail?.title || session.id : ''); });
  if (phase === 'starting') return html`<div class="login"></div>`;
  if (phase === 'login') return html`<${Login} login=${login} /><${Toasts} />`;
  const closeList = () => { state.isListOpen = false; changed(); };
  return html`<div class="frame ${isListOpen ? 'list-open' : ''} ${panel && session ? 'panel-open' : ''}">
      <${Sidebar} />
      <div class="shade" onClick=${closeList}></div>
      <main class="main">
        ${state.link === 'waiting' && html`<div class="offline" role="status"><${Connection} link="waiting" /> The server does not answer. The page connects again by itself.</div>`}
        <${Main} session=${session} />
      </main>
      ${panel && session && html`<${Panel} session=${session} />`}
    </div><${Dialog} /><${Toasts} />`;
}

addEventListener('hashchange', follow);
addEventListener('keydown', event => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    state.isListOpen = true;
    changed();
    requestAnimationFrame(() => document.getElementById('search')?.focus());
  } else if (event.key === 'Escape' && !event.defaultPrevented && !state.question) {
    if (state.isListOpen) state.isListOpen = false;
    else if (state.panel) state.panel = null;
    else if (state.session?.isRunning) state.session.interrupt();
    changed();
  }
});
// The user may have logged in from another tab.
document.addEventListener('visibilitychange', () => {
  if (state.phase === 'login' && document.visibilityState === 'visible') isLoggedIn().then(is => { if (is) enter(); }, () => {});
});
whenLoggedOut(() => { if (state.phase === 'ready') leave('The server was started again, or the login has expired.'); });
render(html`<${App} />`, document.getElementById('app'));
start();
