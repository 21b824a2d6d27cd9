// Tells a user who looks elsewhere about a question: a number in the title of the page, and a
// notification of the browser if the user asked for those.

const NAME = 'Brynhild';
const KEY = 'brynhild-notifications';

let title = '';
let questions = 0;

function show() {
  document.title = `${questions ? `(${questions}) ` : ''}${title ? `${title} · ` : ''}${NAME}`;
}

export function mark(count) {
  questions = count;
  show();
}

export function setTitle(text) {
  title = text;
  show();
}

export const canNotify = () => 'Notification' in window && Notification.permission !== 'denied';

export const notifies = () =>
  'Notification' in window && Notification.permission === 'granted' && localStorage.getItem(KEY) === 'on';

/** Switches notifications; asks the browser for its permission first. Only a click may call it. */
export async function switchNotifications() {
  if (notifies()) localStorage.setItem(KEY, 'off');
  else if (await Notification.requestPermission() === 'granted') localStorage.setItem(KEY, 'on');
  return notifies();
}

/** Notifies about a question of a session, unless the user looks at the page. */
export function announce(summary) {
  if (!notifies() || (document.visibilityState === 'visible' && document.hasFocus())) return;
  try {
    const notification = new Notification('Brynhild asks', { body: summary.title || summary.id, tag: summary.id });
    notification.onclick = () => {
      window.focus();
      location.hash = `/session/${encodeURIComponent(summary.id)}`;
      notification.close();
    };
  } catch { /* phones allow it to service workers only */ }
}
