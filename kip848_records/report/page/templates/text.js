// Words: what numbers, times and places are called. Nothing here becomes markup.

const field = (id) => document.getElementById(id);

/** A value that was packed: JSON in gzip and base64. */
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

const data = await unpacked(field("data").textContent);
const severalClusters = Object.keys(data.captured).length > 1;

const timeText = (ms) => ms === null || ms === undefined ? "" : new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC");
const clockText = (ms) => timeText(ms).replace(" UTC", "");
const number = (value) => value === null || value === undefined ? "" : value.toLocaleString("en");
const counted = (count, what) => count === 1 ? `1 ${what}` : `${number(count)} ${what}s`;

/** A time span for people: all digits below a minute, else its two largest units. */
function spanText(ms) {
  if (ms === null || ms === undefined || ms < 0) return "";
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60000) return `${Number((ms / 1000).toFixed(3))} s`;
  const units = [[86400000, "d"], [3600000, "h"], [60000, "min"], [1000, "s"]];
  const parts = [];
  let rest = ms;
  for (const [size, unit] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(" ");
}

const placeText = (partition, offset) => offset === null || offset === undefined ? `${partition}` : `${partition} @ ${offset}`;
const recordText = (partition, offset) => `__consumer_offsets-${partition} offset ${offset}`;
const causeText = (cause) => (data.causes[cause] ?? [cause.replaceAll("_", " ")])[0];

const HISTORY = {
  observed: "seen in full",
  left_censored: "began before what the log has, or records are missing",
  right_censored: "not over at the end of the log",
  censored: "neither its beginning nor its end was seen",
};

/** Numbers such as partitions, neighbours as ranges: 0-3, 7. */
function rangesText(numbers) {
  const ranges = [];
  for (const each of [...numbers].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && each === last[1] + 1) last[1] = each;
    else ranges.push([each, each]);
  }
  return ranges.map(([first, last]) => first === last ? `${first}` : `${first}-${last}`).join(", ");
}

/** The address of a group within this page. */
function groupLink(group, epoch) {
  const named = new URLSearchParams({ group: group.group_id });
  if (severalClusters) named.set("cluster", group.cluster);
  if (epoch !== undefined) named.set("epoch", epoch);
  return `#${named}`;
}

/** An element with attributes and children; strings become text, never markup. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}
