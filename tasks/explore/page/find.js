// The search box: typing lights what fits on the map and looks at it; a click or Enter goes there.
import { $, ask, el, forget, later } from "./dom.js";
import { about, chosen } from "./state.js";

const LISTED = 12;

export function finder({ map, goTo, openWord, useMix, changed }) {
  async function find() {
    const text = chosen.find = $("find").value.trim();
    changed();
    if (!text) return clear();
    const answer = await ask("find", { text });
    if (!answer) return;
    if (answer.error) return show([el("li", { textContent: answer.error, className: "soft" })], null);
    const names = answer.matches.map(i => about.attributes[i].name);
    const items = names.slice(0, LISTED).map(name => item(name, () => goTo(name)));
    if (names.length > LISTED) items.push(el("li", { className: "soft", textContent: `and ${names.length - LISTED} more, lit on the map` }));
    if (answer.mix.length) items.push(item(`mix: ${text}`, () => useMix(answer.mix)));
    items.push(...answer.words.map(word => item(`word: ${word}`, () => openWord(word))));
    if (!items.length) items.push(el("li", { className: "soft", textContent: answer.note || "nothing is called so" }));
    show(items, names);
  }

  function item(label, action) {
    const button = el("button", { type: "button", textContent: label });
    button.addEventListener("click", () => { $("found").hidden = true; action(); });
    return el("li", {}, button);
  }

  function show(items, names) {
    $("found").replaceChildren(...items);
    $("found").hidden = false;
    map.light(names?.length ? names : null);
    if (names?.length) map.fit(names);
  }

  function clear() {
    forget("find");
    $("found").hidden = true;
    $("found").replaceChildren();
    map.light(null);
  }

  const soon = later(140, find);
  $("find").addEventListener("input", soon);
  $("find").addEventListener("focus", () => { $("found").hidden = !$("found").childElementCount; });
  $("find-form").addEventListener("submit", async event => {
    event.preventDefault();
    await find();
    $("found").querySelector("button")?.click();
  });
  $("find-form").addEventListener("keydown", event => {
    if (event.key === "Escape") { $("found").hidden = true; return; }
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!way || $("found").hidden) return;
    event.preventDefault();
    const stops = [$("find"), ...$("found").querySelectorAll("button")];
    stops[Math.min(Math.max(stops.indexOf(document.activeElement) + way, 0), stops.length - 1)].focus();
  });
  document.addEventListener("pointerdown", event => { if (!$("find-form").contains(event.target)) $("found").hidden = true; });

  // As a link or another model leaves it: lit, but the view and the list stay as they are.
  async function restore() {
    clear();
    $("find").value = chosen.find;
    if (!chosen.find) return;
    const answer = await ask("find", { text: chosen.find });
    if (answer?.matches?.length) map.light(answer.matches.map(i => about.attributes[i].name));
  }
  return { restore };
}
