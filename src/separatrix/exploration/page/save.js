// The picture as a file: the SVG as it is seen, with its canvas as an image inside.

import { element, svg } from "./elements.js";

const PARTS = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "visibility",
];

const GAP = 16;

/** The text of an SVG file that needs no style sheet: of one picture, or of several in two columns. */
export function standalone(given) {
  const planes = [given].flat();
  const write = (node) => new XMLSerializer().serializeToString(node);
  if (planes.length === 1) return write(copied(planes[0]));
  const [width, height] = ["width", "height"].map((side) => Math.max(...planes.map((p) => p[side])) + GAP);
  const [across, down] = [2 * width + GAP, Math.ceil(planes.length / 2) * height + GAP];
  const whole = svg("svg", { width: across, height: down, viewBox: `0 0 ${across} ${down}` },
    svg("rect", { width: across, height: down, fill: getComputedStyle(document.body).backgroundColor }));
  planes.forEach((plane, i) => {
    const part = copied(plane);
    part.setAttribute("x", GAP + (i % 2) * width);
    part.setAttribute("y", GAP + Math.floor(i / 2) * height);
    whole.append(part);
  });
  return write(whole);
}

/** A copy of a picture whose style is in its attributes. */
function copied(plane) {
  const copy = plane.svg.cloneNode(true);
  const [originals, theirs] = [plane.svg, copy].map((node) => [node, ...node.querySelectorAll("*")]);
  originals.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const part of PARTS) {
      const value = style.getPropertyValue(part);
      if (value) theirs[i].setAttribute(part, value);
    }
    theirs[i].removeAttribute("class");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", plane.width);
  copy.setAttribute("height", plane.height);
  copy.removeAttribute("tabindex");
  copy.querySelector("[data-layer=cursor]")?.remove();
  const paper = getComputedStyle(document.body).backgroundColor;
  const back = [svg("rect", { width: plane.width, height: plane.height, fill: paper })];
  if (plane.canvas.width && plane.canvas.height) {
    back.push(svg("image", {
      href: plane.canvas.toDataURL(), x: plane.left, y: plane.top, preserveAspectRatio: "none",
      width: plane.width - plane.left - plane.right, height: plane.height - plane.top - plane.bottom,
    }));
  }
  copy.querySelector("defs").after(...back);
  return copy;
}

/** Hand a text to the browser as a file. */
export function download(name, text, type = "image/svg+xml") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * The text of an HTML file of what is seen: pictures with their colors inside, numbers and texts, and the
 * controls as they stand, out of use. It loads nothing and runs nothing.
 */
export async function snapshot(host, { title, python, state, command }) {
  const style = await (await fetch(new URL("style.css", import.meta.url))).text();
  const copy = host.cloneNode(true);
  const canvases = copy.querySelectorAll("canvas");
  host.querySelectorAll("canvas").forEach((canvas, i) => {
    if (!canvas.width || !canvas.height) return canvases[i].remove();
    const image = element("img", { src: canvas.toDataURL(), alt: "" });
    for (const side of ["left", "top", "width", "height"]) image.style[side] = canvas.style[side];
    return canvases[i].replaceWith(image);
  });
  const controls = copy.querySelectorAll("input, select, button");
  host.querySelectorAll("input, select, button").forEach((control, i) => {
    const twin = controls[i];
    twin.setAttribute("disabled", "");
    if (control.type === "checkbox") twin.toggleAttribute("checked", control.checked);
    else if (control.localName === "input") twin.setAttribute("value", control.value);
    if (control.localName === "select") {
      [...twin.options].forEach((option, j) => option.toggleAttribute("selected", j === control.selectedIndex));
    }
    if (control.localName === "button") twin.remove();
  });
  for (const help of copy.querySelectorAll(".controls > .quiet")) help.remove(); // how to use the controls
  const code = [
    python && element("details", {}, element("summary", {}, "The same model in Python"), element("pre", {}, element("code", {}, python))),
    command && element("p", { class: "quiet" }, "To play with it: ", element("code", {}, command), ", then add ", element("code", {}, state), " to the address that it prints."),
  ].filter(Boolean);
  const body = element("body", {}, element("header", {}, element("p", { class: "brand" }, title)), copy, ...code);
  const head = element("head", {}, element("meta", { charset: "utf-8" }),
    element("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    element("meta", { "http-equiv": "Content-Security-Policy", content: "default-src 'none'; style-src 'unsafe-inline'; img-src data:" }),
    element("title", {}, title));
  const sheet = `${style}\n.plane img { position: absolute; pointer-events: none; image-rendering: auto; }`;
  head.append(element("style", {}, sheet));
  return `<!doctype html>\n<html lang="en">${head.outerHTML}${body.outerHTML}</html>\n`;
}
