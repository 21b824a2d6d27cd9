// The box for prompts, and below it what the model is and how much room it has.

import { html, useEffect, useLayoutEffect, useRef, useState } from './vendor/preact-htm.js';
import { Completion } from './completion.js';
import { money, tokens } from './format.js';
import { Icon } from './icons.js';

const TALLEST = 240;
export const hasKeyboard = () => !matchMedia('(pointer: coarse)').matches;

const draftKey = id => `brynhild-draft-${id}`;

/** A text box with completion. `send(text)` returns false to keep the text. */
export function PromptBox({ id, where, placeholder, send, extra, label, rows = 1, onEscape, returned }) {
  const box = useRef(null);
  const [text, setText] = useState(() => sessionStorage.getItem(draftKey(id)) ?? '');
  const [proposals, setProposals] = useState({ items: [], word: null, at: 0 });
  const completion = useRef(null);
  useEffect(() => {
    completion.current = new Completion(where, (items, word) => setProposals({ items, word, at: 0 }));
    setText(sessionStorage.getItem(draftKey(id)) ?? '');
    if (hasKeyboard() && document.activeElement?.tagName !== 'INPUT') box.current.focus({ preventScroll: true });
    return () => completion.current.stop();
  }, [id, where.cwd]);
  useEffect(() => { if (returned && !box.current.value) write(returned.text, 0); }, [returned]);
  useLayoutEffect(() => {
    box.current.style.height = 'auto';
    box.current.style.height = `${Math.min(box.current.scrollHeight + 2, TALLEST)}px`;
  }, [text]);
  const write = (value, cursor) => {
    setText(value);
    if (value) sessionStorage.setItem(draftKey(id), value);
    else sessionStorage.removeItem(draftKey(id));
    completion.current.look(value, cursor);
  };
  const close = () => { completion.current.stop(); setProposals({ items: [], word: null, at: 0 }); };
  const take = ({ insert }) => {
    const { start, end } = proposals.word;
    const value = text.slice(0, start) + insert + text.slice(end).replace(/^ /, '');
    close();
    write(value, 0);
    const cursor = start + insert.length;
    requestAnimationFrame(() => { box.current.focus(); box.current.setSelectionRange(cursor, cursor); });
  };
  const submit = () => {
    const words = text.trim();
    if (!words || send(words) === false) return;
    close();
    write('', 0);
  };
  const pressed = key => {
    if (key.isComposing) return;
    const { items, at } = proposals;
    if (items.length) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[key.key];
      if (step) setProposals({ ...proposals, at: (at + step + items.length) % items.length });
      else if (key.key === 'Tab' || (key.key === 'Enter' && !key.shiftKey)) take(items[at]);
      else if (key.key === 'Escape') close();
      else return;
      key.preventDefault();
      key.stopPropagation();
      return;
    }
    if (key.key === 'Enter' && !key.shiftKey && !key.altKey && (hasKeyboard() || key.ctrlKey || key.metaKey)) {
      key.preventDefault();
      submit();
    } else if (key.key === 'Escape' && onEscape) {
      key.stopPropagation();
      onEscape();
    }
  };
  const { items, at } = proposals;
  return html`<div class="prompt-box">
    ${items.length > 0 && html`<ul class="proposals" role="listbox" id="proposals" aria-label="Proposals">
      ${items.map((item, index) => html`<li role="option" id=${`proposal-${index}`} aria-selected=${String(index === at)} key=${item.name}
        onMouseDown=${event => { event.preventDefault(); take(item); }}><span class="proposal-name">${item.name}</span>
        <span class="soft">${item.about}</span></li>`)}
    </ul>`}
    <textarea id="prompt" ref=${box} rows=${rows} value=${text} placeholder=${placeholder} aria-label=${label} spellcheck=${false} enterkeyhint="send"
      aria-haspopup="listbox" aria-controls=${items.length ? 'proposals' : undefined} aria-autocomplete="list"
      aria-activedescendant=${items.length ? `proposal-${at}` : undefined}
      onInput=${event => write(event.target.value, event.target.selectionStart)} onKeyDown=${pressed} onBlur=${close}></textarea>
    ${extra({ text, submit })}
  </div>`;
}

function Select({ label, value, values, change, names = {} }) {
  const all = values.includes(value) || !value ? values : [value, ...values];
  return html`<span class="select">
    <select value=${value} aria-label=${label} title=${label} onChange=${event => change(event.target.value)}>
      ${all.map(item => html`<option value=${item} selected=${item === value}>${names[item] ?? item}</option>`)}
    </select></span>`;
}

export function ModeAndModel({ mode, modes, model, models, changeMode, changeModel }) {
  return html`${modes.length > 0 && html`<${Select} label="Mode" value=${mode} values=${modes} change=${changeMode} />`}
    ${models.length > 0 && html`<${Select} label="Model" value=${model} values=${models} change=${changeModel} />`}`;
}

function Meter({ detail }) {
  const { context, usage, cost } = detail;
  const share = context?.size ? Math.min(1, context.used / context.size) : null;
  const used = share === null ? '' : `${Math.round(share * 100)} %`;
  const title = [context?.size ? `Context: ${tokens(context.used)} of ${tokens(context.size)} tokens` : '',
    usage ? `Tokens: ${tokens(usage.input_tokens)} in, ${tokens(usage.output_tokens)} out` : ''].filter(Boolean).join('\n');
  return html`<span class="meter" title=${title}>
    ${share !== null && html`<progress class=${share > 0.8 ? 'high' : ''} max="1" value=${share} aria-label="Context in use"></progress><span>${used}</span>`}
    ${usage?.input_tokens > 0 && html`<span class="wide">${tokens(usage.input_tokens)} in, ${tokens(usage.output_tokens)} out</span>`}
    ${typeof cost === 'number' && html`<span>${money(cost)}</span>`}
  </span>`;
}

export function Composer({ session }) {
  const { detail, isRunning } = session;
  const cwd = detail?.cwd ?? '';
  const [returned, setReturned] = useState(null);
  session.onReturned = text => setReturned({ text });
  const send = text => { session.send(text); };
  const stop = () => session.interrupt();
  const buttons = ({ text, submit }) => html`<div class="composer-buttons">
    ${isRunning && html`<button class="round stop" onClick=${stop} aria-label="Stop" title="Stop (Esc)"><${Icon} name="stop" /></button>`}
    ${(!isRunning || text.trim()) && html`<button class="round send" disabled=${!text.trim()} onClick=${submit}
      aria-label=${isRunning ? 'Send to the model at work' : 'Send'} title=${isRunning ? 'The model reads it at its next step' : 'Send (Enter)'}><${Icon} name="send" /></button>`}
  </div>`;
  return html`<div class="composer">
    ${session.isElsewhere && html`<div class="banner">Another program has opened this session. It can be read here.</div>`}
    <${PromptBox} id=${session.id} where=${{ session: session.id, cwd }} send=${send} extra=${buttons} label="Prompt" returned=${returned}
      placeholder=${isRunning ? 'Steer the model at work…' : 'Ask anything…   / command   @ file'} onEscape=${() => isRunning && stop()} />
    ${detail && html`<div class="composer-line">
      <${ModeAndModel} mode=${detail.mode} modes=${detail.modes ?? []} model=${detail.model} models=${detail.models ?? []}
        changeMode=${mode => session.change({ mode })} changeModel=${model => session.change({ model })} />
      <${Meter} detail=${detail} />
    </div>`}
  </div>`;
}
