// The map of attributes: where one looks, what is chosen, and how it is moved by mouse, touch and keys.
import { drawing } from "./drawing.js";

const EDGE = 36, MOST_ZOOM = 400;
const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

export class AttributeMap {
  // on: pick(name), focus(name), moved()
  constructor(holder, on) {
    Object.assign(this, { holder, on, points: [], marks: new Map(), chosen: new Set(), lit: null, focus: null, hover: null });
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-describedby", "map-help");
    holder.append(this.canvas);
    holder.map = this;
    this.pointers = new Map();
    this.look = [1, 0.5, 0.5];  // zoom, and the place in the unit square that is in the middle
    const listen = (name, action, options) => this.canvas.addEventListener(name, action, options);
    listen("wheel", event => this.wheel(event), { passive: false });
    listen("pointerdown", event => this.down(event));
    listen("pointermove", event => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) listen(name, event => this.up(event, name === "pointerup"));
    listen("pointerleave", () => { this.hover = null; this.redraw(); });
    listen("keydown", event => this.key(event));
    for (const name of ["focus", "blur"]) listen(name, () => this.redraw());
    new ResizeObserver(() => this.resize()).observe(holder);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  // points: [{name, label, x, y, words, colour}]
  show(points) {
    const range = key => {
      const low = points.reduce((a, p) => Math.min(a, p[key]), Infinity), high = points.reduce((a, p) => Math.max(a, p[key]), -Infinity);
      return value => high > low ? (value - low) / (high - low) : 0.5;
    };
    this.across = range("x");
    this.upward = range("y");
    this.points = points.map(p => ({ ...p, u: this.across(p.x), v: this.upward(p.y), width: 0 }));
    this.order = [...this.points].sort((a, b) => b.words - a.words);
    this.byName = new Map(this.points.map(p => [p.name, p]));
    this.focus = this.byName.get(this.focus?.name) ?? null;
    this.hover = null;
    this.canvas.setAttribute("aria-label", `Map of ${points.length} attributes`);
    this.resize();
  }

  resize() {
    this.width = this.holder.clientWidth;
    this.height = Math.round(clamp(0.78 * this.width, 280, 620));
    const ratio = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: this.width * ratio, height: this.height * ratio });
    Object.assign(this.canvas.style, { width: `${this.width}px`, height: `${this.height}px` });
    this.redraw();
  }

  at(u, v) {
    const [k, cu, cv] = this.look;
    return [this.width / 2 + (u - cu) * k * (this.width - 2 * EDGE), this.height / 2 - (v - cv) * k * (this.height - 2 * EDGE)];
  }

  // ---- where one looks

  setLook([k, u, v]) {
    this.look = [clamp(k, 1, MOST_ZOOM), clamp(u, -0.2, 1.2), clamp(v, -0.2, 1.2)];
    this.canvas.style.touchAction = this.look[0] > 1 ? "none" : "pan-y";  // a whole map lets the page scroll
    this.redraw();
    this.on.moved();
  }

  pan(dx, dy) {
    const [k, u, v] = this.look;
    this.setLook([k, u - dx / k / (this.width - 2 * EDGE), v + dy / k / (this.height - 2 * EDGE)]);
  }

  // Zoom so that what is under (x, y) stays there.
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const [k, u, v] = this.look, next = clamp(k * factor, 1, MOST_ZOOM), gain = 1 / k - 1 / next;
    const du = (x - this.width / 2) / (this.width - 2 * EDGE) * gain, dv = (y - this.height / 2) / (this.height - 2 * EDGE) * gain;
    this.setLook(next === 1 ? [1, 0.5, 0.5] : [next, u + du, v - dv]);
  }

  // Look at some points together.
  fit(names, most = 12) {
    const found = names.map(name => this.byName.get(name)).filter(Boolean);
    if (!found.length) return;
    const ends = key => [Math.min(...found.map(p => p[key])), Math.max(...found.map(p => p[key]))];
    const [left, right] = ends("u"), [low, high] = ends("v");
    const k = clamp(0.8 / Math.max(right - left, high - low, 1e-6), 1, most);
    this.setLook([k, (left + right) / 2, (low + high) / 2]);
  }

  // ---- hands and keys

  wheel(event) {
    event.preventDefault();
    this.zoom(Math.exp(-clamp(event.deltaY * (event.deltaMode ? 16 : 1), -200, 200) / 300), event.offsetX, event.offsetY);
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.travelled = this.pointers.size > 1 ? Infinity : 0;
  }

  move(event) {
    const now = [event.offsetX, event.offsetY], before = this.pointers.get(event.pointerId);
    if (!before) {
      const hover = this.near(...now, 12);
      if (hover !== this.hover) { this.hover = hover; this.redraw(); }
      return;
    }
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, now);
    this.travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (other) {
      const gap = p => Math.max(Math.hypot(p[0] - other[0], p[1] - other[1]), 1);
      this.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
      this.zoom(gap(now) / gap(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else if (this.travelled > 4 && (this.look[0] > 1 || event.pointerType === "mouse")) {
      this.pan(now[0] - before[0], now[1] - before[1]);
    }
  }

  up(event, whole) {
    this.pointers.delete(event.pointerId);
    if (!whole || this.travelled > 4) return;
    const point = this.near(event.offsetX, event.offsetY, event.pointerType === "touch" ? 24 : 14);
    if (point) { this.focusOn(point.name, false); this.on.pick(point.name); }
  }

  key(event) {
    const way = ARROWS[event.key];
    if (way && event.shiftKey) this.pan(-60 * way[0], -60 * way[1]);
    else if (way) this.step(way);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key === "0") this.setLook([1, 0.5, 0.5]);
    else if ((event.key === "Enter" || event.key === " ") && this.focus) this.on.pick(this.focus.name);
    else return;
    event.preventDefault();
  }

  // To the nearest point on that side; one straight ahead is nearer than one aside.
  step([wx, wy]) {
    const from = this.focus ? this.at(this.focus.u, this.focus.v) : [this.width / 2, this.height / 2];
    let best = null, least = Infinity;
    for (const point of this.points) {
      const [x, y] = this.at(point.u, point.v), dx = x - from[0], dy = y - from[1], along = dx * wx + dy * wy;
      const cost = along + 2 * Math.abs(dx * wy - dy * wx);
      if (point !== this.focus && (along > 0 || !this.focus) && cost < least && this.isLit(point)) [best, least] = [point, cost];
    }
    if (best) this.focusOn(best.name);
  }

  focusOn(name, bring = true) {
    this.focus = this.byName.get(name) ?? null;
    if (this.focus) {
      const [x, y] = this.at(this.focus.u, this.focus.v);
      const away = x < EDGE || y < EDGE || x > this.width - EDGE || y > this.height - EDGE;
      if (bring && away && this.look[0] > 1) this.setLook([this.look[0], this.focus.u, this.focus.v]);
      this.on.focus(name);
    }
    this.redraw();
  }

  near(x, y, within) {
    let best = null, least = within;
    for (const point of this.points) {
      const [px, py] = this.at(point.u, point.v), gap = Math.hypot(px - x, py - y);
      if (gap < least) [best, least] = [point, gap];
    }
    return best;
  }

  // ---- what is shown

  isLit(point) { return !this.lit || this.lit.has(point.name); }
  light(names) { this.lit = names && new Set(names); this.redraw(); }
  select(names) { this.chosen = new Set(names); this.redraw(); }

  // A named mark, such as the mix or a pasted text.
  mark(name, place, shape) {
    if (place) this.marks.set(name, { place, shape });
    else this.marks.delete(name);
    this.redraw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = null; this.draw(); });
  }

  draw(canvas = this.canvas, style = getComputedStyle(this.holder)) {
    if (!this.across || !this.width) return;
    const shown = drawing(this, canvas, style);
    Object.assign(this.holder.dataset, { zoom: this.look.map(n => n.toFixed(3)).join(" "), labels: shown.join("\n"),
      marks: [...this.marks.keys()].join("\n"), chosen: [...this.chosen].join("\n"), lit: this.lit?.size ?? "" });
  }

  // A picture of what is in sight, on white, whatever the page's colours.
  png() {
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * this.width, height: 2 * this.height });
    const light = { "--ink": "#1c2330", "--paper": "#ffffff", "--accent": "#005f9e" };
    this.draw(canvas, { getPropertyValue: name => light[name] });
    return new Promise(resolve => canvas.toBlob(resolve, "image/png"));
  }
}

export const SHAPES = {
  diamond: "M0-9 9 0 0 9-9 0Z",
  star: "M0-11 3-4 11-3 5 2 7 10 0 6-7 10-5 2-11-3-3-4Z",
};
