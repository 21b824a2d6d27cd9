// The conversation: blocks in their order, scrolled to the end while the user is there.

import { html, Component, useLayoutEffect, useRef, useState } from './vendor/preact-htm.js';
import { count, duration, money, outcomeInWords, tokens } from './format.js';
import { Icon } from './icons.js';
import { Markdown } from './markdown.js';
import { changed, state } from './state.js';
import { Tool } from './tool.js';

const NEAR_END = 80;

function Thinking({ block }) {
  const [isOpen, open] = useState(false);
  const words = block.text.trim().split(/\s+/).length;
  return html`<div class="thinking">
    <button class="quiet" aria-expanded=${String(isOpen)} onClick=${() => open(!isOpen)}>
      <span class="chevron ${isOpen ? 'down' : ''}"><${Icon} name="chevron" size="14" /></span>
      ${block.isLive ? 'Thinking…' : `Thought, ${count(words, 'word')}`}</button>
    ${isOpen && html`<div class="plain soft">${block.text}</div>`}
  </div>`;
}

function Injected({ block }) {
  const [isOpen, open] = useState(false);
  return html`<div class="injected">
    <button class="quiet" aria-expanded=${String(isOpen)} onClick=${() => open(!isOpen)}>
      <span class="chevron ${isOpen ? 'down' : ''}"><${Icon} name="chevron" size="14" /></span>
      Message for the model <span class="soft">from ${block.origin}</span></button>
    ${isOpen && html`<div class="plain soft">${block.text}</div>`}
  </div>`;
}

function End({ block }) {
  const { outcome, usage, seconds, files } = block;
  const words = outcomeInWords(outcome);
  const isBad = ['failed', 'blocked', 'stuck', 'limited'].includes(outcome.outcome);
  const showChanges = () => { state.panel = 'changes'; changed(); };
  const facts = [
    duration(seconds),
    usage.output_tokens ? `${tokens(usage.input_tokens)} in, ${tokens(usage.output_tokens)} out` : '',
    money(usage.cost_usd),
  ].filter(Boolean);
  return html`<div class="end ${isBad ? 'bad' : ''}">
    ${words && html`<div class="outcome">${words}${outcome.hint && html`<div class="hint">${outcome.hint}</div>`}
      ${outcome.outcome === 'finished' && outcome.summary && html`<div class="hint">${outcome.summary}</div>`}</div>`}
    <div class="facts">
      ${files.length > 0 && html`<button class="chip" onClick=${showChanges}><${Icon} name="files" size="13" /> ${count(files.length, 'file')} changed</button>`}
      <span>${facts.join(' · ')}</span>
    </div>
  </div>`;
}

function Line({ block }) {
  if (!block.more) return html`<div class="line">${block.text}</div>`;
  return html`<details class="line"><summary>${block.text}</summary><div class="plain">${block.more}</div></details>`;
}

class Block extends Component {
  shouldComponentUpdate(next) {
    return next.version !== this.version || next.block !== this.props.block;
  }

  render({ block, version }) {
    this.version = version;
    switch (block.kind) {
      case 'user': return html`<div class="user" data-turn=${block.turn}><div class="plain">${block.text}</div></div>`;
      case 'text': return block.isLive
        ? html`<div class="reply live"><div class="plain">${block.text}</div></div>`
        : html`<div class="reply"><${Markdown} text=${block.text} /></div>`;
      case 'thinking': return html`<${Thinking} block=${block} version=${version} />`;
      case 'arriving': return html`<div class="tool running"><div class="tool-head"><span class="sign running"><span class="spinner"></span></span>
        <span class="tool-name">${block.name}</span><span class="gist soft">…</span></div></div>`;
      case 'injected': return html`<${Injected} block=${block} />`;
      case 'notice': return html`<div class="notice ${block.level}"><${Icon} name=${block.level === 'info' ? 'info' : 'warning'} size="15" />
        <div>${block.text.trimEnd().includes('\n') ? html`<pre>${block.text.trimEnd()}</pre>` : block.text}${block.hint && html`<div class="hint">${block.hint}</div>`}</div></div>`;
      case 'end': return html`<${End} block=${block} />`;
      default: return html`<${Line} block=${block} />`;
    }
  }
}

export function Blocks({ blocks, isRunning, project }) {
  return blocks.map(block => (block.kind === 'tool'
    ? html`<${Tool} key=${block.key} block=${block} version=${block.version} isRunning=${isRunning} project=${project} blocks=${Blocks} />`
    : html`<${Block} key=${block.key} block=${block} version=${block.version} />`));
}

export function Transcript({ session }) {
  const box = useRef(null);
  const isAtEnd = useRef(true);
  const [isAway, setAway] = useState(false);
  const { transcript } = session;
  const project = session.detail?.cwd ?? transcript.cwd;
  useLayoutEffect(() => { isAtEnd.current = true; setAway(false); }, [session]);
  useLayoutEffect(() => {
    if (isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  });
  // What opens below or around the transcript changes its height as well.
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => { if (isAtEnd.current) box.current.scrollTop = box.current.scrollHeight; });
    observer.observe(box.current);
    observer.observe(box.current.firstElementChild);
    return () => observer.disconnect();
  }, [session]);
  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
    if (isAway === isAtEnd.current) setAway(!isAtEnd.current);
  };
  const toEnd = () => { box.current.scrollTop = box.current.scrollHeight; };
  const earlier = async () => {
    const before = box.current.scrollHeight - box.current.scrollTop;
    isAtEnd.current = false;
    await session.loadEarlier();
    requestAnimationFrame(() => { box.current.scrollTop = box.current.scrollHeight - before; });
  };
  const isWaiting = session.state === 'running' && !transcript.lane.draft.length &&
    !transcript.blocks.some(block => block.kind === 'tool' && block.state !== 'done');
  return html`<div class="transcript-frame">
    <div class="transcript" ref=${box} onScroll=${scrolled} tabindex="0" role="log" aria-label="Conversation" aria-live="off">
      <div class="column">
        ${session.from > 1 && html`<button class="chip earlier" disabled=${session.isLoadingEarlier} onClick=${earlier}>Show earlier messages</button>`}
        <${Blocks} blocks=${transcript.blocks} isRunning=${session.isRunning} project=${project} />
        ${isWaiting && html`<div class="waiting"><span class="spinner"></span> Waiting for the model</div>`}
        ${session.unsent.map(item => html`<div class="user unsent" key=${item.id}><div class="plain">${item.text}</div>
          <div class="soft">${item.state === 'waiting' ? 'Not sent yet: no connection' : session.isRunning ? 'The model reads this at its next step' : 'Sending'}</div></div>`)}
      </div>
    </div>
    ${isAway && html`<button class="to-end" onClick=${toEnd} aria-label="Scroll to the end"><${Icon} name="down" /></button>`}
  </div>`;
}
