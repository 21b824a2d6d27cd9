// The card that asks about a tool call: the whole command or change, its needs, and the answers that
// the terminal offers too. Answers are locked for a moment, so that a click or key meant for
// something else does not answer.

import { html, useEffect, useRef, useState } from './vendor/preact-htm.js';
import { hasKeyboard } from './composer.js';
import { Counts, Diff } from './diff.js';
import { inProject, pretty } from './format.js';
import { Icon } from './icons.js';
import { cautions, oneLine, unmasked } from './masks.js';

const LOCKED = 300;
const LOCKED_FOR_WRITERS = 1000;
const WRITING = 2000;

let lastTyped = 0;
addEventListener('keydown', ({ target }) => { if (target.tagName === 'TEXTAREA') lastTyped = Date.now(); }, true);

const of = (event, kind) => (event.actions ?? []).filter(action => action.action === kind);

function needs(event, project) {
  const found = [];
  const hosts = of(event, 'connect').map(action => (action.host === '*' ? 'any host' : oneLine(action.host)));
  if (of(event, 'run').length && hosts.length) found.push(`Needs the network: ${hosts.join(', ')}`);
  if (of(event, 'leave_sandbox').length) found.push('Runs outside the sandbox');
  for (const { path } of of(event, 'write')) {
    if (project && !String(path).startsWith(`${project}/`)) found.push(`Writes outside the project: ${oneLine(path)}`);
  }
  return found;
}

/** The question in a few words. */
export function title(event, project) {
  if (needs(event, project).length) return 'Leave the sandbox?';
  if (of(event, 'run').length) return 'Run this command?';
  const [write] = of(event, 'write');
  if (write) return `Edit ${oneLine(inProject(write.path, project))}?`;
  const [connect] = of(event, 'connect');
  if (connect) return `Connect to ${oneLine(connect.host)}?`;
  const [read] = of(event, 'read');
  if (read) return `Read ${oneLine(inProject(read.path, project))}?`;
  return event.actions?.length ? `Use the tool ${oneLine(event.tool)}?` : `Allow ${oneLine(event.tool)}?`;
}

/** The target of a rule in plain words: `Bash(cargo test:*)` allows `cargo test`. */
function target(rule, project) {
  const [, tool, pattern] = /^([^(]+)\((.*)\)$/s.exec(oneLine(rule)) ?? [];
  if (!tool) return /^(Write|Edit)$/.test(rule) ? 'edits' : `the tool ${oneLine(rule)}`;
  const words = pattern.replace(/[:* ]+$/, '');
  if (tool === 'Bash') return `\`${words}\``;
  if (tool === 'Host') return pattern === '*' ? 'any host' : pattern;
  if (tool === 'Outside') return `\`${words}\` outside the sandbox`;
  if (/^(Write|Edit)$/.test(tool)) return pattern.endsWith('**') ? 'edits' : `edits of ${inProject(pattern, project)}`;
  if (tool === 'Read') return `reading ${inProject(pattern, project)}`;
  return words ? `${tool} ${pattern}` : `the tool ${tool}`;
}

function listed(items) {
  if (items.length > 3) return `${items.slice(0, 3).join(', ')} and ${items.length - 3} more`;
  return items.length > 1 ? `${items.slice(0, -1).join(', ')} and ${items[items.length - 1]}` : items[0] ?? '';
}

function Verbatim({ text, label }) {
  const whole = String(text ?? '');
  return html`<pre class="verbatim" tabindex="0" aria-label=${label}>${unmasked(whole)}</pre>
    ${cautions(whole).map(caution => html`<div class="caution">${caution}</div>`)}`;
}

function About({ event, project }) {
  const runs = of(event, 'run');
  const writes = of(event, 'write');
  const isCommand = runs.length > 0;
  let isArgsShown = false;
  const args = () => {
    if (isArgsShown || event.args === undefined || event.args === null) return null;
    isArgsShown = true;
    return html`<${Verbatim} text=${pretty(event.args)} label="Arguments" />`;
  };
  const parts = (event.actions ?? []).map(action => {
    switch (action.action) {
      case 'run': return html`<${Verbatim} text=${action.command} label="Command" />
        ${action.cwd && action.cwd !== project && html`<div class="soft">in ${oneLine(inProject(action.cwd, project))}</div>`}`;
      case 'write':
        if (action.diff) {
          return html`<div class="file"><span class="path">${oneLine(inProject(action.path, project))}</span> <${Counts} unified=${action.diff} /></div>
            <${Diff} unified=${action.diff} whole=${true} clean=${unmasked} />
            ${cautions(action.diff).map(caution => html`<div class="caution">${caution}</div>`)}`;
        }
        return isCommand ? null : html`<div class="file path">${oneLine(inProject(action.path, project))}</div>${args()}`;
      case 'read':
        return isCommand || writes.some(write => write.path === action.path) ? null : html`<div>Reads <span class="path">${oneLine(inProject(action.path, project))}</span></div>`;
      case 'connect': return isCommand ? null : html`<div>Connects to <strong>${oneLine(action.host)}</strong></div>`;
      case 'opaque': return html`<div><strong>${oneLine(action.what)}</strong></div>${args()}`;
      default: return null;
    }
  });
  const reason = (isCommand || needs(event, project).length > 0) && typeof event.args?.reason === 'string' ? event.args.reason.trim() : '';
  return html`${parts}${parts.length === 0 && args()}
    ${needs(event, project).map(need => html`<div class="need">${need}</div>`)}
    ${reason && html`<div>The model's reason: ${oneLine(reason)}</div>`}
    ${event.why && html`<div class="soft">${oneLine(event.why)}</div>`}`;
}

/** The answers, in the order of the keys from 1 that give them. */
function offers(event, project) {
  const targets = [...new Set((event.remember ?? []).map(rule => target(rule, project)))];
  const list = [{ answer: 'once', label: 'Yes, once' }];
  if (targets.length) {
    const what = listed(targets);
    list.push({ answer: 'project', label: `Yes, and always allow ${what} in this project` });
    list.push({ answer: 'session', label: 'Yes, for this session' });
    list.push({ answer: 'always', label: `Yes, and always allow ${what} everywhere` });
  }
  list.push({ answer: 'deny', label: 'No, and tell the model why' });
  return list;
}

function Card({ session, event, number, total, turn }) {
  const [isLocked, lock] = useState(true);
  const [isDenying, deny] = useState(false);
  const [isSending, sending] = useState(false);
  const card = useRef(null);
  const reason = useRef(null);
  const project = session.detail?.cwd ?? session.transcript.cwd;
  const list = offers(event, project);
  const isDestructive = event.destructive === true;
  useEffect(() => {
    const timer = setTimeout(() => lock(false), Date.now() - lastTyped < WRITING ? LOCKED_FOR_WRITERS : LOCKED);
    // A user who writes keeps the cursor.
    const active = document.activeElement;
    if (!active || active === document.body || (active.tagName === 'TEXTAREA' && !active.value)) {
      card.current.focus({ preventScroll: true });
    }
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => { if (isDenying) reason.current.focus(); }, [isDenying]);
  const give = async answer => {
    if (isLocked || isSending) return;
    sending(true);
    await session.answer(event.call, answer);
    sending(false);
    // On a phone this would open the keyboard.
    if (hasKeyboard()) document.getElementById('prompt')?.focus({ preventScroll: true });
  };
  const choose = ({ answer }) => (answer === 'deny' ? !isLocked && deny(true) : give({ answer }));
  const refuse = submit => {
    submit.preventDefault();
    const why = reason.current.value.trim();
    give(why ? { answer: 'deny', reason: why } : { answer: 'deny' });
  };
  const pressed = key => {
    if (key.ctrlKey || key.metaKey || key.altKey || session.isElsewhere) return;
    if (key.target.tagName === 'INPUT') {
      if (key.key === 'Escape') { key.stopPropagation(); deny(false); card.current.focus(); }
      return;
    }
    // Digits only: a letter may be the first one of a message.
    const offer = list[Number(key.key) - 1];
    if (key.key === 'Escape') { key.stopPropagation(); give({ answer: 'cancel' }); } else if (offer) choose(offer);
    else if (key.key === 'Enter' && key.target === card.current) choose(isDestructive ? list[list.length - 1] : list[0]);
    else return;
    key.preventDefault();
  };
  return html`<section class="question ${isDestructive ? 'destructive' : ''}" role="alertdialog" tabindex="-1" ref=${card} onKeyDown=${pressed}
      aria-labelledby="question-title" aria-describedby="question-about">
    <header>
      <span class="question-sign"><${Icon} name=${isDestructive ? 'warning' : 'question'} size="18" /></span>
      <h2 id="question-title">${title(event, project)}</h2>
      ${event.within?.agent && html`<span class="tag">agent ${oneLine(event.within.agent)}</span>`}
      ${isDestructive && html`<span class="tag danger">destructive</span>`}
      ${total > 1 && html`<span class="turner">
        <button class="quiet" aria-label="Previous question" onClick=${() => turn(-1)}><${Icon} name="back" /></button>
        ${number} of ${total}
        <button class="quiet" aria-label="Next question" onClick=${() => turn(1)}><${Icon} name="chevron" /></button></span>`}
    </header>
    <div class="about" id="question-about"><${About} event=${event} project=${project} />
      ${isDestructive && html`<div class="need danger">This may destroy data that undo does not restore.</div>`}</div>
    ${session.isElsewhere ? html`<div class="answers soft">Another program has opened this session: answer there.</div>` : isDenying
      ? html`<form class="answers denying" onSubmit=${refuse}>
          <input type="text" ref=${reason} placeholder="Reason for the model (may be empty)" aria-label="Reason" maxlength="4000" />
          <button class="danger" type="submit" disabled=${isSending}>Deny</button>
          <button type="button" onClick=${() => deny(false)}>Back</button></form>`
      : html`<div class="answers">
          ${list.map((offer, at) => html`<button class="answer ${at === (isDestructive ? list.length - 1 : 0) ? 'default' : ''}" data-answer=${offer.answer}
            disabled=${isLocked || isSending} onClick=${() => choose(offer)}><kbd>${at + 1}</kbd><span>${offer.label}</span></button>`)}
          <button class="answer cancel" data-answer="cancel" disabled=${isLocked || isSending} onClick=${() => give({ answer: 'cancel' })}><kbd>Esc</kbd><span>Stop the turn</span></button>
        </div>`}
  </section>`;
}

/** The open questions of a session, one card at a time. */
export function Questions({ session }) {
  const [place, setPlace] = useState(0);
  const all = session.questions;
  if (!all.length) return null;
  const at = Math.min(place, all.length - 1);
  const turn = step => setPlace((at + step + all.length) % all.length);
  return html`<${Card} key=${all[at].call} session=${session} event=${all[at]} number=${at + 1} total=${all.length} turn=${turn} />`;
}
