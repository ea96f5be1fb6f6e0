// Words: what numbers, times and positions are called. Nothing here becomes markup.

const field = (id) => document.getElementById(id);

/** Return a packed value: JSON in gzip and base64. */
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** Return rows that were packed as columns. */
function rowsOf(columns) {
  const names = Object.keys(columns ?? {});
  return names.length ? columns[names[0]].map((_, row) => Object.fromEntries(names.map((name) => [name, columns[name][row]]))) : [];
}

if (!window.DecompressionStream) {
  const note = field("unreadable");
  note.textContent = "This browser cannot unpack the list of groups and their timelines: open the page in a browser of 2023 or later. The tables on this page are complete.";
  note.hidden = false;
  field("filters").hidden = true;
  document.documentElement.dataset.ready = "true";
  throw new Error("no DecompressionStream");
}

const data = await unpacked(field("data").textContent);
data.groups = rowsOf(data.groups);
const severalClusters = Object.keys(data.captured).length > 1;

/** Return a time for people, to the second: `utc_text` in Python. */
const timeText = (ms) => ms === null || ms === undefined ? "" : `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
const clockText = (ms) => timeText(ms).replace(" UTC", "");
const number = (value) => value === null || value === undefined ? "" : value.toLocaleString("en");
const counted = (count, what) => count === 1 ? `1 ${what}` : `${number(count)} ${what}s`;

/** Return a time span that may be longer, for people. */
const atLeastText = (ms) => `${ms >= 0 ? "\u2265 " : ""}${spanText(ms)}`;

/** Return a time span for people: `span_text` in Python. */
function spanText(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 0) return data.clockWentBack;
  if (ms > 0 && ms < 1000) return `${ms} ms`;
  if (ms < 60000) return `${Math.floor(ms / 100) / 10} s`;
  const counts = [[Math.floor(ms / 86400000), "d"], [Math.floor(ms / 3600000) % 24, "h"], [Math.floor(ms / 60000) % 60, "min"], [Math.floor(ms / 1000) % 60, "s"]];
  return counts.filter(([count]) => count).slice(0, 2).map(([count, unit]) => `${count} ${unit}`).join(" ");
}

const positionText = (partition, offset) => offset === null || offset === undefined ? `${partition}` : `${partition}:${offset}`;
const HISTORY = { observed: "complete", left_censored: "beginning incomplete", right_censored: "end not seen", censored: "beginning incomplete, end not seen" };

/** Return the address of a group within this page. */
function groupLink(group) {
  const named = new URLSearchParams({ group: group.group_id });
  if (severalClusters) named.set("cluster", group.cluster);
  return `#${named}`;
}

const ESCAPES = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** Return text with control characters escaped, those that change the direction of text among them: `printable` in Python. */
const printable = (text) => text.replace(/(?! )[\p{C}\p{Z}]/gu, (character) => {
  const code = character.codePointAt(0);
  const hex = (digits) => code.toString(16).padStart(digits, "0");
  return ESCAPES[character] ?? (code < 0x100 ? `\\x${hex(2)}` : code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`);
});
const SHOWN_ATTRIBUTES = ["aria-label", "data-label", "label", "placeholder", "title"];

/** Return an element with attributes and children; strings become text, never markup. */
function element(name, attributes = {}, ...children) {
  const svg = ["svg", "rect", "g", "line", "text", "path", "title", "circle"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : SHOWN_ATTRIBUTES.includes(key) ? printable(String(value)) : value);
  }
  const shown = children.flat().filter((child) => child !== null && child !== undefined && child !== false);
  made.append(...shown.map((child) => child instanceof Node ? child : printable(String(child))));
  return made;
}

/** Return text in which code stands between backticks. */
const coded = (text) => text.split("`").map((part, nth) => nth % 2 ? element("code", {}, part) : part);

/** Return a table. A column has a title, what a cell shows, perhaps a kind (number, id, time), and perhaps a span of ms. */
function tableOf(columns, rows, { sorted, onSort, label, chosen } = {}) {
  const heads = columns.map((column) => {
    const isSorted = sorted?.column === column;
    const arrow = isSorted ? (sorted.descending ? " \u25BC" : " \u25B2") : "";
    return element("th", { scope: "col", class: column.kind, "aria-sort": isSorted ? (sorted.descending ? "descending" : "ascending") : null },
      onSort && column.key ? element("button", { type: "button", "data-column": column.title, click: () => onSort(column) }, column.title + arrow) : column.title);
  });
  const cell = (column, row) => {
    const span = column.span?.(row);
    const shown = !column.span ? column.cell(row) : span !== null && column.isMinimum?.(row) ? atLeastText(span) : spanText(span);
    const made = element(column.isHead ? "th" : "td", { "data-label": column.title, class: column.kind, scope: column.isHead ? "row" : null }, shown ?? "");
    if (column.kind === "id" && made.textContent.length > 32) made.classList.add(made.textContent.length > 48 ? "long" : "wide");
    return made;
  };
  return element("table", { "aria-label": label }, element("thead", {}, element("tr", {}, heads)),
    element("tbody", {}, rows.map((row) => element("tr", { class: chosen?.(row) ? "chosen" : null }, columns.map((column) => cell(column, row))))));
}

/** Show the first rows of a table, and a button for all of them. The style sheet has the number; a printed page shows all. */
function shortened(table) {
  const rows = table.tBodies[0].rows.length;
  if (rows <= 4) return table;
  const words = () => table.classList.contains("short") ? `Show all ${number(rows)}` : "Show fewer";
  const toggle = () => {
    table.classList.toggle("short");
    button.textContent = words();
    button.setAttribute("aria-expanded", String(!table.classList.contains("short")));
  };
  table.classList.add("short");
  const button = element("button", { type: "button", class: rows > 10 ? "rest" : "rest narrow", "aria-expanded": "false", click: toggle }, words());
  return [table, button];
}

/** Return a command to copy, which is copied as it is. */
function command(text) {
  const copy = element("button", { type: "button", click: async () => { try { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; } catch { getSelection().selectAllChildren(shown); } } }, "Copy");
  const shown = element("code", {}, text);
  return [shown, " ", copy];
}
