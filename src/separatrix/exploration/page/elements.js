// Elements of HTML and SVG, and the controls that all views share.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return node;
}

export const element = (tag, attributes, ...children) =>
  filled(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

let count = 0;
const fresh = () => `control-${++count}`;

/** A number in few digits, with a real minus sign. */
export function digits(value, n = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-4 || size >= 1e6)
    ? value.toExponential(n - 2)
    : String(Number(value.toPrecision(n)));
  return text.replace(/-/g, "−");
}

/** A long name without its middle: names of classes often differ at their ends. */
export function short(text, most) {
  const half = Math.max(1, (most - 1) / 2);
  return text.length > most ? `${text.slice(0, Math.ceil(half))}…${text.slice(-Math.floor(half))}` : text;
}

/** A name in at most three lines of about `most` letters, broken at spaces where there are some. */
export function broken(text, most) {
  const lines = [""];
  for (const word of text.split(/(?<=[\s_\-])/)) {
    for (let rest = word; rest;) {
      const room = most - lines.at(-1).length;
      if (rest.trimEnd().length <= room) { lines[lines.length - 1] += rest; break; }
      if (lines.at(-1)) { lines.push(""); continue; }
      lines[lines.length - 1] = rest.slice(0, most);
      rest = rest.slice(most);
      if (rest) lines.push("");
    }
  }
  const shown = lines.map((line) => line.trim()).filter(Boolean);
  return shown.length > 3 ? [shown[0], shown[1], short(shown.slice(2).join(" "), most)] : shown;
}

/**
 * A slider from low to high, linear or logarithmic; `steps` places.
 * oninput(value) while it moves, onchange(value) when it rests. set(value) moves it silently.
 */
export function slider({ label, value, low, high, steps = 200, log = false, whole = false, format = digits, oninput, onchange }) {
  const id = fresh();
  const size = whole ? high - low : steps;
  const at = (v) => Math.round(size * (log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low)));
  const of = (i) => {
    const v = log ? low * (high / low) ** (i / size) : low + ((high - low) * i) / size;
    return whole ? Math.round(v) : Number(v.toPrecision(6));
  };
  // an output is a live region, and the slider itself says its value
  const output = element("output", { for: id, "aria-live": "off" }, format(value));
  const input = element("input", { type: "range", id, min: 0, max: size, step: 1 });
  const show = (v) => {
    output.textContent = format(v);
    input.setAttribute("aria-valuetext", format(v));
  };
  input.value = at(value);
  show(value);
  input.addEventListener("input", () => {
    show(of(+input.value));
    oninput?.(of(+input.value));
  });
  input.addEventListener("change", () => onchange?.(of(+input.value)));
  const node = element("p", { class: "field" }, element("label", { for: id }, label, output), input);
  return { node, input, set: (v) => ((input.value = at(v)), show(v)) };
}

/** A list to choose from: options are words, or [word, text]. */
export function choice({ label, options, value, onchange }) {
  const id = fresh();
  const select = element("select", { id, onchange: () => onchange(select.value) });
  const fill = (list, chosen) => {
    select.replaceChildren(...list.map((o) => {
      const [word, text] = Array.isArray(o) ? o : [o, o];
      return element("option", { value: word, selected: word === chosen }, text);
    }));
  };
  fill(options, value);
  const node = element("p", { class: "field" }, element("label", { for: id }, label), select);
  return { node, select, fill, set: (v) => (select.value = v) };
}

/** A box to tick. */
export function tick({ label, value, onchange }) {
  const input = element("input", { type: "checkbox", onchange: () => onchange(input.checked) });
  input.checked = value;
  return { node: element("label", { class: "check" }, input, label), input, set: (v) => (input.checked = v) };
}

/** A button; `pressed` makes it a switch. */
export const button = (label, onclick, attributes = {}) =>
  element("button", { type: "button", onclick, ...attributes }, label);

/** Numbers with their names; tests read them by data-figure. */
export function figures() {
  const node = element("dl", { class: "figures" });
  return {
    node,
    /** list of [name, text, key] */
    show(list) {
      node.replaceChildren(...list.map(([name, text, key]) => element("div", {},
        element("dt", {}, name), element("dd", { "data-figure": key ?? name }, text))));
    },
  };
}

/** The certificate of a fit: {holds, text}. */
export function certificate() {
  const node = element("p", { class: "certificate", "data-figure": "certificate" });
  return {
    node,
    show(given) {
      node.hidden = !given;
      node.classList.toggle("fails", Boolean(given && !given.holds));
      const parts = (given?.text ?? "").split(/(\S*e-\d+)/); // numbers are not broken at their sign
      node.replaceChildren(...parts.map((part, i) => i % 2 ? element("span", { class: "whole" }, part) : part));
    },
  };
}
