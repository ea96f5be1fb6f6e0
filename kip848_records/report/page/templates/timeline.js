// A group's timeline: a row for its states, one for its epochs, one for each member, and below how many partitions had
// no owner. Times are UTC.

const ROW = 42;  // px
const MEMBERS_DRAWN = 30;
const KINDS = {
  reconciled: ["reconciled", ""],
  behind: ["has an assignment it did not take up yet", "."],
  revoking: ["revoking: asked to give up partitions", "/"],
  waiting: ["waiting for partitions that others hold", "x"],
  away: ["static member, away", "-"],
  unknown: ["unknown: the log does not tell", "+"],
};
const STATES = {
  Stable: ["reconciled", ""], Reconciling: ["waiting", ""], Assigning: ["behind", ""], Empty: ["away", ""], unknown: ["away", "+"],
};

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
/** Plotly reads some markup in its texts, and formulas between dollars: what comes from the log is neither. */
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", $: "&#36;", "\n": " " };
const plain = (text) => String(text).replace(/[&<>$\n]/g, (character) => ENTITIES[character]);
const lines = (...texts) => texts.filter(Boolean).map(plain).join("<br>");

function clientText(member) {
  const client = [member.client_id, member.client_host].filter(Boolean).join(", ");
  return [member.instance_id ? `static ${member.instance_id}` : null, client].filter(Boolean).join(" \u00B7 ");
}

/** Members with their bars: first those that are asked for partitions still, then those that took longest to reconcile. */
function membersOf(history, end) {
  const members = new Map();
  for (const bar of history.bars ?? []) {
    const member = members.get(bar.member_id) ?? { id: bar.member_id, bars: [], unsettled: 0 };
    if (!members.has(bar.member_id)) members.set(bar.member_id, member);
    Object.assign(member, { client_id: member.client_id ?? bar.client_id, client_host: member.client_host ?? bar.client_host,
      instance_id: member.instance_id ?? bar.instance_id });
    member.bars.push(bar);
    member.first = Math.min(member.first ?? Infinity, bar.from_ms);
    if (bar.kind !== "reconciled") member.unsettled += (bar.until_ms ?? end(bar)) - bar.from_ms;
    if (bar.until_ms === null) member.last = bar.kind === "revoking" ? 2 : bar.kind === "reconciled" ? 0 : 1;
  }
  return [...members.values()].sort((a, b) => (b.last ?? 0) - (a.last ?? 0) || b.unsettled - a.unsettled);
}

/** How many partitions that somebody was to have had no owner: steps of time and count. */
function unownedSteps(history, captured) {
  const changes = new Map();
  const change = (at, by) => changes.set(at, (changes.get(at) ?? 0) + by);
  for (const each of history.handovers ?? []) {
    if (!each.wanted || each.clock_skew || !(each.released_at_ms < each.acquired_at_ms) || each.released_at_ms === null) continue;
    change(each.released_at_ms, each.numbers.length);
    change(each.acquired_at_ms, -each.numbers.length);
  }
  for (const each of history.free ?? []) {
    if (each.since_ms !== null && captured !== null) { change(each.since_ms, 1); change(captured, 0); }
  }
  let count = 0;
  return [...changes].sort(([a], [b]) => a - b).map(([at, by]) => [at, count += by]);
}

/** What is drawn of a group: Plotly's traces and layout. `members` are those that have a row; `range` is in view. */
function timelineFigure(group, history, members, width, range) {
  const captured = data.captured[group.cluster];
  const newest = Math.max(...(history.states ?? []).map((each) => each.to_at_ms ?? each.from_at_ms),
    ...(history.bars ?? []).map((each) => each.until_ms ?? each.from_ms));
  const end = captured ?? newest;
  const lives = new Map();
  for (const state of history.states ?? []) {
    const known = lives.get(state.incarnation);
    if (known === undefined || (known !== null && (state.to_at_ms === null || state.to_at_ms > known))) lives.set(state.incarnation, state.to_at_ms);
  }
  const endOf = (row) => lives.get(row.incarnation) ?? end;
  const rows = ["Group", "Epochs", ...members];
  const rowOf = new Map(members.map((member, index) => [member.id, index + 2]));
  const traces = [], opens = { x: [], y: [], text: [] }, begins = { x: [], y: [], text: [] };

  const [firstSeen, lastSeen] = range ?? [-Infinity, Infinity];
  const bars = (name, kind, pattern, all, options = {}) => {
    if (!all.length) return;
    // Cut to what is in view, so that a bar's words are.
    const entries = all.filter((each) => each.from <= lastSeen && each.until >= firstSeen).map((each) => ({ ...each,
      from: Math.max(each.from, firstSeen), until: Math.min(each.until, lastSeen), lasts: each.lasts && each.until <= lastSeen,
      begins: !each.isSure && each.from >= firstSeen }));
    traces.push({
      type: "bar", orientation: "h", name, legendgroup: name, width: 0.48,
      y: entries.map((each) => each.row), base: entries.map((each) => each.from),
      x: entries.map((each) => Math.max(each.until - each.from, 0)),
      text: entries.map((each) => each.label ?? ""), textposition: "inside", insidetextanchor: "start", textangle: 0,
      hovertext: entries.map((each) => each.hover), hovertemplate: "%{hovertext}<extra></extra>",
      marker: { color: colour(kind), line: { color: colour(kind), width: 1 }, opacity: entries.map((each) => each.isSure ? 1 : 0.5),
        pattern: { shape: pattern, fgcolor: colour("ground"), fillmode: "overlay", size: 6, solidity: 0.25 } },
      ...options,
    });
    for (const each of entries) {
      if (each.lasts) { opens.x.push(each.until); opens.y.push(each.row); opens.text.push(each.hover); }
      if (each.begins) { begins.x.push(each.from); begins.y.push(each.row); begins.text.push(each.hover); }
    }
  };
  const during = (from, until, lasts) => `from ${timeText(from)} for ${spanText(until - from)}${lasts ? ", and lasts still" : ""}`;
  const isSure = (row) => row.history === "observed" || row.history === "right_censored";

  const stateEntries = (name) => (history.states ?? []).filter((each) => each.state === name).map((each) => {
    const until = each.to_at_ms ?? end, lasts = each.to_at_ms === null;
    return { row: 0, from: each.from_at_ms, until, lasts, isSure: isSure(each), label: ` ${each.state}`,
      hover: lines(`Group: ${each.state}`, during(each.from_at_ms, until, lasts), HISTORY[each.history], recordText(each.partition, each.from_offset)) };
  });
  for (const [state, [kind, pattern]] of Object.entries(STATES)) {
    bars(state, kind, pattern, stateEntries(state), { showlegend: false, insidetextfont: { color: "#111", size: 11 } });
  }

  const epochs = [...(history.epochs ?? [])].sort((a, b) => a.bump_offset - b.bump_offset);
  const tiles = epochs.map((each, index) => {
    const next = epochs[index + 1];
    const until = Math.min(next?.incarnation === each.incarnation ? next.bumped_at_ms : endOf(each), endOf(each));
    return { row: 1, from: each.bumped_at_ms, until, isSure: isSure(each), label: `\u00A0\u00A0\u00A0\u00A0${each.group_epoch} ${plain(causeText(each.cause))}`,
      tone: index % 2, hover: epochHover(each) };
  });
  bars("epoch", "tile", "", tiles.filter((tile) => tile.tone === 0), { showlegend: false, insidetextfont: { color: colour("text"), size: 11 } });
  bars("epoch", "tile-2", "", tiles.filter((tile) => tile.tone === 1), { showlegend: false, insidetextfont: { color: colour("text"), size: 11 } });

  for (const [kind, [name, pattern]] of Object.entries(KINDS)) {
    bars(name, kind === "unknown" ? "away" : kind, pattern, members.flatMap((member) => member.bars.filter((bar) => bar.kind === kind).map((bar) => {
      const lasts = bar.until_ms === null && (lives.get(bar.incarnation) ?? null) === null, until = bar.until_ms ?? endOf(bar);
      return { row: rowOf.get(member.id), from: bar.from_ms, until, lasts, isSure: bar.is_complete,
        hover: lines(`${member.id}`, clientText(member), `${name}, member epoch ${bar.member_epoch}`, during(bar.from_ms, until, lasts),
          bar.is_complete ? null : "records may be missing", recordText(bar.partition, bar.offset)) };
    })));
  }
  const marks = (name, symbol, where, shade, outline = colour("ground")) => where.x.length && traces.push({
    type: "scatter", mode: "markers", name, x: where.x, y: where.y, hovertext: where.text, hovertemplate: "%{hovertext}<extra></extra>",
    marker: { symbol, size: 9, color: shade, line: { color: outline, width: 1 } }, cliponaxis: false });
  marks("not over at the end of the log", "triangle-right", opens, colour("text"));
  marks("may have begun before: records are missing", "triangle-left", begins, colour("text"));
  for (const [cause, [name, shade, symbol]] of Object.entries(data.causes)) {
    const of = epochs.filter((each) => each.cause === cause);
    marks(`epoch: ${name}`, symbol, { x: of.map((each) => each.bumped_at_ms), y: of.map(() => 1), text: of.map(epochHover) }, shade, colour("text"));
  }
  handoverTraces(history, rowOf).forEach((trace) => traces.push(trace));

  const steps = unownedSteps(history, captured);
  const height = 70 + rows.length * ROW, below = steps.length ? 90 : 0, margin = { l: 4, r: 12, t: 8, b: 46 };
  if (steps.length) {
    traces.push({ type: "scatter", mode: "lines", name: "partitions without an owner, at least", yaxis: "y2", fill: "tozeroy",
      x: steps.map(([at]) => at), y: steps.map(([, count]) => count), line: { shape: "hv", color: colour("revoking"), width: 1.5 },
      hovertemplate: "%{y} partitions without an owner<br>from %{x|%H:%M:%S.%L}<extra></extra>" });
  }
  const share = below / (height + below);
  const label = (text, y) => ({ xref: "paper", x: 0, xanchor: "left", yref: "y", y: y - 0.24, yanchor: "bottom", showarrow: false,
    align: "left", text: plain(text), font: { size: 11, color: colour("text") }, bgcolor: colour("ground"), borderpad: 0 });
  const starts = [...(history.states ?? []).map((each) => each.from_at_ms), ...epochs.map((each) => each.bumped_at_ms)];
  const first = Math.min(...starts), room = Math.max((end - first) * 0.01, 1);
  return {
    traces,
    whole: [first - room, end + room],
    layout: {
      height: height + below + legendRows(traces, width) * 29, margin, barmode: "overlay", hovermode: "closest", dragmode: width < 700 ? false : "zoom",
      xaxis: { type: "date", anchor: steps.length ? "y2" : "y" },
      yaxis: { domain: [share ? share + 8 / (height + below) : 0, 1], range: [rows.length - 0.6, -0.75], visible: false, fixedrange: true },
      ...(steps.length ? { yaxis2: { domain: [0, share - 18 / (height + below)], fixedrange: true, rangemode: "tozero", nticks: 3, tickformat: "d", side: "right", ticklabelposition: "inside" } } : {}),
      shapes: epochs.map((each) => ({ type: "line", xref: "x", yref: "paper", x0: each.bumped_at_ms, x1: each.bumped_at_ms, y0: 0, y1: 1,
        layer: "below", line: { color: colour("line"), width: 1 } })),
      annotations: [{ ...label("", 0), text: `State of the group: ${statesLegend(history)}` }, label("Epochs: a mark where each began, shaped by its cause", 1),
        ...members.map((member, index) => label([member.id, clientText(member)].filter(Boolean).join("  \u00B7  "), index + 2)),
        ...(steps.length ? [{ xref: "paper", x: 0, xanchor: "left", yref: "paper", y: share - 18 / (height + below), yanchor: "bottom", showarrow: false,
          text: "Partitions without an owner, at least", font: { size: 11, color: colour("text") } }] : [])],
      legend: { orientation: "h", x: 0, y: -46 / (height + below), yanchor: "top", itemclick: "toggle" },
      uniformtext: { mode: "hide", minsize: 10 },
    },
  };
}

const statesLegend = (history) => Object.entries(STATES).filter(([name]) => history.states?.some((each) => each.state === name))
  .map(([name, [kind]]) => `<span style="color:${colour(kind)}">\u25A0</span> ${name}`).join("  ");

const legendRows = (traces, width) => Math.ceil(traces.filter((trace) => trace.showlegend !== false).length / Math.max(1, Math.floor(width / 280)));

function epochHover(each) {
  const lag = each.rebalance_lag_ms === null ? null : `Stable after ${spanText(each.rebalance_lag_ms)}`;
  return lines(`Epoch ${each.group_epoch}: ${causeText(each.cause)}`, timeText(each.bumped_at_ms), lag ?? statusText(each),
    HISTORY[each.history], recordText(each.partition, each.bump_offset));
}

/** Lines from the owner before to the new one, for all partitions that one record handed over. */
function handoverTraces(history, rowOf) {
  const together = new Map();
  for (const each of history.handovers ?? []) {
    const to = rowOf.get(each.to_member), from = rowOf.get(each.from_member);
    if (to === undefined || from === undefined || from === to) continue;
    const key = `${each.from_member} ${each.offset}`;
    const one = together.get(key) ?? { to, from, count: 0, each, texts: [] };
    one.count += each.numbers.length;
    one.texts.push(`${each.topic} ${rangesText(each.numbers)}`);
    together.set(key, one);
  }
  const all = [...together.values()];
  if (!all.length) return [];
  const released = (one) => one.each.released_at_ms ?? one.each.acquired_at_ms;
  return [
    { type: "scatter", mode: "lines", legendgroup: "handover", showlegend: false, hoverinfo: "skip",
      x: all.flatMap((one) => [released(one), one.each.acquired_at_ms, null]), y: all.flatMap((one) => [one.from, one.to, null]),
      line: { color: colour("text"), width: 1 }, opacity: 0.35 },
    { type: "scatter", mode: "markers", legendgroup: "handover", name: "partitions handed over",
      x: all.map((one) => one.each.acquired_at_ms), y: all.map((one) => one.to),
      marker: { symbol: all.map((one) => one.each.history === "observed" ? "circle" : "circle-open"), color: colour("text"),
        size: all.map((one) => 6 + Math.min(6, Math.sqrt(one.count))), line: { color: colour("ground"), width: 1 } },
      hovertext: all.map((one) => lines(`${counted(one.count, "partition")} handed over`, ...one.texts.slice(0, 5), one.texts.length > 5 && `and of ${one.texts.length - 5} more topics`,
        `from ${one.each.from_member}`, `to ${one.each.to_member}`, one.each.unowned_ms ? `without an owner for ${spanText(one.each.unowned_ms)} at least` : null,
        timeText(one.each.acquired_at_ms), recordText(one.each.partition, one.each.offset))),
      hovertemplate: "%{hovertext}<extra></extra>" },
  ];
}
