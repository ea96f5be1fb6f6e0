// The sections of a group's page: tables of the rows, columns and words that `group_section.py` and `group_sections.py` know.

const SHOWN = { number, time: clockText, span: spanText, "at least": atLeastText, "at most": (ms) => `${ms >= 0 ? "\u2264 " : ""}${spanText(ms)}` };
/** Return a column of a table: values that are texts already are shown as they are. */
const columnOf = ({ key, of, ...column }, nth) => ({ ...column, isHead: nth === 0, key: null, cell: (row) => {
  const shown = typeof row[key] === "number" && of in SHOWN ? SHOWN[of](row[key]) : row[key] ?? "";
  return column.kind.includes("graded") ? element("span", { class: `is-${shown.split(":")[0]}` }, shown) : shown;
}, isFilled: (row) => (row[key] ?? "") !== "" });

/** Return the tables of the sections that have rows, without columns of empty cells. */
const sectionsOf = (group, history) => data.groupTables[group.kind].filter(({ name }) => history[name].length).map(({ name, title, note, columns, isFolded }) => {
  const rows = history[name], shown = columns.map(columnOf).filter((column) => rows.some(column.isFilled));
  const table = tableOf(shown, rows, { label: title.split(/[,;]/)[0], chosen: (row) => name === "members" && row.member_id === group.blockers[0] });
  return folded(`${title} (${number(rows.length)})`, !isFolded, shortened(table), note && element("p", { class: "muted" }, `${note}.`));
});
