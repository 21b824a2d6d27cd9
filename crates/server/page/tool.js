// A tool call: one line that says what it does and how it went, and its arguments and output behind
// it. It shows kinds of actions and of output, never particular tools.

import { html, Component } from './vendor/preact-htm.js';
import { Counts, Diff } from './diff.js';
import { count, duration, inProject, pretty, withoutEscapes } from './format.js';
import { Icon } from './icons.js';

const LONGEST_OUTPUT = 30_000;
const IMAGE = /^image\/(png|jpeg|gif|webp)$/;

const LONGEST_ARGUMENT = 100;

/** The most telling words of a call: its command, changed file or host, else its short arguments. */
export function gist({ actions = [], args }, project) {
  const [run, write, connect] = ['run', 'write', 'connect'].map(kind => actions.find(({ action }) => action === kind));
  if (run) return String(run.command ?? '');
  if (write) return inProject(write.path, project);
  if (connect) return String(connect.host ?? '');
  if (typeof args === 'string') return args;
  const words = Object.values(args ?? {}).filter(value => typeof value === 'string' && value);
  const short = words.filter(value => value.length <= LONGEST_ARGUMENT).map(value => inProject(value, project));
  return short.length ? short.join('  ') : words[0] ?? '';
}

const ENDS = {
  invalid: 'invalid call', denied: 'denied', unanswered: 'nobody answered', no_sandbox: 'no sandbox', skipped: 'skipped', interrupted: 'interrupted',
};
const ANSWERS = {
  once: 'allowed once', session: 'allowed for this session', project: 'always allowed in this project', always: 'always allowed',
  deny: 'denied', cancel: 'stopped', nobody: 'nobody answered',
};

/** `running`, `asking`, `good`, `bad`, or `open` for a call that never ended. */
export function condition(block, isRunning) {
  if (block.state === 'done') return block.outcome === 'ran' && block.output?.success !== false ? 'good' : 'bad';
  if (!isRunning) return 'open';
  return block.state === 'asking' ? 'asking' : 'running';
}

function Sign({ is }) {
  if (is === 'good') return html`<span class="sign good" role="img" aria-label="done"><${Icon} name="check" size="14" /></span>`;
  if (is === 'bad') return html`<span class="sign bad" role="img" aria-label="failed"><${Icon} name="cross" size="14" /></span>`;
  if (is === 'asking') return html`<span class="sign asking" role="img" aria-label="waits for an answer"><${Icon} name="question" size="14" /></span>`;
  if (is === 'running') return html`<span class="sign running" role="img" aria-label="running"><span class="spinner"></span></span>`;
  return html`<span class="sign" role="img" aria-label="not finished">–</span>`;
}

function Text({ text, label }) {
  const clean = withoutEscapes(text);
  const cut = clean.length > LONGEST_OUTPUT;
  const shown = cut ? `${clean.slice(0, LONGEST_OUTPUT / 2)}\n… ${clean.length - LONGEST_OUTPUT} characters left out …\n${clean.slice(-LONGEST_OUTPUT / 2)}` : clean;
  return html`<pre class="output" tabindex="0" aria-label=${label}>${shown}</pre>`;
}

function Output({ block }) {
  const { output, progress } = block;
  if (!output) return progress ? html`<${Text} text=${progress} label="Output so far" />` : null;
  const { display } = output;
  const parts = [];
  if (display?.kind === 'diff') parts.push(html`<${Diff} unified=${display.unified} />`);
  else if (display?.kind === 'image' && IMAGE.test(display.media_type)) {
    parts.push(html`<img class="picture" alt="Picture from ${block.name}" src=${`data:${display.media_type};base64,${display.data}`} />`);
  }
  if (output.output && display?.kind !== 'diff') parts.push(html`<${Text} text=${pretty(output.output)} label="Output" />`);
  if (output.error) parts.push(html`<div class="error-text">${withoutEscapes(pretty(output.error))}</div>`);
  if (!parts.length) parts.push(html`<div class="soft">No output</div>`);
  return parts;
}

function Arguments({ block, project }) {
  const run = block.actions.find(action => action.action === 'run');
  if (run) return html`<pre class="command" tabindex="0" aria-label="Command">${String(run.command ?? '')}</pre>`;
  if (block.output?.display?.kind === 'diff' || block.args === undefined) return null;
  const short = gist(block, project);
  const { args } = block;
  const isSaid = args && typeof args === 'object' && Object.keys(args).length === 1 && Object.values(args)[0] === short;
  return isSaid ? null : html`<pre class="arguments" tabindex="0" aria-label="Arguments">${pretty(args)}</pre>`;
}

export class Tool extends Component {
  constructor() {
    super();
    this.state = { isOpen: false };
    this.toggle = () => this.setState(({ isOpen }) => ({ isOpen: !isOpen }));
  }

  shouldComponentUpdate(next, state) {
    return next.version !== this.version || next.isRunning !== this.props.isRunning || state.isOpen !== this.state.isOpen;
  }

  render({ block, version, isRunning, project, blocks: Blocks }, { isOpen }) {
    this.version = version;
    const is = condition(block, isRunning);
    const { output, lane } = block;
    const short = gist(block, project).split('\n');
    const failure = is === 'bad' ? ENDS[block.outcome] ?? (output?.facts?.exit_code ? `exit code ${output.facts.exit_code}` : 'failed') : '';
    const answer = block.answer && block.answer.answer !== 'nobody' && ANSWERS[block.answer.answer];
    const body = `body-${block.key}`;
    return html`<div class="tool ${is} ${isOpen ? 'opened' : ''}">
      <button class="tool-head" aria-expanded=${String(isOpen)} aria-controls=${body} onClick=${this.toggle}>
        <${Sign} is=${is} />
        <span class="tool-name">${block.name}</span>
        <span class="gist">${short[0]}${short.length > 1 ? ' …' : ''}</span>
        ${output?.display?.kind === 'diff' && html`<${Counts} unified=${output.display.unified} />`}
        ${failure && html`<span class="failure">${failure}</span>`}
        ${block.state === 'done' && block.duration >= 1000 && html`<span class="took">${duration(block.duration / 1000)}</span>`}
        <span class="chevron"><${Icon} name="chevron" size="14" /></span>
      </button>
      ${!isOpen && is === 'running' && block.progress && html`<pre class="tail">${withoutEscapes(block.progress).split('\n').slice(-3).join('\n')}</pre>`}
      ${!isOpen && is === 'bad' && output?.error && block.outcome !== 'ran' && html`<div class="why">${withoutEscapes(pretty(output.error)).split('\n')[0]}</div>`}
      ${isOpen && html`<div class="tool-body" id=${body}>
        <${Arguments} block=${block} project=${project} />
        ${answer && html`<div class="soft">${answer}${block.answer.reason ? `: ${block.answer.reason}` : ''}${block.by ? ` (${pretty(block.by)})` : ''}</div>`}
        <${Output} block=${block} />
      </div>`}
      ${lane && html`<details class="agent">
        <summary><${Icon} name="agent" size="14" /> <span class="agent-name">${block.agent}</span>
          <span class="soft">${count(lane.blocks.filter(inner => inner.kind === 'tool').length, 'call')}</span></summary>
        <div class="nested"><${Blocks} blocks=${lane.blocks} isRunning=${isRunning && block.state !== 'done'} project=${project} /></div>
      </details>`}
    </div>`;
  }
}
