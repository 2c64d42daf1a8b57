// The page: pick a model, mix attributes, compare neighbours, place a text. All text from outside goes in as text,
// never as HTML.
import { AttributeMap, SHAPES } from "./map.js";

const $ = id => document.getElementById(id);
const LIMIT = 20000;
const state = { model: 0, about: null, mix: [], seed: 0, generated: null, near: null, placed: null };
const map = new AttributeMap($("map"), toggle);

const el = (name, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
};
const number = (value, digits = 2) => Number(value).toFixed(digits);

// ---- asking the server

const latest = {};
async function ask(kind, body) {
  const mine = latest[kind] = (latest[kind] ?? 0) + 1;
  let answer;
  try {
    const path = `api/models/${state.model}/${kind}`;
    const response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    answer = await response.json();
  } catch {
    answer = { error: "the explorer does not answer; is `python run.py task=explore` still running?" };
  }
  return mine === latest[kind] ? answer : null;  // a newer question was asked meanwhile
}

function problem(message) {
  $("problem").textContent = message ?? "";
  $("problem").hidden = !message;
}

const later = (wait, action) => {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(action, wait); };
};

// ---- model

async function start() {
  const models = await (await fetch("api/models")).json();
  $("model").replaceChildren(...models.map((m, i) => new Option(m.name, i)));
  await pick(0);
}

async function pick(i) {
  state.model = i;
  state.about = await (await fetch(`api/models/${i}`)).json();
  const names = state.about.attributes.map(a => a.name);
  $("facts").textContent = `${names.length} attributes, ${state.about.words.toLocaleString("en")} words`;
  map.show(state.about.attributes);
  for (const id of ["a", "b", "add"]) $(id).replaceChildren(...names.map(n => new Option(n, n)));
  $("add").prepend(new Option("an attribute…", "", true, true));
  $("b").selectedIndex = names.length - 1;
  $("examples").replaceChildren(...state.about.examples.map(word => new Option(word)));
  Object.assign(state, { mix: [{ name: names[0], weight: 1 }], generated: null, near: null, placed: null });
  for (const id of ["lists", "placed", "samples"]) $(id).replaceChildren();
  for (const id of ["unknown", "read-note", "mix-note", "map-note"]) $(id).textContent = "";
  $("into-mix").disabled = true;
  showMix();
}

// ---- mixer

function toggle(name) {
  const at = state.mix.findIndex(part => part.name === name);
  if (at >= 0) state.mix.splice(at, 1);
  else state.mix.push({ name, weight: state.mix.length ? 0.5 : 1 });
  $("map-note").textContent = `${name} ${at >= 0 ? "left" : "joined"} the mix`;
  showMix();
}

function showMix() {
  map.select(state.mix.map(part => part.name));
  $("sliders").replaceChildren(...state.mix.map(slider));
  if (!state.mix.length) $("sliders").append(el("p", { className: "soft", textContent: "Nothing in the mix: choose a point on the map or add one here." }));
  generate();
}

function slider(part, i) {
  const shown = el("output", { textContent: number(part.weight) });
  const range = el("input", { type: "range", min: -1, max: 1.5, step: 0.05, value: part.weight, ariaLabel: `weight of ${part.name}` });
  range.addEventListener("input", () => {
    part.weight = Number(range.value);
    shown.textContent = number(part.weight);
    generateSoon();
  });
  const remove = el("button", { textContent: "×", ariaLabel: `remove ${part.name}` });
  remove.addEventListener("click", () => { state.mix.splice(i, 1); showMix(); });
  return el("div", { className: "slider" }, el("span", { textContent: part.name }), range, shown, remove);
}

async function generate() {
  if (!state.mix.length) {
    latest.generate = (latest.generate ?? 0) + 1;
    state.generated = null;
    $("samples").replaceChildren();
    $("mix-note").textContent = "";
    return map.mark("mix", null);
  }
  $("samples").setAttribute("aria-busy", "true");
  const mix = state.mix.map(({ name, weight, vector }) => vector ? { vector, weight } : { name, weight });
  const answer = await ask("generate", {
    mix, start: $("start").value, words: Number($("words").value), temperature: Number($("temperature").value),
    top_p: Number($("top_p").value), seed: state.seed,
  });
  if (!answer) return;
  $("samples").setAttribute("aria-busy", "false");
  problem(answer.error);
  if (answer.error) return;
  state.generated = answer;
  $("samples").replaceChildren(...answer.samples.map(words => el("blockquote", { textContent: sample(words) })));
  const unknown = answer.unknown.length ? ` · not known: ${answer.unknown.join(", ")}` : "";
  $("mix-note").textContent = "nearest: " + answer.nearest.map(([n, c]) => `${n} ${number(c)}`).join(", ") + unknown;
  map.mark("mix", state.mix.length > 1 ? answer.place : null, SHAPES.diamond);
}
const generateSoon = later(60, generate);
const sample = words => prose([$("start").value.trim(), ...words].filter(Boolean));

// Words as a printer would set them: no space before a comma or within a contraction.
function prose(words) {
  return words.join(" ").replace(/ ([,.;:!?)\]])/g, "$1").replace(/([(\[]) /g, "$1").replace(/(\w) ' (s|d|ll|t|re|ve|m)\b/g, "$1'$2");
}

// ---- neighbours

async function compare() {
  const word = $("word").value.trim();
  if (!word) return;
  const answer = await ask("neighbours", { word, a: $("a").value, b: $("b").value });
  if (!answer) return;
  $("unknown").replaceChildren();
  if (answer.error) {
    state.near = null;
    $("lists").replaceChildren();
    const near = (answer.suggestions ?? []).map(s => wordButton(s, s));
    $("unknown").append(answer.error, ...(near.length ? ["; did you mean ", ...near.flatMap((n, i) => i ? [" ", n] : [n]), "?"] : "."));
    return;
  }
  state.near = { ...answer, names: { a: $("a").value, b: $("b").value } };
  $("lists").replaceChildren(el("div", { className: "pair" }, neighbourTable("a", "b"), neighbourTable("b", "a")));
}

function wordButton(label, word) {
  const button = el("button", { textContent: label, type: "button" });
  button.addEventListener("click", () => { $("word").value = word; compare(); });
  return button;
}

function neighbourTable(side, other) {
  const { names, common } = state.near, body = el("tbody");
  state.near[side].forEach((n, i) => {
    const shift = n.other_rank - (i + 1), only = !common.includes(n.word);
    const moved = only ? `${n.other_rank.toLocaleString("en")}.` : shift ? `${shift > 0 ? "▼" : "▲"} ${Math.abs(shift)}` : "=";
    const move = el("td", { className: `number ${only ? "moved" : "stays"}`, textContent: moved });
    const row = el("tr", { className: only ? "only" : "" }, el("td", {}, wordButton(n.word, n.word)),
      el("td", { className: "number", textContent: number(n.cosine) }), move);
    body.append(row);
  });
  const head = el("tr", {}, ...["word", "cosine", `under ${other.toUpperCase()}`].map(h => el("th", { textContent: h, scope: "col" })));
  return el("table", {}, el("caption", { textContent: `${side.toUpperCase()}: ${names[side]}` }), el("thead", {}, head), body);
}

// ---- a text

async function read() {
  const text = $("text").value;
  const note = $("read-note");
  if (!text.trim()) { note.textContent = "Paste a text first."; return; }
  if (text.length > LIMIT) {
    note.textContent = `${text.length.toLocaleString("en")} characters are too many; the limit is ${LIMIT.toLocaleString("en")}. Paste a passage of it.`;
    return;
  }
  const answer = await ask("read", { text });
  if (!answer) return;
  if (answer.error) {
    note.textContent = answer.error;
    $("placed").replaceChildren();
    return;
  }
  state.placed = answer;
  const unknown = answer.unknown_count ? `; ${answer.unknown_count} not known (${answer.unknown.join(", ")})` : "";
  note.textContent = `Read ${answer.read} of ${answer.words} words${unknown}. Likeliest: ${answer.likeliest[0][0]}.`;
  const nearest = bars("Nearest vectors (cosine)", answer.nearest, value => Math.max(0, value));
  const worst = answer.likeliest.at(-1)[1];
  const likely = bars("Likeliest (perplexity, lower is likelier)", answer.likeliest, value => answer.likeliest[0][1] / value, worst > 100 ? 0 : 1);
  $("placed").replaceChildren(el("div", { className: "pair" }, nearest, likely));
  map.mark("your text", answer.place, SHAPES.star);
  $("into-mix").disabled = false;
}

function bars(title, rows, share, digits = 2) {
  const body = rows.map(([name, value]) => {
    const bar = el("span", { className: "bar" });
    bar.style.width = `${Math.round(60 * share(value))}px`;
    return el("tr", {}, el("td", { textContent: name }), el("td", { className: "number", textContent: number(value, digits) }), el("td", {}, bar));
  });
  return el("table", {}, el("caption", { textContent: title }), el("tbody", {}, ...body));
}

// ---- downloads

function save(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A cell that a spreadsheet would take for a formula gets an apostrophe in front.
const quote = cell => `"${String(cell).replace(/^[=+\-@\t\r](?![\d.])/, "'$&").replaceAll('"', '""')}"`;
const saveCSV = (rows, name) => save(new Blob([rows.map(r => r.map(quote).join(",") + "\r\n").join("")], { type: "text/csv" }), name);

// Any table as a picture; long cells are broken into lines.
function savePNG(rows, name) {
  const pen = document.createElement("canvas").getContext("2d");
  const font = "26px sans-serif", line = 36, gap = 40, widest = 1100;
  pen.font = font;
  const broken = rows.map(row => row.map(cell => {
    const lines = [""];
    for (const word of String(cell).split(" ")) {
      const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
      if (pen.measureText(longer).width > widest && lines.at(-1)) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines;
  }));
  const widths = rows[0].map((_, j) => Math.max(...broken.map(r => Math.max(...(r[j] ?? [""]).map(t => pen.measureText(t).width)))));
  const heights = broken.map(r => line * Math.max(...r.map(lines => lines.length)) + 8);
  pen.canvas.width = widths.reduce((a, w) => a + w + gap, gap);
  pen.canvas.height = heights.reduce((a, h) => a + h, 40);
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, pen.canvas.width, pen.canvas.height);
  let y = 20;
  broken.forEach((row, i) => {
    let x = gap;
    row.forEach((lines, j) => {
      pen.font = i ? font : "bold " + font;
      pen.fillStyle = "#1c2330";
      lines.forEach((text, k) => pen.fillText(text, x, y + line * (k + 0.8)));
      x += widths[j] + gap;
    });
    y += heights[i];
  });
  pen.canvas.toBlob(blob => save(blob, name), "image/png");
}

const mixName = () => state.mix.map(p => `${number(p.weight)}*${p.name}`).join(" + ");
const TABLES = {
  map: () => [["attribute", "x", "y", "group"], ...state.about.attributes.map(a => [a.name, a.x, a.y, a.group])],
  samples: () => state.generated && [["mix", "sample"], ...state.generated.samples.map(words => [mixName(), sample(words)])],
  near: () => state.near && [["word", "attribute", "rank", "neighbour", "cosine", "rank under the other"],
    ...["a", "b"].flatMap(s => state.near[s].map((n, i) => [state.near.word, state.near.names[s], i + 1, n.word, number(n.cosine, 4), n.other_rank]))],
  read: () => state.placed && [["attribute", "measure", "value"], ...state.placed.nearest.map(([n, v]) => [n, "cosine", number(v, 4)]),
    ...state.placed.likeliest.map(([n, v]) => [n, "perplexity", number(v, 2)])],
};

for (const [kind, table] of Object.entries(TABLES)) {
  $(`${kind}-csv`).addEventListener("click", () => table() ? saveCSV(table(), `${kind}.csv`) : problem("Nothing to download yet."));
  $(`${kind}-png`).addEventListener("click", async () => {
    if (kind === "map") save(await map.png(), "map.png");
    else if (table()) savePNG(table(), `${kind}.png`);
    else problem("Nothing to download yet.");
  });
}

// ---- wiring

for (const id of ["words", "temperature", "top_p"]) {
  const show = () => { $(id).nextElementSibling.textContent = $(id).value; };
  $(id).addEventListener("input", () => { show(); generateSoon(); });
  show();
}
$("start").addEventListener("input", later(250, generate));
$("again").addEventListener("click", () => { state.seed += 1; generate(); });
$("clear").addEventListener("click", () => { state.mix = []; showMix(); });
$("even").addEventListener("click", () => { state.mix.forEach(p => { p.weight = Math.round(100 / state.mix.length) / 100; }); showMix(); });
$("add").addEventListener("change", () => {
  const name = $("add").value;
  $("add").selectedIndex = 0;
  if (name && !state.mix.some(p => p.name === name)) toggle(name);
});
$("ask").addEventListener("submit", event => { event.preventDefault(); compare(); });
for (const id of ["a", "b"]) $(id).addEventListener("change", compare);
$("read").addEventListener("click", read);
$("into-mix").addEventListener("click", () => {
  state.mix = state.mix.filter(p => !p.vector);
  state.mix.push({ name: "your text", vector: state.placed.vector, weight: state.mix.length ? 0.5 : 1 });
  showMix();
});
$("model").addEventListener("change", () => pick(Number($("model").value)));
start().catch(() => problem("the explorer does not answer; is `python run.py task=explore` still running?"));
