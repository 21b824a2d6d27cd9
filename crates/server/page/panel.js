// The side panel of a session: changed files by turn with undo and redo, todos, details.

import { html, useEffect } from './vendor/preact-htm.js';
import { sessionPath } from './api.js';
import { Counts, Diff } from './diff.js';
import { count, inProject, money, tokens } from './format.js';
import { Icon } from './icons.js';
import { changed, state } from './state.js';

const CHANGE = { created: 'A', modified: 'M', deleted: 'D' };

function File({ file, project }) {
  const path = inProject(file.path, project);
  return html`<details class="changed-file">
    <summary><span class="change ${file.change}" title=${file.change} aria-label=${file.change}>${CHANGE[file.change] ?? '·'}</span>
      <span class="path">${path}</span>${file.diff && html`<${Counts} unified=${file.diff} />`}</summary>
    ${file.diff ? html`<${Diff} unified=${file.diff} />` : html`<p class="soft">No text to compare</p>`}
  </details>`;
}

function Changes({ session }) {
  useEffect(() => { if (!session.changes) session.loadChanges(); }, [session, session.changes]);
  const { changes } = session;
  const project = session.detail?.cwd;
  const turns = [...changes ?? []].reverse();
  return html`<div class="panel-buttons">
      <button onClick=${() => session.restore('undo')} disabled=${session.isRunning || !turns.length}>Undo last turn</button>
      <button onClick=${() => session.restore('redo')} disabled=${session.isRunning}>Redo</button>
    </div>
    ${!changes && html`<p class="soft">Loading…</p>`}
    ${changes && !turns.length && html`<p class="soft">No files were changed in this session.</p>`}
    ${turns.map(({ turn, files }) => html`<section class="turn" key=${turn} aria-label=${`Turn ${turn}`}>
      <h2>Turn ${turn} <span class="soft">${count(files.length, 'file')}</span></h2>
      ${files.map(file => html`<${File} key=${file.path} file=${file} project=${project} />`)}
    </section>`)}`;
}

const TODO = { completed: 'done', in_progress: 'in progress', pending: 'open' };

function Todos({ session }) {
  const todos = session.detail?.todos ?? [];
  if (!todos.length) return html`<p class="soft">The model has no list of todos.</p>`;
  return html`<ul class="todos">${todos.map(({ content, status }) => html`<li class=${status}>
    <span class="box" role="img" aria-label=${TODO[status] ?? String(status)}>${status === 'completed' && html`<${Icon} name="check" size="12" />`}</span>
    <span>${String(content)}</span></li>`)}</ul>`;
}

function Details({ session }) {
  const { detail } = session;
  if (!detail) return null;
  const { usage = {}, context } = detail;
  const rows = [
    ['Directory', detail.cwd], ['Session', detail.id], ['Provider', detail.provider], ['Model', detail.model], ['Mode', detail.mode],
    ['Tokens in', usage.input_tokens ? `${tokens(usage.input_tokens)}${usage.cached_tokens ? ` (${tokens(usage.cached_tokens)} cached)` : ''}` : ''],
    ['Tokens out', usage.output_tokens ? `${tokens(usage.output_tokens)}${usage.reasoning_tokens ? ` (${tokens(usage.reasoning_tokens)} reasoning)` : ''}` : ''],
    ['Cost', `${money(detail.cost)}${detail.cost && usage.unpriced ? ' and an unknown part' : ''}`],
    ['Context', context?.size ? `${tokens(context.used)} of ${tokens(context.size)}` : ''],
  ].filter(([, value]) => value);
  return html`<dl class="details">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
    <div class="panel-buttons"><a class="button" href=${sessionPath(session.id, 'export')} download=${`${session.id}.md`}>Export as Markdown</a></div>`;
}

const TABS = [['changes', 'Changes', Changes], ['todos', 'Todos', Todos], ['details', 'Details', Details]];

export function Panel({ session }) {
  const show = panel => { state.panel = panel; changed(); };
  const [, , Content] = TABS.find(([name]) => name === state.panel) ?? TABS[0];
  const pressed = event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      const at = TABS.findIndex(([name]) => name === state.panel);
      show(TABS[(at + step + TABS.length) % TABS.length][0]);
      requestAnimationFrame(() => document.querySelector('.panel [aria-selected=true]')?.focus());
    }
  };
  return html`<aside class="panel" aria-label="Session panel">
    <div class="panel-head">
      <div role="tablist" aria-label="Panel" onKeyDown=${pressed}>${TABS.map(([name, label]) => html`<button role="tab" id=${`tab-${name}`} aria-selected=${String(state.panel === name)}
        aria-controls="panel-content" tabindex=${state.panel === name ? 0 : -1} onClick=${() => show(name)}>${label}</button>`)}</div>
      <button class="quiet" aria-label="Close the panel" onClick=${() => show(null)}><${Icon} name="close" /></button>
    </div>
    <div class="panel-content" id="panel-content" role="tabpanel" aria-labelledby=${`tab-${state.panel}`} tabindex="0"><${Content} session=${session} /></div>
  </aside>`;
}
