"use strict";
// Tables sort by the column whose heading is pressed: numbers by data-v, words by their text.
for (const table of document.querySelectorAll("table.sorts")) {
  const body = table.tBodies[0];
  const first = Array.from(body.rows);
  const said = document.getElementById("said");
  Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = cell.textContent.trim();
    cell.textContent = "";
    cell.append(button);
    button.addEventListener("click", () => {
      const numeric = cell.classList.contains("n");
      const now = cell.getAttribute("aria-sort");
      const down = now ? now === "ascending" : numeric;
      const value = (row) => {
        const at = row.cells[column];
        if (!numeric) return at.textContent.trim();
        return at.dataset.v === undefined || at.dataset.v === "" ? NaN : Number(at.dataset.v);
      };
      const order = (a, b) => {
        const x = value(a), y = value(b);
        if (!numeric) return (down ? -1 : 1) * x.localeCompare(y, undefined, { numeric: true });
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        return down ? y - x : x - y;
      };
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...first.slice().sort(order));
      said.textContent = "sorted by " + button.textContent + (down ? ", largest first" : ", smallest first");
    });
  });
}
