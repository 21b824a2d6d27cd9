// The line above a conversation: title, directory, connection, and what can be done with the session.

import { html, useEffect, useRef, useState } from './vendor/preact-htm.js';
import { sessionPath } from './api.js';
import { shortPath } from './format.js';
import { Icon } from './icons.js';
import { changed, go, state } from './state.js';

const CONNECTIONS = { connecting: 'Connecting…', waiting: 'Reconnecting…' };

export function Connection({ link }) {
  const text = CONNECTIONS[link];
  return html`<span class="connection ${link}" role="status">${text ?? ''}</span>`;
}

function Title({ session }) {
  const [isEditing, edit] = useState(false);
  const input = useRef(null);
  const title = session.detail?.title || session.id;
  // Not a property of the element: an event of the session would put the old title back.
  useEffect(() => {
    if (!isEditing) return;
    input.current.value = title;
    input.current.select();
  }, [isEditing]);
  const save = () => {
    const text = input.current?.value.trim();
    edit(false);
    if (text && text !== title) session.change({ title: text });
  };
  const pressed = event => {
    if (event.key === 'Enter') save();
    else if (event.key === 'Escape') { event.stopPropagation(); edit(false); }
  };
  if (isEditing) return html`<input class="title-input" ref=${input} aria-label="Title" maxlength="200" onBlur=${save} onKeyDown=${pressed} />`;
  return html`<h1><button class="title" title="Rename" onClick=${() => edit(true)}>${title}</button></h1>`;
}

/** Shows the panel of this name, or hides it. */
export function toggle(panel) {
  state.panel = state.panel === panel ? null : panel;
  changed();
}

function Menu({ session }) {
  const [isOpen, open] = useState(false);
  const box = useRef(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    box.current.querySelector('[role=menuitem]').focus();
    const outside = event => { if (!box.current.contains(event.target)) open(false); };
    addEventListener('pointerdown', outside);
    return () => removeEventListener('pointerdown', outside);
  }, [isOpen]);
  const pressed = event => {
    const items = [...box.current.querySelectorAll('[role=menuitem]')];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      open(false);
      box.current.querySelector('button').focus();
    }
  };
  const choose = action => () => { open(false); action(); };
  const erase = () => {
    state.question = {
      title: 'Delete this session?', yes: 'Delete', text: `The log of “${session.detail?.title || session.id}” is deleted. Files stay as they are.`,
      action: async () => { if (await session.erase()) go('/'); },
    };
    changed();
  };
  const item = (label, action) => html`<button role="menuitem" onClick=${choose(action)}>${label}</button>`;
  return html`<span class="menu" ref=${box} onKeyDown=${isOpen ? pressed : undefined}>
    <button class="quiet" aria-label="More" aria-haspopup="menu" aria-expanded=${String(isOpen)} onClick=${() => open(!isOpen)}><${Icon} name="more" size="18" /></button>
    ${isOpen && html`<div class="menu-list" role="menu">
      ${item('Details', () => toggle('details'))}
      ${item('Todos', () => toggle('todos'))}
      <a role="menuitem" href=${sessionPath(session.id, 'export')} download=${`${session.id}.md`} onClick=${() => open(false)}>Export as Markdown</a>
      ${item('Compact the conversation', () => session.compact())}
      ${item('Clear the conversation', () => session.clear())}
      ${item('Delete…', erase)}
    </div>`}
  </span>`;
}

export function Header({ session }) {
  const { detail } = session;
  const todos = detail?.todos ?? [];
  const done = todos.filter(todo => todo.status === 'completed').length;
  return html`<header class="header">
    <button class="quiet drawer" aria-label="Sessions" onClick=${() => { state.isListOpen = true; changed(); }}><${Icon} name="menu" size="18" /></button>
    <div class="header-title"><${Title} session=${session} /><span class="soft directory" title=${detail?.cwd}>${shortPath(detail?.cwd)}</span></div>
    <${Connection} link=${session.link} />
    ${todos.length > 0 && html`<button class="chip ${state.panel === 'todos' ? 'pressed' : ''}" aria-pressed=${String(state.panel === 'todos')} onClick=${() => toggle('todos')}
      aria-label=${`Todos: ${done}/${todos.length} done`}><${Icon} name="list" size="14" /> ${done}/${todos.length}</button>`}
    <button class="chip ${state.panel === 'changes' ? 'pressed' : ''}" aria-pressed=${String(state.panel === 'changes')} aria-label="Changes" onClick=${() => toggle('changes')}>
      <${Icon} name="files" size="14" /> <span class="wide">Changes</span></button>
    <${Menu} session=${session} />
  </header>`;
}
