// Replies as elements. The server turns Markdown into trees of known tags; this module turns trees
// into elements. No text ever becomes HTML. Until its tree has arrived, a text is shown as it is.

import { h, html, Component, useState } from './vendor/preact-htm.js';
import { post } from './api.js';

const TAGS = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'em', 'strong',
  'del', 'a', 'hr', 'br', 'table', 'tr', 'th', 'td']);
const LONGEST_BATCH = 200_000;
const MOST_TREES = 2000;

const trees = new Map();
let waiting = new Map();
let isAsking = false;

async function ask() {
  if (isAsking || !waiting.size) return;
  isAsking = true;
  const batch = [];
  let size = 0;
  for (const [text, listeners] of waiting) {
    if (batch.length && size + text.length > LONGEST_BATCH) break;
    batch.push([text, listeners]);
    size += text.length;
  }
  for (const [text] of batch) waiting.delete(text);
  try {
    const reply = await post('/v1/markdown', { texts: batch.map(([text]) => text) });
    batch.forEach(([text, listeners], at) => {
      trees.set(text, reply.trees[at]);
      for (const tell of listeners) tell();
    });
    while (trees.size > MOST_TREES) trees.delete(trees.keys().next().value);
  } catch { /* the texts stay plain; opening the session again asks again */ }
  isAsking = false;
  ask();
}

function request(text, listener) {
  const listeners = waiting.get(text) ?? new Set();
  waiting.set(text, listeners.add(listener));
  queueMicrotask(ask);
}

const plainText = nodes => (nodes ?? []).map(node => (typeof node === 'string' ? node : plainText(node?.c))).join('');

function CodeBlock({ language, text }) {
  const [isCopied, copied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      copied(true);
      setTimeout(() => copied(false), 1500);
    } catch { /* the browser forbids it */ }
  };
  return html`<div class="code-block">
    <div class="code-head"><span>${language}</span><button class="quiet" onClick=${copy}>${isCopied ? 'Copied' : 'Copy'}</button></div>
    <pre tabindex="0"><code>${text}</code></pre>
  </div>`;
}

function element(node) {
  if (typeof node === 'string') return node;
  if (!node || !TAGS.has(node.t)) return plainText(node?.c);
  if (node.t === 'pre') return h(CodeBlock, { language: String(node.lang ?? '').split(/[\s,]/)[0], text: plainText(node.c).replace(/\n$/, '') });
  const children = (node.c ?? []).map(element);
  if (node.t === 'hr' || node.t === 'br') return h(node.t);
  if (node.t === 'table') return h('div', { class: 'table', tabindex: '0' }, h('table', null, children));
  if (node.t === 'a') {
    const href = String(node.href ?? '');
    if (!/^(https?:|mailto:)/i.test(href)) return h('span', null, children);
    return h('a', { href, target: '_blank', rel: 'noopener noreferrer', title: href }, children);
  }
  return h(node.t, null, children);
}

export class Markdown extends Component {
  componentDidMount() { this.fetch(); }
  componentDidUpdate() { this.fetch(); }
  componentWillUnmount() { this.isGone = true; }

  fetch() {
    const { text } = this.props;
    if (trees.has(text) || this.asked === text) return;
    this.asked = text;
    request(text, () => { if (!this.isGone) this.setState({}); });
  }

  render({ text }) {
    const tree = trees.get(text);
    if (!tree) return html`<div class="plain">${text}</div>`;
    return html`<div class="markdown">${tree.map(element)}</div>`;
  }
}
