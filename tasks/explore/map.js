// The map of attributes: an SVG scatter plot with labels that do not cover one another, by mouse, touch and keyboard.
const NS = "http://www.w3.org/2000/svg";
const EDGE = 40;
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#7a5cc7", "#5c6675"];

const make = (name, attributes = {}, parent = null) => {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (parent) parent.append(node);
  return node;
};

export class AttributeMap {
  constructor(holder, onPick) {
    this.holder = holder;
    this.onPick = onPick;
    this.marks = new Map();
    new ResizeObserver(() => this.attributes && this.holder.clientWidth !== this.width && this.draw()).observe(holder);
  }

  show(attributes) {
    this.attributes = attributes;
    this.chosen = [];
    this.marks.clear();
    this.draw();
  }

  // Drawn at the size of its place on the page, so that labels keep theirs on a narrow screen.
  draw() {
    const { attributes } = this;
    this.width = this.holder.clientWidth;
    this.height = Math.round(Math.max(300, 0.75 * this.width));
    this.svg = make("svg", { viewBox: `0 0 ${this.width} ${this.height}`, role: "listbox", "aria-multiselectable": "true",
      "aria-label": "Map of attributes" });
    const xs = attributes.map(a => a.x), ys = attributes.map(a => a.y);
    const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    this.across = x => EDGE + (this.width - 2 * EDGE) * (x - left) / ((right - left) || 1);
    this.down = y => this.height - EDGE - (this.height - 2 * EDGE) * (y - bottom) / ((top - bottom) || 1);
    const groups = [...new Set(attributes.map(a => a.group).filter(g => g !== "other"))];
    this.dots = attributes.map((a, i) => {
      const at = [this.across(a.x), this.down(a.y)];
      const dot = make("g", { class: "dot", role: "option", tabindex: i ? -1 : 0, "aria-selected": "false", "aria-label": a.name },
        this.svg);
      const group = groups.indexOf(a.group);
      make("title", {}, dot).textContent = a.name;
      make("circle", { cx: at[0], cy: at[1], r: 14, fill: "transparent" }, dot);
      make("circle", { cx: at[0], cy: at[1], r: 6, fill: COLOURS[group < 0 ? 7 : group % 7] }, dot);
      const label = make("text", {}, dot);
      label.textContent = a.name;
      dot.addEventListener("click", () => this.onPick(a.name));
      dot.addEventListener("keydown", event => this.key(event, i));
      return { dot, label, at };
    });
    this.holder.replaceChildren(this.svg);
    this.placeLabels();
    this.select(this.chosen);
    for (const [name, { point, shape }] of [...this.marks]) this.mark(name, point, shape);
  }

  // Each label takes the first free place around its point; one without a free place shows on hover or focus.
  placeLabels() {
    const taken = this.dots.map(({ at: [x, y] }) => [x - 7, y - 7, x + 7, y + 7]);
    const hits = box => taken.some(b => box[0] < b[2] && box[2] > b[0] && box[1] < b[3] && box[3] > b[1]);
    for (const { dot, label, at: [x, y] } of this.dots) {
      const width = label.getComputedTextLength() + 4, height = 15;
      const places = [[x + 9, y + 4], [x - width - 7, y + 4], [x - width / 2, y - 11], [x - width / 2, y + 21],
        [x + 7, y - 9], [x + 7, y + 17], [x - width - 5, y - 9], [x - width - 5, y + 17],
        [x - width / 2, y - 25], [x - width / 2, y + 35], [x - width * 0.8, y - 11], [x - width * 0.2, y - 11],
        [x - width * 0.8, y + 21], [x - width * 0.2, y + 21]];
      const boxes = places.map(([px, py]) => [px - 2, py - height + 3, px + width, py + 3]);
      const inside = b => b[0] >= 0 && b[2] <= this.width && b[1] >= 0 && b[3] <= this.height;
      const k = boxes.findIndex(b => inside(b) && !hits(b));
      const shown = k < 0 ? boxes.findIndex(inside) : k;
      const [px, py] = places[Math.max(shown, 0)];
      label.setAttribute("x", px);
      label.setAttribute("y", py);
      dot.classList.toggle("hidden-label", k < 0);
      if (k >= 0) taken.push(boxes[k]);
    }
  }

  key(event, i) {
    const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.onPick(this.attributes[i].name);
    } else if (ways[event.key]) {
      event.preventDefault();
      const next = this.nearest(i, ways[event.key]);
      if (next === null) return;
      this.dots[i].dot.setAttribute("tabindex", -1);
      this.dots[next].dot.setAttribute("tabindex", 0);
      this.dots[next].dot.focus();
    }
  }

  // The nearest point within 60 degrees of a direction, or else the nearest on that side.
  nearest(i, [wx, wy]) {
    const [x, y] = this.dots[i].at;
    let best = null, least = Infinity;
    this.dots.forEach(({ at }, j) => {
      const dx = at[0] - x, dy = at[1] - y, along = dx * wx + dy * wy, aside = Math.abs(dx * wy - dy * wx);
      if (j === i || along <= 0) return;
      const cost = along + 2 * aside;
      if (cost < least) [best, least] = [j, cost];
    });
    return best;
  }

  select(names) {
    this.chosen = names;
    this.dots.forEach(({ dot }, i) => {
      const chosen = names.includes(this.attributes[i].name);
      dot.classList.toggle("chosen", chosen);
      dot.setAttribute("aria-selected", chosen);
    });
  }

  // A named mark, such as the mix or a pasted text; outside the frame it sticks to the edge.
  mark(name, point, shape) {
    this.marks.get(name)?.node.remove();
    this.marks.delete(name);
    if (!point) return;
    const x = Math.min(this.width - 12, Math.max(12, this.across(point[0])));
    const y = Math.min(this.height - 12, Math.max(12, this.down(point[1])));
    const node = make("g", { class: "mark" }, this.svg);
    make("title", {}, node).textContent = name;
    make("path", { d: shape, transform: `translate(${x} ${y})`, fill: "none", stroke: "#d7263d", "stroke-width": 2.5 }, node);
    const label = make("text", { x: Math.min(x + 12, this.width - 70), y: y - 8, "font-style": "italic" }, node);
    label.textContent = name;
    this.marks.set(name, { node, point, shape });
  }

  // A picture of the map on white, whatever the page's colours.
  png() {
    const copy = this.svg.cloneNode(true);
    const shown = this.svg.querySelectorAll(".dot"), copied = copy.querySelectorAll(".dot");
    copied.forEach((dot, i) => shown[i].classList.contains("hidden-label") && dot.querySelector("text").remove());
    copy.querySelectorAll("text").forEach(t => { t.setAttribute("font-family", "sans-serif"); t.setAttribute("font-size", 13); });
    const width = 2 * this.width, height = 2 * this.height;
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    const source = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
    return new Promise((resolve, reject) => {
      const image = new Image();
      image.onload = () => {
        const canvas = Object.assign(document.createElement("canvas"), { width, height });
        const pen = canvas.getContext("2d");
        pen.fillStyle = "#fff";
        pen.fillRect(0, 0, width, height);
        pen.drawImage(image, 0, 0);
        canvas.toBlob(resolve, "image/png");
      };
      image.onerror = reject;
      image.src = source;
    });
  }
}

export const SHAPES = {
  diamond: "M0-9 9 0 0 9-9 0Z",
  star: "M0-11 3-4 11-3 5 2 7 10 0 6-7 10-5 2-11-3-3-4Z",
};
