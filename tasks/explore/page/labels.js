// Labels that cover neither one another nor, where points are few, a point. Those that come first win.
const HEIGHT = 16, CELL = 48;

class Taken {
  constructor() { this.cells = new Map(); }

  each(box, action) {
    for (let x = Math.floor(box[0] / CELL); x <= Math.floor(box[2] / CELL); x += 1)
      for (let y = Math.floor(box[1] / CELL); y <= Math.floor(box[3] / CELL); y += 1)
        if (action(x * 100003 + y)) return true;
    return false;
  }

  add(box) {
    this.each(box, key => {
      if (!this.cells.has(key)) this.cells.set(key, []);
      this.cells.get(key).push(box);
      return false;
    });
  }

  hits(box) {
    return this.each(box, key =>
      (this.cells.get(key) ?? []).some(b => box[0] < b[2] && box[2] > b[0] && box[1] < b[3] && box[3] > b[1]));
  }
}

// points: [{x, y, label, width, rank}], most important first; reserved: boxes that stay free.
// Returns [{point, x, y}], the text's left end and base line.
export function placed(points, width, height, reserved = [], { room = 1600, tries = 1200 } = {}) {
  const taken = new Taken(), out = [];
  reserved.forEach(box => taken.add(box));
  const few = points.length * room <= width * height, most = few ? points.length : width * height / (3 * room);
  if (few) points.forEach(({ x, y }) => taken.add([x - 6, y - 6, x + 6, y + 6]));
  for (const point of points.slice(0, tries)) {
    if (out.length >= most) break;
    const { x, y, width: w } = point;
    const places = [[x + 9, y + 4], [x - w - 9, y + 4], [x - w / 2, y - 11], [x - w / 2, y + 21], [x + 6, y - 9], [x + 6, y + 17]];
    const boxes = places.map(([px, py]) => [px - 2, py - HEIGHT + 4, px + w + 2, py + 4]);
    const inside = box => box[0] >= 0 && box[1] >= 0 && box[2] <= width && box[3] <= height;
    const free = boxes.findIndex(box => inside(box) && !taken.hits(box));
    const at = free < 0 && point.rank ? boxes.findIndex(inside) : free;  // what one points at or chose is named at any rate
    if (at < 0) continue;
    taken.add(boxes[at]);
    out.push({ point, x: places[at][0], y: places[at][1] });
  }
  return out;
}
