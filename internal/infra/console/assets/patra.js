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

function tell(state) {
  live.hidden = false;
  live.classList.toggle("paused", state === "paused");
  live.classList.toggle("lost", state === "lost");
  word.textContent = word.dataset[state];
  pauseButton.setAttribute("aria-pressed", String(paused));
}

function concerned(next) {
  const mine = (main.dataset.topics || "").split(" ").filter(Boolean);
  return mine.some((t) => !topics || topics[t] !== next[t]);
}

// A list does not move under the pointer, nor under somebody who fills in a form.
function busy() {
  const at = document.activeElement;
  if (at && main.contains(at) && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName)) return true;
  return Boolean(main.querySelector("details[open], tr:hover, .figure:hover, form.ask")) || String(getSelection() || "") !== "";
}

let fetching = false;
async function refresh() {
  if (paused || fetching) { waiting = true; return; }
  if (busy()) { waiting = true; return; }
  fetching = true;
  try {
    const answer = await fetch(location.href, { headers: { "Patra-Fragment": "1" }, credentials: "same-origin" });
    if (!answer.ok) return;
    const html = await answer.text();
    if (busy() || paused) { waiting = true; return; }
    waiting = false;
    const focused = document.activeElement && main.contains(document.activeElement) ? pathOf(document.activeElement) : null;
    const scroll = [...main.querySelectorAll(".scroll, .drawing")].map((e) => e.scrollLeft);
    main.innerHTML = policy.createHTML(html);
    [...main.querySelectorAll(".scroll, .drawing")].forEach((e, i) => { e.scrollLeft = scroll[i] || 0; });
    if (focused) { const e = main.querySelector(focused); if (e) e.focus({ preventScroll: true }); }
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

function connect() {
  if (stream || !main.dataset.topics) return;
  stream = new EventSource(base + "/live");
  stream.addEventListener("moved", (e) => {
    lost.hidden = true;
    if (!paused) tell("live");
    const next = JSON.parse(e.data);
    const now = concerned(next) && topics !== null;
    topics = next;
    main.dataset.live = String(Number(main.dataset.live || 0) + 1);
    if (now) refresh();
  });
  stream.addEventListener("away", cut);
  stream.onerror = cut;
  stream.onopen = () => { lost.hidden = true; tell(paused ? "paused" : "live"); };
}

function cut() {
  tell("lost");
  if (lost.hidden) {
    const at = new Date();
    document.getElementById("lost-since").textContent = at.toISOString().slice(0, 19).replace("T", " ") + "Z";
    lost.hidden = false;
  }
}

function disconnect() { if (stream) { stream.close(); stream = null; } }

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
  picked = -1;
}
document.addEventListener("click", async (e) => {
  const b = e.target.closest("button.copy");
  if (!b) return;
  const what = b.dataset.copy || location.href;
  try { await navigator.clipboard.writeText(what); say(b.textContent + " ✓"); } catch { say(what); }
});
function say(words) { said.textContent = ""; said.textContent = words; }

// ---- keys ----
const rooms = { o: "/", s: "/sources", p: "/plans", q: "/queue", c: "/cursors", r: "/rate", e: "/errors", d: "/records", b: "/quarantine", a: "/audit" };
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
  if (going && Date.now() - going < 1500) {
    going = 0;
    if (rooms[e.key]) { e.preventDefault(); location.assign(base + rooms[e.key]); }
    return;
  }
  switch (e.key) {
    case "g": going = Date.now(); break;
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
