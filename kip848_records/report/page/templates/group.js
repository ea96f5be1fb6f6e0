// A group's page: what it is now, who blocks it, its timeline, and the tables that the timeline is drawn from.

let histories = null;  // of all groups, a line each, packed

/** Return what happened in a group; null where the page has no room for it. */
async function historyOf(group) {
  histories ??= field("histories").textContent.split("\n");
  const packed = histories[data.groups.indexOf(group)];
  if (!packed) return null;
  const tables = await unpacked(packed);
  return { ...Object.fromEntries(data.sections.map((name) => [name, rowsOf(tables[name])])), omitted: tables.omitted };
}

const quoted = (text) => /^[\w.,:@%+=/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
const explainCommand = (group) => `kip848 explain ${data.tables} --group ${quoted(group.group_id)}${severalClusters ? ` --cluster ${quoted(group.cluster)}` : ""}`;

/** Return the entry of the runbook about a pattern, folded; null if there is none. */
const runbookOf = (pattern) => data.runbook[pattern] ? element("details", { class: "runbook" }, element("summary", {}, element("code", {}, `docs/runbook.md#${pattern}`)),
  element("dl", {}, data.runbook[pattern].flatMap(([title, text]) => [element("dt", {}, title), element("dd", {}, coded(text))]))) : null;

/** Say what happened over time, since when, and what to do; `behind` are the rows that this one explains. */
function troubleOf(group, row, behind) {
  return element("div", { class: `trouble ${row.severity}${row.is_present ? "" : " past"}` }, element("p", { class: "sentence" }, row.sentence),
    element("p", { class: "muted" }, element("b", { class: row.severity }, `${titled(plainly(row.pattern))} (${row.severity})`), `: ${row.when}.`),
    element("p", {}, "What to do: ", element("b", {}, row.next_step)), runbookOf(row.pattern),
    behind.length > 0 && foldedTroubles(group, `Explained by this: ${number(behind.length)} more`, behind, []));
}

const foldedTroubles = (group, title, rows, behind) =>
  element("details", {}, element("summary", {}, title), rows.map((row) => troubleOf(group, row, behind.filter(([, by]) => by === row).map(([each]) => each))));

/** Say what is wrong with a group over time: alarms that are present, then, folded, what is over or no alarm. */
function diagnosisOf(group, rows) {
  const own = rows.filter((row) => row.explained_by === null);
  const explains = (row, by) => by.pattern === row.explained_by && by.first_ms <= (row.ended_ms ?? Infinity) && row.first_ms <= (by.ended_ms ?? Infinity);
  const behind = rows.filter((row) => row.explained_by !== null).map((row) => [row, own.find((by) => explains(row, by))]);
  const isNow = (row) => row.is_present && row.severity !== "info";
  const now = own.filter(isNow), rest = [...own.filter((row) => !isNow(row)), ...behind.filter(([, by]) => !by).map(([row]) => row)];
  if (!rows.length) return "";
  return element("section", { class: "diagnosis", "aria-label": "Diagnosis" },
    now.map((row) => troubleOf(group, row, behind.filter(([, by]) => by === row).map(([each]) => each))),
    rest.length > 0 && foldedTroubles(group, `${rest.some((row) => row.is_present) ? "Over, or no alarm" : "Over since then"} (${number(rest.length)})`, rest, behind));
}

/** Return the worst trouble of a group that fails over time, as a row of its diagnosis: the list of groups has it. */
const worstTrouble = (group) => group.health === "failing" ? [{ ...group, is_present: true, explained_by: null }] : [];

/** Say who blocks a stuck group, who and what waits for it, and what to do; `members` and `free` tasks once they are known. */
function adviceOf(group, { members, free, diagnosis } = { members: [], free: [], diagnosis: [] }) {
  const { sentence, next_step: next, pattern, member_id: blocker, holds } = group.blocker;
  const isTold = diagnosis.some((row) => row.pattern === pattern && row.is_present);  // the diagnosis above says it
  const waiting = members.filter((row) => row.left_at_ms === null && row.waits_for?.includes(blocker));
  const named = (row) => [element("span", { class: "id" }, row.member_id), ` (${row.client_text})`];
  const points = [
    ["Blocking member", blocker && element("span", { class: "id" }, blocker)],
    ["It still holds", holds],
    [`Without ${kindOf(group).an_owner}`, free.length > 0 && [free.slice(0, 5).map((row) => row.units_text).join("; "), free.length > 5 && `, and ${number(free.length - 5)} more`]],
    ["Waiting members", waiting.length > 0 && [waiting.slice(0, 3).map((row, nth) => [nth ? ", " : "", ...named(row)]).flat(), waiting.length > 3 && `, and ${number(waiting.length - 3)} more`].flat()],
    ["What to do", !isTold && element("b", {}, `${next}.`)],
    ["Runbook", !isTold && runbookOf(pattern)],
  ].filter(([, words]) => words);
  if (!points.length) return "";
  return element("section", { class: "blocked", "aria-label": "What blocks the group" }, !isTold && element("p", { class: "sentence" }, `${sentence}.`),
    element("dl", {}, points.flatMap(([title, words]) => [element("dt", {}, title), element("dd", {}, words)])));
}

/** Say what the log has of a classic group: a generation that was completed. It has nothing while members join. */
function generationText(group) {
  const now = isStuck(group) ? "" : group.state === "Empty" ? "; whether members join now is not in the log" : "; whether it rebalances now is not in the log";
  return `generation ${number(group.generation)} was completed${group.completed_ms === null ? "" : ` at ${timeText(group.completed_ms)}`}${now}`;
}

/** Say what the group is now, the most important first. */
function presentText(group) {
  const { title, member } = kindOf(group);
  if (group.state === "deleted") return `${titled(title)}. The group was deleted.`;
  const said = [`${titled(title)}: ${isStuck(group) ? `stuck for ${atLeastText(group.stuck_ms)}, since ${timeText(group.since_ms)}` : data.health[group.health]}`,
    !kindOf(group).has_epochs && group.generation !== null ? generationText(group) : `state ${group.state}${isStuck(group) && !kindOf(group).hides_rebalances ? "" : ` since ${timeText(group.state_since_ms)}`}`];
  if (group.members !== null) said.push(group.converged_members === null ? counted(group.members, member) : `${group.converged_members} of ${counted(group.members, member)} converged`);
  if (group.assignment_epoch !== null) said.push(`group epoch ${group.group_epoch}, assignment epoch ${group.assignment_epoch}`);
  if (group.topology_epoch !== null) said.push(`topology epoch ${group.topology_epoch}${group.validated_topology_epoch === null ? "" : group.validated_topology_epoch === group.topology_epoch ? ", validated" : ", not validated"}`);
  return `${said.join("; ")}; log position ${positionText(group.partition, group.at_offset)}.`;
}

function folded(title, open, ...children) {
  return element("details", { open }, element("summary", {}, element("h2", {}, title)), children.flat());
}

async function showGroup(group, range) {
  const home = field("group");
  const heading = element("h1", { id: "group-title", tabindex: "-1" }, "Group ", element("span", { class: "id" }, group.group_id), severalClusters && element("small", { class: "muted" }, ` of cluster ${group.cluster}`));
  home.replaceChildren(element("p", {}, element("a", { href: backTo, class: "back" }, "\u2190 All groups")), heading,
    diagnosisOf(group, worstTrouble(group)),
    isStuck(group) ? adviceOf(group) : "",
    element("p", {}, presentText(group)),
    group.upgrade.length ? element("p", {}, `${group.upgrade.join(". ")}.`) : "");
  heading.focus({ preventScroll: true });
  const history = await historyOf(group);
  if (!heading.isConnected) return;  // another group was opened meanwhile
  if (!history) {
    home.append(element("p", { class: "note" }, "The timeline of this group is not included in the page. In the terminal: "), element("p", {}, command(explainCommand(group))));
    return;
  }
  home.querySelector(".diagnosis")?.remove();
  if (history.diagnosis.length) heading.after(diagnosisOf(group, history.diagnosis));
  home.querySelector(".blocked")?.replaceWith(adviceOf(group, history));
  const timeline = element("section", { id: "timeline" }, element("h2", {}, "Timeline (UTC)"));
  home.append(...[timeline,
    history.omitted.length && element("p", { class: "note" }, `Shown: ${history.omitted.join("; ")}.`),
    ...sectionsOf(group, history),
    kindOf(group).limit && element("p", { class: "muted" }, `${kindOf(group).limit}.`),
    kindOf(group).commits && !data.hasCommits.includes(group.cluster) && element("p", { class: "muted" }, "Whether its members consume what they own was not looked at (--offset-commits)."),
    element("h2", {}, "In the terminal"), element("p", {}, command(explainCommand(group)))].filter(Boolean));
  redraw = startTimeline(timeline, group, history, range);
}
