// Questions to the server. Of one question only the newest matters: while it is being answered, at
// most one more waits, and an answer that a newer question has overtaken is dropped.

const root = new URL("../", import.meta.url);
const waiting = new Map();

async function send(path, body) {
  let response;
  try {
    const options = body === undefined ? {} : {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    response = await fetch(new URL(path, root), options);
  } catch {
    throw new Error("The page's server has ended: start separatrix explore again.");
  }
  if (response.ok) return response.json();
  const reason = (response.headers.get("content-type") ?? "").includes("json")
    ? (await response.json()).error
    : `The server answered ${response.status}: a defect of separatrix.`;
  throw new Error(reason);
}

/** Names and kinds of the table, and whether there is a model. */
export const session = () => send("session");

/** The answer of a question, or null where a newer one of the same name has overtaken it. */
export function ask(view, question, state) {
  const key = `${view}/${question}`;
  const turn = waiting.get(key) ?? { current: null, next: null };
  waiting.set(key, turn);
  turn.next?.resolve(null);
  return new Promise((resolve, reject) => {
    turn.next = { state, resolve, reject };
    if (!turn.current) follow(key, turn);
  });
}

async function follow(key, turn) {
  while (turn.next) {
    const { state, resolve, reject } = (turn.current = turn.next);
    turn.next = null;
    try {
      const answer = await send(key, state);
      resolve(turn.next ? null : answer);
    } catch (problem) {
      if (turn.next) resolve(null);
      else reject(problem);
    }
  }
  turn.current = null;
}

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, int32: Int32Array, uint8: Uint8Array,
};

/** A packed array (packed() of state.py) as a typed array, with its shape. */
export function unpack({ dtype, shape, data }) {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  const values = new ARRAYS[dtype](bytes.buffer);
  values.shape = shape;
  return values;
}
