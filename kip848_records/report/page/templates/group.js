// A group's page: what it is now, who waits for whom, its timeline, and the tables that the timeline is drawn from.

const statusText = (epoch) => ({
  converged: "converged", emptied: "the group became empty first", deleted: "the group was deleted first",
  superseded: `superseded by epoch ${epoch.superseded_by}`, open: "not Stable yet",
})[epoch.status] ?? epoch.status;

/** A time is marked where it is no measurement: it lasts still, or its beginning was not seen. */
const lagText = (ms, row) => ms === null ? "" : spanText(ms) + (isVague(row) ? " ?" : row.status === "open" && row.member_id ? " so far" : "");
const isVague = (row) => row.clock_skew || row.history === "left_censored" || row.history === "censored";
const lagHint = (ms, row) => ms === null ? null
  : `${number(ms)} ms${row.clock_skew ? "; brokers' clocks differ" : ""}${row.history === "observed" ? "" : `; ${HISTORY[row.history]}`}`;
const lag = (title, read) => ({ title, kind: "number", cell: (row) => lagText(read(row), row), hint: (row) => lagHint(read(row), row) });
const seen = { title: "Seen", cell: (row) => HISTORY[row.history] };

const epochColumns = (group) => [
  { title: "Epoch", isHead: true, kind: "number", cell: (row) => element("a", { href: groupLink(group, row.group_epoch) }, String(row.group_epoch)) },
  { title: "Cause", cell: (row) => causeText(row.cause) },
  { title: "Began (UTC)", kind: "time", cell: (row) => clockText(row.bumped_at_ms) },
  lag("To assignment", (row) => row.assign_lag_ms),
  lag("To Stable", (row) => row.rebalance_lag_ms),
  { title: "Result", cell: statusText },
  { title: "Members", kind: "number", cell: (row) => row.members === null ? "unknown" : number(row.members) },
  { title: "Partitions moved", kind: "number", cell: (row) => number(row.partitions_moved) },
  seen,
  { title: "Record", kind: "place", cell: (row) => placeText(row.partition, row.bump_offset) },
];
const LAG_COLUMNS = [
  { title: "Member", isHead: true, kind: "member", cell: (row) => row.member_id },
  { title: "Client", kind: "id", cell: clientText },
  { title: "Status", cell: (row) => row.status },
  lag("Behind", (row) => row.lag_ms),
  lag("Revoking", (row) => row.revoke_ms),
  lag("Waiting", (row) => row.wait_ms),
  { title: "Blocked by", kind: "member", cell: (row) => row.blocked_by.join(", ") },
  seen,
  { title: "Record", kind: "place", cell: (row) => placeText(row.partition, row.offset), hint: () => "where the epoch of the assignment began" },
];
const HANDOVER_COLUMNS = [
  { title: "Partitions", isHead: true, kind: "id", cell: (row) => `${row.topic} ${rangesText(row.numbers)}` },
  { title: "From", kind: "member", cell: (row) => row.from_member ?? "first owner seen" },
  { title: "To", kind: "member", cell: (row) => row.to_member },
  { title: "When (UTC)", kind: "time", cell: (row) => clockText(row.acquired_at_ms) },
  { title: "Unowned, at least", kind: "number", cell: (row) => lagText(row.unowned_ms, row), hint: (row) => lagHint(row.unowned_ms, row) },
  { title: "Wanted then", cell: (row) => row.unowned_ms ? (row.wanted ? "yes" : "no") : "" },
  seen,
  { title: "Record", kind: "place", cell: (row) => placeText(row.partition, row.offset) },
];
const STATE_COLUMNS = [
  { title: "State", isHead: true, cell: (row) => element("span", { class: `state ${row.state}` }, row.state) },
  { title: "From (UTC)", kind: "time", cell: (row) => clockText(row.from_at_ms) },
  { title: "To (UTC)", kind: "time", cell: (row) => row.to_at_ms === null ? "still" : clockText(row.to_at_ms) },
  seen,
  { title: "Record", kind: "place", cell: (row) => placeText(row.partition, row.from_offset) },
];
const FINDING_COLUMNS = [
  { title: "Check", isHead: true, cell: (row) => row.expectation },
  { title: "Severity", cell: (row) => element("span", { class: row.severity }, row.severity) },
  { title: "What", kind: "text", cell: (row) => row.message },
  { title: "Epoch", kind: "number", cell: (row) => row.group_epoch ?? "" },
  { title: "Record", kind: "place", cell: (row) => row.partition === null ? "" : placeText(row.partition, row.offset) },
];

/** What happened in a group; null where the page has no room for it. */
async function historyOf(group) {
  histories ??= field("histories").textContent.split("\n");
  const packed = histories[data.groups.indexOf(group)];
  if (!packed) return null;
  const tables = await unpacked(packed);
  for (const [name, columns] of Object.entries(tables)) {
    if (Array.isArray(columns) || name === "totals") continue;
    const [first] = Object.values(columns);
    tables[name] = first.map((_, row) => Object.fromEntries(Object.entries(columns).map(([column, values]) => [column, values[row]])));
  }
  return tables;
}

let histories = null;  // of all groups, a line each, packed

function presentText(group) {
  if (group.state === "deleted") return "The group was deleted.";
  const told = [`${group.group_type} protocol`];
  if (group.group_epoch !== null) told.push(`group epoch ${group.group_epoch}`);
  if (group.assignment_epoch !== null) told.push(`assignment epoch ${group.assignment_epoch}`);
  if (group.members !== null) told.push(group.converged_members === null ? counted(group.members, "member")
    : `${group.converged_members} of ${counted(group.members, "member")} converged`);
  const time = group.since_ms === null ? "" : `${isBehind(group) ? ", not converged" : ""} since ${timeText(group.since_ms)}${group.history === "censored" ? " or before" : ""}`;
  const age = lasted(group);
  return `${group.state}${time}${age === null || age < 0 ? "" : `, for ${spanText(age)}`}; ${told.join(", ")}; last record ${recordText(group.partition, group.offset)}.`;
}

/** What is left out of a group's history, in words. */
function leftOut(history) {
  const names = { epochs: "epochs", bars: "states of members", handovers: "handovers", states: "states of the group", lags: "members of the last assignment" };
  return Object.entries(names).filter(([name]) => (history.totals[name] ?? 0) > (history[name]?.length ?? 0))
    .map(([name, words]) => `the last ${number(history[name].length)} of ${number(history.totals[name])} ${words}`);
}

const quoted = (text) => /^[\w.,:@%+=/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
const explainCommand = (group) =>
  `kip848 explain ${data.tables} --group ${quoted(group.group_id)}${severalClusters ? ` --cluster ${quoted(group.cluster)}` : ""}`;

function folded(title, open, ...children) {
  return element("details", { open }, element("summary", {}, element("b", {}, title)), children);
}

async function showGroup(group, epoch) {
  const home = field("group");
  const heading = element("h1", { id: "group-title", tabindex: "-1" }, `Group ${group.group_id}`,
    severalClusters && element("small", { class: "muted" }, ` of cluster ${group.cluster}`));
  home.replaceChildren(element("p", {}, element("a", { href: "#", class: "back" }, "\u2190 All groups")), heading,
    element("p", { class: isBehind(group) ? "strong" : null }, presentText(group)));
  heading.focus({ preventScroll: true });
  const history = await historyOf(group);
  if (!heading.isConnected) return;  // another group was opened meanwhile
  if (!history) {
    home.append(element("p", { class: "note" }, "The page has no room for what happened in this group; this tells it: ",
      element("code", {}, explainCommand(group))));
    return;
  }
  const omitted = leftOut(history);
  const [violated, unjudged] = [false, true].map((isUnknown) => history.findings.filter((each) => (each.severity === "unknown") === isUnknown));
  const offsets = new Map((history.epochs ?? []).map((row) => [row.group_epoch, row.bump_offset]));
  const lags = (history.lags ?? []).map((row) => ({ ...row, offset: offsets.get(row.group_epoch) ?? null }));
  home.append(...[
    history.waiting?.length && element("section", {}, element("h2", {}, "Who waits for whom, the oldest first"),
      element("ul", { class: "waiting" }, history.waiting.map(([member, partitions]) =>
        element("li", {}, member, partitions.length > 0 && element("ul", {}, partitions.map((each) => element("li", {}, each))))))),
    element("section", { id: "timeline" }, element("h2", {}, "Timeline (UTC)")),
    omitted.length && element("p", { class: "note" }, `Shown: ${omitted.join("; ")}. The tables have all; `, element("code", {}, `${explainCommand(group)} --epoch E`), " tells any epoch."),
    violated.length && folded(`Checks that failed or warned (${number(violated.length)})`, true, tableOf(FINDING_COLUMNS, violated, { label: "Checks" })),
    history.epochs && folded(`Epochs, the last first (${number(history.epochs.length)})`, true,
      tableOf(epochColumns(group), history.epochs, { chosen: (row) => row.group_epoch === epoch, label: "Epochs" })),
    lags.length && folded(`Members at assignment epoch ${lags[0].group_epoch} (${number(lags.length)})`, true, tableOf(LAG_COLUMNS, lags, { label: "Members" })),
    history.handovers && folded(`Partitions handed over, the last first (${number(history.handovers.length)})`, false, tableOf(HANDOVER_COLUMNS, history.handovers, { label: "Handovers" })),
    history.states && folded(`States of the group, the last first (${number(history.states.length)})`, false, tableOf(STATE_COLUMNS, history.states, { label: "States" })),
    unjudged.length && folded(`What checks could not judge (${number(unjudged.length)})`, false, tableOf(FINDING_COLUMNS, unjudged, { label: "Unknown" })),
    element("p", { class: "muted" }, "In the terminal: ", element("code", {}, explainCommand(group))),
  ].filter(Boolean));
  await plotly();
  if (heading.isConnected) drawTimeline(group, history, epoch);
}

function drawTimeline(group, history, epoch) {
  const section = field("timeline");
  if (!history.states && !history.bars) {
    section.append(element("p", {}, "The log has nothing to draw."));
    return;
  }
  const captured = data.captured[group.cluster];
  const everybody = membersOf(history, (bar) => captured ?? bar.from_ms);
  const asTheyCame = (members) => [...members].sort((a, b) => a.first - b.first || (a.id < b.id ? -1 : 1));
  const figure = element("div", { class: "figure", role: "img",
    "aria-label": `Timeline of group ${group.group_id}: its states, its epochs and what each member did; the tables below say the same` });
  const buttons = element("div", { class: "zoom" });
  section.append(buttons, figure);
  let members = asTheyCame(everybody.slice(0, MEMBERS_DRAWN));
  const { whole } = timelineFigure(group, history, members, section.clientWidth);
  const [[, first], ...views] = viewsOf(group, history, whole, epoch);
  let range = first;
  const draw = () => {
    const { traces, layout } = timelineFigure(group, history, members, section.clientWidth, range);
    plot(figure, traces, layout, range);
  };
  const button = (words, change) => element("button", { type: "button", click: () => { change(); draw(); } }, words);
  const turn = (words, change) => button(words, () => { range = change(range[0], range[1] - range[0]); });
  buttons.append(...views.map(([words, view]) => button(words, () => { range = view; })),
    turn("Earlier", (from, width) => [from - width / 2, from + width / 2]),
    turn("Later", (from, width) => [from + width / 2, from + 1.5 * width]),
    turn("Closer", (from, width) => [from + width / 4, from + 0.75 * width]),
    turn("Wider", (from, width) => [from - width / 2, from + 1.5 * width]));
  if (members.length < everybody.length) {
    const more = button(`All ${number(everybody.length)} members; these ${members.length} were behind for longest`, () => {
      members = asTheyCame(everybody);
      more.remove();
    });
    buttons.append(more);
  }
  draw();
  const milliseconds = (at) => typeof at === "number" ? at : Date.parse(`${at.replace(" ", "T")}Z`);
  figure.on("plotly_relayout", (change) => {
    if (change["xaxis.autorange"]) range = whole;
    else if ("xaxis.range[0]" in change) range = [milliseconds(change["xaxis.range[0]"]), milliseconds(change["xaxis.range[1]"])];
    else return;
    draw();
  });
  redraw = draw;
}

/** Stretches of time to look at; the first is what is shown at first. */
function viewsOf(group, history, whole, epoch) {
  const around = (from, until) => { const room = Math.max((until - from) * 0.15, 500); return [from - room, Math.min(until + room, whole[1])]; };
  const end = whole[1];
  const spanOfEpoch = (row) => around(row.bumped_at_ms, row.converged_at_ms ?? end);
  const epochs = history.epochs ?? [];
  const measured = epochs.filter((row) => row.rebalance_lag_ms > 0);
  const slowest = measured.reduce((worst, row) => !worst || row.rebalance_lag_ms > worst.rebalance_lag_ms ? row : worst, null);
  const views = [["Whole time", whole]];
  if (isBehind(group) && group.since_ms !== null) views.push(["Since it has not converged", around(group.since_ms, end)]);
  if (slowest) views.push([`Slowest rebalance: epoch ${slowest.group_epoch}`, spanOfEpoch(slowest)]);
  if (epochs.length) views.push([`Last epoch: ${epochs[0].group_epoch}`, spanOfEpoch(epochs[0])]);
  const asked = epochs.find((row) => row.group_epoch === epoch);
  const behindFor = lasted(group);
  const first = asked ? spanOfEpoch(asked)
    : isBehind(group) && behindFor !== null && behindFor < (whole[1] - whole[0]) / 5 ? views[1][1] : whole;
  return [["", first], ...views];
}
