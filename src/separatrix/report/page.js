"use strict";
// Sort a table by a column, and copy a block of code. The page is whole without either.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, i) => {
    const cell = row.cells[i];
    const value = cell.dataset.value;
    return value === undefined ? cell.textContent.trim() : Number(value);
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? (Number.isNaN(a) - Number.isNaN(b)) || a - b
      : String(a).localeCompare(String(b));
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => compare(key(a, i), key(b, i)));
      body.append(...(down ? rows.reverse() : rows));
    });
  });
}
// On paper nothing can be unfolded.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
for (const block of document.querySelectorAll("pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  block.parentElement.append(button);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(block);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}
