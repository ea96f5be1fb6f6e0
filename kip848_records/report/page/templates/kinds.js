// What one kind of group has: generations, workers, tasks by role, shared partitions, conversions. In the words of its kind.

const kindOf = (group) => data.kinds[group.kind] ?? data.kinds.consumer;
const titled = (words) => words[0].toUpperCase() + words.slice(1);
const ownerText = (group) => `${/^[aeiou]/.test(kindOf(group).owner) ? "an" : "a"} ${kindOf(group).owner}`;
const plainly = (name) => (name ?? "").replaceAll("_", " ");
const ENDINGS = { next_generation: "", emptied: "last member left", upgraded: "upgrade", replaced: "another type of group", deleted: "deletion" };
const sinceCapture = (group, at) => at === null || group.captured_ms === null ? null : group.captured_ms - at;

/** Return the words of the states that members of a kind of group can have. */
function statesOf(group) {
  const { reconciled, behind, revoking, away, unknown } = STATES;
  const { shares_units: isShared, keeps_absent_members: keepsAbsent, units } = kindOf(group);
  return { reconciled, behind, ...(isShared ? {} : { revoking, waiting: `waiting for ${units}` }), ...(keepsAbsent ? { away } : {}), unknown };
}

// A generation without an end may have ended unseen: only the group's present one is ongoing.
const isOngoing = (row) => row.is_present && row.ended_by === null;
const lastedMs = (row, group) =>
  isOngoing(row) ? sinceCapture(group, row.completed_at_ms) : row.completed_at_ms === null || row.ended_at_ms === null ? null : row.ended_at_ms - row.completed_at_ms;
const generationColumns = (group) => [
  { title: "Generation", isHead: true, kind: "number", cell: (row) => number(row.generation) },
  { title: "Completed (UTC)", kind: "time", cell: (row) => clockText(row.completed_at_ms) },
  { title: "Cause", cell: (row) => causesText(row.cause, group) },
  { title: "Sync time", kind: "number", span: (row) => row.sync_ms },
  { title: "Lasted", kind: "number minor lesser", span: (row) => lastedMs(row, group), isMinimum: isOngoing },
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
  ...FREE_COLUMNS.filter((column) => group.kind === "connect" || !["Reason", "At most", "Expected (UTC)"].includes(column.title)),
];
const taskColumns = (group) => [
  { title: titled(kindOf(group).units), isHead: true, kind: "id", cell: (row) => row.units },
  { title: "From", kind: "id", cell: (row) => row.giver ?? "first owner" },
  { title: "To", kind: "id", cell: (row) => row.taker ?? row.status },
  { title: "Acquired (UTC)", kind: "time", cell: (row) => clockText(row.acquired_at_ms) },
  { title: "Idle (minimum)", kind: "number", span: (row) => row.unowned_ms },
  ...(group.kind === "connect"
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
  { title: "Since (UTC)", kind: "time minor", cell: (row) => clockText(row.joined_at_ms).slice(0, 19) },
];
const topicColumns = (group) => [
  { title: "Partitions", isHead: true, kind: "id", cell: (row) => row.units },
  { title: "State", cell: (row) => row.state },
  { title: "Since (UTC)", kind: "time", cell: (row) => clockText(row.from_ms) },
  { title: "For", kind: "number", span: (row) => sinceCapture(group, row.from_ms), isMinimum: () => true },
  { title: "Without a member", kind: "id", cell: (row) => row.state !== "initialized" ? "" : row.is_subscribed ? row.free || "none" : "no member subscribes" },
  { title: "Without for", kind: "number", span: (row) => sinceCapture(group, row.free_since_ms), isMinimum: () => true },
];
const ownerColumns = (group) => [
  { title: "Member", isHead: true, kind: "id", cell: (row) => row.member_id },
  { title: "Client", kind: "client", cell: (row) => row.client },
  ...kindOf(group).owned.map(([role, title]) => ({ title, kind: "text id", cell: (row) => (row.roles.get(role) ?? []).join("; ") })),
];
const MIGRATION_COLUMNS = [
  { title: "At (UTC)", isHead: true, kind: "time", cell: (row) => clockText(row.at_ms) },
  { title: "Change", cell: (row) => plainly(row.direction) },
  { title: "From", cell: (row) => row.from_type },
  { title: "To", cell: (row) => row.to_type },
  { title: "Epoch or generation", kind: "number", cell: (row) => number(row.epoch) },
  { title: "Members converted", kind: "number", cell: (row) => number(row.converted) },
  { title: "Both protocols until (UTC)", kind: "time", cell: (row) => row.direction !== "upgrade" ? "" : row.mixed_until_ms === null ? "capture" : clockText(row.mixed_until_ms) },
];
const atLeast = (row, count) => count === null ? "unknown" : `${["left_censored", "censored"].includes(row.history) ? "\u2265 " : ""}${number(count)}`;
const PERIOD_COLUMNS = [
  { title: "From (UTC)", isHead: true, kind: "time", cell: (row) => clockText(row.from_ms) },
  { title: "Protocol", cell: (row) => row.protocol },
  { title: "Observed", kind: "number", span: (row) => row.observed_ms },
  { title: "Rebalances", kind: "number", cell: (row) => atLeast(row, row.rebalances) },
  { title: "Rounds", kind: "number", cell: (row) => atLeast(row, row.rounds) },
  { title: "Per hour", kind: "number minor", cell: (row) => number(row.rebalances_per_hour) },
  { title: "Moved", kind: "number", cell: (row) => atLeast(row, row.partitions_moved) },
  { title: "Stopped", kind: "number", cell: (row) => atLeast(row, row.partitions_stopped) },
  { title: "Idle (minimum)", kind: "number", span: (row) => row.unowned_min_partition_ms },
];
const STOP_COLUMNS = [
  { title: "Stops estimated", kind: "number minor", cell: (row) => number(row.stop_known) },
  { title: "Median stop (at most)", kind: "number minor", span: (row) => row.stop_max_p50_ms },
  { title: "95% of stops (at most)", kind: "number minor", span: (row) => row.stop_max_p95_ms },
];

/** Return what each member has now: by its role, of other kinds than streams by null, a list of texts. */
function ownedNow(history) {
  const found = new Map();
  for (const row of history.units) {
    if (!found.has(row.member_id)) found.set(row.member_id, { roles: new Map(), connectors: 0, tasks: 0 });
    const member = found.get(row.member_id);
    if (!member.roles.has(row.role)) member.roles.set(row.role, []);
    member.roles.get(row.role).push(row.units);
    member.connectors += row.connectors ?? 0;
    member.tasks += row.tasks ?? 0;
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

const listed = (title, rows, columns, open = true) =>
  rows.length && folded(`${title} (${number(rows.length)})`, open, shortened(tableOf(columns, rows, { label: title.split(/[,;]/)[0] })));

/** Return the tables of what a group's members have now, and of what no member has. */
function presentTables(group, history) {
  const owned = ownedNow(history);
  const clients = new Map(history.members.map((row) => [row.member_id, clientText(row)]));
  const owners = [...owned].map(([member_id, { roles }]) => ({ member_id, roles, client: clients.get(member_id) }));
  const free = history.tasks.filter((row) => row.status === "open");
  const isCut = history.totals.units > history.units.length;
  return [
    free.length && listed(`${titled(kindOf(group).units)} without ${ownerText(group)}`, free, freeColumns(group)),
    listed("Workers", history.workers.map((row) => ({ ...row, has: runsOf(row, owned, isCut) })), WORKER_COLUMNS),
    listed("Partitions by state", history.topics, topicColumns(group)),
    kindOf(group).owned_title && listed(kindOf(group).owned_title, owners, ownerColumns(group)),
  ];
}

/** Return the tables of what happened to a group, beside its rebalances. */
function pastTables(group, history) {
  const moved = history.tasks.filter((row) => row.status !== "open");
  return [
    listed(`${titled(kindOf(group).units)} that changed their ${kindOf(group).owner}, the latest first`, moved, taskColumns(group), false),
    listed("Changes of the protocol, the latest first", history.migrations, MIGRATION_COLUMNS),
    history.periods.length && folded(`Before and after (${number(history.periods.length)})`, true, tableOf([...PERIOD_COLUMNS, ...(history.periods.some((row) => row.stop_known) ? STOP_COLUMNS : [])], history.periods, { label: "Before and after" }),
      element("p", { class: "muted" }, `${data.comparison}.`)),
    kindOf(group).limit && element("p", { class: "muted" }, `${kindOf(group).limit}.`),
  ];
}
