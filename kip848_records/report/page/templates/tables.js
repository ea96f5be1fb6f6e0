// Tables whose columns are described once: title, what a cell shows, and what it is sorted by.

/** A column's cell: text, or a node; `title` is what a pointer that rests on it is told. */
function cell(column, row) {
  const shown = column.cell(row);
  const label = { "data-label": column.title, class: column.kind, title: column.hint?.(row) };
  return element(column.isHead ? "th" : "td", column.isHead ? { ...label, scope: "row" } : label, shown ?? "");
}

function tableOf(columns, rows, { sorted, onSort, chosen, label } = {}) {
  const heads = columns.map((column) => {
    if (!onSort || !column.key) return element("th", { scope: "col" }, column.title);
    const isSorted = sorted.column === column;
    const order = isSorted ? (sorted.descending ? "descending" : "ascending") : null;
    const arrow = isSorted ? (sorted.descending ? " \u25BC" : " \u25B2") : "";
    return element("th", { scope: "col", "aria-sort": order },
      element("button", { type: "button", "data-column": column.title, "aria-pressed": String(isSorted), click: () => onSort(column) },
        column.title + arrow));
  });
  const body = rows.map((row) =>
    element("tr", { class: chosen?.(row) ? "chosen" : null }, columns.map((column) => cell(column, row))));
  return element("table", { "aria-label": label }, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, body));
}
