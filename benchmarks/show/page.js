"use strict";
// Sorting and filtering of tables, and paragraphs in place of a table that does not fit.
const tables = [...document.querySelectorAll("table.sortable")];

function compareCells(one, other) {
  if ("v" in one.dataset && "v" in other.dataset) return Number(one.dataset.v) - Number(other.dataset.v);
  return one.textContent.localeCompare(other.textContent, "en", { numeric: true });
}

function isUnknown(cell) {
  return !("v" in cell.dataset) && cell.textContent === "–";
}

function sortBy(table, heading) {
  const column = heading.cellIndex;
  const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => {
    const [one, other] = [a.cells[column], b.cells[column]];
    const unknown = isUnknown(one) - isUnknown(other); // what is not known comes last either way
    return unknown || sign * compareCells(one, other);
  });
  table.tBodies[0].append(...rows);
}

for (const table of tables) {
  for (const heading of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    button.addEventListener("click", () => sortBy(table, heading));
    heading.replaceChildren(button);
  }
}

const areas = [...document.querySelectorAll(".scroll")];

function fit() {
  for (const area of areas) {
    for (const way of ["wide", "tight", "stacked"]) {
      area.classList.remove("wide", "tight", "stacked");
      area.classList.add(way);
      if (area.scrollWidth <= area.clientWidth) break;
    }
  }
}

const filter = document.querySelector(".filter");
if (filter) {
  const target = filter.querySelector("select");
  const show = () => {
    const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
    for (const row of rows) row.hidden = target.value !== "" && row.dataset.target !== target.value;
    const shown = tables.map((table) => [...table.tBodies[0].rows].filter((row) => !row.hidden).length);
    filter.querySelector("output").textContent = `${shown.join(" and ")} lines in the tables`;
  };
  target.addEventListener("change", show);
  filter.hidden = false;
  show();
}

for (const box of document.querySelectorAll(".all")) box.addEventListener("change", fit);
addEventListener("resize", fit);
fit();
