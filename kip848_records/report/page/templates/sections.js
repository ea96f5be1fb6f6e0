// The sections of a group's page, in their order: the title, the rows and the columns of each.

const ENDINGS = { next_generation: "", emptied: "last member left", upgraded: "upgrade", replaced: "another type of group", deleted: "deletion" };

// A generation without an end may have ended unseen: only the group's present one is ongoing.
const isOngoing = (row) => row.is_present && row.ended_by === null;
const generationColumns = (group) => [
  { title: "Generation", isHead: true, kind: "number", cell: (row) => number(row.generation) },
  { title: "Completed (UTC)", kind: "time", cell: (row) => clockText(row.completed_at_ms) },
  { title: "Cause", cell: (row) => causesText(row.cause, group) },
  { title: "Sync time", kind: "number", span: (row) => row.sync_ms },
  { title: "Lasted", kind: "number minor lesser", span: (row) => row.lasted_ms, isMinimum: isOngoing },
  { title: "Rounds", kind: "number", cell: (row) => number(row.rounds) },
  { title: `${titled(kindOf(group).member)}s`, kind: "number", cell: (row) => number(row.members) },
  { title: "Joined", kind: "number minor lesser", cell: (row) => number(row.joined) },
  { title: "Left", kind: "number minor lesser", cell: (row) => number(row.gone) },
  { title: `${titled(kindOf(group).units)} moved`, kind: "number", cell: (row) => number(row.moved) },
  { title: "Mode", kind: "minor", cell: (row) => row.mode },
  { title: "Ended by", cell: (row) => isOngoing(row) ? "ongoing" : row.ended_by === null ? "not seen" : ENDINGS[row.ended_by] ?? plainly(row.ended_by) },
];
const FREE_COLUMNS = [
  { title: "Reason", cell: (row) => plainly(row.reason) },
  { title: "Since (UTC)", kind: "time", cell: (row) => clockText(row.released_at_ms) },
  { title: "For", kind: "number", span: (row) => row.unowned_ms, isMinimum: () => true },
  { title: "At most", kind: "number minor", span: (row) => row.unowned_max_ms },
  { title: "Expected (UTC)", kind: "time", cell: (row) => clockText(row.expected_at_ms) },
];
const freeColumns = (group) => [
  { title: titled(kindOf(group).units), isHead: true, kind: "id", cell: (row) => row.units },
  { title: `Last ${kindOf(group).owner}`, kind: "id", cell: (row) => row.giver },
  ...FREE_COLUMNS.filter((column) => kindOf(group).delays_lost_units || !["Reason", "At most", "Expected (UTC)"].includes(column.title)),
];
const taskColumns = (group) => [
  { title: titled(kindOf(group).units), isHead: true, kind: "id", cell: (row) => row.units },
  { title: "From", kind: "id", cell: (row) => row.giver ?? "first owner" },
  { title: "To", kind: "id", cell: (row) => row.taker ?? row.status },
  { title: "Acquired (UTC)", kind: "time", cell: (row) => clockText(row.acquired_at_ms) },
  { title: "Idle", kind: "number", span: (row) => row.unowned_ms, isMinimum: () => true },
  ...(kindOf(group).delays_lost_units
    ? [{ title: "Idle (at most)", kind: "number", span: (row) => row.unowned_max_ms }, { title: "Reason", cell: (row) => plainly(row.reason) }]
    : [{ title: "State was there", cell: (row) => row.was_warm === null ? "" : row.was_warm ? "yes" : "not seen" }]),
];
const WORKER_COLUMNS = [
  { title: "Worker", isHead: true, kind: "id", cell: (row) => row.worker_url ?? row.member_id },
  { title: "Leader", cell: (row) => row.is_leader ? "leader" : "" },
  { title: "Connectors", kind: "number", cell: (row) => row.has.connectors },
  { title: "Tasks", kind: "number", cell: (row) => row.has.tasks },
  { title: "Runs", kind: "text id", cell: (row) => row.has.words },
  { title: "Config offset", kind: "number", cell: (row) => row.config_offset },
  { title: "Joined with", kind: "number minor lesser", cell: (row) => row.worker_config_offset },
  { title: "Since (UTC)", kind: "time minor", cell: (row) => clockText(row.joined_at_ms) },
];
const TOPIC_COLUMNS = [
  { title: "Partitions", isHead: true, kind: "id", cell: (row) => row.units },
  { title: "State", cell: (row) => row.state },
  { title: "Since (UTC)", kind: "time", cell: (row) => clockText(row.from_ms) },
  { title: "For", kind: "number", span: (row) => row.lasts_ms, isMinimum: () => true },
  { title: "Without a member", kind: "id", cell: (row) => row.state !== "initialized" ? "" : row.is_subscribed ? row.free || "none" : "no member subscribes" },
  { title: "Without for", kind: "number", span: (row) => row.free_ms, isMinimum: () => true },
];
/** Return the columns of what members are to get and to give up, if any is. */
const changeColumns = (members) => [["gets", "Is to get"], ["gives", "Is to give up"]].filter(([name]) => members.some((row) => row[name].length))
  .map(([name, title]) => ({ title, kind: "text id", cell: (row) => row[name].join("; ") }));
const ownerColumns = (group, view) => [
  { title: "Member", isHead: true, kind: "id", cell: (row) => row.member_id },
  { title: "Client", kind: "client", cell: (row) => row.client },
  ...kindOf(group).owned.map(([role, title]) => ({ title, kind: "text id", cell: (row) => (row.roles.get(role) ?? []).join("; ") })),
  ...changeColumns(view.owners),
];
/** Return a section that `told.py` knows: its rows are texts. */
const toldSection = (name, { title = data.told[name].title, ...more } = {}) => ({ title: () => title, rows: (_, view) => view[name], ...more,
  note: data.told[name].note ? () => data.told[name].note : null,
  columns: (_, view) => data.told[name].columns.map((column, nth) => ({ ...column, isHead: nth === 0, cell: (row) => row[nth] }))
    .filter((column) => !column.isOptional || view[name].some((row) => column.cell(row))) });
const OUTCOMES = { converged: "converged", emptied: "emptied", deleted: "deleted", downgraded: "downgraded", open: "ongoing at capture" };
/** Return the columns of rebalances; those of a group that was converted have epochs and generations. */
const rebalanceColumns = (group, isConverted) => [
  { title: "Began (UTC)", isHead: true, kind: "time", cell: (row) => clockText(row.began_at_ms) },
  { title: "Total", kind: "number", span: (row) => row.clock_skew && row.outcome !== "open" && row.duration_ms !== null ? -1 : row.duration_ms, isMinimum: (row) => row.outcome === "open" || row.history !== "observed" || row.duration_is_minimum },
  ...(!kindOf(group).has_epochs && !isConverted ? [] : [{ title: "Assignment time", kind: "number", span: (row) => row.assigning_ms }]),
  { title: "Outcome", cell: (row) => OUTCOMES[row.outcome] ?? row.outcome },
  { title: "Cause", cell: (row) => causesText(row.causes, group) },
  { title: isConverted ? "Epochs or generations" : `${titled(kindOf(group).step)}s`, kind: "number", cell: (row) => row.first_epoch === row.last_epoch ? row.last_epoch : `${row.first_epoch}\u2013${row.last_epoch}` },
  { title: `${titled(kindOf(group).member)}s`, kind: "number", cell: (row) => number(row.members) },
  ...(!kindOf(group).has_epochs && !isConverted ? [] : [{ title: "Waited", kind: "number minor", cell: (row) => number(row.members_waited) }]),
  ...(kindOf(group).shares_units ? [] : [{ title: `${titled(kindOf(group).units)} moved`, kind: "number minor", cell: (row) => number(row.partitions_moved) }]),
];
/** Say how a member left; leaving, expiring and fencing write the same records. */
const leftText = (row) => `${row.left_how === "left" ? "left or expired" : plainly(row.left_how ?? "left")}${row.returned ? ", came back" : ""}`;
const memberColumns = (group, view) => [
  { title: "Member", isHead: true, kind: "id", cell: (row) => row.member_id },
  { title: "Client", kind: "client", cell: clientText },
  { title: "Now", cell: (row) => row.now },
  ...(kindOf(group).has_epochs ? [{ title: "Joined or left (UTC)", kind: "time minor", cell: (row) => clockText(row.left_at_ms ?? row.joined_at_ms) }] : []),
  ...(!kindOf(group).has_epochs ? [
    ...(view.workers.length ? [] : [{ title: titled(kindOf(group).units), kind: "text id", cell: (row) => row.has.join("; ") }]),
    { title: "Joined (UTC)", kind: "time", cell: (row) => clockText(row.joined_at_ms) },
    { title: "Left (UTC)", kind: "time", cell: (row) => clockText(row.left_at_ms) },
  ] : [
    { title: "Behind for", kind: "number", span: (row) => row.behind_ms, isMinimum: () => true },
    ...(kindOf(group).shares_units ? [] : [
      { title: `Waits for ${kindOf(group).units}`, kind: "number", cell: (row) => row.awaited ? number(row.awaited) : "" },
      { title: "Blocked by", kind: "id", cell: (row) => row.blocked_by ?? "" },
    ]),
  ]),
  ...(kindOf(group).shares_units ? [] : [{ title: "Rebalance timeout", kind: "number", span: (row) => row.rebalance_timeout_ms || null }]),
];
const HANDOVER_COLUMNS = [
  { title: "Partitions", isHead: true, kind: "id", cell: (row) => `${row.topic} ${rangesText(row.numbers)}` },
  { title: "From", kind: "id", cell: (row) => row.from_member ?? "first owner" },
  { title: "To", kind: "id", cell: (row) => row.to_member ?? "no owner" },
  { title: "Acquired (UTC)", kind: "time", cell: (row) => clockText(row.acquired_at_ms) },
  { title: "Idle", kind: "number", span: (row) => row.idle_ms, isMinimum: () => true },
];
/** Return one number, or the least and the most of several. */
const betweenText = (least, most) => least === null ? "" : least === most ? number(least) : `${number(least)} to ${number(most)}`;
/** Say whether a partition is consumed, as far as its commits show it. */
function progressText({ state, evidence, silent_ms: silent, ahead_by: by, ahead_group: ahead, producer_id: producer, partitions }) {
  const still = silent === null ? "stands still" : `stands still for ${spanText(silent)}`;
  if (state === "progress") return "goes on";
  if (state === "blocked_by_transaction") return `blocked: ${still}, a transaction of producer ${producer} is open`;
  if (state === "suspected" && evidence === "member_stopped") return `suspected: ${still}, as all partitions of this member; others go on`;
  if (state === "suspected") return `suspected: ${still}, ${ahead === null ? "and messages wait" : `${ahead} has read ${partitions > 1 ? "up to " : ""}${counted(by, "offset")} more`}`;
  return { too_short: "too early to say", never_commits: "no commits: the group may keep its offsets elsewhere", no_commit_yet: "nothing committed", unknown: "not known",
    caught_up: "has read all", committed_beyond_end: "committed beyond the end of the partition", messages_wait: `${still}: messages wait, not known since when`, unnamed_topic: "not known: the topic's name is not in this log; pass --topics", negative_offset: "a negative offset is none: nothing is committed" }[state] ?? `${still}: no messages, or not consumed`;
}
const consumptionColumns = (group, view) => [
  { title: "Partitions", isHead: true, kind: "id", cell: (row) => row.units },
  { title: titled(kindOf(group).member), kind: "client", cell: (row) => view.clients.get(row.member_id) || row.member_id },
  { title: "Committed", kind: "number", cell: (row) => betweenText(row.least_committed, row.most_committed) },
  { title: "Progress", kind: "text", cell: (row) => ["suspected", "blocked_by_transaction"].includes(row.state) ? element("span", { class: row.state === "suspected" ? "warn" : "error" }, progressText(row)) : progressText(row) },
];
const JUMPS = { back: "back", ahead: "ahead", lost: "lost", restart_after_loss: "restart after a loss", restart_after_negative: "restart after a negative offset", recreated: "topic created anew", first_commit: "first commit" };
const lossText = ({ cause, retention_ms: kept, assumed_retention_ms: assumed }) => kept !== null && cause.endsWith("expired") ? `its client had asked the broker to keep it for ${spanText(kept)}` : `presumably ${data.losses[cause] ?? plainly(cause)}${assumed === null ? "" : ` (assumed: brokers keep offsets for ${spanText(assumed)})`}`;
/** Say what happened to committed offsets: lost, presumably the topic was deleted. */
const jumpText = (row) => [JUMPS[row.kind] ?? plainly(row.kind), row.kind === "lost" && row.cause && lossText(row), row.context === "no_members" && "while the group had no members"].filter(Boolean).join(", ");
const JUMP_COLUMNS = [
  { title: "At (UTC)", isHead: true, kind: "time", cell: (row) => clockText(row.jumped_ms) },
  { title: "Partitions", kind: "id", cell: (row) => row.units },
  { title: "What", kind: "text", cell: jumpText },
  { title: "Before", kind: "number", cell: (row) => betweenText(row.least_before, row.most_before) },
  { title: "After", kind: "number", cell: (row) => betweenText(row.least_after, row.most_after) },
  { title: "Offsets", kind: "number", cell: (row) => number(row.amount) },
];
const findingColumns = (group) => [
  { title: "Check", isHead: true, cell: (row) => row.expectation },
  { title: "Severity", cell: (row) => element("span", { class: row.severity }, row.severity) },
  { title: "What", kind: "text", cell: (row) => row.message },
  { title: titled(kindOf(group).step), kind: "number", cell: (row) => row.group_epoch },
];

/** Return what each member has now: by its role, of other kinds than streams by null, a list of texts. */
function ownedNow(history) {
  const found = new Map();
  for (const row of history.units) {
    if (!found.has(row.member_id)) found.set(row.member_id, { roles: new Map(), gets: [], gives: [], connectors: 0, tasks: 0 });
    const member = found.get(row.member_id);
    if (row.units !== null) member.roles.set(row.role, [...(member.roles.get(row.role) ?? []), row.units]);
    for (const name of ["gets", "gives"]) if (row[name] !== null) member[name].push(row[name]);
    member.connectors += row.connectors;
    member.tasks += row.tasks;
  }
  return found;
}

/** Say what a worker runs; counts are a minimum where the page has not all of its connectors. */
function runsOf(worker, owned, isCut) {
  const has = owned.get(worker.member_id);
  if (!worker.is_assigned) return { connectors: "", tasks: "", words: "no assignment" };
  const count = (value) => `${isCut ? "\u2265 " : ""}${number(value)}`;
  return { connectors: count(has?.connectors ?? 0), tasks: count(has?.tasks ?? 0), words: has?.roles.get(null)?.join("; ") ?? (isCut ? "" : "nothing") };
}

/** Return what a group's page shows of its history: members as they are now, and units with and without an owner. */
function viewOf(group, history) {
  const now = new Map(history.intervals.filter((each) => each.to_ms === null).map((each) => [`${each.incarnation} ${each.member_id}`, each]));
  const owned = ownedNow(history);
  const rank = (row) => group.blockers.includes(row.member_id) ? group.blockers.indexOf(row.member_id) : Infinity;
  const clients = new Map(history.members.map((row) => [row.member_id, clientText(row)]));
  const members = history.members.map((row) => {
    const isPresent = row.left_at_ms === null && row.left_how === null;
    const state = isPresent ? now.get(`${row.incarnation} ${row.member_id}`)?.state : null;
    return { ...row, now: isPresent ? kindOf(group).states[state] ?? (!kindOf(group).has_epochs ? kindOf(group).member : "") : leftText(row),
      has: (isPresent && owned.get(row.member_id)?.roles.get(null)) || [] };
  }).sort((a, b) => rank(a) === rank(b) ? 0 : rank(a) - rank(b));
  const isCut = history.totals.units > history.units.length;
  return { ...history, group, clients, members, isBlocker: (row) => rank(row) === 0,
    owners: [...owned].map(([member_id, of]) => ({ ...of, member_id, client: clients.get(member_id) })),
    workers: history.workers.map((row) => ({ ...row, has: runsOf(row, owned, isCut) })),
    free: history.tasks.filter((row) => row.status === "open"), moved: history.tasks.filter((row) => row.status !== "open") };
}

// Each function gets the group, then what `viewOf` returns. A section without rows is skipped. `isFolded`: it is closed at first; `isWhole`: all of its rows are shown.
const SECTIONS = [
  { title: () => "Checks", rows: (_, view) => view.findings, columns: findingColumns },
  { title: (group) => `${titled(kindOf(group).units)} without ${ownerText(group)}`, rows: (_, view) => view.free, columns: freeColumns },
  { title: () => "Workers", rows: (_, view) => view.workers, columns: () => WORKER_COLUMNS },
  { title: () => "Partitions by state", rows: (_, view) => view.topics, columns: () => TOPIC_COLUMNS },
  { title: (group) => kindOf(group).owned_title, rows: (group, view) => kindOf(group).owned.length ? view.owners : [], columns: ownerColumns },
  { title: () => "Members", rows: (_, view) => view.members, columns: memberColumns, chosen: (_, view) => view.isBlocker, isFolded: (_, view) => view.workers.length > 0 },
  { title: () => "Committed offsets of what members own", rows: (_, view) => view.consumption, columns: consumptionColumns },
  { title: () => "Jumps of committed offsets, the latest first", rows: (_, view) => view.jumps, columns: () => JUMP_COLUMNS,
    note: () => "What jumps prove, and what not: docs/consumption.md" },
  { title: () => "Generations, the latest first", rows: (_, view) => view.generations, columns: generationColumns },
  { title: () => "Rebalances, the latest first", rows: (_, view) => view.rebalances, columns: (group, view) => rebalanceColumns(group, view.migrations.length > 0) },
  { title: () => "Partition handovers, the latest first", rows: (_, view) => view.handovers, columns: () => HANDOVER_COLUMNS, isFolded: () => true },
  { title: (group) => `${titled(kindOf(group).units)} that changed their ${kindOf(group).owner}, the latest first`, rows: (_, view) => view.moved, columns: taskColumns, isFolded: () => true },
  toldSection("migrations", { title: "Changes of the protocol, the latest first" }),
  toldSection("periods", { isWhole: true }),
];

/** Return the tables of the sections that have rows. */
const sectionsOf = (group, view) => SECTIONS.map((section) => {
  const rows = section.rows(group, view);
  if (!rows.length) return null;
  const title = section.title(group);
  const table = tableOf(section.columns(group, view), rows, { label: title.split(/[,;]/)[0], chosen: section.chosen?.(group, view) });
  return folded(`${title} (${number(rows.length)})`, !section.isFolded?.(group, view), section.isWhole ? table : shortened(table),
    section.note && element("p", { class: "muted" }, `${section.note()}.`));
});
