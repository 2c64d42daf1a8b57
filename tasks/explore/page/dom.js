// Small helpers: nodes whose text is always text, waiting, and questions to the server.
import { chosen } from "./state.js";

export const $ = id => document.getElementById(id);

export const el = (name, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
};

export const number = (value, digits = 2) => Number(value).toFixed(digits);
export const whole = value => Math.round(value).toLocaleString("en");

export const later = (wait, action) => {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(action, wait); };
};

// Each kind of problem is shown until it is gone, whatever becomes of the others.
const problems = {};
export function problem(message, kind = "page") {
  problems[kind] = message ?? "";
  $("problem").textContent = Object.values(problems).filter(Boolean).join(" · ");
  $("problem").hidden = !$("problem").textContent;
}

export const SILENT = "the explorer does not answer; is `python run.py task=explore` still running?";
const latest = {};

// The answer to a question, or null when a newer one of its kind was asked meanwhile, or another model was picked.
export async function ask(kind, body) {
  const { model } = chosen, mine = latest[kind] = (latest[kind] ?? 0) + 1;
  let answer;
  try {
    const path = `api/models/${model}/${kind}`;
    const response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    answer = await response.json();
  } catch {
    answer = { error: SILENT };
  }
  return mine === latest[kind] && model === chosen.model ? answer : null;
}

export const forget = kind => { latest[kind] = (latest[kind] ?? 0) + 1; };

export function fill(select, names, value) {
  select.replaceChildren(...names.map(n => Array.isArray(n) ? new Option(n[0], n[1]) : new Option(n, n)));
  if (value !== undefined) choose(select, value);
}

// Choose an option if there is one of that value.
export function choose(select, value) {
  if ([...select.options].some(option => option.value === String(value))) select.value = value;
}
