// A group's timeline in SVG: a column of labels that stays, rows of one height, a time axis that stays at the top.

const ROW = 26;  // px
const ROWS_DRAWN = 40;
// A group of a kind with epochs was a classic one when its members had none.
function memberWords(group) {
  const { member, title } = kindOf(group).has_epochs ? Object.values(data.kinds).find((kind) => !kind.has_epochs) : kindOf(group);
  return `${member} of the ${title}`;
}
const GROUP_KINDS = { Stable: "reconciled", Reconciling: "waiting", Assigning: "behind", NotReady: "behind", Empty: "away" };

/** Return the rows of a timeline: the group, its rebalances, its members, those that block first. */
function timelineRows(group, history, end) {
  const who = new Map(history.members.map((each) => [`${each.incarnation} ${each.member_id}`, each]));
  const blockers = group.blockers;
  const bar = (row, kind, words, until) => ({ from: row.from_ms, until: row.to_ms ?? until ?? end, isOpen: row.to_ms === null, kind, words, row });
  const lives = new Map();
  for (const each of history.states) lives.set(each.incarnation, Math.max(lives.get(each.incarnation) ?? 0, each.to_ms ?? end));
  const rows = [
    { label: "Group state", bars: history.states.map((each) => bar(each, GROUP_KINDS[each.state] ?? "unknown", `Group ${each.state}`)) },
    { label: "Rebalances", bars: history.rebalances.map((each) => ({ from: each.began_at_ms, until: Math.max(each.ended_at_ms ?? (each.outcome === "open" ? end : each.began_at_ms + (each.duration_ms ?? 0)), each.began_at_ms),
      isOpen: each.outcome === "open", kind: each.outcome === "open" ? "revoking" : "rebalance", words: `Rebalance, ${epochsText(each)}: ${causesText(each.causes, group)}`,
      row: { ...each, at_offset: each.began_offset } })) },
  ];
  const members = new Map();
  const rowOf = ({ incarnation, member_id: member }) => {
    const key = `${incarnation} ${member}`;
    if (!members.has(key)) members.set(key, { label: member, member, client: clientText(who.get(key) ?? {}), isBlocker: blockers.includes(member), bars: [], unsettled: 0 });
    return members.get(key);
  };
  // Without epochs, the log shows who is a member of which generations, not what a member does.
  for (const each of history.members.filter((row) => data.kinds[row.group_type]?.has_epochs === false)) {
    const from = each.joined_at_ms ?? Math.min(...history.states.map((state) => state.from_ms));
    rowOf(each).bars.push({ from, until: each.left_at_ms ?? lives.get(each.incarnation) ?? end, isOpen: each.left_at_ms === null, kind: "member",
      words: memberWords(group), row: { history: each.joined_at_ms === null ? "left_censored" : "observed", at_offset: each.at_offset } });
  }
  for (const each of history.intervals) {
    const row = rowOf(each);
    row.bars.push(bar(each, each.state in kindOf(group).states ? each.state : "unknown", `${kindOf(group).states[each.state] ?? each.state}, member epoch ${each.member_epoch}`, lives.get(each.incarnation)));
    if (each.state !== "reconciled") row.unsettled += row.bars.at(-1).until - each.from_ms;
  }
  const worst = [...members.values()].sort((a, b) => b.isBlocker - a.isBlocker
    || (a.isBlocker ? blockers.indexOf(a.member) - blockers.indexOf(b.member) : b.unsettled - a.unsettled) || (a.member < b.member ? -1 : 1));
  return [...rows, ...worst];
}

/** Return the shapes of a state: its colour, and a pattern for readers who cannot distinguish the colours. */
const marks = (kind, box, more = "") => [element("rect", { ...box, class: `bar ${kind}${more}` }),
  ...(["waiting", "revoking", "behind", "away", "unknown"].includes(kind) ? [element("rect", { ...box, class: "pattern", fill: `url(#pattern-${kind})` })] : [])];

/** Return the kinds of bars that members have, with their words. */
function legendOf(group, rows) {
  const kinds = new Set(rows.slice(2).flatMap((row) => row.bars.map((bar) => bar.kind)));
  const hasStates = kinds.size > kinds.has("member") || !kinds.size;
  return [...(kinds.has("member") ? [["member", memberWords(group)]] : []), ...(hasStates ? Object.entries(kindOf(group).states) : [])];
}

function epochsText({ group_type: type, first_epoch: first, last_epoch: last }) {
  const { step } = data.kinds[type];
  return first === last ? `${step} ${last}` : `${step}s ${first} to ${last}`;
}

const clientText = (member) => [member.instance_id ? `static ${member.instance_id}` : null,
  [member.client_id, member.client_host?.replace(/^\//, "")].filter(Boolean).join(" @ ")].filter(Boolean).join(" \u00B7 ");
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
    gutter = frame.clientWidth < 600 ? 120 : 270;
    width = Math.max(frame.clientWidth - gutter - 2, 100);
    const all = rows.filter((each, index) => index < 2 || each.isBlocker || each.bars.some(inRange));
    shown = all.slice(0, most);
    row = Math.min(row, shown.length - 1);
    more.replaceChildren(...(all.length > shown.length ? [`${shown.length - 2} of ${all.length - 2} members drawn, the worst first. `, button("All members", () => { most = Infinity; draw(); })] : []));
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
      let last = -1;
      for (const bar of [...each.bars].sort((a, b) => a.from - b.from)) {
        if (!inRange(bar)) continue;
        const from = Math.max(x(bar.from), 0), until = Math.min(Math.max(x(bar.until), from + 1.5), width);
        if (until - last < 0.5) continue;  // hidden by the bar before
        last = until;
        const isVague = ["left_censored", "censored"].includes(bar.row.history);
        const box = { x: from, y: index * ROW + 4, width: until - from, height: ROW - 8 };
        plot.append(...marks(bar.kind, box, `${isVague ? " vague" : ""}${bar === chosen ? " chosen" : ""}`));
        if (bar.isOpen && until < width) plot.append(element("path", { class: "open", d: `M${until} ${index * ROW + 4} l7 ${ROW / 2 - 4} l-7 ${ROW / 2 - 4} z` }));
      }
    });
    const member = shown[row]?.member;
    for (const each of member ? history.handovers : []) {
      if (each.from_member !== member && each.to_member !== member) continue;
      const from = shown.findIndex((one) => one.member && one.member === each.from_member), to = shown.findIndex((one) => one.member && one.member === each.to_member);
      const at = each.acquired_at_ms ?? each.released_at_ms;
      if (at === null || at < range[0] || at > range[1]) continue;
      if (from >= 0 && to >= 0) plot.append(element("line", { class: "handover", x1: x(each.released_at_ms ?? at), y1: (from + 0.5) * ROW, x2: x(at), y2: (to + 0.5) * ROW }));
      if (to >= 0) plot.append(element("circle", { class: "handover", cx: x(at), cy: (to + 0.5) * ROW, r: 4 }));
    }
    const labels = shown.map((each, index) => element("div", { class: `label${each.isBlocker ? " blocker" : ""}${index === row ? " current" : ""}`, style: `height:${ROW}px`,
      title: [each.label, each.client].filter(Boolean).join(" \u00B7 "), click: () => { row = index; chosen = null; say(); draw(); } },
      each.isBlocker && element("b", {}, "\u25B2 blocks "), element("span", {}, gutter < 200 || !each.client ? each.label : each.client), each.client && gutter >= 200 && element("small", {}, ` ${each.label}`)));
    frame.style.gridTemplateColumns = `${gutter}px ${width}px`;
    frame.replaceChildren(element("div", { class: "corner" }, "UTC"), axis, element("div", { class: "labels" }, labels), plot);
  }

  function say() {
    const each = shown[row], found = chosen;
    if (!each) return;
    const handed = each.member ? history.handovers.filter((one) => one.from_member === each.member || one.to_member === each.member) : [];
    details.replaceChildren(...[element("b", { class: "id" }, each.label), each.client && ` \u00B7 ${each.client}`, each.isBlocker && " \u00B7 blocks the group",
      found && element("div", {}, `${found.words}: ${timeText(found.from)}, ${found.isOpen ? `${atLeastText(found.until - found.from)}, ongoing at capture` : spanText(found.until - found.from)}${HISTORY[found.row.history] && !found.isOpen ? `; evidence: ${HISTORY[found.row.history]}` : ""}; log position ${positionText(group.partition, found.row.at_offset)}`),
      handed.length > 0 && element("div", {}, `${counted(handed.length, "handover")}; the latest: ${handed.slice(0, 3).map((one) => `${one.topic} ${rangesText(one.numbers)} ${one.to_member === each.member ? `from ${one.from_member ?? "no owner"}` : `to ${one.to_member ?? "nobody"}`}`).join("; ")}`)].filter(Boolean));
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
