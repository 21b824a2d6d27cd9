// A unified diff, line by line with numbers.

import { html, useState } from './vendor/preact-htm.js';

const SHOWN_AT_FIRST = 400;

/** The lines of a unified diff: `{ kind, old, new, text }`. */
export function lines(unified) {
  const result = [];
  let [old, fresh, inHunk] = [0, 0, false];
  const all = String(unified ?? '').split('\n');
  if (all[all.length - 1] === '') all.pop();
  for (const line of all) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line);
    if (hunk) {
      [old, fresh, inHunk] = [Number(hunk[1]), Number(hunk[2]), true];
      result.push({ kind: 'hunk', text: line });
    } else if (!inHunk || /^(diff |index )/.test(line)) {
      inHunk = false;
      if (!/^(---|\+\+\+|diff |index )/.test(line)) result.push({ kind: 'note', text: line });
    } else if (line.startsWith('+')) result.push({ kind: 'added', new: fresh++, text: line.slice(1) });
    else if (line.startsWith('-')) result.push({ kind: 'removed', old: old++, text: line.slice(1) });
    else if (line.startsWith(' ') || line === '') result.push({ kind: 'same', old: old++, new: fresh++, text: line.slice(1) });
    else result.push({ kind: 'note', text: line });
  }
  return result;
}

export function counts(unified) {
  const all = lines(unified);
  const of = kind => all.filter(line => line.kind === kind).length;
  return { added: of('added'), removed: of('removed') };
}

export function Counts({ unified }) {
  const { added, removed } = counts(unified);
  return html`<span class="counts"><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span>`;
}

const SIGN = { added: '+', removed: '-', same: ' ' };

/** The view. `clean` makes hidden characters visible where a user decides about the text. */
export function Diff({ unified, whole = false, clean = text => text }) {
  const [isOpen, open] = useState(whole);
  const all = lines(unified);
  const shown = isOpen ? all : all.slice(0, SHOWN_AT_FIRST);
  return html`<div class="diff" tabindex="0" role="group" aria-label="Changed lines">
    ${shown.map(line => html`<div class="row ${line.kind}">
      <span class="number">${line.old ?? ''}</span><span class="number">${line.new ?? ''}</span>
      <code>${SIGN[line.kind] ?? ''}${clean(line.text)}</code>
    </div>`)}
    ${shown.length < all.length && html`<button class="quiet more" onClick=${() => open(true)}>
      Show ${all.length - shown.length} more lines</button>`}
  </div>`;
}
