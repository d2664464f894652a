"use strict";
// Headings become buttons here, so that without scripts nobody is offered what does nothing.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const words = new Intl.Collator(undefined, { numeric: true });
  const said = document.createElement("p");
  said.className = "said";
  said.setAttribute("role", "status");
  table.parentNode.after(said);

  const key = (row, column) => {
    const cell = row.cells[column];
    if (column === 0) return cell.textContent;
    return cell.dataset.number === undefined ? NaN : Number(cell.dataset.number);
  };
  const compare = (a, b, down) => {
    if (typeof a === "string") return down ? words.compare(b, a) : words.compare(a, b);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return down ? b - a : a - b;
  };
  const sort = (column) => {
    const now = heads[column].getAttribute("aria-sort");
    const down = now === "none" ? column > 0 : now === "ascending";
    const rows = [...body.rows].map((row) => [key(row, column), row]);
    rows.sort(([a], [b]) => compare(a, b, down));
    body.append(...rows.map(([, row]) => row));
    heads.forEach((head) => head.setAttribute("aria-sort", "none"));
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    said.textContent = `Sorted by ${heads[column].textContent}, ${down ? "descending" : "ascending"}.`;
  };

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(column));
    head.append(button);
    if (!head.hasAttribute("aria-sort")) head.setAttribute("aria-sort", "none");
  });
}
