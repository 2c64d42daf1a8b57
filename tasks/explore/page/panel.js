// The panel around the map: which term is shown, what the colours mean, buttons to zoom.
import { $, el, fill, whole } from "./dom.js";
import { AttributeMap } from "./map.js";
import { about, chosen } from "./state.js";

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#8a6fd1"], REST = "#7c8694";
const MISSING = "missing";  // of a number: no colour of the ramp, for it is neither low nor high
const RAMP = ["#2c6fbb", "#3f9bb0", "#5cb487", "#c9a227", "#d9742b", "#c23b4e"];

export function mapPanel({ pick, changed }) {
  const map = new AttributeMap($("map"), { pick, focus: told, moved: () => { chosen.zoom = map.look; changed(); } });

  function told(name) {
    chosen.point = name;
    const a = about.attributes.find(one => one.name === name);
    $("map-note").textContent = a?.words ? `${name}: ${whole(a.words)} words of training text` : name;
    changed();
  }

  // A number for each attribute of a view, and the names of these numbers.
  function groups(key) {
    const { columns, attributes, views } = about;
    const column = columns.findIndex(c => `column ${c.name}` === key);
    if (column >= 0) {
      const names = [...columns[column].values, `no ${columns[column].name}`];
      return { of: attributes.map(a => a.values[column] < 0 ? names.length - 1 : a.values[column]), names, ordered: columns[column].number, none: true };
    }
    if (key === "term") {
      const of = new Array(attributes.length).fill(0);
      views.slice(1).forEach((view, t) => view.ids.forEach(i => { of[i] = t; }));
      return { of, names: views.slice(1).map(view => view.name) };
    }
    const names = [...new Set(attributes.map(a => a.group).filter(g => g !== "other")), "other"];
    return { of: attributes.map(a => names.indexOf(a.group)), names, none: true };
  }

  // The groups with most training text get colours, the others share one.
  function coloured({ of, names, ordered, none }, ids) {
    const weight = new Array(names.length).fill(0);
    ids.forEach(i => { weight[of[i]] += 1e-6 + about.attributes[i].words; });
    const last = none ? names.length - 1 : names.length;
    const usable = names.map((_, g) => g).filter(g => g < last && weight[g]);
    const order = ordered ? usable.filter(g => names[g] !== MISSING) : [...usable].sort((a, b) => weight[b] - weight[a]).slice(0, COLOURS.length).sort((a, b) => a - b);
    const colour = new Array(names.length).fill(REST);
    order.forEach((g, j) => {
      colour[g] = ordered ? RAMP[Math.round(j / Math.max(order.length - 1, 1) * (RAMP.length - 1))] : COLOURS[j];
    });
    const legend = order.map(g => [names[g], colour[g]]);
    if (ids.some(i => colour[of[i]] === REST)) legend.push([usable.length > order.length || last === names.length ? "others" : names[last], REST]);
    return { colour, legend };
  }

  function draw() {
    const view = about.views[chosen.view] ?? about.views[0], grouped = groups(chosen.colour);
    const { colour, legend } = coloured(grouped, view.ids);
    const own = about.views.length > 1 ? `${view.name}=` : "";  // said above the map, so not at every point
    map.show(view.ids.map((i, j) => {
      const a = about.attributes[i], label = own && a.name.startsWith(own) ? a.name.slice(own.length) : a.name;
      return { ...a, label, x: view.points[j][0], y: view.points[j][1], colour: colour[grouped.of[i]] };
    }));
    $("legend").replaceChildren(...(legend.length < 2 ? [] : legend).map(([name, shade]) => {
      const swatch = el("span", { className: "swatch" });
      swatch.style.background = shade;
      return el("li", {}, swatch, name);
    }));
  }

  // For a new model, or a link: the choices there are, and what is chosen of them.
  function show() {
    const { columns, views } = about, several = views.length > 1;
    const keys = [...(several ? [["column", "term"]] : []), ...(columns.length > 1 || columns[0].number ? columns.map(c => [c.name, `column ${c.name}`]) : []),
      ...(columns.length > 1 ? [] : [["beginning of the name", "prefix"]])];
    if (!keys.some(([, key]) => key === chosen.colour)) chosen.colour = keys[0][1];
    if (!(chosen.view < views.length)) chosen.view = 0;
    fill($("colour"), keys, chosen.colour);
    fill($("view"), views.map((v, i) => [v.name === "all" ? "all columns" : v.name, i]), chosen.view);
    $("colour").parentElement.hidden = keys.length < 2;
    $("view").parentElement.hidden = !several;
    $("map-note").textContent = "";
    draw();
    map.setLook(chosen.zoom);
    if (chosen.point) map.focusOn(chosen.point, false);
  }

  $("view").addEventListener("change", () => {
    chosen.view = Number($("view").value);
    const own = about.columns.find(c => c.name === about.views[chosen.view].name);
    if (own && [...$("colour").options].some(o => o.value === `column ${own.name}`)) $("colour").value = chosen.colour = `column ${own.name}`;
    draw();
    map.setLook([1, 0.5, 0.5]);
    map.on.placed?.();
  });
  $("colour").addEventListener("change", () => { chosen.colour = $("colour").value; draw(); changed(); });
  $("zoom-in").addEventListener("click", () => map.zoom(1.6));
  $("zoom-out").addEventListener("click", () => map.zoom(1 / 1.6));
  $("zoom-reset").addEventListener("click", () => map.setLook([1, 0.5, 0.5]));
  return { map, show };
}
