// The state of a view in the address: #boundary?model=svm&C=2. A link reproduces the picture.

/** Text of one value: words as they are, everything else as JSON. */
function written(value) {
  return typeof value === "string" && !/^[\s\d\-["{]|^(true|false|null)$/.test(value)
    ? value
    : JSON.stringify(value);
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** {view, state} of the address; the view is "" where the address names none. */
export function fromAddress(hash = location.hash) {
  const [view, query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const state = {};
  for (const [name, text] of new URLSearchParams(query)) state[name] = read(text);
  return { view, state };
}

/** The address of a state. Empty lists and missing values are left out. */
export function toAddress(view, state) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    const empty = value === null || value === undefined || (Array.isArray(value) && !value.length);
    if (!empty) query.set(name, written(value));
  }
  const text = query.toString();
  return `#${view}${text ? `?${text}` : ""}`;
}
