// Requests to the server. A failed one throws a `Refusal` with the server's message and hint.

export class Refusal extends Error {
  constructor(status, message, hint, body) {
    super(message);
    Object.assign(this, { status, hint, body });
  }
}

/** True if the server was not reached at all: the request may be repeated. */
export const isUnreached = error => !(error instanceof Refusal);

let onLoggedOut = () => {};

/** Sets the function that is called if the server no longer knows this browser. */
export const whenLoggedOut = action => { onLoggedOut = action; };

async function request(method, path, body, accept) {
  const options = { method, headers: {}, credentials: 'same-origin' };
  if (body !== undefined) {
    options.headers['Content-Type'] = 'application/json';
    options.body = JSON.stringify(body);
  }
  if (accept) options.headers.Accept = accept;
  const response = await fetch(path, options);
  const text = await response.text();
  if (response.ok) return accept || !text ? text : JSON.parse(text);
  let reply = {};
  try { reply = JSON.parse(text); } catch { /* the status says enough */ }
  if (response.status === 401 && path !== '/v1/login') onLoggedOut();
  const { message, hint } = reply.error ?? {};
  throw new Refusal(response.status, message ?? `the server answered ${response.status}`, hint, reply);
}

export const get = path => request('GET', path);
export const post = (path, body = {}) => request('POST', path, body);
export const patch = (path, body) => request('PATCH', path, body);
export const remove = path => request('DELETE', path);

/** The path of a session, or of a part of it. */
export const sessionPath = (id, part) => `/v1/sessions/${encodeURIComponent(id)}${part ? `/${part}` : ''}`;

/** Kept events after a position, at most `limit`. */
export async function eventPage(id, after, limit) {
  const path = `${sessionPath(id, 'events')}?after=${after}&limit=${limit}`;
  const lines = (await request('GET', path, undefined, 'application/x-ndjson')).split('\n');
  return lines.filter(Boolean).map(line => JSON.parse(line));
}

/** A query string of the parameters that have a value. */
export function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  return given.length ? `?${new URLSearchParams(given)}` : '';
}
