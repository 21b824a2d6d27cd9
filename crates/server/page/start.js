// Views without an opened session: a new session, and the login.

import { html, useEffect, useState } from './vendor/preact-htm.js';
import { get, post, query } from './api.js';
import { ModeAndModel, PromptBox } from './composer.js';
import { Icon } from './icons.js';
import { addressOf, changed, complain, go, state } from './state.js';

const MODES = ['normal', 'ask', 'read-only', 'yolo'];
const NEW = 'new';
const DIRECTORY = 'brynhild-directory';

/** The directories of known sessions, the newest first. */
function directories() {
  const sessions = [...state.sessions.values()].sort((a, b) => String(b.updated_at).localeCompare(String(a.updated_at)));
  return [...new Set(sessions.map(session => session.cwd).filter(Boolean))];
}

export function NewSession({ open }) {
  const known = directories();
  const [typed, type] = useState(null);
  const [models, setModels] = useState([]);
  const [model, setModel] = useState('');
  const [mode, setMode] = useState('');
  const [error, setError] = useState(null);
  const [returned, setReturned] = useState(null);
  const cwd = (typed ?? localStorage.getItem(DIRECTORY) ?? known[0] ?? '').trim();
  useEffect(() => {
    let isGone = false;
    if (!cwd.startsWith('/')) return undefined;
    const timer = setTimeout(async () => {
      try {
        const reply = await get(`/v1/models${query({ cwd })}`);
        if (!isGone) setModels((reply.models ?? []).map(({ id }) => id));
      } catch { if (!isGone) setModels([]); }
    }, 200);
    return () => { isGone = true; clearTimeout(timer); };
  }, [cwd]);
  const start = async text => {
    setError(null);
    try {
      const detail = await post('/v1/sessions', { cwd, ...(model && { model }), ...(mode && { mode }) });
      localStorage.setItem(DIRECTORY, cwd);
      const session = open(detail.id, detail);
      if (text) session.send(text);
      go(addressOf(detail.id));
    } catch (failure) {
      setError(failure);
      if (text) setReturned({ text });
    }
  };
  const buttons = ({ text, submit }) => html`<div class="composer-buttons"><button class="round send" aria-label="Start" disabled=${!text.trim() || !cwd} onClick=${submit}><${Icon} name="send" /></button></div>`;
  return html`<div class="start">
    <header class="header plain-header"><button class="quiet drawer" aria-label="Sessions" onClick=${() => { state.isListOpen = true; changed(); }}><${Icon} name="menu" size="18" /></button></header>
    <div class="start-body">
      <h1>What should be done?</h1>
      <label class="field"><span>Directory</span>
        <input id="directory" list="directories" value=${cwd} placeholder="/home/…" autocomplete="off" spellcheck=${false} aria-invalid=${String(Boolean(error))}
          onInput=${event => { type(event.target.value); setError(null); }} /></label>
      <datalist id="directories">${known.map(path => html`<option value=${path} />`)}</datalist>
      <${PromptBox} id=${NEW} where=${{ cwd }} label="First prompt" placeholder="Ask anything…   / command   @ file" rows=${3} returned=${returned} send=${text => { start(text); }} extra=${buttons} />
      <div class="composer-line">
        <${ModeAndModel} mode=${mode || MODES[0]} modes=${MODES} changeMode=${setMode} model=${model || models[0] || ''} models=${models} changeModel=${setModel} />
        <button class="quiet" disabled=${!cwd} onClick=${() => start('')}>Open without a prompt</button>
      </div>
      ${error && html`<div class="notice error" role="alert"><${Icon} name="warning" size="15" /><div>${error.message}${error.hint && html`<div class="hint">${error.hint}</div>`}</div></div>`}
    </div>
  </div>`;
}

/** The code in a text: the whole link, its fragment, or the code alone. */
export const codeIn = text => text.trim().replace(/^.*#/, '');

export function Login({ login }) {
  const [code, setCode] = useState('');
  const [isBusy, busy] = useState(false);
  const { loginMessage: message } = state;
  const submit = async event => {
    event.preventDefault();
    busy(true);
    await login(codeIn(code)).catch(complain);
    busy(false);
  };
  return html`<main class="login">
    <form onSubmit=${submit}>
      <img src="/assets/icon.svg" alt="" width="40" height="40" />
      <h1>Brynhild</h1>
      ${message && html`<p role="alert" class="login-message">${message}</p>`}
      <p class="soft">Each link that <code>brynhild serve</code> prints works once. Open the latest one in this browser, or paste it here.</p>
      <label class="field"><span>Link or code</span><input value=${code} autocomplete="off" spellcheck=${false} onInput=${event => setCode(event.target.value)} /></label>
      <button class="primary" type="submit" disabled=${isBusy || !code.trim()}>Log in</button>
    </form>
  </main>`;
}
