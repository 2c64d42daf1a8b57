// Everything chosen on the page, and the link that restores it: #model=…&tab=…&mix=…
export const TABS = ["mixer", "neighbours", "differ", "reader"];
export const chosen = {};
export const about = {};  // what the server says of the model

const FRESH = () => ({
  tab: "mixer", view: 0, colour: "", zoom: [1, 0.5, 0.5], point: null, find: "", base: {}, mix: null, seed: 0, start: "",
  words: 50, temperature: 0.8, top_p: 1, word: "", a: null, b: null, pair: null,
});

export const reset = () => Object.assign(chosen, FRESH());

const JSONS = ["zoom", "base", "mix"];
const NUMBERS = { view: [0, 1e6], seed: [0, 2 ** 31], words: [10, 150], temperature: [0, 2], top_p: [0.1, 1] };

// Only what differs from a fresh page is in the link.
export function hash(model) {
  const fresh = FRESH(), out = new URLSearchParams({ model });
  for (const [key, value] of Object.entries(fresh)) {
    const now = chosen[key];
    if (JSON.stringify(now) !== JSON.stringify(value) && now !== null) out.set(key, JSONS.includes(key) ? JSON.stringify(now) : now);
  }
  return `#${out}`;
}

// What a link says, checked: a link may come from anywhere, and be old.
export function parsed(link) {
  const out = {};
  for (const [key, value] of new URLSearchParams(link.replace(/^#/, ""))) {
    if (key === "model") out.model = value;
    else if (!Object.hasOwn(FRESH(), key)) continue;
    else if (JSONS.includes(key)) {
      const read = json(value);
      if (CHECKS[key](read)) out[key] = read;
    } else if (key in NUMBERS) {
      const [low, high] = NUMBERS[key], n = Number(value);
      if (n >= low && n <= high) out[key] = n;
    } else out[key] = value.slice(0, 2000);
  }
  if (out.tab && !TABS.includes(out.tab)) delete out.tab;
  return out;
}

const json = text => { try { return JSON.parse(text); } catch { return undefined; } };
const isObject = value => value !== null && typeof value === "object" && !Array.isArray(value);
const isProfile = value => isObject(value) && Object.values(value).every(v => typeof v === "string");
const isPart = part => isObject(part) && Number.isFinite(part.weight) && Math.abs(part.weight) <= 10 &&
  (typeof part.name === "string" || part.base === true || isProfile(part.profile) ||
    (Array.isArray(part.vector) && part.vector.every(Number.isFinite)));
const CHECKS = {
  zoom: value => Array.isArray(value) && value.length === 3 && value.every(Number.isFinite),
  base: isProfile,
  mix: value => Array.isArray(value) && value.length <= 50 && value.every(isPart),
};

export const columnsOf = profile => Object.entries(profile).filter(([, value]) => value !== "");
export const profileName = profile => columnsOf(profile).map(([c, v]) => `${c}=${v}`).join(", ") || "average text";
