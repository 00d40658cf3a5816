// The page: its views as tabs, the state in the address, what is said and shown beside the pictures.
//
// A view is a module views/NAME.js with
//   title, needs ("table", "classes", "labels", "numbers" or "model"), about (one sentence),
//   mount(host, page) → { show(state) }     host is an empty element; show is called after each change
// and `page` is what it may use: table, state, change(), ask(), say(), offer().

import { fromAddress, toAddress } from "./address.js";
import { element } from "./elements.js";
import { download, snapshot, standalone } from "./save.js";
import { ask, session } from "./server.js";

const host = document.querySelector("#view");
const status = document.querySelector("#status");
const dialog = document.querySelector("#code");

let about, views, current;
let problem = null; // what is wrong, beside the control that was used last

function usable(view) {
  if (view.needs === "model") return about.model;
  if (!about.table) return false;
  if (view.needs === "classes") return Object.keys(about.table.classes).length > 0 && about.table.numbers.length > 0;
  if (view.needs === "labels") return Object.keys(about.table.classes).length > 0 && about.table.columns.length > 1;
  if (view.needs === "numbers") return about.table.numbers.length > 1;
  return about.table.numbers.length > 0;
}

function say(text, wrong = false) {
  status.textContent = text;
  status.classList.toggle("wrong", wrong);
  problem?.remove();
  problem = null;
  const control = wrong && host.contains(document.activeElement) && document.activeElement.closest(".field, .check, .row, .costs");
  status.classList.toggle("beside", Boolean(control));
  if (!control) return;
  // for the eye alone: the status is read out already
  problem = element("p", { class: "problem", "aria-hidden": "true" }, text);
  control.after(problem);
}

/** What the open view may use. */
class Page {
  constructor(name, state) {
    Object.assign(this, { name, state, table: about.table, plain: about.plain, open: true, pending: 0 });
  }

  /** Change the state; the address follows, and the view shows it. */
  change(changes) {
    Object.assign(this.state, changes);
    address.follow(this);
    this.view?.show(this.state);
  }

  /** The server's answer for this state and `more`; null where a newer question overtook it. */
  async ask(question, more = {}) {
    const late = setTimeout(() => document.body.classList.add("busy"), 250);
    this.pending += 1;
    document.body.dataset.idle = "false";
    try {
      const answer = await ask(this.name, question, { ...this.state, ...more });
      if (answer && this.open && this.failed === question) this.failed = say("");
      return this.open ? answer : null;
    } catch (problem) {
      if (this.open) say(problem.message, true);
      this.failed = question; // until it is answered: another one that is answered mends nothing
      return null;
    } finally {
      clearTimeout(late);
      this.pending -= 1;
      if (!this.pending) {
        document.body.classList.remove("busy");
        // after the view has drawn: its code runs before the next picture
        requestAnimationFrame(idle);
      }
    }
  }

  /** Do something once the hand rests; another call, or none, takes its place. */
  rest(action = null, wait = 0) {
    if (this.resting) this.pending -= 1;
    clearTimeout(this.resting);
    this.resting = null;
    if (!action) return;
    this.pending += 1;
    document.body.dataset.idle = "false";
    this.resting = setTimeout(() => {
      this.rest();
      if (this.open) action();
      requestAnimationFrame(idle);
    }, wait);
  }

  say(text) { if (this.open) say(text); }

  /** What "Save picture" and "Python" give: a Plane or several, and a text (or a function that gives one). */
  offer({ plane, python }) {
    if (plane) this.plane = plane;
    if (python !== undefined) this.python = python;
  }

  /** The buttons that every view has; `more` come before them. */
  buttons(...more) {
    return element("p", { class: "row" }, ...more,
      element("button", { type: "button", onclick: () => this.save() }, "Save picture"),
      element("button", { type: "button", onclick: () => this.savePage() }, "Save page"),
      element("button", { type: "button", onclick: () => this.code() }, "Python"),
      element("button", { type: "button", onclick: () => this.link() }, "Copy link"));
  }

  /** Save all pictures of the view, or one of them under its name. */
  save(plane = this.plane, name = "") {
    if (!plane) return;
    download(`separatrix-${this.name}${name && `-${name}`}.svg`, standalone(plane));
    say("The picture is among your downloads.");
  }

  /** Save what is seen as one HTML file: pictures, numbers, names of controls with their values, and the code. */
  async savePage() {
    await this.answered();
    const python = typeof this.python === "function" ? await this.python() : this.python;
    download(`separatrix-${this.name}.html`, await snapshot(host, {
      title: `${document.title} · ${document.querySelector("#about").textContent}`, python,
      state: toAddress(this.name, this.state), command: about.command,
    }), "text/html");
    say("The page is among your downloads; it needs no server.");
  }

  /** Until no question is open: the last position of a point has its model then. */
  async answered() {
    while (this.open && this.pending) await new Promise(requestAnimationFrame);
  }

  async code(text, title = "The same model in Python") {
    await this.answered();
    const shown = text ?? (typeof this.python === "function" ? await this.python() : this.python);
    if (!shown) return;
    dialog.querySelector("h2").textContent = title;
    dialog.querySelector("code").textContent = shown;
    dialog.showModal();
  }

  async link() {
    address.write();
    await copy(location.href, "The link");
  }
}

/** Whether no question is open, and the address is that of the state. */
function idle() {
  document.body.dataset.idle = String(!current?.pending && !address.late);
}

/**
 * The address follows the state, a few times a second at most: browsers refuse to write it at every
 * picture of a drag.
 */
const address = {
  late: 0,
  page: null,
  follow(page) {
    this.page = page;
    this.late ||= setTimeout(() => this.write(), 120);
    document.body.dataset.idle = "false";
  },
  write() {
    if (!this.late) return;
    clearTimeout(this.late);
    this.late = 0;
    if (this.page.open) history.replaceState(null, "", toAddress(this.page.name, this.page.state));
    idle();
  },
};
addEventListener("pagehide", () => address.write());

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} is copied.`);
  } catch {
    say(`${what} could not be copied: the browser does not allow it.`, true);
  }
}

function tabs() {
  const list = document.querySelector("#tabs");
  const focused = list.contains(document.activeElement);
  list.replaceChildren(...views.map(({ name, view }) => {
    const off = !usable(view);
    return element("li", {}, element("a", {
      href: off ? null : `#${name}`, "aria-disabled": off ? "true" : null,
      "aria-current": current?.name === name ? "page" : null,
      title: off ? `Needs ${needs[view.needs]}` : view.about,
    }, view.title, off ? element("span", { class: "hidden" }, `, needs ${needs[view.needs]}`) : null));
  }));
  if (focused) list.querySelector("[aria-current]")?.focus();
}

const needs = {
  model: "a model: separatrix explore model.sx", classes: "a column of classes and one of numbers",
  labels: "a column of classes and another column", numbers: "two columns of numbers", table: "a column of numbers",
};

function open() {
  address.late = clearTimeout(address.late) ?? 0;
  const { view: wanted, state } = fromAddress();
  const opened = views.find(({ name, view }) => name === wanted && usable(view)) ?? first();
  if (current) current.open = false;
  if (!opened) return nothing();
  const page = new Page(opened.name, opened.name === wanted ? state : {});
  current = page;
  tabs();
  say("");
  document.title = `${opened.view.title} · separatrix explore`;
  document.querySelector("#title").textContent = opened.view.title;
  host.replaceChildren();
  document.body.dataset.idle = "false";
  page.view = opened.view.mount(host, page);
  page.view.show(page.state);
}

/** A table that no view can show: what each of them lacks. */
function nothing() {
  current = null;
  tabs();
  host.replaceChildren(element("h2", {}, "Nothing to show"), element("ul", {}, ...views.map(({ view }) =>
    element("li", {}, `${view.title} needs ${needs[view.needs]}.`))));
  say("No view fits this table.", true);
  document.body.dataset.idle = "true";
}

/** The first view that fits: a model where there is no table, a line where the target is a number. */
function first() {
  const fit = views.filter(({ view }) => usable(view));
  const { target, classes } = about.table ?? {};
  const line = target && !(target in classes) && fit.find(({ name }) => name === "line");
  return line || fit[0];
}

dialog.querySelector(".copy").addEventListener("click", () =>
  copy(dialog.querySelector("code").textContent, "The code"));
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
addEventListener("hashchange", open);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part after # is the state
  host.focus();
});
addEventListener("unhandledrejection", (event) => say(String(event.reason?.message ?? event.reason), true));

try {
  about = await session();
  const modules = await Promise.all(about.views.map((name) => import(`./views/${name}.js`)));
  views = about.views.map((name, i) => ({ name, view: modules[i] }));
  const { name, rows, total } = about.table ?? {};
  document.querySelector("#about").textContent = about.table
    ? `${name} · ${total ? `${rows.toLocaleString("en")} of ${total.toLocaleString("en")} rows, a sample` : `${rows.toLocaleString("en")} rows`}`
    : "";
  open();
} catch (problem) {
  say(problem.message, true);
}
