// Two lists about words: the neighbours of one under A and under B, and the words that differ most between values.
import { $, ask, choose, el, fill, later, number, whole } from "./dom.js";
import { about, chosen } from "./state.js";

const head = names => el("thead", {}, el("tr", {}, ...names.map(h => el("th", { textContent: h, scope: "col" }))));
const cell = (text, className = "number") => el("td", { className, textContent: text });

// Every value of every column, then the attributes that are not single values.
export function valueNames() {
  const { columns, attributes } = about, single = columns.length === 1;
  const values = columns.flatMap(c => c.values.map(v => single ? v : `${c.name}=${v}`));
  const known = new Set(values);
  return [...values, ...attributes.map(a => a.name).filter(name => !known.has(name))];
}
const valueName = (column, value) => about.columns.length > 1 ? `${column}=${value}` : value;

export function words({ openTab, changed }) {
  let near = null, differing = null;

  // ---- neighbours

  async function compare() {
    Object.assign(chosen, { word: $("word").value.trim(), a: $("a").value, b: $("b").value });
    changed();
    if (!chosen.word) { near = null; $("lists").replaceChildren(); return; }
    const least = Math.max(0, Math.round(Number($("least").value) || 0));
    const answer = await ask("neighbours", { word: chosen.word, a: chosen.a, b: chosen.b, base: chosen.base, least });
    if (!answer) return;
    $("unknown").replaceChildren();
    if (answer.error) {
      near = null;
      $("lists").replaceChildren();
      const offers = (answer.suggestions ?? []).map(s => wordButton(s));
      $("unknown").append(answer.error, ...(offers.length ? ["; did you mean ", ...offers.flatMap((n, i) => i ? [" ", n] : [n]), "?"] : "."));
      return;
    }
    near = { ...answer, names: { a: label(chosen.a), b: label(chosen.b) } };
    $("lists").replaceChildren(el("div", { className: "pair" }, neighbourTable("a", "b"), neighbourTable("b", "a")));
  }
  const label = name => name || "base profile";

  function wordButton(word, before = () => {}) {
    const button = el("button", { textContent: word, type: "button" });
    button.addEventListener("click", () => { before(); open(word); });
    return button;
  }

  function open(word) {
    $("word").value = word;
    openTab("neighbours");
    compare();
  }

  function neighbourTable(side, other) {
    const rows = near[side].map((n, i) => {
      const shift = n.other_rank - (i + 1), only = !near.common.includes(n.word);
      const moved = only ? `${whole(n.other_rank)}.` : shift ? `${shift > 0 ? "▼" : "▲"} ${Math.abs(shift)}` : "=";
      return el("tr", { className: only ? "only" : "" }, el("td", {}, wordButton(n.word)), cell(number(n.cosine)),
        cell(moved, `number ${only ? "moved" : "stays"}`), cell(whole(n.times)));
    });
    const caption = el("caption", { textContent: `${side.toUpperCase()}: ${near.names[side]}` });
    return el("table", {}, caption, head(["word", "cosine", `under ${other.toUpperCase()}`, "times used"]), el("tbody", {}, ...rows));
  }

  // ---- words that differ

  async function differ() {
    const entry = $("pair").value === "" ? null : Number($("pair").value);
    $("own-pair").hidden = entry !== null;
    if (entry === null) Object.assign(chosen, { a: $("first").value, b: $("second").value });
    chosen.pair = $("pair").value || null;
    changed();
    const query = entry === null ? { a: chosen.a, b: chosen.b, base: chosen.base } : { entry };
    $("differing").setAttribute("aria-busy", "true");
    const answer = await ask("differ", query);
    if (!answer) return;
    $("differing").setAttribute("aria-busy", "false");
    differing = answer.error ? null : { ...answer, a: chosen.a, b: chosen.b };
    if (answer.error) { $("differ-note").textContent = answer.error; $("differing").replaceChildren(); return; }
    if (answer.kind === "effects") showEffects(answer);
    else showShifts(answer);
  }

  function showEffects({ name, values, number: along, words: rows, total }) {
    const sure = rows.filter(w => w.q !== null && w.q < 0.05).length;
    const how = along ? `changes along ${name}, from a standard deviation below its mean to one above`
      : `differs between the values of ${name}`;
    $("differ-note").textContent = `How far the use of a word ${how}, with its interval; ` +
      `1 is how far apart two words typically are. First the ${whole(sure)} words with q < 0.05, by effect; then others, the surest first. ` +
      `${whole(rows.length)} of ${whole(total)} words.`;
    const most = Math.max(...rows.map(w => w.high), 1e-9), least = Math.min(...rows.map(w => w.low), 0);
    const each = !along && values.length <= 3, counts = each ? values.map(v => `documents ${v}`) : ["documents"];
    const body = rows.map(w => {
      const documents = each ? values.map((_, i) => whole(w.documents[i] ?? 0)) : [whole(w.documents.reduce((a, n) => a + n, 0))];
      const pair = along ? ends(name) : mostly(values, w.documents);
      return el("tr", {}, el("td", {}, wordButton(w.word, () => sides(name, pair))), cell(number(w.effect)),
        el("td", {}, whiskers(w, least, most)), cell(`${number(w.low)} – ${number(w.high)}`),
        cell(w.q === null ? "" : w.q < 0.001 ? "< 0.001" : number(w.q, 3)), ...documents.map(d => cell(d)));
    });
    const title = entryName({ name, values, number: along });
    $("differing").replaceChildren(el("table", { className: "effects" }, el("caption", { textContent: title }),
      head(["word", "effect", "", "interval", "q", ...counts]), el("tbody", {}, ...body)));
  }

  function whiskers({ effect, low, high }, least, most) {
    const place = value => 100 * (value - least) / (most - least || 1);
    const line = el("span", { className: "whisker" }), dot = el("span", { className: "effect" });
    Object.assign(line.style, { left: `${place(low)}%`, width: `${Math.max(place(high) - place(low), 1)}%` });
    dot.style.left = `${place(effect)}%`;
    return el("span", { className: "interval" }, line, dot);
  }

  // The neighbours are compared under the two values that have most documents with the word, or the ends of a number.
  const sides = (column, pair) => ["a", "b"].forEach((side, i) => choose($(side), valueName(column, pair[i])));

  function mostly(values, documents) {
    const order = values.map((_, i) => i).sort((i, j) => (documents[j] ?? 0) - (documents[i] ?? 0)).slice(0, 2).sort((i, j) => i - j);
    return order.map(i => values[i]);
  }

  function ends(column) {
    const knots = (about.columns.find(c => c.name === column)?.values ?? []).filter(v => v !== "missing");
    return [knots[0], knots.at(-1)];
  }

  function showShifts({ words: rows, ranked, least, note }) {
    $("differ-note").textContent = `${note} These are the words whose 15 neighbours move most between A and B, of the ` +
      `${whole(ranked)} most frequent words (${whole(least)} times or more). No intervals: some of it is noise.`;
    const most = Math.max(...rows.map(w => w.shift), 1e-9);
    const body = rows.slice(0, 60).map(w => {
      const bar = el("span", { className: "bar" });
      bar.style.width = `${Math.round(70 * w.shift / most)}px`;
      return el("tr", {}, el("td", {}, wordButton(w.word, () => { $("a").value = chosen.a; $("b").value = chosen.b; })),
        cell(number(w.shift)), el("td", {}, bar), cell(whole(w.count)));
    });
    $("differing").replaceChildren(el("table", {}, el("caption", { textContent: `${label(chosen.a)} against ${label(chosen.b)}` }),
      head(["word", "shift", "", "times"]), el("tbody", {}, ...body)));
  }

  // ---- controls

  $("ask").addEventListener("submit", event => { event.preventDefault(); compare(); });
  for (const id of ["a", "b", "least"]) $(id).addEventListener("change", compare);
  for (const id of ["pair", "first", "second"]) $(id).addEventListener("change", differ);

  function show() {
    near = differing = null;
    for (const id of ["lists", "differing", "unknown"]) $(id).replaceChildren();
    $("differ-note").textContent = "";
    const names = valueNames(), options = [["base profile", ""], ...names.map(n => [n, n])];
    for (const [id, side, usual] of [["a", "a", names[0]], ["b", "b", secondOf(names)], ["first", "a", names[0]], ["second", "b", secondOf(names)]]) {
      fill($(id), about.columns.length > 1 ? options : options.slice(1), usual);
      if (chosen[side] !== null) choose($(id), chosen[side]);
    }
    Object.assign(chosen, { a: $("a").value, b: $("b").value });
    fill($("pair"), [...about.effects.map((e, i) => [entryName(e), i]),
      [about.effects.length ? "two values of my choice" : "two values", ""]], chosen.pair ?? (about.effects.length ? 0 : ""));
    $("pair").parentElement.hidden = !about.effects.length;
    $("own-pair").hidden = $("pair").value !== "";
    $("word").value = chosen.word;
    if (chosen.word) compare();
  }
  const entryName = ({ name, values, number: along }) => along ? `along ${name}`
    : `${name}: ${values.length <= 3 ? values.join(", ") : `all ${values.length} values`}`;
  const secondOf = names => about.columns.length > 1 ? names[1] : names.at(-1);

  function opened(tab) {
    if (tab !== "differ") return;
    for (const [id, side] of [["first", "a"], ["second", "b"]]) choose($(id), chosen[side]);
    const other = $("pair").value === "" && differing && (differing.a !== chosen.a || differing.b !== chosen.b);
    if (!differing || other) differ();
  }

  const again = later(0, () => { if (chosen.word) compare(); differing = null; if (chosen.tab === "differ") differ(); });
  return { show, open, opened, again, get near() { return near; }, get differing() { return differing; } };
}
