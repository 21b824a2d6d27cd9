// Uses the page as a user does. Arguments: the link that the server printed, the directory of a
// project, and the program of Chromium. The tests in `it/page.rs` start it and play the model.
// `please release` asks for the rest of a reply, `please restart` for another server at the same
// address; the answer is a line on standard input, for a restart the new link.

import assert from "node:assert";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { assertFits, assertHarmless, errors, launch, newPage } from "./browser.mjs";
import { startProxy } from "./proxy.mjs";

const [link, project, chromium] = process.argv.slice(2);
const DESKTOP = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function please(what) {
  console.log("please", what);
  return (await answers.next()).value;
}

function done(step) {
  assert.deepEqual(errors, [], step);
  console.log("ok", step);
}

const browser = await launch(chromium);
process.on("unhandledRejection", (error) => {
  console.error(error);
  process.exit(1);
});

/** The text box, the last block of a kind, an answer of the question card. */
const prompt = (page) => page.locator("#prompt");
const last = (page, kind) => page.locator(`.transcript ${kind}`).last();
const answer = (page, name) => page.locator(`[data-answer="${name}"]:enabled`);
const choice = (page, label) => page.getByLabel(label, { exact: true });
const question = (page) => page.locator(".question");
async function until(isReached) {
  const deadline = Date.now() + 30_000;
  while (!isReached()) {
    assert(Date.now() < deadline, String(isReached));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
const ends = (page) => page.locator(".transcript .end").count();

async function send(page, text) {
  await prompt(page).fill(text);
  await page.keyboard.press("Enter");
}

/** Waits until one more turn has ended than `before`. */
const ended = (page, before) => page.locator(".transcript .end").nth(before).waitFor();

async function turn(page, text) {
  const before = await ends(page);
  await send(page, text);
  await ended(page, before);
}

async function newSession(page, text, mode = "normal") {
  await page.locator(".sidebar .new").click();
  await page.locator("#directory").fill(project);
  await choice(page, "Mode").selectOption(mode);
  await send(page, text);
  await page.waitForURL(/#\/session\//);
  await page.locator(".transcript .user").first().waitFor();
}

async function login() {
  const page = await newPage(browser, DESKTOP);
  await page.goto(link);
  await page.locator(".sidebar").waitFor();
  assert.equal(new URL(page.url()).hash, "");
  done("the code of the link logs in and leaves the address");
  const late = await newPage(browser, DESKTOP);
  await late.goto(link);
  await late.getByRole("alert").getByText("expired").waitFor();
  done("a used link says so");
  await late.close();
  return page;
}

async function replies(page) {
  await page.locator("#directory").fill("/no/such/directory");
  await send(page, "hello");
  await page.getByRole("alert").getByText("/no/such/directory").waitFor();
  assert.equal(await prompt(page).inputValue(), "hello");
  done("a directory that is not there is refused, the prompt stays");
  await newSession(page, "hello");
  await page.locator(".markdown h1", { hasText: "Heading" }).waitFor();
  await page.locator(".markdown strong", { hasText: "bold" }).waitFor();
  await page.locator(".markdown pre", { hasText: "fn main() {}" }).waitFor();
  assert.equal(await page.locator(".markdown a").first().getAttribute("href"), "https://example.org/");
  assert.equal(await page.locator(".thinking .plain").count(), 0);
  await page.locator(".thinking button").click();
  await page.locator(".thinking .plain", { hasText: "Short." }).waitFor();
  done("a new session answers with Markdown, thinking is collapsed");
  await page.locator(".item.current").waitFor();
  await page.locator("#search").fill("no such words");
  await page.getByText("Nothing found").waitFor();
  await page.locator("#search").fill("");
  done("the session is in the list, the list can be searched");
  const before = await ends(page);
  await send(page, "stream");
  await page.locator(".reply.live", { hasText: "word 5 " }).waitFor();
  assert.equal(await ends(page), before);
  await please("release");
  await ended(page, before);
  await last(page, ".markdown").getByText("word 299").waitFor();
  done("text appears while it streams");
}

async function tools(page) {
  rmSync(`${project}/go`, { force: true });
  const before = await ends(page);
  await send(page, "run");
  await page.locator(".tool .tail", { hasText: "begun" }).waitFor();
  done("a running tool shows its output");
  await send(page, "steer: say more");
  await page.locator(".unsent", { hasText: "say more" }).waitFor();
  writeFileSync(`${project}/go`, "");
  await ended(page, before);
  await last(page, ".reply").getByText("Steered").waitFor();
  assert.equal(await page.locator(".unsent").count(), 0);
  done("a message reaches the model at work");
  const head = page.locator(".tool-head", { hasText: "until" }).last();
  assert.equal(await head.getAttribute("aria-expanded"), "false");
  await head.click();
  await page.locator(".tool-body .output", { hasText: "over" }).waitFor();
  done("the output of a call opens");
  rmSync(`${project}/go`);
  const count = await ends(page);
  await send(page, "run");
  await page.locator(".tool .tail", { hasText: "begun" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await ended(page, count);
  await last(page, ".end").getByText("Stopped").waitFor();
  done("stop ends a turn");
  await turn(page, "todos");
  await page.getByRole("button", { name: "Todos: 1/2 done" }).click();
  await page.locator(".todos .pending", { hasText: "Test it" }).waitFor();
  await page.getByRole("button", { name: "Close the panel" }).click();
  done("todos are shown");
  await turn(page, "delegate");
  await page.locator(".agent summary", { hasText: "general-purpose" }).last().click();
  await page.locator(".nested .reply", { hasText: "Looked around." }).waitFor();
  done("the work of an agent is inside its call");
}

async function questions(page) {
  await newSession(page, "write", "ask");
  await question(page).locator("h2", { hasText: "Edit made.txt?" }).waitFor();
  await question(page).locator(".diff .added", { hasText: "+three" }).waitFor();
  assert.match(await page.title(), /^\(1\) /);
  await page.locator(".item.current .badge").waitFor();
  await answer(page, "session").waitFor();
  await answer(page, "project").waitFor();
  await answer(page, "always").waitFor();
  done("a question shows the whole change and the answers, title and list are marked");
  await answer(page, "deny").click();
  await page.getByLabel("Reason").fill("not this file");
  await page.keyboard.press("Enter");
  await ended(page, 0);
  assert(!existsSync(`${project}/made.txt`));
  await last(page, ".tool").getByText("not this file").waitFor();
  assert.doesNotMatch(await page.title(), /^\(/);
  done("a denial carries its reason");
  await send(page, "write");
  await question(page).waitFor();
  await answer(page, "once").waitFor();
  await question(page).focus();
  await page.keyboard.press("1");
  await ended(page, 1);
  assert.equal(readFileSync(`${project}/made.txt`, "utf8"), "one\ntwo\nthree\n");
  done("a key answers");
  await send(page, "destroy");
  await page.locator(".question.destructive", { hasText: "git reset --hard" }).waitFor();
  await page.locator('.answer.default[data-answer="deny"]').waitFor();
  await answer(page, "cancel").click();
  await ended(page, 2);
  await last(page, ".end").getByText("Stopped").waitFor();
  done("a destructive command is marked, and cancel stops the turn");
}

async function changes(page) {
  await page.getByRole("button", { name: "Changes" }).click();
  await page.locator(".changed-file summary", { hasText: "made.txt" }).click();
  await page.locator(".changed-file .diff .added", { hasText: "three" }).waitFor();
  done("changes are listed by turn with their diff");
  await page.getByRole("button", { name: "Undo last turn" }).click();
  await page.locator(".transcript .line", { hasText: "Undone" }).waitFor();
  assert(!existsSync(`${project}/made.txt`));
  await page.getByRole("button", { name: "Redo" }).click();
  await page.locator(".transcript .line", { hasText: "Made again" }).waitFor();
  assert(existsSync(`${project}/made.txt`));
  await page.keyboard.press("Escape");
  await page.locator(".panel").waitFor({ state: "detached" });
  done("undo and redo");
}

async function controls(page) {
  await choice(page, "Mode").selectOption("read-only");
  await page.reload();
  await page.waitForFunction(() => document.querySelector(".composer-line select")?.value === "read-only");
  await choice(page, "Mode").selectOption("ask");
  done("the mode changes, and a reload stays in the session");
  await choice(page, "Model").selectOption("other-model");
  await turn(page, "hello");
  await page.reload();
  await page.waitForFunction(() => [...document.querySelectorAll(".composer-line select")].some((it) => it.value === "other-model"));
  done("the model changes");
  await prompt(page).fill("");
  await prompt(page).pressSequentially("/comp");
  await page.getByRole("option", { name: /\/compact/ }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await prompt(page).inputValue(), "/compact ");
  await prompt(page).fill("");
  await prompt(page).pressSequentially("read @not");
  await page.getByRole("option", { name: /notes\.txt/ }).waitFor();
  await page.keyboard.press("Enter");
  assert.equal(await prompt(page).inputValue(), "read @notes.txt ");
  await prompt(page).fill("");
  done("commands and files are completed");
  await send(page, "/status ");
  await last(page, ".notice.info").getByText("other-model").waitFor();
  await send(page, "/no-such-command ");
  await page.locator(".toast.error", { hasText: "no-such-command" }).waitFor();
  assert.equal(await prompt(page).inputValue(), "/no-such-command");
  await prompt(page).fill("");
  done("commands print their output, an unknown one returns to the box");
  await page.getByTitle("Rename").click();
  await choice(page, "Title").fill("Another title");
  // An event of the session leaves the typed title alone.
  await page.evaluate(() => fetch(`/v1/sessions/${location.hash.slice("#/session/".length)}`, {
    method: "PATCH", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ mode: "normal" }),
  }));
  await page.waitForFunction(() => document.querySelector(".composer-line select")?.value === "normal");
  await page.keyboard.press("Enter");
  await page.locator(".item.current", { hasText: "Another title" }).waitFor();
  done("a session is renamed");
  await page.getByRole("button", { name: "More" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Export" }).click(),
  ]);
  const text = readFileSync(await download.path(), "utf8");
  assert.match(text, /write/);
  done("export");
}

async function otherTab(page) {
  const other = await newPage(browser, {}, page);
  await other.addInitScript(() => {
    document.hasFocus = () => false;
  });
  await other.goto(new URL("/", page.url()).href);
  await other.getByRole("button", { name: "Notify me" }).click();
  await send(page, "destroy");
  await question(page).waitFor();
  await other.waitForFunction(() => /^\(1\) /.test(document.title) && window.notified.length === 1);
  await other.locator(".item .badge").waitFor();
  done("another tab notifies about a question");
  await other.goto(page.url());
  await answer(other, "deny").click();
  await other.getByLabel("Reason").press("Enter");
  await question(page).waitFor({ state: "detached" });
  await question(other).waitFor({ state: "detached" });
  done("an answer in one tab closes the question in the other");
  await other.close();
}

/** A browser opens six connections to a server; tabs that each took two would block one another. */
async function tabs(page) {
  const context = await browser.newContext(DESKTOP);
  await context.addCookies(await page.context().cookies());
  const all = [];
  for (let number = 0; number < 4; number++) {
    all.push(await newPage(browser, {}, { context: () => context }));
    await all[number].goto(page.url());
    await all[number].locator(".item.current").waitFor();
  }
  const rename = async (tab, title) => {
    await tab.getByTitle("Rename").click();
    await choice(tab, "Title").fill(title);
    await tab.keyboard.press("Enter");
  };
  await rename(all[3], "Seen in all tabs");
  for (const tab of all) await tab.locator(".item.current", { hasText: "Seen in all tabs" }).waitFor();
  await all[0].close();
  await rename(all[2], "Seen without the first tab");
  for (const tab of all.slice(1)) {
    await tab.locator(".item.current", { hasText: "Seen without the first tab" }).waitFor();
  }
  await context.close();
  done("tabs share the stream of the list, and the next one takes over");
}

/** Blocks of the transcript as text, without times and notices, which may be for one client. */
async function shown(page) {
  await page.waitForFunction(() => !document.querySelector(".reply > .plain"));
  return page.locator(".transcript .column > :not(.notice)").evaluateAll((all) => all.map((it) => it.textContent.replace(/[\d.]+ m?s\b/g, "")));
}

async function earlier(page) {
  const other = await newPage(browser, {}, page);
  await other.route(/tail=/, (route) => route.continue({ url: route.request().url().replace(/tail=\d+/, "tail=4") }));
  await other.goto(page.url());
  await other.locator(".transcript .end").first().waitFor();
  assert((await shown(other)).length < (await shown(page)).length);
  await other.getByRole("button", { name: "Show earlier messages" }).click();
  await other.getByRole("button", { name: "Show earlier messages" }).waitFor({ state: "detached" });
  assert.deepEqual(await shown(other), await shown(page));
  done("a long conversation begins near its end, and loads the rest");
  await other.close();
}

async function reconnects(page) {
  const proxy = await startProxy(link);
  const cookies = await page.context().cookies();
  const context = await browser.newContext(DESKTOP);
  await context.addCookies(cookies);
  const other = await newPage(browser, {}, { context: () => context });
  await other.clock.install();
  await other.goto(proxy.origin + new URL(page.url()).hash);
  await other.locator(".header").waitFor();
  rmSync(`${project}/go`, { force: true });
  const before = await ends(page);
  await choice(page, "Mode").selectOption("normal");
  await send(page, "run");
  await other.locator(".tool .tail", { hasText: "begun" }).waitFor();
  for (let times = 0; times < 3; times++) {
    const opened = proxy.opened;
    proxy.drop();
    await until(() => proxy.opened >= opened + 2);
  }
  writeFileSync(`${project}/go`, "");
  await ended(page, before);
  await ended(other, before);
  await other.locator(".reply", { hasText: "Done." }).last().waitFor();
  assert.deepEqual(await shown(other), await shown(page));
  done("a stream that was dropped three times continues without loss");
  proxy.hush();
  const opened = proxy.opened;
  await turn(page, "hello");
  await other.clock.fastForward(31_000);
  await until(() => proxy.opened >= opened + 2);
  await ended(other, before + 1);
  assert.deepEqual(await shown(other), await shown(page));
  done("a silent stream is replaced");
  await context.close();
  proxy.close();
}

async function restart(page) {
  rmSync(`${project}/go`, { force: true });
  await newSession(page, "run");
  await page.locator(".tool .tail", { hasText: "begun" }).waitFor();
  await please("restart");
  await page.locator(".transcript .user", { hasText: "run" }).waitFor();
  await page.waitForFunction(() => !document.querySelector(".offline") && !document.querySelector(".connection.waiting"));
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  writeFileSync(`${project}/go`, "");
  await turn(page, "hello");
  await last(page, ".markdown h1").waitFor();
  done("the page recovers after the server was killed in a turn");
}

async function hostile(page) {
  await newSession(page, "hostile <img src=x onerror=window.pwned=1>", "ask");
  await question(page).waitFor();
  await assertHarmless(page);
  const asked = [];
  while (await question(page).count()) {
    const text = await question(page).locator(".about").innerText();
    asked.push(text);
    const isMasked = text.includes("\\u{202e}");
    await answer(page, isMasked ? "deny" : "once").click();
    if (isMasked) await page.getByLabel("Reason").press("Enter");
    await page.waitForFunction((text) => document.querySelector(".question .about")?.innerText !== text, text);
    await page.waitForFunction(() => document.querySelector(".question, .transcript .end"));
  }
  await ended(page, 0);
  assert(asked.some((text) => text.includes("\\u{202e}") && text.includes("p\\u{430}ypal")), asked.join("\n"));
  done("deceptive characters of a question are visible");
  for (const head of await page.locator(".tool-head, .thinking button").all()) await head.click();
  await page.getByRole("button", { name: "Changes" }).click();
  await page.locator(".changed-file summary").first().click();
  await page.getByTitle("Rename").click();
  await choice(page, "Title").fill("<img src=x onerror=window.pwned=1><script>window.pwned=1</script>");
  await page.keyboard.press("Enter");
  await page.locator(".item.current", { hasText: "<script>" }).waitFor();
  writeFileSync(`${project}/<img src=x onerror=window.pwned=1>`, "");
  await prompt(page).fill("");
  await prompt(page).pressSequentially("@<img");
  await page.getByRole("option", { name: /onerror/ }).first().waitFor();
  await assertHarmless(page);
  await page.reload();
  await page.locator(".transcript .end").waitFor();
  for (const head of await page.locator(".tool-head, .thinking button").all()) await head.click();
  await assertHarmless(page);
  done("hostile text in every field stays text");
}

async function phone(page) {
  const context = await browser.newContext(PHONE);
  await context.addCookies(await page.context().cookies());
  const small = await newPage(browser, {}, { context: () => context });
  await small.goto(page.url());
  await small.locator(".transcript .end").first().waitFor();
  await assertFits(small);
  await small.getByRole("button", { name: "Sessions" }).click();
  await small.locator(".list-open").waitFor();
  await assertFits(small);
  await small.locator(".sidebar .new").click();
  await small.locator("#directory").fill(project);
  await assertFits(small);
  await choice(small, "Mode").selectOption("ask");
  await prompt(small).fill("wide");
  await small.getByRole("button", { name: "Start" }).click();
  await question(small).waitFor();
  await assertFits(small);
  await answer(small, "deny").click();
  await assertFits(small);
  await small.getByRole("button", { name: "Deny" }).click();
  await ended(small, 0);
  await small.locator(".markdown").last().waitFor();
  await small.getByRole("button", { name: "Changes" }).click();
  await small.locator(".panel").waitFor();
  await assertFits(small);
  done("a phone shows everything without scrolling sideways");
  await context.close();
}

const page = await login();
await replies(page);
await tools(page);
await questions(page);
await changes(page);
await controls(page);
await otherTab(page);
await earlier(page);
await tabs(page);
await reconnects(page);
await hostile(page);
await phone(page);
await restart(page);
await browser.close();
console.log("finished");
process.exit(0);
