// A stream of server-sent events that repairs itself. EventSource reconnects after a broken
// connection, but not after an error status, and it does not notice a connection that died silently.
// The server sends a ping every 10 seconds, so 25 seconds of silence mean that nothing arrives any more.

const SILENCE = 25_000;
const CHECK_EVERY = 5_000;
const LONGEST_WAIT = 10_000;

export class Stream {
  /**
   * `url()` is asked at each new connection. `handlers`: `opened()`, `message(data)`, `changed(state)`,
   * and named events under `events`. States: `connecting`, `open`, `waiting`.
   */
  constructor(url, handlers) {
    Object.assign(this, { url, handlers, state: 'connecting', failures: 0, heard: Date.now() });
    this.timer = setInterval(() => this.check(), CHECK_EVERY);
    this.wake = () => { if (document.visibilityState === 'visible') this.check(true); };
    addEventListener('online', this.wake);
    document.addEventListener('visibilitychange', this.wake);
    this.connect();
  }

  connect() {
    clearTimeout(this.retry);
    this.source?.close();
    this.heard = Date.now();
    const source = this.source = new EventSource(this.url());
    const hear = action => event => {
      if (this.source !== source) return;
      this.heard = Date.now();
      action(event);
    };
    source.onopen = hear(() => {
      this.failures = 0;
      this.set('open');
      this.handlers.opened?.();
    });
    source.onmessage = hear(event => this.handlers.message(JSON.parse(event.data)));
    for (const [name, action] of Object.entries({ ping() {}, ...this.handlers.events })) {
      source.addEventListener(name, hear(event => action(JSON.parse(event.data))));
    }
    source.onerror = () => {
      if (this.source !== source) return;
      this.set('waiting');
      if (source.readyState === EventSource.CLOSED) this.connectLater();
      this.handlers.failed?.();
    };
  }

  connectLater() {
    clearTimeout(this.retry);
    const wait = Math.min(1000 * 2 ** this.failures++, LONGEST_WAIT);
    this.retry = setTimeout(() => this.connect(), wait);
  }

  check(isWoken = false) {
    const silent = Date.now() - this.heard;
    if (silent > SILENCE || (isWoken && this.state !== 'open')) {
      this.set('waiting');
      this.connect();
    }
  }

  set(state) {
    if (this.state === state) return;
    this.state = state;
    this.handlers.changed?.(state);
  }

  close() {
    clearInterval(this.timer);
    clearTimeout(this.retry);
    removeEventListener('online', this.wake);
    document.removeEventListener('visibilitychange', this.wake);
    this.source?.close();
    this.source = null;
  }
}
