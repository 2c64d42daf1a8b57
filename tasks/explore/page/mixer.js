// The mixer: a base profile, a weighted sum of names, profiles and a pasted text, and what the model writes under it.
import { $, ask, el, fill, forget, later, number, problem } from "./dom.js";
import { SHAPES } from "./map.js";
import { about, chosen, columnsOf, profileName } from "./state.js";

export const nameOf = part => part.name ?? (part.vector ? "your text" : part.base ? "base profile" : profileName(part.profile));
export const sampleText = words => prose([chosen.start.trim(), ...words].filter(Boolean));

// Words as a printer would set them: no space before a comma or within a contraction.
function prose(words) {
  return words.join(" ").replace(/ ([,.;:!?)\]])/g, "$1").replace(/([(\[]) /g, "$1").replace(/(\w) ' (s|d|ll|t|re|ve|m)\b/g, "$1'$2");
}

export function mixer({ map, changed, baseChanged }) {
  let generated = null;

  // ---- base profile

  function showBase() {
    const { columns } = about;
    $("base").hidden = columns.length < 2;
    $("base-form").replaceChildren(...columns.map(column => {
      const choice = column.number ? numberInput(column) : el("select");
      if (!column.number) fill(choice, [["average", ""], ...column.values.map(v => [v, v])], chosen.base[column.name] ?? "");
      choice.name = column.name;
      choice.addEventListener("change", () => {
        if (choice.value.trim()) chosen.base[column.name] = choice.value.trim();
        else delete chosen.base[column.name];
        showMix();
        baseChanged();
      });
      return el("label", {}, el("span", { textContent: column.name }), choice);
    }));
  }

  // Any number may be given, not only those that have a vector of their own.
  function numberInput(column) {
    const list = el("datalist", { id: `knots-${about.columns.indexOf(column)}` }, ...column.values.map(v => new Option(v)));
    const input = el("input", { placeholder: "average", inputMode: "decimal", autocomplete: "off", value: chosen.base[column.name] ?? "" });
    input.setAttribute("list", list.id);
    input.append(list);
    return input;
  }

  // ---- mix

  function toggle(name) {
    const at = chosen.mix.findIndex(part => part.name === name);
    if (at >= 0) chosen.mix.splice(at, 1);
    else add({ name });
    $("map-note").textContent = `${name} ${at >= 0 ? "left" : "joined"} the mix`;
    showMix();
  }

  const add = part => chosen.mix.push({ ...part, weight: chosen.mix.length ? 0.5 : 1 });

  function showMix() {
    changed();
    map.select(chosen.mix.map(part => part.name).filter(Boolean));
    $("sliders").replaceChildren(...chosen.mix.map(slider));
    const empty = "Nothing in the mix: choose a point on the map or add one here.";
    if (!chosen.mix.length) $("sliders").append(el("p", { className: "soft", textContent: empty }));
    generate();
  }

  function slider(part, i) {
    const name = nameOf(part), shown = el("output", { textContent: number(part.weight) });
    const range = el("input", { type: "range", min: -1, max: 1.5, step: 0.05, value: part.weight, ariaLabel: `weight of ${name}` });
    range.addEventListener("input", () => {
      part.weight = Number(range.value);
      shown.textContent = number(part.weight);
      changed();
      generateSoon();
    });
    const remove = el("button", { textContent: "×", ariaLabel: `remove ${name}` });
    remove.addEventListener("click", () => { chosen.mix.splice(i, 1); showMix(); });
    const label = el("span", { textContent: name });
    const based = (part.base || part.name) && columnsOf(chosen.base).length;
    if (based) label.append(el("small", { textContent: `${part.base ? ": " : " with "}${profileName(chosen.base)}` }));
    return el("div", { className: "slider" }, label, range, shown, remove);
  }

  async function generate() {
    if (!chosen.mix.length) {
      forget("generate");
      generated = null;
      $("samples").replaceChildren();
      $("mix-note").textContent = "";
      problem("", "mix");
      return map.mark("mix", null);
    }
    $("samples").setAttribute("aria-busy", "true");
    const { mix, base, start, words, temperature, top_p, seed } = chosen;
    const answer = await ask("generate", { mix, base, start, words, temperature, top_p, seed });
    if (!answer) return;
    $("samples").setAttribute("aria-busy", "false");
    problem(answer.error, "mix");
    if (answer.error) return;
    generated = answer;
    $("samples").replaceChildren(...answer.samples.map(one => el("blockquote", { textContent: sampleText(one) })));
    const unknown = answer.unknown.length ? ` · not known: ${answer.unknown.join(", ")}` : "";
    const near = answer.nearest.filter(([, c]) => c > 0.005).map(([n, c]) => `${n} ${number(c)}`).join(", ");
    $("mix-note").textContent = (near ? `nearest: ${near}` : "the average text") + unknown;
    mark();
  }
  const generateSoon = later(60, generate);

  function mark() {
    const lone = chosen.mix.length === 1 && chosen.mix[0].name && !columnsOf(chosen.base).length;
    map.mark("mix", generated && !lone ? generated.places[chosen.view] : null, SHAPES.diamond);
  }

  // ---- controls

  for (const id of ["words", "temperature", "top_p"]) {
    $(id).addEventListener("input", () => { chosen[id] = Number($(id).value); showValues(); changed(); generateSoon(); });
  }
  function showValues() {
    for (const id of ["words", "temperature", "top_p"]) {
      $(id).value = chosen[id];
      $(id).nextElementSibling.textContent = chosen[id];
    }
  }
  const startSoon = later(250, generate);
  $("start").addEventListener("input", () => { chosen.start = $("start").value; changed(); startSoon(); });
  $("again").addEventListener("click", () => { chosen.seed += 1; changed(); generate(); });
  $("clear").addEventListener("click", () => { chosen.mix = []; showMix(); });
  $("even").addEventListener("click", () => {
    chosen.mix.forEach(part => { part.weight = Math.round(100 / chosen.mix.length) / 100; });
    showMix();
  });
  $("add").addEventListener("change", () => {
    const name = $("add").value;
    $("add").selectedIndex = 0;
    if (name && !chosen.mix.some(part => part.name === name)) toggle(name);
  });
  $("add-base").addEventListener("click", () => {
    if (!chosen.mix.some(part => part.base)) { add({ base: true }); showMix(); }
  });
  $("keep-base").addEventListener("click", () => { add({ profile: { ...chosen.base } }); showMix(); });

  function show() {
    generated = null;
    $("samples").replaceChildren();
    $("start").value = chosen.start;
    showValues();
    showBase();
    showMix();
  }

  function addText(vector) {
    chosen.mix = chosen.mix.filter(part => !part.vector);
    add({ vector: vector.map(v => Number(v.toPrecision(5))) });
    showMix();
  }

  return { show, toggle, mark, addText, use: mix => { chosen.mix = mix; showMix(); }, get samples() { return generated?.samples; } };
}
