// Numbers, times, paths and outputs in words.

export function tokens(count) {
  if (!count) return '0';
  if (count < 1000) return String(count);
  return count < 1e6 ? `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k` : `${(count / 1e6).toFixed(1)}M`;
}

export function money(dollars) {
  if (typeof dollars !== 'number') return '';
  return dollars < 0.01 && dollars > 0 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`;
}

export function duration(seconds) {
  if (!(seconds >= 0)) return '';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function ago(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (!Number.isFinite(seconds)) return '';
  if (seconds < 60) return 'now';
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 30 * 86_400) return `${Math.floor(seconds / 86_400)} d`;
  return new Date(time).toLocaleDateString();
}

export const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

/** The last two names of a path. */
export function shortPath(path) {
  const names = String(path ?? '').split('/').filter(Boolean);
  return names.length > 2 ? `…/${names.slice(-2).join('/')}` : String(path ?? '');
}

/** A path relative to the project if it is in it. */
export function inProject(path, project) {
  const whole = String(path ?? '');
  return project && whole.startsWith(`${project}/`) ? whole.slice(project.length + 1) : whole;
}

/** The output of a program without the sequences that steer a terminal. */
export const withoutEscapes = output =>
  // eslint-disable-next-line no-control-regex
  output.replace(/\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])/g, '').replace(/\r\n?/g, '\n');

export function pretty(value) {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2) ?? '';
}

export function outcomeInWords({ outcome, stop_reason: stop, ...rest }) {
  switch (outcome) {
    case 'answered': return stop && stop !== 'end_turn' ? `Ended: ${String(stop).replaceAll('_', ' ')}` : '';
    case 'finished': return rest.status === 'success' ? 'Task done' : `Task ${rest.status ?? 'done'}`;
    case 'limited': return `Limit reached: ${rest.told || rest.limit}`;
    case 'stuck': return `Stopped: ${rest.why ?? 'the model went in circles'}`;
    case 'cancelled': return 'Stopped';
    case 'blocked': return `Blocked by ${rest.hook}: ${rest.reason}`;
    case 'failed': return `Failed: ${rest.error}`;
    default: return String(outcome ?? '');
  }
}
