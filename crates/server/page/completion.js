// Completion in a text: `/` at its beginning proposes commands, `@` before a word proposes files.

import { get, query } from './api.js';

const MOST = 8;
const DELAY = 100;

/** The word to complete before the cursor: `{ kind, start, end, words }`, or null. */
export function wordAt(text, cursor) {
  const before = text.slice(0, cursor);
  const command = /^\/(\S*)$/.exec(before);
  if (command) return { kind: 'command', start: 0, end: cursor, words: command[1] };
  const file = /(?:^|\s)@(\S*)$/.exec(before);
  return file ? { kind: 'file', start: cursor - file[1].length - 1, end: cursor, words: file[1] } : null;
}

export class Completion {
  /** `where` is `{ session }` or `{ cwd }`; `show(items, word)` is called with what was found. */
  constructor(where, show) {
    Object.assign(this, { where, show, number: 0 });
  }

  look(text, cursor) {
    const word = wordAt(text, cursor);
    const number = ++this.number;
    clearTimeout(this.timer);
    if (!word) return this.show([], null);
    this.timer = setTimeout(async () => {
      try {
        const items = word.kind === 'command' ? await this.commands(word.words) : await this.files(word.words);
        if (number === this.number) this.show(items.slice(0, MOST), word);
      } catch { /* no proposals */ }
    }, word.kind === 'command' && this.known ? 0 : DELAY);
    return undefined;
  }

  async commands(words) {
    const { session, cwd } = this.where;
    this.known ??= (await get(`/v1/commands${query(session ? { session } : { cwd })}`)).commands;
    const wanted = words.toLowerCase();
    const rank = ({ name }) => (name.toLowerCase().startsWith(wanted) ? 0 : name.toLowerCase().includes(wanted) ? 1 : 2);
    return this.known.filter(command => rank(command) < 2).sort((a, b) => rank(a) - rank(b))
      .map(({ name, description, hint }) => ({ insert: `/${name} `, name: `/${name}`, about: [hint, description].filter(Boolean).join(' · ') }));
  }

  async files(words) {
    const { files } = await get(`/v1/files${query({ cwd: this.where.cwd, q: words })}`);
    return files.map(path => ({ insert: `@${path} `, name: path, about: '' }));
  }

  stop() {
    this.number++;
    clearTimeout(this.timer);
  }
}
