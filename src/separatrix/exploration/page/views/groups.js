// Groups: K-means, k-medoids and kernel k-means sweep by sweep, and trees that are cut by hand.

import { button, certificate, choice, digits, element, figures, slider, tick } from "../elements.js";
import { Plane } from "../plane.js";
import { unpack } from "../server.js";
import { Centers, CENTER_KEYS } from "./groups/centers.js";
import { Dendrogram } from "./groups/dendrogram.js";
import { Dots } from "./groups/dots.js";
import { Losses } from "./groups/losses.js";
import { Silhouettes } from "./groups/silhouettes.js";

export const title = "Groups";
export const needs = "table";
export const about = "K-means, k-medoids and kernel k-means sweep by sweep; a dendrogram to cut";

const METHODS = [["kmeans", "K-means"], ["kmedoids", "K-medoids"], ["kernel", "Kernel K-means"], ["tree", "Dendrogram"]];
const LINKAGES = ["ward", "single", "complete", "average", "centroid"];
const LOSS = { kmeans: "Σ ‖x − c‖²", kmedoids: "Σ d(x, medoid)", kernel: "Σ ‖φ(x) − μ‖²" };
const DATA = ["data", "plane", "x", "y", "standardize", "method"];
const CAUSES = { tree: [...DATA, "linkage"], kernel: [...DATA, "k", "seed", "bandwidth"] };
/** Points beyond which lines to the centers would cover the picture. */
const SPOKES = 800;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export function mount(host, page) {
  const { table, state } = page;
  state.method ??= "kmeans";
  state.data ??= "table";
  state.plane ??= table.numbers.length > 2 ? "principal" : "columns";
  state.x ??= table.numbers[0];
  state.y ??= table.numbers.find((n) => n !== state.x) ?? state.x;
  state.standardize ??= true;
  state.k ??= 3;
  state.init ??= "plusplus";
  state.seed ??= 0;
  state.bandwidth ??= 1;
  state.linkage ??= "ward";
  state.start ??= [];

  const plane = new Plane({ label: "Points and their groups", height: 384 });
  const dots = new Dots(plane);
  const numbers = figures();
  const proof = certificate();
  const seen = element("p", { class: "quiet" });
  const losses = new Losses({ onsweep: goTo });
  const silhouettes = new Silhouettes();
  const tree = new Dendrogram({
    onlevel(level, done) {
      state.level = level;
      if (done) page.change({ level });
      else follow();
    },
  });
  const centers = new Centers(plane, {
    onmove(start, done) {
      stop();
      Object.assign(state, { start, sweep: 0 });
      if (done) page.change({ start, sweep: 0 });
      else follow();
      if (done && !calm.matches) play();
    },
    onplay: toggle,
    onpick: (j, place) => page.say(`center ${j + 1}: ${place.map((v) => digits(v)).join(", ")}`),
  });

  let answer = null; // of the server, for the causes `key`
  let key = "";
  let measured = null; // silhouettes
  let turn = 0;
  let running = null;

  // -- controls ---------------------------------------------------------------------------------
  const set = (changes) => { stop(); page.change({ sweep: null, level: null, ...changes }); };
  const restart = (changes) => set({ start: [], ...changes });
  const method = choice({ label: "Method", options: METHODS, value: state.method, onchange: (v) => set({ method: v, start: [] }) });
  const data = choice({
    label: "Points", options: [["table", table.name], ["rings", "two rings"]], value: state.data,
    onchange: (v) => restart(v === "rings" ? { data: v, k: 2 } : { data: v }),
  });
  const drawn = choice({
    label: "Drawn in", options: [["principal", "principal directions"], ["columns", "two columns"]],
    value: state.plane, onchange: (v) => restart({ plane: v }),
  });
  const across = choice({ label: "Across", options: table.numbers, value: state.x, onchange: (x) => restart({ x }) });
  const up = choice({ label: "Up", options: table.numbers, value: state.y, onchange: (y) => restart({ y }) });
  const standard = tick({ label: "Standardize the columns", value: state.standardize, onchange: (standardize) => restart({ standardize }) });
  const k = slider({
    label: "Groups k", value: state.k, low: 1, high: 12, whole: true,
    oninput: (v) => (state.method === "tree" ? page.change({ k: v, level: tree.n ? tree.between(v) : null }) : restart({ k: v })),
  });
  const init = choice({
    label: "Start", options: [["plusplus", "drawn far apart (++)"], ["random", "random rows"]], value: state.init,
    onchange: (v) => restart({ init: v }),
  });
  const again = button("Draw again", () => restart({ seed: state.seed + 1 }));
  const bandwidth = slider({ label: "Bandwidth σ", value: state.bandwidth, low: 0.1, high: 10, log: true, oninput: (v) => set({ bandwidth: v }) });
  const linkage = choice({ label: "Linkage", options: LINKAGES, value: state.linkage, onchange: (v) => set({ linkage: v }) });
  const sweep = slider({ label: "Sweep", value: 1, low: 0, high: 1, steps: 1, oninput: (v) => goTo(Math.round(v)) });
  const playing = button("Play", toggle, { "aria-pressed": "false" });
  const back = button("‹", () => goTo(place() - 1), { "aria-label": "A sweep back" });
  const forward = button("›", () => goTo(place() + 1), { "aria-label": "A sweep forward" });
  const ring = button("Try the rings", () => set({ data: "rings", method: "kernel", k: 2, bandwidth: 1, start: [], seed: 0 }));
  const player = element("div", { class: "controls" }, sweep.node, element("p", { class: "row" }, back, playing, forward, again));
  const hint = element("p", { class: "quiet" });
  const lower = element("h3", {});

  host.append(element("div", { class: "view groups" },
    element("div", { class: "controls" }, method.node, k.node, bandwidth.node, linkage.node, init.node, player,
      data.node, drawn.node, across.node, up.node, standard.node, element("p", { class: "row" }, ring), hint),
    element("div", { class: "picture" }, plane.node, seen),
    element("div", { class: "side" }, numbers.node, proof.node, page.buttons()),
    element("div", { class: "wide pair" },
      element("div", {}, lower, losses.plane.node, tree.plane.node),
      element("div", {}, element("h3", {}, "Silhouettes"), silhouettes.plane.node))));

  function controls() {
    const cut = state.method === "tree";
    const fromTable = state.data === "table";
    for (const [node, shown] of [
      [player, !cut], [init.node, !cut && state.method !== "kernel"], [bandwidth.node, state.method === "kernel"],
      [linkage.node, cut], [drawn.node, fromTable], [standard.node, fromTable && state.plane === "columns"],
      [across.node, fromTable && state.plane === "columns"], [up.node, fromTable && state.plane === "columns"],
      [tree.plane.node, cut], [losses.plane.node, !cut], [ring.parentNode, fromTable],
    ]) node.hidden = !shown;
    for (const [control, name] of [[method, "method"], [data, "data"], [drawn, "plane"], [k, "k"], [init, "init"], [bandwidth, "bandwidth"], [linkage, "linkage"]]) control.set(state[name]);
    lower.textContent = cut ? "Dendrogram: drag the line" : "Loss by sweep";
    hint.textContent = cut
      ? "Drag anywhere in the dendrogram; with the line focused, arrow keys add or take a group."
      : state.method === "kernel" ? "Centers are in the feature space of the kernel: they have no place in the picture."
        : `Drag a center to start elsewhere. ${CENTER_KEYS}`;
  }

  // -- sweeps -----------------------------------------------------------------------------------
  const last = () => answer.losses.length - 1;
  const place = () => Math.min(state.sweep ?? last(), last());

  function goTo(t) {
    if (!answer?.losses) return;
    stop();
    const at = Math.min(Math.max(t, 0), last());
    page.change({ sweep: at === last() ? null : at });
  }

  function toggle() { if (running) { goTo(Math.floor(running.t)); } else play(); }

  function stop() {
    if (running) cancelAnimationFrame(running.frame);
    running = null;
    playing.setAttribute("aria-pressed", "false");
    playing.textContent = "Play";
  }

  /** Sweep after sweep, centers gliding between them. */
  function play() {
    if (state.method === "tree") return;
    stop();
    playing.setAttribute("aria-pressed", "true");
    playing.textContent = "Pause";
    const mine = running = { t: null, then: null, frame: 0 };
    const next = (time) => {
      if (running !== mine || !page.open) return;
      const ready = answer?.losses && key === causes();
      if (ready) {
        mine.t ??= place() >= last() ? 0 : place();
        mine.t = Math.min(mine.t + (mine.then === null ? 0 : (time - mine.then) / 700), last());
        mine.then = time;
        drawSweep(mine.t);
        if (mine.t >= last()) return goTo(last());
      }
      mine.frame = requestAnimationFrame(next);
    };
    mine.frame = requestAnimationFrame(next);
  }

  function drawSweep(t) {
    const a = Math.floor(t);
    const b = Math.min(a + 1, last());
    // a center glides first, then the points change their groups
    const part = Math.min(1, (t - a) / 0.6);
    const ease = part * part * (3 - 2 * part);
    const n = answer.x.length / 2;
    dots.recolor(answer.groups.subarray(a * n, (a + 1) * n));
    if (answer.ways) {
      const now = answer.ways.map((way) => way[a].map((v, i) => v + ease * (way[b][i] - v)));
      centers.show(now);
      dots.spoke(n > SPOKES ? [] : now);
      if (answer.scale) dots.cells(now, answer.scale);
      else plane.clear();
    } else {
      centers.show([]);
      dots.spoke([]);
      if (t === last() && answer.regions) dots.shade(...answer.grid, (i) => answer.regions[i]);
      else plane.clear();
    }
    losses.mark(t);
    sweep.set(a);
    sweep.node.querySelector("output").textContent = `${a} of ${last()}`;
    sweep.input.setAttribute("aria-valuetext", `${a} of ${last()}`);
    back.disabled = a === 0;
    forward.disabled = a === last();
  }

  // -- answers ----------------------------------------------------------------------------------
  const causes = () => JSON.stringify((CAUSES[state.method] ?? [...DATA, "k", "init", "seed", "start"]).map((name) => state[name]));

  function take(given) {
    const fresh = unpack(given.places);
    answer = { ...given, x: fresh, rows: unpack(given.numbers) };
    plane.range({ x: given.box[0], y: given.box[1], xLabel: given.axes[0], yLabel: given.axes[1] });
    dots.place(fresh);
    const units = given.standardized ? "standardized" : "in their own units";
    seen.textContent = given.columns > 2 || !given.scale
      ? `Groups of all ${given.columns} columns of numbers, ${units}; drawn in the plane of their principal directions, which holds ${digits(100 * given.share, 3)} % of the scatter.`
      : `Distances of two columns, ${units}.`;
    if (given.losses) {
      answer.groups = unpack(given.labels);
      answer.ways = null;
      if (given.centers) {
        const c = unpack(given.centers);
        const [sweeps, count] = c.shape;
        answer.ways = Array.from({ length: count }, (_, j) =>
          Array.from({ length: sweeps }, (__, t) => [c[2 * (t * count + j)], c[2 * (t * count + j) + 1]]));
      }
      centers.trail(answer.ways ?? []);
      losses.set(given.losses, given.steps, LOSS[state.method]);
      sweep.input.max = Math.max(last(), 1);
    } else {
      centers.trail([]);
      centers.show([]);
      dots.spoke([]);
      plane.clear();
      tree.set({ ...given, ...Object.fromEntries(["left", "right", "heights", "tops", "first"].map((name) => [name, unpack(given[name])])) });
    }
  }

  function draw() {
    if (state.method === "tree") {
      state.level ??= tree.between(state.k);
      answer.now = tree.cut(state.level);
      dots.recolor(answer.now);
      state.k = Math.min(12, tree.count(state.level));
      k.set(state.k);
    } else if (!running) drawSweep(place());
    report();
  }

  function report() {
    const cut = state.method === "tree";
    const mean = ["Mean silhouette", digits(measured?.silhouette?.mean), "silhouette"];
    const at = cut ? 0 : place();
    if (cut) {
      const count = tree.count(state.level);
      numbers.show([["Groups", String(count), "groups"], ["Height of the cut", digits(state.level, 6), "level"], mean,
        ["Points", String(answer.rows.length), "points"], ...(tree.inversions ? [["Inversions", String(tree.inversions), "inversions"]] : [])]);
      plane.description.textContent = `${answer.rows.length} points in ${count} groups, ${state.linkage} linkage cut at ${digits(state.level)}.`;
    } else {
      numbers.show([["Sweep", `${at} of ${last()}`, "sweep"], ["Loss", digits(answer.losses[at], 6), "loss"],
        ["Changed group", String(answer.moved[at]), "moved"], mean, ["Points", String(answer.rows.length), "points"]]);
      plane.description.textContent = `${answer.rows.length} points in ${answer.k} groups after sweep ${at} of ${last()}; loss ${digits(answer.losses[at], 6)}.`;
    }
    proof.show(cut || at === last() ? answer.certificate : null);
    page.offer({ plane: [plane, (cut ? tree : losses).plane, silhouettes.plane], python: measured?.python ?? "" });
  }

  /** Questions one after another; a newer state ends the chain of an older one. */
  async function follow() {
    const mine = ++turn;
    controls();
    const cut = state.method === "tree";
    const wanted = causes();
    if (key !== wanted) {
      const given = await page.ask(cut ? "tree" : "trace");
      if (!given || causes() !== wanted) return;
      key = wanted;
      measured = null;
      take(given);
    }
    draw();
    if (running) return;
    const given = await page.ask("silhouettes", cut ? {} : { at: place() });
    if (!given || mine !== turn) return;
    measured = given;
    const n = answer.x.length / 2;
    const groups = cut ? answer.now : answer.groups.subarray(place() * n, (place() + 1) * n);
    silhouettes.show(given.silhouette, (row) => groups[row]);
    report();
    if (cut || answer.certificate || centers.dragged >= 0) return;
    const proven = await page.ask("certificate");
    if (!proven || causes() !== wanted) return;
    answer = { ...answer, ...proven, regions: proven.regions && unpack(proven.regions) };
    draw();
  }

  return { show: follow };
}
