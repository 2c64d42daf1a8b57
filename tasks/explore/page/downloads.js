// Tables as CSV and as pictures.
import { el } from "./dom.js";

export function save(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A cell that a spreadsheet would take for a formula gets an apostrophe in front.
const quote = cell => `"${String(cell).replace(/^[=+\-@\t\r](?![\d.])/, "'$&").replaceAll('"', '""')}"`;
export const saveCSV = (rows, name) => save(new Blob([rows.map(r => r.map(quote).join(",") + "\r\n").join("")], { type: "text/csv" }), name);

// Any table as a picture; long cells are broken into lines.
export function savePNG(rows, name) {
  const pen = document.createElement("canvas").getContext("2d");
  const font = "26px sans-serif", line = 36, gap = 40, widest = 1100;
  pen.font = font;
  const broken = rows.map(row => row.map(cell => {
    const lines = [""];
    for (const word of String(cell).split(" ")) {
      const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
      if (pen.measureText(longer).width > widest && lines.at(-1)) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines;
  }));
  const widths = rows[0].map((_, j) => Math.max(...broken.map(r => Math.max(...(r[j] ?? [""]).map(t => pen.measureText(t).width)))));
  const heights = broken.map(r => line * Math.max(...r.map(lines => lines.length)) + 8);
  pen.canvas.width = widths.reduce((a, w) => a + w + gap, gap);
  pen.canvas.height = heights.reduce((a, h) => a + h, 40);
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, pen.canvas.width, pen.canvas.height);
  let y = 20;
  broken.forEach((row, i) => {
    let x = gap;
    row.forEach((lines, j) => {
      pen.font = i ? font : "bold " + font;
      pen.fillStyle = "#1c2330";
      lines.forEach((text, k) => pen.fillText(text, x, y + line * (k + 0.8)));
      x += widths[j] + gap;
    });
    y += heights[i];
  });
  pen.canvas.toBlob(blob => save(blob, name), "image/png");
}
