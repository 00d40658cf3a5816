// The picture as a file: the SVG as it is seen, with its canvas as an image inside.

import { svg } from "./elements.js";

const PARTS = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "visibility",
];

/** The text of an SVG file that needs no style sheet. */
export function standalone(plane) {
  const copy = plane.svg.cloneNode(true);
  const [own, theirs] = [plane.svg, copy].map((node) => [node, ...node.querySelectorAll("*")]);
  own.forEach((node, i) => {
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
  return new XMLSerializer().serializeToString(copy);
}

/** Hand a text to the browser as a file. */
export function download(name, text, type = "image/svg+xml") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
