// A group's page: what it is now, who blocks it, its timeline, and the tables that the timeline is drawn from.

let histories = null;  // of all groups, a line each, packed

/** Return what happened in a group; null where the page has no room for it. */
async function historyOf(group) {
  histories ??= field("histories").textContent.split("\n");
  const packed = histories[data.groups.indexOf(group)];
  if (!packed) return null;
  const tables = await unpacked(packed);
  return Object.fromEntries([...Object.keys(data.sections), "findings"].map((name) => [name, rowsOf(tables[name])]).concat([["totals", tables.totals]]));
}

const quoted = (text) => /^[\w.,:@%+=/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
const explainCommand = (group) => `kip848 explain ${data.tables} --group ${quoted(group.group_id)}${severalClusters ? ` --cluster ${quoted(group.cluster)}` : ""}`;

/** Say who blocks a stuck group, who and what waits for it, and what to do; `members` and `free` tasks once they are known. */
function adviceOf(group, members = [], free = []) {
  const { sentence, next, pattern, member_id: blocker, holds } = group.blocker;
  const waiting = members.filter((row) => row.left_at_ms === null && (row.blocked_by ?? "").split(" ").includes(blocker));
  const named = (row) => [element("span", { class: "id" }, row.member_id), ` (${clientText(row)})`];
  const points = [
    ["Blocking member", blocker && element("span", { class: "id" }, blocker)],
    ["It still holds", holds],
    [`Without ${ownerText(group)}`, free.length > 0 && [free.slice(0, 5).map((row) => row.units).join("; "), free.length > 5 && `, and ${number(free.length - 5)} more`]],
    ["Waiting members", waiting.length > 0 && [waiting.slice(0, 3).map((row, nth) => [nth ? ", " : "", ...named(row)]).flat(), waiting.length > 3 && `, and ${number(waiting.length - 3)} more`].flat()],
    ["What to do", element("b", {}, `${next}.`)],
    ["Runbook", element("details", { class: "runbook" }, element("summary", {}, element("code", {}, `docs/runbook.md#${pattern}`)),
      element("dl", {}, (data.runbook[pattern] ?? []).flatMap(([title, text]) => [element("dt", {}, title), element("dd", {}, coded(text))])))],
  ].filter(([, words]) => words);
  return element("section", { class: "blocked", "aria-label": "What blocks the group" }, element("p", { class: "sentence" }, `${sentence}.`),
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
  const said = [`${titled(title)}: ${isStuck(group) ? `stuck for ${atLeastText(lasted(group))}, since ${timeText(group.since_ms)}` : data.health[group.health]}`,
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
    isStuck(group) ? adviceOf(group) : "",
    element("p", {}, presentText(group)),
    group.upgrade.length ? element("p", {}, `${group.upgrade.join("; ")}.`) : "");
  heading.focus({ preventScroll: true });
  const history = await historyOf(group);
  if (!heading.isConnected) return;  // another group was opened meanwhile
  if (!history) {
    home.append(element("p", { class: "note" }, "The timeline of this group is not included in the page. In the terminal: "), element("p", {}, command(explainCommand(group))));
    return;
  }
  const view = viewOf(group, history);
  home.querySelector(".blocked")?.replaceWith(adviceOf(group, view.members, view.free));
  const omitted = Object.entries(data.sections).filter(([name]) => (history.totals[name] ?? 0) > history[name].length)
    .map(([name, words]) => `${number(history[name].length)} of ${number(history.totals[name])} ${words}`);
  const timeline = element("section", { id: "timeline" }, element("h2", {}, "Timeline (UTC)"));
  home.append(...[timeline,
    omitted.length && element("p", { class: "note" }, `Shown: ${omitted.join("; ")}.`),
    ...sectionsOf(group, view),
    kindOf(group).limit && element("p", { class: "muted" }, `${kindOf(group).limit}.`),
    element("h2", {}, "In the terminal"), element("p", {}, command(explainCommand(group)))].filter(Boolean));
  redraw = startTimeline(timeline, group, history, range);
}
