// A group's timeline in SVG: a column of labels that stays, rows of one height, a time axis that stays at the top.

const ROW = 26;  // px
const ROWS_DRAWN = 40;
// A group of a kind with epochs was a classic one when its members had none.
function memberWords(group) {
  const { member, title } = kindOf(group).has_epochs ? Object.values(data.kinds).find((kind) => !kind.has_epochs) : kindOf(group);
  return `${member} of the ${title}`;
}
const GROUP_KINDS = { Stable: "reconciled", Reconciling: "waiting", Assigning: "behind", NotReady: "behind", Empty: "away" };

const PATTERNS_DRAWN = 5;
const CORPSE = 60000;  // ms that a killed process stays a member: its successor may join before
const RESTARTS = ["restart_loop", "leaves_and_returns"];
const SEVERITIES = ["error", "warning", "info"];
const harmOf = (each) => SEVERITIES.indexOf(each.severity) + (each.is_present ? 0 : SEVERITIES.length);
const clientOf = (row) => row.client_id === null && row.client_host === null ? null : `${row.client_id} @ ${row.client_host}`;

/** Return what finds the subject of a member: its instance id, its client, or a name in which `*` stands for what changes. */
function subjects(history) {
  const names = [...new Set(history.diagnosis.filter((each) => each.pattern === "restart_loop" && each.what?.includes("*")).map((each) => each.what))]
    .map((what) => [what, new RegExp(`^${what.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".+")}$`)]);
  return (row) => row.instance_id ?? names.find(([, name]) => name.test(row.client_id ?? ""))?.[0] ?? clientOf(row) ?? row.member_id;
}
const subjectOfTrouble = (each) => each.instance_id ?? (each.what?.includes("*") ? each.what : null) ?? clientOf(each) ?? each.member_id;

/** Return the rows of episodes, one a pattern: the worst patterns that no other one explains. */
function episodeRows(history, end) {
  const byPattern = new Map();
  for (const each of history.diagnosis.filter((row) => row.explained_by === null)) {
    if (!byPattern.has(each.pattern)) byPattern.set(each.pattern, { label: plainly(each.pattern), bars: [], isFixed: true, harm: Infinity });
    const row = byPattern.get(each.pattern);
    row.harm = Math.min(row.harm, harmOf(each));
    row.bars.push({ from: each.first_ms, until: each.ended_ms ?? (each.is_present ? end : each.last_ms), isOpen: each.is_present, kind: `episode ${each.severity}`, name: plainly(each.pattern), words: each.sentence, row: each });
  }
  return [...byPattern.values()].sort((a, b) => a.harm - b.harm).slice(0, PATTERNS_DRAWN);
}

/** Put the members of one subject on as few rows as their stays allow: on one, if they come one after the other. */
function subjectRows(members, troubles) {
  const lanes = new Map(), rows = [];
  const spans = members.map((member) => [Math.min(...member.bars.map((bar) => bar.from)), Math.max(...member.bars.map((bar) => bar.until)), member]);
  for (const [from, until, member] of spans.sort((a, b) => a[0] - b[0])) {
    if (!lanes.has(member.subject)) lanes.set(member.subject, []);
    const of = lanes.get(member.subject);
    // Members that were there at once have a row each. Only a client that restarts again and again leaves corpses on the row of its successors.
    const corpse = troubles.get(member.subject)?.some((each) => RESTARTS.includes(each.pattern)) ? CORPSE : 0;
    let lane = of.find((each) => !each.isOpen && from >= each.until - corpse && from > each.from + 1000 && until >= each.until);
    if (!lane) {
      lane = { members: new Map(), bars: [], clients: new Set(), blocker: Infinity, unsettled: 0, first: from, troubles: troubles.get(member.subject) ?? [] };
      of.push(lane);
      rows.push(lane);
    }
    Object.assign(lane, { from, until, isOpen: member.bars.some((bar) => bar.isOpen), subject: member.subject, latest: member.member, blocker: Math.min(lane.blocker, member.blocker), unsettled: lane.unsettled + member.unsettled });
    lane.members.set(member.member, member);
    lane.clients.add(member.client);
    lane.bars.push(...member.bars);
  }
  const most = (of) => Math.max(...of.map((each) => each.bars.length));
  return rows.map((row) => ({ ...row, isBlocker: row.blocker < Infinity, client: row.clients.size === 1 ? [...row.clients][0] : row.subject, label: row.members.size === 1 ? row.latest : `${number(row.members.size)} members`,
    // Several members may have the name of one that does not stay: the row with the most pieces is its.
    harm: row.troubles.length && row.bars.length === most(lanes.get(row.subject)) ? Math.min(...row.troubles.map(harmOf)) : Infinity }))
    .map((row) => row.harm === Infinity ? { ...row, troubles: [] } : row);
}

/** Return the rows of a timeline: the group, its rebalances, its episodes, and its clients, those that block first, then by harm, age and name. */
function timelineRows(group, history, end) {
  const subjectOf = subjects(history), stays = new Map();
  for (const each of history.members) {
    const key = `${each.incarnation} ${each.member_id}`;
    stays.set(key, [...(stays.get(key) ?? []), each]);
  }
  const bar = (row, kind, words, until) => ({ from: row.from_ms, until: row.to_ms ?? until ?? end, isOpen: row.to_ms === null, kind, words, row });
  const lives = new Map();
  for (const each of history.states) lives.set(each.incarnation, Math.max(lives.get(each.incarnation) ?? 0, each.to_ms ?? end));
  const rows = [
    { label: "Group state", isFixed: true, bars: history.states.map((each) => bar(each, GROUP_KINDS[each.state] ?? "unknown", `Group ${each.state}`)) },
    { label: "Rebalances", isFixed: true, bars: history.rebalances.map((each) => ({ from: each.began_at_ms, until: Math.max(each.ended_at_ms ?? (each.outcome === "open" ? end : each.began_at_ms + (each.duration_ms ?? 0)), each.began_at_ms),
      isOpen: each.outcome === "open", kind: each.outcome === "open" ? "revoking" : "rebalance", words: `Rebalance, ${epochsText(each)}: ${each.cause_text}`,
      row: { ...each, at_offset: each.began_offset } })) },
    ...episodeRows(history, end),
    ...(history.jumps.length ? [{ label: "Offset jumps", isFixed: true, bars: history.jumps.filter((each) => each.jumped_ms !== null).map((each) => ({
      from: each.jumped_ms, until: each.jumped_ms, isOpen: false, kind: `jump${each.jump === "lost" ? " lost" : ""}`, words: `${each.partitions_text}: ${each.what_text}`, row: each })) }] : []),
  ];
  const members = new Map();
  const memberOf = ({ incarnation, member_id: member }) => {
    const key = `${incarnation} ${member}`, of = stays.get(key) ?? [];
    const blocker = group.blockers.indexOf(member);
    if (!members.has(key)) members.set(key, { member, stays: of, subject: of.length ? subjectOf(of[0]) : member, client: of[0]?.client_text ?? "", blocker: blocker < 0 ? Infinity : blocker, bars: [], unsettled: 0 });
    return members.get(key);
  };
  // Without epochs, the log shows who is a member of which generations, not what a member does.
  for (const each of history.members.filter((row) => data.kinds[row.group_type]?.has_epochs === false)) {
    const from = each.joined_at_ms ?? Math.min(...history.states.map((state) => state.from_ms));
    memberOf(each).bars.push({ from, until: each.left_at_ms ?? lives.get(each.incarnation) ?? end, isOpen: each.left_at_ms === null, kind: "member", member: each.member_id,
      words: memberWords(group), row: { history: each.joined_at_ms === null ? "left_censored" : "observed", at_offset: each.at_offset } });
  }
  for (const each of history.intervals) {
    const member = memberOf(each);
    member.bars.push({ ...bar(each, each.state in kindOf(group).states ? each.state : "unknown", `${kindOf(group).states[each.state] ?? each.state}, member epoch ${each.member_epoch}`, lives.get(each.incarnation)), member: each.member_id });
    if (each.state !== "reconciled") member.unsettled += member.bars.at(-1).until - each.from_ms;
  }
  const troubles = new Map();
  for (const each of history.diagnosis) {
    const subject = subjectOfTrouble(each);
    if (subject !== null) troubles.set(subject, [...(troubles.get(subject) ?? []), each]);
  }
  const order = (a, b) => a === b ? 0 : a < b ? -1 : 1;
  const worst = subjectRows([...members.values()], troubles).sort((a, b) => order(a.blocker, b.blocker) || order(a.harm, b.harm) || order(b.unsettled, a.unsettled)
    || order(a.first, b.first) || order(a.client, b.client) || order(a.latest, b.latest));
  return [...rows, ...worst];
}

/** Say how a member joined and left: the stay of which a bar is a part. */
function stayText({ stays }, from) {
  const stay = stays.filter((each) => (each.joined_at_ms ?? 0) <= from).sort((a, b) => (b.joined_at_ms ?? 0) - (a.joined_at_ms ?? 0))[0] ?? stays[0];
  if (!stay) return "";
  return [stay.joined_at_ms === null ? "was there before the log begins" : `${plainly(stay.joined_how ?? "joined")} at ${timeText(stay.joined_at_ms)}`,
    stay.left_at_ms === null ? "is a member at capture" : `${stay.state_text} at ${timeText(stay.left_at_ms)}`].join(", ");
}

/** Return the shapes of a state: its colour, and a pattern for readers who cannot distinguish the colours. */
const marks = (kind, box, more = "") => [element("rect", { ...box, class: `bar ${kind}${more}` }),
  ...(["waiting", "revoking", "behind", "away", "unknown"].includes(kind) ? [element("rect", { ...box, class: "pattern", fill: `url(#pattern-${kind})` })] : [])];

/** Return the kinds of bars that members have, with their words. */
function legendOf(group, rows) {
  const kinds = new Set(rows.filter((row) => !row.isFixed).flatMap((row) => row.bars.map((bar) => bar.kind)));
  const hasStates = kinds.size > kinds.has("member") || !kinds.size;
  return [...(kinds.has("member") ? [["member", memberWords(group)]] : []), ...(hasStates ? Object.entries(kindOf(group).states) : [])];
}

function epochsText({ group_type: type, first_epoch: first, last_epoch: last }) {
  const { step } = data.kinds[type];
  return first === last ? `${step} ${last}` : `${step}s ${first} to ${last}`;
}

const troubleText = (row) => row.troubles?.length ? [[...new Set(row.troubles.map((each) => plainly(each.pattern)))].join(", "), row.members.size > 1 && row.label].filter(Boolean).join(", ") : "";
const tickStep = (width) => [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 3e5, 6e5, 18e5, 36e5, 108e5, 216e5, 432e5, 864e5, 6048e5].find((step) => step >= width) ?? 2592e6;

/** Draw a timeline into a section; `kept` is the range in the address, or null. Returns what draws it again. */
function startTimeline(section, group, history, kept) {
  const end = group.captured_ms ?? Math.max(...history.states.map((each) => each.to_ms ?? each.from_ms), 0);
  const rows = timelineRows(group, history, end);
  const first = Math.min(...rows.flatMap((row) => row.bars.map((bar) => bar.from)));
  if (!Number.isFinite(first)) {
    section.append(element("p", {}, "The log has nothing to draw."));
    return () => {};
  }
  const whole = [first - Math.max((end - first) * 0.01, 1), end + Math.max((end - first) * 0.02, 1)];
  const around = (from, until) => [from - Math.max((until - from) * 0.1, 200), Math.min(until + Math.max((until - from) * 0.1, 200), whole[1])];
  const views = [["All time", whole]];
  if (isStuck(group) && group.since_ms !== null) views.push(["Current incident", around(group.since_ms, end)]);
  const slowest = history.rebalances.filter((each) => each.outcome === "converged" && each.duration_ms > 0).sort((a, b) => b.duration_ms - a.duration_ms)[0];
  if (slowest) views.push(["Slowest rebalance", around(slowest.began_at_ms, slowest.ended_at_ms)]);
  let range = kept ?? (isStuck(group) && views[1] ? views[1][1] : whole), most = ROWS_DRAWN, chosen = null, row = 0;

  const frame = element("div", { class: "timeline", tabindex: "0", role: "application", "aria-label": `Timeline of group ${group.group_id}. W and S zoom, A and D pan, arrow keys choose a bar. The tables below say the same.` });
  const details = element("div", { class: "details", role: "status", "aria-live": "polite" }, element("span", { class: "hint" }, "Click a bar, or focus the timeline and use the arrow keys: details appear here."));
  const more = element("p", { class: "muted" });
  const set = (from, until) => {
    const width = Math.max(until - from, 10);
    range = [from, from + width];
    draw();
    const named = new URLSearchParams(groupLink(group).slice(1));
    if (range[0] !== whole[0] || range[1] !== whole[1]) { named.set("from", Math.round(range[0])); named.set("to", Math.round(range[1])); }
    window.history.replaceState(null, "", `#${named}`);
  };
  const zoom = (by, at = (range[0] + range[1]) / 2) => set(at - (at - range[0]) * by, at + (range[1] - at) * by);
  const pan = (share) => set(range[0] + (range[1] - range[0]) * share, range[1] + (range[1] - range[0]) * share);
  const button = (words, click) => element("button", { type: "button", click }, words);
  section.append(element("div", { class: "zoom" }, views.map(([words, [from, until]]) => button(words, () => set(from, until))),
    button("Earlier", () => pan(-0.5)), button("Later", () => pan(0.5)), button("Zoom in", () => zoom(0.5)), button("Zoom out", () => zoom(2)),
    element("span", { class: "legend" }, legendOf(group, rows).map(([kind, words]) => element("span", {}, element("svg", { width: 16, height: 12, "aria-hidden": "true" }, marks(kind, { width: 16, height: 12 })), words)))), frame, details, more);

  let shown = [], gutter = 0, width = 0;
  const x = (at) => (at - range[0]) / (range[1] - range[0]) * width;
  const inRange = (bar) => bar.until >= range[0] && bar.from <= range[1];

  function draw() {
    gutter = frame.clientWidth < 600 ? 120 : frame.clientWidth < 1000 ? 270 : 360;
    width = Math.max(frame.clientWidth - gutter - 2, 100);
    const all = rows.filter((each) => each.isFixed || each.isBlocker || each.bars.some(inRange));
    const fixed = all.filter((each) => each.isFixed).length;
    shown = all.slice(0, fixed + most);
    row = Math.min(row, shown.length - 1);
    more.replaceChildren(...(all.length > shown.length ? [`${number(shown.length - fixed)} of ${number(all.length - fixed)} clients drawn, the worst first. `, button("All clients", () => { most = Infinity; draw(); })] : []));
    const axis = element("svg", { class: "axis", width, height: 24, "aria-hidden": "true" });
    const plot = element("svg", { class: "plot", width, height: shown.length * ROW, "aria-hidden": "true" });
    const step = tickStep((range[1] - range[0]) / Math.max(2, width / 130));
    for (let at = Math.ceil(range[0] / step) * step; at <= range[1]; at += step) {
      const text = new Date(at).toISOString();
      if (x(at) < width - 60) axis.append(element("text", { x: x(at) + 3, y: 16 }, step >= 864e5 ? text.slice(0, 10) : text.slice(11, step < 1000 ? 23 : 19)));
      plot.append(element("line", { class: "tick", x1: x(at), x2: x(at), y1: 0, y2: shown.length * ROW }));
    }
    shown.forEach((each, index) => {
      if (index === row) plot.append(element("rect", { class: "row", x: 0, y: index * ROW, width, height: ROW }));
      for (const { first_ms: first, ended_ms: ended, last_ms: latest, is_present: isPresent, severity } of each.troubles ?? []) {
        const from = Math.max(x(first), 0), until = Math.min(x(ended ?? (isPresent ? end : latest)), width);
        if (until > from) plot.append(element("rect", { class: `band ${severity}`, x: from, y: index * ROW + 1, width: until - from, height: ROW - 2 }));
      }
      let last = -1;
      for (const bar of [...each.bars].sort((a, b) => a.from - b.from)) {
        if (!inRange(bar)) continue;
        const from = Math.max(x(bar.from), 0), until = Math.min(Math.max(x(bar.until), from + 1.5), width);
        if (until - last < 0.5) continue;  // hidden by the bar before
        last = until;
        const isVague = ["left_censored", "censored"].includes(bar.row.history);
        const box = { x: from, y: index * ROW + 4, width: until - from, height: ROW - 8 };
        plot.append(...marks(bar.kind, box, `${isVague ? " vague" : ""}${bar === chosen ? " chosen" : ""}`));
        if (bar.name && until - from > 7 * bar.name.length) plot.append(element("text", { class: "name", x: from + 4, y: index * ROW + 17 }, bar.name));
        if (bar.isOpen && until < width) plot.append(element("path", { class: "open", d: `M${until} ${index * ROW + 4} l7 ${ROW / 2 - 4} l-7 ${ROW / 2 - 4} z` }));
      }
    });
    const has = (one, member) => member !== null && Boolean(one?.members?.has(member));
    for (const each of history.handovers.filter((one) => has(shown[row], one.from_member) || has(shown[row], one.to_member))) {
      const from = shown.findIndex((one) => has(one, each.from_member)), to = shown.findIndex((one) => has(one, each.to_member));
      const at = each.acquired_at_ms ?? each.released_at_ms;
      if (at === null || at < range[0] || at > range[1]) continue;
      if (from >= 0 && to >= 0) plot.append(element("line", { class: "handover", x1: x(each.released_at_ms ?? at), y1: (from + 0.5) * ROW, x2: x(at), y2: (to + 0.5) * ROW }));
      if (to >= 0) plot.append(element("circle", { class: "handover", cx: x(at), cy: (to + 0.5) * ROW, r: 4 }));
    }
    const labels = shown.map((each, index) => element("div", { class: `label${each.isBlocker ? " blocker" : ""}${index === row ? " current" : ""}`, style: `height:${ROW}px`,
      title: [each.label, each.client, troubleText(each)].filter(Boolean).join(" \u00B7 "), click: () => { row = index; chosen = null; say(); draw(); } },
      each.isBlocker && element("b", {}, "\u25B2 blocks "), element("span", {}, each.client && (gutter >= 200 || each.members.size > 1) ? each.client : each.label), each.client && gutter >= 200 && element("small", { class: each.troubles?.length ? "poor" : null }, ` ${troubleText(each) || each.label}`)));
    frame.style.gridTemplateColumns = `${gutter}px ${width}px`;
    frame.replaceChildren(element("div", { class: "corner" }, "UTC"), axis, element("div", { class: "labels" }, labels), plot);
  }

  function say() {
    const each = shown[row], found = chosen;
    if (!each) return;
    const ids = each.members ? found?.member ? [found.member] : [...each.members.keys()] : [];
    const handed = history.handovers.filter((one) => ids.includes(one.from_member) || ids.includes(one.to_member));
    details.replaceChildren(...[element("b", { class: "id" }, each.label), each.client && ` \u00B7 ${each.client}`, each.isBlocker && " \u00B7 blocks the group",
      found && element("div", {}, `${found.words}: ${timeText(found.from)}, ${found.isOpen ? `${atLeastText(found.until - found.from)}, ongoing at capture` : spanText(found.until - found.from)}${HISTORY[found.row.history] && !found.isOpen ? `; evidence: ${HISTORY[found.row.history]}` : ""}; log position ${positionText(group.partition, found.row.at_offset)}`),
      found?.member && element("div", {}, element("span", { class: "id" }, found.member), ` ${stayText(each.members.get(found.member), found.from)}`),
      !found && each.troubles?.length > 0 && element("div", {}, each.troubles.slice(0, 3).map((one) => one.sentence).join(" ")),
      handed.length > 0 && element("div", {}, `${counted(handed.length, "handover")}; the latest: ${handed.slice(0, 3).map((one) => `${one.partitions_text} ${ids.includes(one.to_member) ? `from ${one.from_member ?? "no owner"}` : `to ${one.to_member ?? "nobody"}`}`).join("; ")}`)].filter(Boolean));
  }

  function step(by) {
    const bars = shown[row].bars.filter(inRange).sort((a, b) => a.from - b.from);
    const at = bars.indexOf(chosen);
    chosen = bars[at < 0 ? (by > 0 ? 0 : bars.length - 1) : Math.max(0, Math.min(bars.length - 1, at + by))] ?? null;
  }
  const keys = { w: () => zoom(0.5), s: () => zoom(2), a: () => pan(-0.25), d: () => pan(0.25), "+": () => zoom(0.5), "-": () => zoom(2), 0: () => set(...whole),
    ArrowLeft: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => { row = Math.max(0, row - 1); chosen = null; }, ArrowDown: () => { row = Math.min(shown.length - 1, row + 1); chosen = null; } };
  frame.addEventListener("keydown", (event) => {
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
    say();
    draw();
  });
  const timeAt = (event) => range[0] + (event.clientX - frame.getBoundingClientRect().left - gutter) / width * (range[1] - range[0]);
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== frame) return;  // the page scrolls until the timeline has the focus
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / width);
    else zoom(event.deltaY < 0 ? 0.8 : 1.25, timeAt(event));
  }, { passive: false });
  let dragged = null;
  frame.addEventListener("pointerdown", (event) => { if (event.target.closest(".plot")) dragged = { at: event.clientX, range: [...range], moved: false }; });
  const move = (event) => {
    if (!frame.isConnected) { removeEventListener("pointermove", move); return; }
    if (!dragged || (!dragged.moved && Math.abs(event.clientX - dragged.at) < 4)) return;
    dragged.moved = true;
    const by = (dragged.at - event.clientX) / width * (dragged.range[1] - dragged.range[0]);
    set(dragged.range[0] + by, dragged.range[1] + by);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", () => { dragged = dragged?.moved ? null : dragged; }, { signal: AbortSignal.timeout(86400000) });
  frame.addEventListener("pointerup", (event) => {
    if (!dragged || dragged.moved || !event.target.closest(".plot")) { dragged = null; return; }
    dragged = null;
    const index = Math.floor((event.clientY - frame.querySelector(".plot").getBoundingClientRect().top) / ROW), at = timeAt(event);
    row = Math.max(0, Math.min(index, shown.length - 1));
    const near = (range[1] - range[0]) / width * 3;
    chosen = shown[row].bars.filter((bar) => bar.from - near <= at && bar.until + near >= at).sort((a, b) => (a.until - a.from) - (b.until - b.from))[0] ?? null;
    say();
    draw();
  });
  draw();
  return draw;
}
