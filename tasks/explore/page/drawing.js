// Draws a map on a canvas: points by colour, rings, labels of the most important points in sight, marks.
import { placed } from "./labels.js";

const DOT = 5, FONT = "13px system-ui, sans-serif", MARK = "#d7263d";
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// Returns the names that got a label.
export function drawing(map, canvas, style) {
  const pen = canvas.getContext("2d"), ratio = canvas.width / map.width;
  const colours = Object.fromEntries(["ink", "paper", "accent"].map(name => [name, style.getPropertyValue(`--${name}`)]));
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = colours.paper;
  pen.fillRect(0, 0, map.width, map.height);
  const seen = map.order.map(point => ({ point, at: map.at(point.u, point.v) })).filter(({ at: [x, y] }) =>
    x > -9 && y > -9 && x < map.width + 9 && y < map.height + 9);
  const size = seen.length > 1000 ? 3 : DOT;
  dots(map, pen, seen, size);
  for (const { point, at } of seen) {
    if (map.chosen.has(point.name)) ring(pen, at, size + 2, colours.ink);
    if (point === map.focus) ring(pen, at, size + 6, colours.accent);
  }
  const marks = [...map.marks].map(([name, { place, shape }]) => ({ name, shape, ...markPlace(map, pen, name, place) }));
  const shown = labels(map, pen, seen, colours, marks.map(one => one.box));
  for (const one of marks) mark(pen, one, colours);
  return shown;
}

// One path per colour: thousands of points take a few milliseconds.
function dots(map, pen, seen, size) {
  const paths = new Map();
  for (const { point, at: [x, y] } of seen) {
    const key = map.isLit(point) ? point.colour : "dim";
    if (!paths.has(key)) paths.set(key, new Path2D());
    paths.get(key).moveTo(x + size, y);
    paths.get(key).arc(x, y, size, 0, 7);
  }
  for (const key of [...paths.keys()].sort((a, b) => (b === "dim") - (a === "dim"))) {
    pen.fillStyle = key === "dim" ? "#88909c" : key;
    pen.globalAlpha = key === "dim" ? 0.18 : 0.88;
    pen.fill(paths.get(key));
  }
  pen.globalAlpha = 1;
}

// What is pointed at first, then what is chosen, then what has most training text.
function labels(map, pen, seen, colours, reserved) {
  pen.font = FONT;
  const rank = point => (point === map.hover || point === map.focus ? 2 : 0) + map.chosen.has(point.name);
  const wanted = seen.filter(({ point }) => map.isLit(point)).map(({ point, at: [x, y] }) => {
    const label = point.label.length > 36 ? `${point.label.slice(0, 35)}…` : point.label;
    point.width ||= pen.measureText(label).width;
    return { x, y, label, width: point.width, name: point.name, rank: rank(point) };
  });
  wanted.sort((a, b) => b.rank - a.rank);
  const shown = placed(wanted, map.width, map.height, reserved);
  for (const { point, x, y } of shown) write(pen, point.label, x, y, colours, point.rank > 1 ? "bold " : "");
  return shown.map(({ point }) => point.name);
}

function write(pen, text, x, y, { ink, paper }, weight = "") {
  pen.font = weight + FONT;
  Object.assign(pen, { lineWidth: 3, lineJoin: "round", strokeStyle: paper, fillStyle: ink });
  pen.strokeText(text, x, y);
  pen.fillText(text, x, y);
}

function ring(pen, [x, y], radius, strokeStyle) {
  Object.assign(pen, { strokeStyle, lineWidth: 2.5 });
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
  pen.stroke();
}

// Outside the frame a mark sticks to the edge.
function markPlace(map, pen, name, [px, py]) {
  pen.font = `italic ${FONT}`;
  const [mx, my] = map.at(map.across(px), map.upward(py)), width = pen.measureText(name).width;
  const x = clamp(mx, 12, map.width - 12), y = clamp(my, 14, map.height - 12);
  const left = Math.min(x + 12, map.width - width - 4), base = Math.max(y - 8, 14);
  return { x, y, left, base, box: [x - 10, base - 14, left + width, y + 11] };
}

function mark(pen, { name, shape, x, y, left, base }, colours) {
  pen.save();
  pen.translate(x, y);
  Object.assign(pen, { strokeStyle: MARK, lineWidth: 2.5 });
  pen.stroke(new Path2D(shape));
  pen.restore();
  write(pen, name, left, base, colours, "italic ");
}
