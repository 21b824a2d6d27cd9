// The browser of the tests: Debian's Chromium, driven by playwright-core, with a watch on errors.

import assert from "node:assert";
import { createRequire } from "node:module";

// The package is installed elsewhere, where the tests are told.
const require = createRequire(process.env.BRYNHILD_BROWSER + "/");
const { chromium } = require("playwright-core");

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const launch = (executablePath) => chromium.launch({ executablePath, args: FLAGS });

/** Errors of all pages. Connections that a test breaks are none. */
export const errors = [];

const isBrokenConnection = (text) =>
  /net::ERR_|Failed to load resource.*(400|401|404|409|503)|status of (400|401|404|409|503)/.test(text);

function record() {
  window.violations = [];
  addEventListener("securitypolicyviolation", (event) => {
    window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`);
  });
  window.notified = [];
  window.Notification = class {
    static permission = "granted";
    static requestPermission = async () => "granted";
    constructor(title, { body }) {
      window.notified.push(`${title}: ${body}`);
    }
    close() {}
  };
}

/** A page in a context of its own, or in that of `other`. */
export async function newPage(browser, options = {}, other = undefined) {
  const context = other?.context() ?? (await browser.newContext(options));
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  page.on("pageerror", (error) => errors.push(String(error.stack)));
  page.on("dialog", (dialog) => errors.push(`dialog: ${dialog.message()}`));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !isBrokenConnection(text)) errors.push(text);
  });
  await page.addInitScript(record);
  return page;
}

/** Fails if anything of the page ran or loaded that it did not write. */
export async function assertHarmless(page) {
  const found = await page.evaluate(() => ({
    pwned: String(window.pwned),
    violations: window.violations,
    elements: [...document.querySelectorAll("script, iframe, object, embed, base, form[action], img, a[href]")]
      .filter((it) => !it.closest("head"))
      .map((it) => it.getAttribute("src") ?? it.getAttribute("href") ?? it.tagName)
      .filter((it) => !/^(\/assets\/|#\/|\/v1\/|https?:|mailto:)/.test(it)),
    handlers: [...document.querySelectorAll("*")].filter((it) =>
      [...it.attributes].some(({ name }) => name.startsWith("on")),
    ).length,
  }));
  assert.deepEqual(found, { pwned: "undefined", violations: [], elements: [], handlers: 0 });
}

/** Fails if something is wider than the window. */
export async function assertFits(page) {
  const wide = await page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const scrolls = (it) => {
      for (let box = it.parentElement; box; box = box.parentElement) {
        if (/auto|scroll|hidden/.test(getComputedStyle(box).overflowX) && box !== document.body) return true;
      }
      return false;
    };
    const all = [...document.querySelectorAll("body *")].filter((it) => it.checkVisibility({ visibilityProperty: true }));
    const beyond = all.filter((it) => it.getBoundingClientRect().right > width + 1 && !scrolls(it));
    return [document.scrollingElement.scrollWidth > width, ...beyond.map((it) => it.className || it.tagName)];
  });
  assert.deepEqual(wide, [false]);
}
