// The list of all groups: searched, filtered, sorted, and shown a page at a time.

const PAGE = 50;
const isBehind = (group) => group.convergence === "not converged";
const lasted = (group) => {
  const captured = data.captured[group.cluster];
  return group.since_ms === null || captured === null ? null : captured - group.since_ms;
};
const spanOf = (read) => ({ kind: "number", key: read, cell: (group) => spanText(read(group)),
  hint: (group) => read(group) === null || read(group) === undefined ? null : `${number(read(group))} ms` });

const GROUP_COLUMNS = [
  { title: "Group", isHead: true, kind: "id", key: (group) => group.group_id,
    cell: (group) => element("span", {}, element("a", { href: groupLink(group) }, group.group_id),
      severalClusters && element("small", {}, ` ${group.cluster}`)) },
  { title: "State", key: (group) => group.state,
    cell: (group) => element("span", { class: `state ${group.state}` }, group.state),
    hint: (group) => group.convergence },
  { title: "For", ...spanOf(lasted),
    hint: (group) => group.since_ms === null ? null : `since ${timeText(group.since_ms)}${group.history === "censored" ? " or before" : ""}` },
  { title: "Members", kind: "number", key: (group) => group.members,
    cell: (group) => group.state === "deleted" ? "" : group.members === null ? "unknown" : number(group.members) },
  { title: "Epochs", kind: "number", key: (group) => group.epochs ?? 0, cell: (group) => number(group.epochs ?? 0) },
  { title: "In an hour", kind: "number", key: (group) => group.most?.in_hour ?? 0,
    cell: (group) => number(group.most?.in_hour ?? 0),
    hint: (group) => group.most && `up to ${timeText(group.most.second * 1000)}, ${recordText(group.partition, group.most.bump_offset)}` },
  { title: "Slowest", ...spanOf((group) => group.slowest?.rebalance_lag_ms ?? null),
    hint: (group) => group.slowest && `epoch ${group.slowest.group_epoch}, ${recordText(group.partition, group.slowest.bump_offset)}` },
  { title: "Unowned", ...spanOf((group) => group.unowned_ms),
    hint: (group) => group.longest && `all partitions together, at least; longest ${group.longest.topic} ${group.longest.partition}, ${recordText(group.partition, group.longest.acquired_offset)}` },
  { title: "Failed checks", kind: "number", key: (group) => 1000 * (group.error ?? 0) + (group.warn ?? 0),
    cell: (group) => [[group.error, "error"], [group.warn, "warning"]].filter(([count]) => count)
      .map(([count, what]) => counted(count, what)).join(", ") },
  { title: "Record", kind: "place", cell: (group) => group.offset === null ? "" : placeText(group.partition, group.offset),
    hint: () => "the last record that was counted" },
];

const list = { column: null, descending: false, page: 0 };

function matching() {
  const sought = field("search").value.toLowerCase();
  const [state, protocol, cluster, only] = ["state", "protocol", "cluster", "only"].map((id) => field(id)?.value ?? "");
  return data.groups.filter((group) =>
    (!sought || group.group_id.toLowerCase().includes(sought))
    && (!state || group.state === state)
    && (!protocol || group.group_type === protocol)
    && (!cluster || group.cluster === cluster)
    && (only !== "behind" || isBehind(group))
    && (only !== "failed" || group.error || group.warn)
    && (only !== "untold" || group.state === "unknown"));
}

/** Sort by a column; what is not known comes last, and what is equal stays in the order of the page: the worst first. */
function inOrder(groups) {
  if (!list.column) return groups;
  const sign = list.descending ? -1 : 1;
  const keyed = groups.map((group) => [list.column.key(group), group]);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return a === b ? 0 : a < b ? -sign : sign;
  });
  return keyed.map(([, group]) => group);
}

function sortBy(column) {
  list.descending = list.column === column ? !list.descending : column.kind === "number";
  list.column = column;
  list.page = 0;
  showList();
  field("list").querySelector(`[data-column="${column.title}"]`).focus();
}

function showList() {
  const groups = inOrder(matching());
  const pages = Math.max(1, Math.ceil(groups.length / PAGE));
  list.page = Math.min(list.page, pages - 1);
  const first = list.page * PAGE;
  const shown = groups.slice(first, first + PAGE);
  field("found").textContent = groups.length
    ? `${counted(groups.length, "group")}${pages > 1 ? `, ${number(first + 1)} to ${number(first + shown.length)} shown` : ""}${list.column ? "" : ", the worst first"}`
    : "No group is like that";
  const sorted = { column: list.column, descending: list.descending };
  field("list").replaceChildren(shown.length
    ? tableOf(GROUP_COLUMNS, shown, { sorted, onSort: sortBy, label: "All groups" }) : "");
  const turn = (words, page) => element("button",
    { type: "button", disabled: page < 0 || page >= pages, click: () => { list.page = page; showList(); field("all").scrollIntoView(); } }, words);
  field("pages").replaceChildren(...(pages > 1
    ? [turn("Previous", list.page - 1), `Page ${list.page + 1} of ${pages}`, turn("Next", list.page + 1)] : []));
}

function fill(id, values) {
  for (const value of [...new Set(values)].sort()) field(id)?.append(element("option", { value }, value));
}

function startList() {
  fill("state", data.groups.map((group) => group.state));
  fill("protocol", data.groups.map((group) => group.group_type));
  fill("cluster", data.groups.map((group) => group.cluster));
  field("filters").addEventListener("submit", (event) => event.preventDefault());
  field("filters").addEventListener("input", () => { list.page = 0; showList(); });
  for (const button of document.querySelectorAll(".states button")) {
    button.addEventListener("click", () => {
      field("state").value = button.dataset.state;
      field("protocol").value = button.dataset.protocol;
      list.page = 0;
      showList();
      field("all").scrollIntoView();
      field("search").focus({ preventScroll: true });
    });
  }
  showList();
}
