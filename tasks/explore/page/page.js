// The page: pick a model, look at its map, mix, compare words, place a text; a link holds all that is chosen.
// All text from outside goes in as text, never as HTML.
import { $, SILENT, fill, later, number, problem, whole } from "./dom.js";
import { save, saveCSV, savePNG } from "./downloads.js";
import { finder } from "./find.js";
import { mixer, nameOf, sampleText } from "./mixer.js";
import { mapPanel } from "./panel.js";
import { reader } from "./reader.js";
import { TABS, about, chosen, hash, parsed, reset } from "./state.js";
import { words } from "./words.js";

let models = [], restoring = true;
const link = () => hash(models[chosen.model].name);
const write = later(150, () => history.replaceState(null, "", link()));
const changed = () => { if (!restoring) write(); };

const panel = mapPanel({ pick: name => mix.toggle(name), changed });
const { map } = panel;
const mix = mixer({ map, changed, baseChanged: () => lists.again() });
const lists = words({ openTab, changed });
const text = reader({ map, intoMix: vector => { mix.addText(vector); openTab("mixer"); } });
const find = finder({
  map, changed, goTo, openWord: word => lists.open(word),
  useMix: parts => {
    mix.use(parts.map(part => ({ ...part, profile: { ...chosen.base, ...part.profile } })));
    openTab("mixer");
  },
});
map.on.placed = () => { mix.mark(); text.mark(); changed(); };

function goTo(name) {
  if (!map.byName.has(name)) { $("view").value = 0; $("view").dispatchEvent(new Event("change")); }
  map.fit([name]);
  map.focusOn(name);
  map.canvas.focus();
}

// ---- model and link

async function start() {
  models = await (await fetch("api/models")).json();
  fill($("model"), models.map((m, i) => [m.name, i]));
  await restore();
}

async function restore() {
  const wanted = parsed(location.hash);
  const i = wanted.model === undefined ? 0 : models.findIndex(m => m.name === wanted.model);
  problem(i < 0 ? `the link is to the model “${wanted.model}”, which is not served here` : "");
  await pick(Math.max(i, 0), i < 0 ? {} : wanted);
}

async function pick(i, wanted = {}) {
  restoring = true;
  const described = await (await fetch(`api/models/${i}`)).json();
  for (const key of Object.keys(about)) delete about[key];
  Object.assign(about, described);
  Object.assign(reset(), wanted, { model: i });
  $("model").value = i;
  $("facts").textContent = `${whole(about.attributes.length)} attributes, ${whole(about.words)} words`;
  const names = about.attributes.map(a => a.name);
  fill($("add"), [["an attribute…", ""], ...names.map(n => [n, n])]);
  $("examples").replaceChildren(...about.examples.map(word => new Option(word)));
  keepKnown(names);
  panel.show();
  text.show();
  lists.show();
  mix.show();
  await find.restore();
  openTab(chosen.tab);
  restoring = false;
  changed();
}

// A link may name what this model does not have.
function keepKnown(names) {
  const known = new Set(names), columns = new Map(about.columns.map(c => [c.name, c]));
  const ok = profile => Object.entries(profile).every(([c, v]) => columns.get(c)?.number || columns.get(c)?.values.includes(v));
  const lone = about.views.length > 1 ? [{ base: true, weight: 1 }] : [{ name: names[0], weight: 1 }];
  if (!ok(chosen.base)) chosen.base = {};
  chosen.mix = chosen.mix?.filter(part => part.vector || part.base || (part.name ? known.has(part.name) : ok(part.profile))) ?? lone;
  if (!known.has(chosen.point)) chosen.point = null;
}

// ---- tabs

function openTab(tab) {
  chosen.tab = tab;
  for (const one of TABS) {
    $(`tab-${one}`).setAttribute("aria-selected", one === tab);
    $(`tab-${one}`).tabIndex = one === tab ? 0 : -1;
    $(one).hidden = one !== tab;
  }
  lists.opened(tab);
  changed();
}

TABS.forEach((tab, i) => {
  $(`tab-${tab}`).addEventListener("click", () => openTab(tab));
  $(`tab-${tab}`).addEventListener("keydown", event => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    const next = TABS[(i + way + TABS.length) % TABS.length];
    openTab(next);
    $(`tab-${next}`).focus();
  });
});

// ---- downloads

const mixName = () => chosen.mix.map(part => `${number(part.weight)}*${nameOf(part)}`).join(" + ");
const TABLES = {
  map: () => [["attribute", "x", "y", "words"], ...map.points.map(p => [p.name, p.x, p.y, p.words])],
  samples: () => mix.samples && [["mix", "sample"], ...mix.samples.map(one => [mixName(), sampleText(one)])],
  near: () => lists.near && [["word", "attribute", "rank", "neighbour", "cosine", "rank under the other"],
    ...["a", "b"].flatMap(s => lists.near[s].map((n, i) => [lists.near.word, lists.near.names[s], i + 1, n.word, number(n.cosine, 4), n.other_rank]))],
  differ: () => lists.differing && (lists.differing.kind === "effects"
    ? [["word", "effect", "low", "high", "p", "q", ...(lists.differing.number ? ["documents"] : lists.differing.values.map(v => `documents ${v}`))],
      ...lists.differing.words.map(w => [w.word, w.effect, w.low, w.high, w.p ?? "", w.q ?? "", ...w.documents])]
    : [["word", "a", "b", "shift", "times"], ...lists.differing.words.map(w => [w.word, lists.differing.a, lists.differing.b, w.shift, w.count])]),
  read: () => text.placed && [["column", "value", "measure", "number"],
    ...text.placed.columns.flatMap(c => c.values.map(([v, p]) => [c.name, v, "probability", number(p, 4)])),
    ...text.placed.nearest.map(([n, v]) => ["", n, "cosine", number(v, 4)])],
};

for (const [kind, table] of Object.entries(TABLES)) {
  const ready = action => async () => {
    problem(table() ? "" : "Nothing to download yet.", "download");
    if (table()) await action(table());
  };
  $(`${kind}-csv`).addEventListener("click", ready(rows => saveCSV(rows, `${kind}.csv`)));
  $(`${kind}-png`).addEventListener("click", ready(async rows => kind === "map" ? save(await map.png(), "map.png") : savePNG(rows.slice(0, 80), `${kind}.png`)));
}

// ---- wiring

async function copyLink() {
  history.replaceState(null, "", link());
  try {
    await navigator.clipboard.writeText(location.href);
    $("copied").textContent = "Link copied.";
  } catch {
    $("copied").textContent = "The address above is the link.";
  }
  setTimeout(() => { $("copied").textContent = ""; }, 3000);
}

$("copy").addEventListener("click", copyLink);
$("model").addEventListener("change", () => pick(Number($("model").value)).catch(() => problem(SILENT)));
addEventListener("hashchange", () => restore().catch(() => problem(SILENT)));
start().catch(() => problem(SILENT));
