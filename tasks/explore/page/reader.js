// A pasted text: its place, the likeliest value of every column, and a warning where the model is no judge of it.
import { $, ask, el, number, whole } from "./dom.js";
import { SHAPES } from "./map.js";
import { chosen } from "./state.js";

const LIMIT = 20000;

export function reader({ map, intoMix }) {
  let placed = null;

  async function read() {
    const text = $("text").value, note = $("read-note");
    if (!text.trim()) { note.textContent = "Paste a text first."; return; }
    if (text.length > LIMIT) {
      note.textContent = `${whole(text.length)} characters are too many; the limit is ${whole(LIMIT)}. Paste a passage of it.`;
      return;
    }
    const answer = await ask("read", { text });
    if (!answer) return;
    if (answer.error) { show(); note.textContent = answer.error; return; }
    placed = answer;
    const unknown = answer.unknown_count ? `; ${answer.unknown_count} not known (${answer.unknown.join(", ")})` : "";
    note.textContent = `Read ${answer.read} of ${answer.words} words${unknown}. Perplexity ${whole(answer.perplexity)}, ` +
      `${whole(answer.reference)} for ${answer.reference_of}.` +
      (answer.warnings.length ? "" : " Nothing speaks against asking this model, which proves little: novels pass for blog posts.");
    $("warnings").replaceChildren(...answer.warnings.map(message => el("li", { textContent: message })));
    $("warnings").hidden = !answer.warnings.length;
    const likely = answer.columns.map(({ name, values, weighed, of }) =>
      bars(weighed < of ? `${name} (of the ${weighed} nearest of ${whole(of)})` : name, values.filter(([, p], i) => p >= 0.001 || i < 3), p => p,
        p => p > 0.9995 ? "> 99.9 %" : p < 0.0005 ? "< 0.1 %" : `${number(100 * p, 1)} %`));
    const nearest = bars("Nearest vectors (cosine)", answer.nearest, c => Math.max(0, c), number);
    const sure = "Probabilities by Bayes’ rule, other columns at their average. Words count as independent, so long texts look surer than they are.";
    $("placed").replaceChildren(el("h3", { textContent: "Likeliest values" }), el("p", { className: "soft", textContent: sure }),
      el("div", { className: "pair" }, ...likely), nearest);
    mark();
    $("into-mix").disabled = false;
  }

  const mark = () => map.mark("your text", placed ? placed.places[chosen.view] : null, SHAPES.star);

  function bars(title, rows, share, shown) {
    const body = rows.map(([name, value]) => {
      const bar = el("span", { className: "bar" });
      bar.style.width = `${Math.round(70 * share(value))}px`;
      return el("tr", {}, el("td", { textContent: name }), el("td", { className: "number", textContent: shown(value) }), el("td", {}, bar));
    });
    return el("table", {}, el("caption", { textContent: title }), el("tbody", {}, ...body));
  }

  function show() {
    placed = null;
    $("placed").replaceChildren();
    $("warnings").hidden = true;
    $("read-note").textContent = "";
    $("into-mix").disabled = true;
    mark();
  }

  $("read").addEventListener("click", read);
  $("into-mix").addEventListener("click", () => intoMix(placed.vector));
  return { show, mark, get placed() { return placed; } };
}
