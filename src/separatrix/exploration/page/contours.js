// Level lines of a function known on a grid: marching squares with linear interpolation.

/**
 * Segments [[x1, y1], [x2, y2]] where the values cross `level`. Values are row by row from the
 * lowest y; xs and ys are the places of columns and rows.
 */
export function contour(values, xs, ys, level) {
  const segments = [];
  const n = xs.length;
  for (let r = 0; r + 1 < ys.length; r += 1) {
    for (let c = 0; c + 1 < n; c += 1) {
      const below = (values[r * n + c] < level) + (values[r * n + c + 1] < level)
        + (values[(r + 1) * n + c] < level) + (values[(r + 1) * n + c + 1] < level);
      if (below % 4 === 0) continue; // most cells are on one side
      const corners = [
        [xs[c], ys[r], values[r * n + c]], [xs[c + 1], ys[r], values[r * n + c + 1]],
        [xs[c + 1], ys[r + 1], values[(r + 1) * n + c + 1]], [xs[c], ys[r + 1], values[(r + 1) * n + c]],
      ];
      const crossed = [];
      for (let k = 0; k < 4; k += 1) {
        const [x1, y1, v1] = corners[k];
        const [x2, y2, v2] = corners[(k + 1) % 4];
        if ((v1 < level) !== (v2 < level)) {
          const t = (level - v1) / (v2 - v1);
          crossed.push([x1 + t * (x2 - x1), y1 + t * (y2 - y1)]);
        }
      }
      for (let k = 0; k + 1 < crossed.length; k += 2) segments.push([crossed[k], crossed[k + 1]]);
    }
  }
  return segments;
}

/** The segments as the d of a path on a plane. */
export const contourPath = (plane, segments) =>
  segments.map((s) => plane.path(s)).join("");
