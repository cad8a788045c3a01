// The script adds to pages that work without it: live updates, copying, keys.
const base = document.body.dataset.base || "";
const main = document.getElementById("main");
const said = document.getElementById("said");
const policy = window.trustedTypes ? trustedTypes.createPolicy("patra", { createHTML: (s) => s }) : { createHTML: (s) => s };

// ---- live ----
const live = document.getElementById("live");
const word = document.getElementById("live-word");
const lost = document.getElementById("lost");
const pauseButton = document.getElementById("pause");
let paused = sessionStorage.getItem("patra-paused") === "1";
let topics = null;      // as the last event told them
let waiting = false;    // something moved while it could not be shown
let stream = null;
let seq = 0;
let moves = 0;          // that were not shown yet
const fresh = document.getElementById("fresh");

function tell(state) {
  live.hidden = false;
  live.classList.toggle("paused", state === "paused");
  live.classList.toggle("lost", state === "lost");
  word.textContent = word.dataset[state];
  pauseButton.setAttribute("aria-pressed", String(paused));
}

// What is shown was made when its topics had come this far; null if nobody could tell.
function shown() {
  const content = document.getElementById("content");
  return content && content.dataset.pulse ? JSON.parse(content.dataset.pulse) : null;
}

// A topic of this page has come further than it had then.
function further(next, then) {
  const mine = (main.dataset.topics || "").split(" ").filter(Boolean);
  return mine.some((t) => !then || next[t] > (then[t] ?? -1));
}

// A list does not move under the pointer, nor under somebody who fills in a form.
function busy() {
  const at = document.activeElement;
  if (at && main.contains(at) && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName)) return true;
  return Boolean(main.querySelector("details[open], tr:hover, .figure:hover, form.ask")) || String(getSelection() || "") !== "";
}

function offer() {
  fresh.hidden = !moves;
  if (moves) fresh.textContent = moves + " " + fresh.dataset.word;
}
fresh.addEventListener("click", () => { paused = false; sessionStorage.setItem("patra-paused", "0"); tell("live"); refresh(true); });

let fetching = false;
async function refresh(asked) {
  if (!asked && (paused || fetching || busy())) { waiting = true; offer(); return; }
  fetching = true;
  try {
    const answer = await fetch(location.href, { headers: { "Patra-Fragment": "1" }, credentials: "same-origin" });
    if (!answer.ok) return;
    const html = await answer.text();
    if (!asked && (busy() || paused)) { waiting = true; offer(); return; }
    const focused = document.activeElement && main.contains(document.activeElement) ? pathOf(document.activeElement) : null;
    const scroll = [...main.querySelectorAll(".scroll, .drawing")].map((e) => e.scrollLeft);
    main.innerHTML = policy.createHTML(html);
    [...main.querySelectorAll(".scroll, .drawing")].forEach((e, i) => { e.scrollLeft = scroll[i] || 0; });
    if (focused) { const e = main.querySelector(focused); if (e) e.focus({ preventScroll: true }); }
    waiting = Boolean(topics) && further(topics, shown()); // what was kept for others may be older
    moves = 0;
    offer();
    seq++;
    main.dataset.seq = String(seq);
    dress();
  } catch { tell("lost"); } finally { fetching = false; }
}

function pathOf(e) {
  if (e.id) return "#" + CSS.escape(e.id);
  const href = e.getAttribute("href");
  return href ? `${e.tagName.toLowerCase()}[href="${CSS.escape(href)}"]` : null;
}

// Tabs of a browser share one stream: the one that holds the lock listens and tells the
// others. Where that cannot be, each has its own; where no stream stays open, the page is
// fetched again every ten seconds.
const channel = window.BroadcastChannel ? new BroadcastChannel("patra-live" + base) : null;
let leave = null;       // gives the lock away
let polling = 0;

function moved(next) {
  lost.hidden = true;
  if (!paused) tell("live");
  if (further(next, topics || shown())) moves++;
  topics = next;
  main.dataset.live = String(Number(main.dataset.live || 0) + 1);
  if (further(next, shown())) refresh();
}

function heard(message) {
  if (message.topics) moved(message.topics);
  else if (message.away) cut();
  else if (message.ask && stream && topics) channel.postMessage({ topics });
}

function listen() {
  const tellAll = (message) => { if (channel) channel.postMessage(message); };
  stream = new EventSource(base + "/live");
  main.dataset.stream = "own";
  stream.addEventListener("moved", (e) => { const next = JSON.parse(e.data); tellAll({ topics: next }); moved(next); });
  stream.addEventListener("away", () => { tellAll({ away: true }); cut(); });
  stream.onerror = () => { tellAll({ away: true }); cut(); if (stream && stream.readyState === EventSource.CLOSED) poll(); };
  stream.onopen = () => { clearInterval(polling); polling = 0; lost.hidden = true; tell(paused ? "paused" : "live"); };
}

function poll() { if (!polling) polling = setInterval(() => { if (!document.hidden) refresh(); }, 10000); }

let asking = false;     // for the lock
function connect() {
  if (stream || asking || !main.dataset.topics) return;
  if (!window.EventSource) { poll(); return; }
  if (!channel || !navigator.locks) { listen(); return; }
  asking = true;
  main.dataset.stream = "shared";
  channel.onmessage = (e) => heard(e.data);
  channel.postMessage({ ask: true });
  navigator.locks.request("patra-live" + base, () => new Promise((release) => { leave = release; listen(); })).catch(() => listen());
}

function cut() {
  tell("lost");
  if (lost.hidden) {
    const at = new Date();
    document.getElementById("lost-since").textContent = at.toISOString().slice(0, 19).replace("T", " ") + "Z";
    lost.hidden = false;
  }
}

// A tab that nobody looks at leaves the stream to another.
function disconnect() {
  if (!stream) return;
  stream.close();
  stream = null;
  if (leave) { leave(); leave = null; asking = false; }
}

pauseButton.addEventListener("click", () => togglePause());
function togglePause() {
  paused = !paused;
  sessionStorage.setItem("patra-paused", paused ? "1" : "0");
  tell(paused ? "paused" : "live");
  if (!paused) refresh();
}
setInterval(() => { if (waiting) refresh(); }, 1000);

let hiddenSince = 0;
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { hiddenSince = setTimeout(disconnect, 60000); return; }
  clearTimeout(hiddenSince);
  connect();
});
if (main.dataset.topics) { tell(paused ? "paused" : "live"); connect(); }

const clock = document.getElementById("clock");
setInterval(() => { if (clock && !paused) { const t = new Date().toISOString(); clock.dateTime = t; clock.textContent = t.slice(0, 19).replace("T", " ") + "Z"; } }, 1000);

// ---- copying ----
function dress() {
  for (const b of main.querySelectorAll("button.copy")) b.hidden = false;
  const content = document.getElementById("content");
  if (content) document.title = content.dataset.title;
  // Whoever goes down the rows by keys goes on from where they are.
  picked = rows().findIndex((r) => r.contains(document.activeElement));
  rows().forEach((r, i) => r.classList.toggle("picked", i === picked));
  shade();
}
// What is wider than its place has a shade where more of it is.
function shade() {
  for (const e of document.querySelectorAll(".scroll, .drawing, .rail")) e.classList.toggle("wider", e.scrollWidth > e.clientWidth + e.scrollLeft + 1);
}
addEventListener("resize", shade);
document.addEventListener("scroll", shade, { capture: true, passive: true });
document.addEventListener("click", async (e) => {
  const b = e.target.closest("button.copy");
  if (!b) return;
  const what = b.dataset.copy || (b.dataset.copyLink ? new URL(b.dataset.copyLink, location.href).href : location.href);
  try { await navigator.clipboard.writeText(what); say(b.textContent + " ✓"); } catch { say(what); }
});
function say(words) { said.textContent = ""; said.textContent = words; }

// ---- keys ----
const rooms = { o: "/", s: "/sources", p: "/plans", q: "/queue", c: "/cursors", r: "/rate", e: "/errors", d: "/records", b: "/blackbox", a: "/alerts", t: "/audit" };
let going = 0;
let picked = -1;
function rows() { return [...main.querySelectorAll("tbody tr")]; }
function pick(n) {
  const all = rows();
  if (!all.length) return;
  picked = Math.max(0, Math.min(all.length - 1, n));
  all.forEach((r, i) => r.classList.toggle("picked", i === picked));
  const a = all[picked].querySelector("a");
  if (a) a.focus(); else all[picked].scrollIntoView({ block: "nearest" });
}
function follow(name) {
  const content = document.getElementById("content");
  const to = content && content.dataset[name];
  if (to) visit(to);
}
// Numbers have holes, and the last thing has none after it.
async function visit(to) {
  try {
    const answer = await fetch(to, { method: "HEAD", credentials: "same-origin" });
    if (!answer.ok) { say(said.dataset.none); return; }
  } catch { return; }
  location.assign(to);
}
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || localStorage.getItem("patra-keys") === "off") return;
  const at = document.activeElement;
  if (at && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName)) { if (e.key === "Escape") at.blur(); return; }
  if (inMatrix(e, at)) return;
  if (going && e.timeStamp - going < 1500) { // by when keys were pressed, not by when there was time for them
    going = 0;
    if (rooms[e.key]) { e.preventDefault(); location.assign(base + rooms[e.key]); }
    return;
  }
  switch (e.key) {
    case "g": going = e.timeStamp; break;
    case "/": e.preventDefault(); document.querySelector(".search input").focus(); break;
    case "j": pick(picked + 1); break;
    case "k": pick(picked - 1); break;
    case "p": togglePause(); break;
    case "u": follow("up"); break;
    case "[": follow("before"); break;
    case "]": follow("after"); break;
    case ".": { const act = main.querySelector(".head .acts a, .head .acts button"); if (act) act.focus(); break; }
    case "?": location.assign(base + "/help"); break;
    default: return;
  }
});

// Single keys can be turned off, for those whose tools press them.
const keysSwitch = document.getElementById("keys-switch");
if (keysSwitch) {
  const word = () => { keysSwitch.textContent = localStorage.getItem("patra-keys") === "off" ? keysSwitch.dataset.on : keysSwitch.dataset.off; };
  keysSwitch.hidden = false;
  word();
  keysSwitch.addEventListener("click", () => {
    localStorage.setItem("patra-keys", localStorage.getItem("patra-keys") === "off" ? "on" : "off");
    word();
    say(keysSwitch.textContent);
  });
}

// A drawing of many cells is one stop of the tabulator; arrows go from cell to cell.
function inMatrix(e, at) {
  const grid = at && at.closest("[data-grid]");
  if (!grid) return false;
  const cells = [...grid.querySelectorAll("a")];
  const across = Number(grid.dataset.grid) || 1;
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across, PageDown: across * 5, PageUp: -across * 5 }[e.key];
  let to = cells.indexOf(at);
  if (e.key === "Home") to = 0; else if (e.key === "End") to = cells.length - 1; else if (step) to += step; else return false;
  e.preventDefault();
  to = Math.max(0, Math.min(cells.length - 1, to));
  at.setAttribute("tabindex", "-1");
  cells[to].setAttribute("tabindex", "0");
  cells[to].focus();
  return true;
}
const rail = document.querySelector(".rail");
const room = rail && rail.querySelector("[aria-current]");
if (room) rail.scrollLeft = room.offsetLeft - rail.offsetLeft - 24;
dress();
document.documentElement.dataset.ready = "1";
