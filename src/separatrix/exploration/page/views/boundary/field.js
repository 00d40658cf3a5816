// What values at places say: the class of each, how clearly, and the functions whose zeros are drawn.

/** {winner, strength} of n places; winner is a column of the field. */
export function decided({ kind, values, pairs }, n, k, margins) {
  const winner = new Uint8Array(n);
  const strength = new Float32Array(n).fill(0.5);
  if (kind === "classes") winner.set(values.subarray(0, n));
  else if (kind === "pairs" && k === 2) {
    const [positive, negative] = pairs[0];
    for (let j = 0; j < n; j += 1) {
      winner[j] = values[j] > 0 ? positive : negative;
      if (margins) strength[j] = Math.min(Math.abs(values[j]), 1);
    }
  } else if (kind === "pairs") votes(values, pairs, n, k, winner, strength);
  else {
    for (let j = 0; j < n; j += 1) {
      let best = 0;
      for (let c = 1; c < k; c += 1) if (values[c * n + j] > values[best * n + j]) best = c;
      winner[j] = best;
      if (kind === "probabilities") strength[j] = (values[best * n + j] - 1 / k) / (1 - 1 / k);
    }
  }
  return { winner, strength };
}

/** One vote a pair; of equally many the first class wins. Strength is the least f that it won by. */
function votes(values, pairs, n, k, winner, strength) {
  const count = new Uint8Array(k);
  for (let j = 0; j < n; j += 1) {
    count.fill(0);
    pairs.forEach(([a, b], p) => { count[values[p * n + j] >= 0 ? a : b] += 1; });
    let best = 0;
    for (let c = 1; c < k; c += 1) if (count[c] > count[best]) best = c;
    let least = 1;
    pairs.forEach(([a, b], p) => {
      if (a === best) least = Math.min(least, values[p * n + j]);
      if (b === best) least = Math.min(least, -values[p * n + j]);
    });
    winner[j] = best;
    strength[j] = Math.max(least, 0);
  }
}

/** Functions on the cells whose zeros are the boundaries: one of two classes, else one a class. */
export function advantages({ kind, values, pairs }, n, cells, k) {
  if (kind === "classes") return [];
  if (kind === "pairs" && k === 2) return [values.subarray(0, cells)];
  return Array.from({ length: k === 2 ? 1 : k }, (_, c) => {
    const advantage = new Float32Array(cells);
    for (let j = 0; j < cells; j += 1) {
      let least = Infinity;
      if (kind === "pairs") {
        for (let p = 0; p < pairs.length; p += 1) {
          if (pairs[p][0] === c) least = Math.min(least, values[p * n + j]);
          else if (pairs[p][1] === c) least = Math.min(least, -values[p * n + j]);
        }
      } else {
        const score = values[c * n + j];
        for (let o = 0; o < k; o += 1) if (o !== c) least = Math.min(least, score - values[o * n + j]);
      }
      advantage[j] = least;
    }
    return advantage;
  });
}
