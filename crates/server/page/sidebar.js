// The list of all sessions of this machine, with their state and open questions.

import { html } from './vendor/preact-htm.js';
import { ago, count, shortPath } from './format.js';
import { Icon } from './icons.js';
import { canNotify, notifies, switchNotifications } from './notify.js';
import { addressOf, changed, complain, go, loadSessions, orderedSessions, search, state, toast } from './state.js';

const STATES = { running: 'running', asking: 'waits for an answer', elsewhere: 'open in another program', ended: 'closed' };

function Item({ session }) {
  const isCurrent = state.session?.id === session.id;
  const close = () => { state.isListOpen = false; changed(); };
  return html`<li><a class="item ${isCurrent ? 'current' : ''} ${session.questions > 0 ? 'asks' : ''}" href=${`#${addressOf(session.id)}`} aria-current=${isCurrent ? 'page' : undefined} onClick=${close}>
    ${STATES[session.state] ? html`<span class="dot ${session.state}" role="img" aria-label=${STATES[session.state]} title=${STATES[session.state]}></span>` : html`<span></span>`}
    <span class="item-title">${session.title || session.id}</span>
    ${session.questions > 0 && html`<span class="badge" aria-label=${count(session.questions, 'open question')}>${session.questions}</span>`}
    <span class="item-about" title=${session.cwd}>${shortPath(session.cwd)}</span>
    <time class="item-time" datetime=${session.updated_at}>${ago(session.updated_at)}</time>
  </a></li>`;
}

async function toggleNotifications() {
  try {
    toast((await switchNotifications()) ? 'A notification will tell when a question arrives' : 'No notifications');
  } catch (error) { complain(error); }
  changed();
}

export function Sidebar() {
  const all = orderedSessions();
  const asking = all.filter(session => session.questions > 0);
  const others = all.filter(session => !(session.questions > 0));
  const create = () => { state.isListOpen = false; go('/'); changed(); };
  return html`<nav class="sidebar" aria-label="Sessions">
    <div class="sidebar-head">
      <a class="brand" href="#/" onClick=${create}><img src="/assets/icon.svg" alt="" width="22" height="22" /> Brynhild</a>
      ${canNotify() && html`<button class="quiet" onClick=${toggleNotifications} aria-pressed=${String(notifies())}
        aria-label="Notify me about questions" title="Notify me about questions"><span class=${notifies() ? 'lit' : ''}><${Icon} name="bell" size="17" /></span></button>`}
    </div>
    <button class="new" onClick=${create}><${Icon} name="plus" /> New session</button>
    <label class="search"><${Icon} name="search" size="14" /><span class="hidden">Search sessions</span>
      <input id="search" type="search" placeholder="Search" value=${state.search} onInput=${event => search(event.target.value)} /></label>
    <div class="list">
      ${asking.length > 0 && html`<h2>Waiting for an answer</h2><ul>${asking.map(session => html`<${Item} key=${session.id} session=${session} />`)}</ul>`}
      ${asking.length > 0 && others.length > 0 && html`<h2>Sessions</h2>`}
      <ul>${others.map(session => html`<${Item} key=${session.id} session=${session} />`)}</ul>
      ${all.length === 0 && html`<p class="soft empty">${state.found ? 'Nothing found' : 'No sessions yet'}</p>`}
      ${!state.found && state.cursor && html`<button class="quiet more" onClick=${() => loadSessions(true).catch(complain)}>Show more</button>`}
    </div>
  </nav>`;
}
