// A group's page: what it is now, who blocks it, its timeline, and the tables that the timeline is drawn from.

const OUTCOMES = { converged: "converged", emptied: "emptied", deleted: "deleted", downgraded: "downgraded", open: "ongoing at capture" };
const REBALANCE_COLUMNS = [
  { title: "Began (UTC)", isHead: true, kind: "time", cell: (row) => clockText(row.began_at_ms) },
  { title: "Total", kind: "number", span: (row) => row.duration_ms, isMinimum: (row) => row.outcome === "open" || row.history !== "observed" || row.duration_is_minimum },
  { title: "Assignment time", kind: "number", span: (row) => row.assigning_ms },
  { title: "Outcome", cell: (row) => OUTCOMES[row.outcome] ?? row.outcome },
  { title: "Cause", cell: (row) => causesText(row.causes) },
  { title: "Epochs", kind: "number", cell: (row) => row.first_epoch === row.last_epoch ? row.last_epoch : `${row.first_epoch}\u2013${row.last_epoch}` },
  { title: "Members", kind: "number", cell: (row) => number(row.members) },
  { title: "Waited", kind: "number minor", cell: (row) => number(row.members_waited) },
  { title: "Partitions moved", kind: "number minor", cell: (row) => number(row.partitions_moved) },
];
const MEMBER_COLUMNS = [
  { title: "Member", isHead: true, kind: "id", cell: (row) => row.member_id },
  { title: "Client", kind: "client", cell: clientText },
  { title: "Now", cell: (row) => row.now },
  { title: "Behind for", kind: "number", span: (row) => row.behind, isMinimum: () => true },
  { title: "Waits for partitions", kind: "number", cell: (row) => row.awaited ? number(row.awaited) : "" },
  { title: "Blocked by", kind: "id", cell: (row) => (row.blocked_by ?? "").split(" ").join(" ") },
  { title: "Rebalance timeout", kind: "number", span: (row) => row.rebalance_timeout_ms || null },
];
const HANDOVER_COLUMNS = [
  { title: "Partitions", isHead: true, kind: "id", cell: (row) => `${row.topic} ${rangesText(row.numbers)}` },
  { title: "From", kind: "id", cell: (row) => row.from_member ?? "first owner" },
  { title: "To", kind: "id", cell: (row) => row.to_member ?? "no owner" },
  { title: "Acquired (UTC)", kind: "time", cell: (row) => clockText(row.acquired_at_ms) },
  { title: "Idle (minimum)", kind: "number", span: (row) => row.idle_ms },
];
const FINDING_COLUMNS = [
  { title: "Check", isHead: true, cell: (row) => row.expectation },
  { title: "Severity", cell: (row) => element("span", { class: row.severity }, row.severity === "unknown" ? "insufficient data" : row.severity) },
  { title: "What", kind: "text", cell: (row) => row.message },
  { title: "Epoch", kind: "number", cell: (row) => row.group_epoch },
];

let histories = null;  // of all groups, a line each, packed

/** Return what happened in a group; null where the page has no room for it. */
async function historyOf(group) {
  histories ??= field("histories").textContent.split("\n");
  const packed = histories[data.groups.indexOf(group)];
  if (!packed) return null;
  const tables = await unpacked(packed);
  return Object.fromEntries(["rebalances", "states", "intervals", "members", "handovers", "findings"].map((name) => [name, rowsOf(tables[name])]).concat([["totals", tables.totals]]));
}

const quoted = (text) => /^[\w.,:@%+=/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
const explainCommand = (group) => `kip848 explain ${data.tables} --group ${quoted(group.group_id)}${severalClusters ? ` --cluster ${quoted(group.cluster)}` : ""}`;

/** Say who blocks a stuck group, who and what waits for it, and what to do; `members` once they are known. */
function adviceOf(group, members = []) {
  const { sentence, next, pattern, member_id: blocker, holds } = group.blocker;
  const waiting = members.filter((row) => row.left_at_ms === null && (row.blocked_by ?? "").split(" ").includes(blocker));
  const named = (row) => [element("span", { class: "id" }, row.member_id), ` (${clientText(row)})`];
  const points = [
    ["Blocking member", blocker && element("span", { class: "id" }, blocker)],
    ["It still holds", holds],
    ["Waiting members", waiting.length > 0 && [waiting.slice(0, 3).map((row, nth) => [nth ? ", " : "", ...named(row)]).flat(), waiting.length > 3 && `, and ${number(waiting.length - 3)} more`].flat()],
    ["What to do", element("b", {}, `${next}.`)],
    ["Runbook", element("details", { class: "runbook" }, element("summary", {}, element("code", {}, `docs/runbook.md#${pattern}`)),
      element("dl", {}, (data.runbook[pattern] ?? []).flatMap(([title, text]) => [element("dt", {}, title), element("dd", {}, coded(text))])))],
  ].filter(([, words]) => words);
  return element("section", { class: "blocked", "aria-label": "What blocks the group" }, element("p", { class: "sentence" }, `${sentence}.`),
    element("dl", {}, points.flatMap(([title, words]) => [element("dt", {}, title), element("dd", {}, words)])));
}

/** Say what the group is now, the most important first. */
function presentText(group) {
  if (group.state === "deleted") return "The group was deleted.";
  const said = [isStuck(group) ? `Stuck for \u2265 ${spanText(lasted(group))}` : HEALTH[group.health] ?? group.health, `${group.state} since ${timeText(group.since_ms)}`];
  if (group.members !== null) said.push(group.converged_members === null ? counted(group.members, "member") : `${group.converged_members} of ${counted(group.members, "member")} converged`);
  if (group.assignment_epoch !== null) said.push(`group epoch ${group.group_epoch}, assignment epoch ${group.assignment_epoch}`);
  return `${said.join("; ")}; log position ${positionText(group.partition, group.at_offset)}.`;
}

function folded(title, open, ...children) {
  return element("details", { open }, element("summary", {}, element("h2", {}, title)), children.flat());
}

async function showGroup(group, range) {
  const home = field("group");
  const heading = element("h1", { id: "group-title", tabindex: "-1" }, "Group ", element("span", { class: "id" }, group.group_id), severalClusters && element("small", { class: "muted" }, ` of cluster ${group.cluster}`));
  home.replaceChildren(element("p", {}, element("a", { href: backTo, class: "back" }, "\u2190 All groups")), heading,
    isStuck(group) ? adviceOf(group) : "",
    element("p", {}, presentText(group)));
  heading.focus({ preventScroll: true });
  const history = await historyOf(group);
  if (!heading.isConnected) return;  // another group was opened meanwhile
  if (!history) {
    home.append(element("p", { class: "note" }, "The timeline of this group is not included in the page. In the terminal: "), element("p", {}, command(explainCommand(group))));
    return;
  }
  const captured = data.captured[group.cluster];
  const now = new Map(history.intervals.filter((each) => each.to_ms === null).map((each) => [`${each.incarnation} ${each.member_id}`, each]));
  const rank = (row) => group.blockers.includes(row.member_id) ? group.blockers.indexOf(row.member_id) : Infinity;
  const members = history.members.map((row) => {
    const state = row.left_at_ms === null ? now.get(`${row.incarnation} ${row.member_id}`)?.state : null;
    return { ...row, now: row.left_how ?? STATES[state] ?? (row.left_at_ms === null ? "" : "left"), behind: row.behind_since_ms === null || captured === null ? null : captured - row.behind_since_ms };
  }).sort((a, b) => rank(a) === rank(b) ? 0 : rank(a) - rank(b));
  home.querySelector(".blocked")?.replaceWith(adviceOf(group, members));
  const names = { rebalances: "rebalances", intervals: "intervals of members", handovers: "handovers", states: "states of the group", members: "members" };
  const omitted = Object.entries(names).filter(([name]) => (history.totals[name] ?? 0) > history[name].length)
    .map(([name, words]) => `the last ${number(history[name].length)} of ${number(history.totals[name])} ${words}`);
  const timeline = element("section", { id: "timeline" }, element("h2", {}, "Timeline (UTC)"));
  home.append(...[timeline,
    omitted.length && element("p", { class: "note" }, `Shown: ${omitted.join("; ")}.`),
    history.findings.length && folded(`Checks (${number(history.findings.length)})`, true, shortened(tableOf(FINDING_COLUMNS, history.findings, { label: "Checks" }))),
    members.length && folded(`Members (${number(members.length)})`, true, shortened(tableOf(MEMBER_COLUMNS, members, { label: "Members", chosen: (row) => rank(row) === 0 }))),
    history.rebalances.length && folded(`Rebalances, the latest first (${number(history.rebalances.length)})`, true, shortened(tableOf(REBALANCE_COLUMNS, history.rebalances, { label: "Rebalances" }))),
    history.handovers.length && folded(`Partition handovers, the latest first (${number(history.handovers.length)})`, false, shortened(tableOf(HANDOVER_COLUMNS, history.handovers, { label: "Handovers" }))),
    element("h2", {}, "In the terminal"), element("p", {}, command(explainCommand(group)))].filter(Boolean));
  redraw = startTimeline(timeline, group, history, range);
}
