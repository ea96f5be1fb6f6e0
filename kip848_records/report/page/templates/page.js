// The page itself: which part is shown, by the address; colours; the overview's figure.

let redraw = null;  // the figure of the group that is shown
let scrolled = 0;   // how far the overview was

/** Plotly, started when the first figure is drawn: it is nine tenths of a small page. */
async function plotly() {
  const source = window.Plotly ? null : await unpacked(field("plotly").textContent);
  if (!source || window.Plotly) return;
  const script = element("script");
  script.textContent = source;
  document.head.append(script);
}

/** Draw a figure in the page's colours. */
function plot(where, traces, layout, range) {
  const lined = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true };
  const full = {
    ...layout, paper_bgcolor: colour("ground"), plot_bgcolor: colour("ground"), font: { color: colour("text"), size: 12 },
    hoverlabel: { bgcolor: colour("raised"), bordercolor: colour("line"), font: { color: colour("text"), size: 12 }, align: "left" },
    xaxis: { ...lined, ...layout.xaxis, ...(range ? { range } : {}) }, yaxis: { ...lined, ...layout.yaxis },
  };
  if (layout.yaxis2) full.yaxis2 = { ...lined, ...layout.yaxis2 };
  Plotly.react(where, traces, full, { responsive: true, displaylogo: false, displayModeBar: false });
}

function startBumps() {
  const where = field("bumps-figure");
  const seen = new IntersectionObserver(async ([entry]) => {
    if (!entry.isIntersecting) return;
    seen.disconnect();
    await plotly();
    drawBumps();
  }, { rootMargin: "400px" });
  if (where) seen.observe(where);
}

function drawBumps() {
  const where = field("bumps-figure");
  if (!where || !window.Plotly) return;
  const { data: traces, layout } = structuredClone(data.bumps);
  plot(where, traces, { ...layout, height: 300, margin: { l: 40, r: 8, t: 8, b: 40 }, legend: { orientation: "h", y: -0.25 } });
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  field("theme").textContent = name === "dark" ? "Light" : "Dark";
}

/** What was chosen before, where the browser keeps it for this page. */
const stored = { get: () => { try { return localStorage.getItem("kip848-theme"); } catch { return null; } },
  set: (name) => { try { localStorage.setItem("kip848-theme", name); } catch { /* not kept, then */ } } };

function startTheme() {
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  theme(stored.get() ?? (preferred.matches ? "dark" : "light"));
  const change = (name) => { theme(name); if (field("overview").hidden) redraw?.(); else drawBumps(); };
  preferred.addEventListener("change", () => stored.get() ?? change(preferred.matches ? "dark" : "light"));
  field("theme").addEventListener("click", () => {
    const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    stored.set(name);
    change(name);
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
  document.title = group ? `Group ${group.group_id}` : overviewTitle;
  if (group) {
    scrollTo(0, 0);
    await showGroup(group, asked.has("epoch") ? Number(asked.get("epoch")) : undefined);
  } else {
    if (asked.has("group")) {
      field("search").value = asked.get("group");
      showList();
    }
    drawBumps();
    scrollTo(0, scrolled);
  }
}

const overviewTitle = document.title;
history.scrollRestoration = "manual";
startTheme();
startList();
startBumps();
addEventListener("hashchange", route);
await route();
document.documentElement.dataset.ready = "true";
