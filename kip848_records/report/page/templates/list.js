// The list of all groups: searched, filtered and sorted; the first of them, or all. The address keeps what is chosen.

const FIRST = 20;
const FIRST_NARROW = 6;
const PRINTED = 50;
const isStuck = (group) => group.health === "stuck";

const GROUP_COLUMNS = [
  { title: "Group", isHead: true, kind: "id", key: (group) => group.group_id,
    cell: (group) => element("span", {}, element("a", { href: groupLink(group) }, group.group_id), severalClusters && element("small", {}, ` ${group.cluster}`),
      kindOf(group).label && element("small", { class: "kind" }, kindOf(group).label)) },
  { title: "Status", key: (group) => group.health, cell: (group) => element("span", { class: `state ${group.health}`, title: group.state }, data.health[group.health]) },
  { title: "Trouble", kind: "text", key: (group) => group.trouble, cell: (group) => group.trouble ?? "" },
  { title: "Stuck for", kind: "number", key: (group) => group.stuck_ms, span: (group) => group.stuck_ms, isMinimum: () => true },
  { title: "Since (UTC)", kind: "time minor", key: (group) => isStuck(group) ? group.since_ms : null, cell: (group) => isStuck(group) ? clockText(group.since_ms) : "" },
  { title: "Waiting", kind: "number", key: (group) => group.waiting, cell: (group) => group.waiting ? number(group.waiting) : "" },
  { title: "Members", kind: "number minor", key: (group) => group.members, cell: (group) => group.members === null ? "" : number(group.members) },
  { title: "Rebalances", kind: "number minor lesser", key: (group) => group.rebalances, cell: (group) => number(group.rebalances) },
  { title: "Slowest finished", kind: "number", key: (group) => group.slowest_ms, span: (group) => group.slowest_ms },
  { title: "Idle (sum of partitions)", kind: "number minor lesser", key: (group) => group.idle_ms, span: (group) => group.idle_ms || null, isMinimum: () => true },
  ...(data.hasFindings ? [{ title: "Failed checks", kind: "number", key: (group) => 1000 * group.errors + group.warnings,
    cell: (group) => [[group.errors, "error"], [group.warnings, "warning"]].filter(([count]) => count).map(([count, what]) => counted(count, what)).join(", ") }] : []),
];

const list = { column: null, descending: false, isWhole: false, isPrinted: false };
for (const group of data.groups) {
  group.sought = [group.group_id, group.words, kindOf(group).label, group.since_ms === null ? "" : clockText(group.since_ms).slice(0, 16)].join(" ").toLowerCase();
}

function matching() {
  const sought = field("search").value.trim().toLowerCase();
  const cluster = field("cluster")?.value ?? "", show = field("show").value;
  return data.groups.filter((group) => (!sought || group.sought.includes(sought)) && (!cluster || group.cluster === cluster)
    && (!show || (show === "failed" ? group.errors || group.warnings : show === group.health || [`alike-${group.alike}`, `kind-${group.kind}`].includes(show))));
}

/** Say how many groups there are; deleted ones are no groups any more. */
function groupsText(groups) {
  const deleted = groups.filter((group) => group.health === "deleted").length;
  return deleted === groups.length ? counted(deleted, "deleted group") : `${counted(groups.length - deleted, "group")}${deleted ? `, ${number(deleted)} deleted` : ""}`;
}

/** Sort by a column; what is not known comes last, and what is equal stays in the order of the page: the worst first. */
function inOrder(groups) {
  if (!list.column) return groups;
  const sign = list.descending ? -1 : 1;
  const keyed = groups.map((group) => [list.column.key(group) ?? null, group]);
  keyed.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : a === b ? 0 : a < b ? -sign : sign);
  return keyed.map(([, group]) => group);
}

function sortBy(column, descending) {
  list.descending = descending ?? (list.column === column ? !list.descending : column.kind?.startsWith("number"));
  list.column = column;
  changed();
}

/** Keep what is chosen in the address, and show the list. */
function changed() {
  const kept = new URLSearchParams();
  const keep = (name, value) => value && kept.set(name, value);
  keep("q", field("search").value);
  keep("show", field("show").value);
  keep("cluster", field("cluster")?.value);
  keep("sort", list.column && `${list.descending ? "-" : ""}${list.column.title}`);
  keep("all", list.isWhole && "1");
  history.replaceState(null, "", `#${kept}`);
  showList();
}

/** Take what is chosen from the address. */
function choose(asked) {
  field("search").value = asked.get("q") ?? "";
  field("show").value = asked.get("show") ?? "";
  if (field("cluster")) field("cluster").value = asked.get("cluster") ?? "";
  const sort = asked.get("sort") ?? "";
  list.descending = sort.startsWith("-");
  list.column = GROUP_COLUMNS.find((column) => column.title === sort.replace(/^-/, "")) ?? null;
  list.isWhole = asked.has("all");
  showList();
}

function showList() {
  const groups = inOrder(matching());
  const first = matchMedia("(max-width: 48rem)").matches ? FIRST_NARROW : FIRST;
  const shown = groups.slice(0, list.isPrinted ? PRINTED : list.isWhole ? Infinity : first);
  field("sort").value = list.column?.title ?? "";
  field("found").textContent = groups.length
    ? `${groupsText(groups)}${shown.length < groups.length ? `, the first ${number(shown.length)} shown` : ""}${list.column ? "" : ", the worst first"}`
    : "No matching groups";
  const focused = document.activeElement?.dataset?.column;
  const left = groups.length - shown.length;
  const toggle = () => { list.isWhole = !list.isWhole; changed(); field("list").querySelector(".all").focus({ preventScroll: list.isWhole }); };
  field("list").replaceChildren(...[
    shown.length && tableOf(GROUP_COLUMNS, shown, { sorted: list, onSort: (column) => sortBy(column), label: "All groups" }),
    groups.length > first && element("button", { type: "button", class: "all", "aria-expanded": String(list.isWhole), click: toggle }, list.isWhole ? "Show fewer" : `Show all ${number(groups.length)}`),
    list.isPrinted && left > 0 && element("p", {}, `${counted(left, "more group")} not printed: filter the list to print others.`),
  ].filter(Boolean));
  if (focused) [...field("list").querySelectorAll("button")].find((button) => button.dataset.column === focused)?.focus({ preventScroll: true });
}

function startList() {
  for (const value of Object.keys(data.captured)) field("cluster")?.append(element("option", { value }, value));
  for (const [kind, { title }] of Object.entries(data.kinds)) if (data.groups.some((group) => group.kind === kind)) field("show").append(element("option", { value: `kind-${kind}` }, `kind: ${title.split(" ")[0]}`));
  data.alike.forEach((words, nth) => field("show").append(element("option", { value: `alike-${nth + 1}` }, `stuck: ${words}`)));
  field("sort").append(element("option", { value: "" }, "the worst first"), ...GROUP_COLUMNS.map((column) => element("option", { value: column.title }, column.title)));
  field("filters").addEventListener("submit", (event) => event.preventDefault());
  field("filters").addEventListener("input", (event) => {
    if (event.target === field("sort")) {
      list.column = GROUP_COLUMNS.find((column) => column.title === event.target.value) ?? null;
      list.descending = list.column?.kind?.startsWith("number");
    }
    changed();
  });
  for (const table of document.querySelectorAll("#overview table")) table.after(...[shortened(table)].flat().slice(1));
  for (const code of document.querySelectorAll("#overview code.command")) code.replaceWith(...command(code.dataset.command));
}
