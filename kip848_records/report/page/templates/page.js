// The page itself: which part is shown, by the address; colours; keys.

let redraw = null;  // draws the timeline that is shown
let scrolled = 0;   // how far the overview was
let backTo = "#";   // the list as it was

function theme(name) {
  document.documentElement.dataset.theme = name;
  field("theme").textContent = name === "dark" ? "Light" : "Dark";
}

/** What was chosen before, where the browser keeps it for this page. */
const stored = { get: () => { try { return localStorage.getItem("kip848-theme"); } catch { return null; } },
  set: (name) => { try { localStorage.setItem("kip848-theme", name); } catch { /* the browser keeps nothing */ } } };

function startTheme() {
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  theme(stored.get() ?? (preferred.matches ? "dark" : "light"));
  preferred.addEventListener("change", () => stored.get() ?? theme(preferred.matches ? "dark" : "light"));
  field("theme").addEventListener("click", () => {
    const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    stored.set(name);
    theme(name);
  });
}

async function route() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const group = asked.has("group") && data.groups.find((each) =>
    each.group_id === asked.get("group") && (!asked.has("cluster") || each.cluster === asked.get("cluster")));
  if (!field("overview").hidden) scrolled = scrollY;
  field("overview").hidden = Boolean(group);
  field("group").hidden = !group;
  redraw = null;
  const note = field("unreadable");
  note.hidden = Boolean(group) || !asked.has("group");
  document.title = group ? printable(`Group ${group.group_id}`) : overviewTitle;
  if (group) {
    scrollTo(0, 0);
    const [from, until] = [Number(asked.get("from")), Number(asked.get("to"))];
    await showGroup(group, asked.has("from") && until > from ? [from, until] : null);
    return;
  }
  if (asked.has("group")) {
    note.textContent = printable(`No group ${asked.get("group")} in this page${asked.has("cluster") ? ` in cluster ${asked.get("cluster")}` : ""}. The list shows what matches its name.`);
    asked.set("q", asked.get("group"));
  }
  choose(asked);
  if ([...asked.keys()].some((key) => ["show", "sort", "all"].includes(key) || (key === "q" && asked.has("show")))) field("all").scrollIntoView();
  else if (asked.has("at")) field(asked.get("at"))?.scrollIntoView();
  else scrollTo(0, scrolled);
}

/** Move to the link of the row before or after, in the table that has the focus; from the search, into the list. */
function moveToRow(from, by) {
  const links = [...(from === field("search") ? field("list") : from.closest("table")).querySelectorAll("tbody th a")].filter((link) => link.offsetParent);
  links[from === field("search") ? 0 : links.indexOf(from) + by]?.focus();
}

function onKey(event) {
  const isTyping = event.target.closest?.("input, select, textarea");
  const isOverview = !field("overview").hidden;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    if (!isOverview) location.hash = backTo;
    setTimeout(() => { field("search").focus(); field("search").select(); });
  } else if (event.key === "Escape" && isOverview && field("search").value) {
    field("search").value = "";
    changed();
    field("search").focus();
  } else if (event.key === "Escape" && !isOverview && !isTyping) location.hash = backTo;
  else if (["ArrowDown", "ArrowUp"].includes(event.key) && event.target.matches?.("tbody th a, #search")) {
    event.preventDefault();
    moveToRow(event.target, event.key === "ArrowDown" ? 1 : -1);
  }
}

/** Open everything that is folded for the printer, and limit the list of groups. */
function startPrinting() {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const each of folded) each.open = true;
    list.isPrinted = true;
    showList();
    redraw?.();
  });
  addEventListener("afterprint", () => {
    for (const each of folded) each.open = false;
    list.isPrinted = false;
    showList();
    redraw?.();
  });
}

const overviewTitle = document.title;
history.scrollRestoration = "manual";
startTheme();
startList();
addEventListener("hashchange", (event) => {
  const before = new URL(event.oldURL).hash;
  if (!new URLSearchParams(before.slice(1)).has("group")) backTo = before || "#";
  route();
});
addEventListener("keydown", onKey);
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); field("main").focus(); });
addEventListener("resize", () => redraw?.());
matchMedia("print").addEventListener("change", () => redraw?.());
startPrinting();
await route();
document.documentElement.dataset.ready = "true";
