// The ranked list: filters, order, pages.
const COLUMNS = [
  { key: "rank", title: "", right: true, value: (line) => line.rank },
  { key: "place", title: "Line", value: (line) => line.short },
  { key: "code", title: "Source" },
  { key: "hot", title: "Hot", value: (line) => line.sample_share, down: true },
  { key: "matters", title: "Matters", value: (line) => (line.best ? line.best.low : -9), down: true },
  { key: "gain", title: "Gain (95 %)", right: true, value: (line) => (line.best ? line.best.gain : -9), down: true },
  { key: "verdict", title: "Verdict", value: (line) => Object.keys(VERDICTS).indexOf(line.verdict) },
  { key: "curve", title: "Curve" },
  { key: "quarter", title: "at 25 %", right: true, value: (line) => (at(line, 0.25) || { gain: -9 }).gain, down: true },
  { key: "half", title: "at 50 %", right: true, value: (line) => (at(line, 0.5) || { gain: -9 }).gain, down: true },
  { key: "all", title: "at 100 %", right: true, value: (line) => (at(line, 1) || { gain: -9 }).gain, down: true },
  { key: "pairs", title: "Exp.", right: true, value: (line) => line.pairs, down: true },
];

function shownLines() {
  const wanted = state.find.toLowerCase();
  const found = (line) => !wanted || line.location.toLowerCase().includes(wanted) || (line.function || "").toLowerCase().includes(wanted);
  const lines = thePoint().lines.filter((line) => found(line) && (!state.file || line.file === state.file) && !state.hidden.includes(line.verdict));
  const column = COLUMNS.find((column) => column.key === state.sort && column.value) || COLUMNS[0];
  const sign = state.down ? -1 : 1;
  return lines.sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    return sign * (typeof x === "string" ? x.localeCompare(y) : x - y) || a.rank - b.rank;
  });
}

// With `more`, only what is not there yet.
function drawList(more = false) {
  const lines = shownLines();
  const columns = COLUMNS.filter((column) => column.key !== "code" || Object.keys(data.sources).length);
  byId("lines").classList.toggle("with-code", columns.length === COLUMNS.length);
  const head = columns.map((column) => {
    const sorted = state.sort === column.key ? (state.down ? "descending" : "ascending") : undefined;
    const content = column.value && column.title
      ? h("button", { type: "button", onclick: () => sortBy(column) }, column.title) : column.title;
    return h("th", { scope: "col", class: `col-${column.key}${column.right ? " right" : ""}`, "aria-sort": sorted }, content);
  });
  document.querySelector("#lines thead").replaceChildren(h("tr", {}, head));
  const surely = thePoint().lines.filter((line) => line.best && line.verdict !== "undecided");
  const scale = (surely.length ? surely : thePoint().lines.filter((line) => line.best)).map((line) => line.best);
  const range = { high: Math.min(1, Math.max(0.04, ...scale.map((best) => best.high))), low: Math.min(-0.02, ...scale.map((best) => best.low)) };
  range.low = Math.max(range.low, -Math.max(0.1, 0.6 * range.high));
  const hottest = Math.max(0.01, ...thePoint().lines.map((line) => line.sample_share));
  const body = document.querySelector("#lines tbody");
  if (!more) body.replaceChildren();
  body.append(...lines.slice(body.children.length, state.shown).map((line) => row(line, columns, range, hottest)));
  byId("list-title").textContent = lines.length === thePoint().lines.length
    ? `${count(lines.length)} lines${state.sort === "rank" ? ", those that matter most first" : ""}` : `${count(lines.length)} of ${count(thePoint().lines.length)} lines`;
  const left = lines.length - state.shown;
  byId("more").replaceChildren(...(left > 0 ? [h("button", { type: "button", onclick: () => {
    const next = document.querySelectorAll("#lines tbody tr").length;
    state.shown += 200;
    drawList(true);
    const row = document.querySelectorAll("#lines tbody tr")[next];
    if (row) row.querySelector(".place button").focus();
  } }, `Show ${count(Math.min(200, left))} more`), ` ${count(left)} are not shown`]
    : lines.length ? [] : ["No line is like that."]));
  markChosen();
}

function sortBy(column) {
  const first = column.down || false;
  [state.sort, state.down] = state.sort !== column.key ? [column.key, first]
    : state.down === first ? [column.key, !first] : ["rank", false];
  drawList();
  writeFragment();
  // The heads are new ones; who came by keyboard stays where he was.
  const button = [...document.querySelectorAll("#lines thead button")].find((button) => button.textContent === column.title);
  if (button) button.focus();
  say(`${byId("list-title").textContent}, ${state.sort === "rank" ? "in order of rank" : `sorted by ${column.title}, ${state.down ? "descending" : "ascending"}`}`);
}

function row(line, columns, range, hottest) {
  const gain = (speedup) => {
    const point = at(line, speedup);
    return point ? h("span", { title: interval(point) }, percent(point.gain)) : h("span", { class: "muted" }, "·");
  };
  const cells = {
    rank: () => line.rank + "",
    place: () => [h("button", { type: "button", title: line.location }, line.short), h("span", { title: line.function }, line.short_function || "")],
    code: () => h("span", { class: "code-cell" }, codeOf(line)),
    hot: () => [h("span", { class: "hot-bar", width_px: Math.max(1, 52 * line.sample_share / hottest) }), percentUnit(line.sample_share)],
    matters: () => whisker(line, range),
    gain: () => line.best ? [h("span", { class: "num-strong" }, percentUnit(line.best.gain)), h("span", { class: "muted" }, ` ${interval(line.best)}`)] : "?",
    quarter: () => gain(0.25), half: () => gain(0.5), all: () => gain(1),
    curve: () => sparkline(line),
    verdict: () => {
      const doubts = doubtsAbout(line).map((doubt) => doubt.text).join(" ");
      return doubts ? [chip(line), h("span", { class: "mark", title: doubts, role: "img", "aria-label": "doubtful: " + doubts }, "!")] : chip(line);
    },
    pairs: () => count(line.pairs),
  };
  return h("tr", { class: "tone-" + toneOf(line), "data-line": line.location, onclick: () => choose(line.location, true) },
    columns.map((column) => h("td", { class: [`col-${column.key}`, column.right && "right nowrap", column.key === "place" && "place", column.key === "hot" && "hot"].filter(Boolean).join(" ") }, cells[column.key]())));
}

function codeOf(line) {
  const source = data.sources[line.location];
  return source ? (source.lines[line.number - source.first] || "").trim() : "";
}

// The gain with its interval on a scale that all rows share.
function whisker(line, range) {
  const [width, height] = [150, 18];
  const x = (gain) => 4 + (width - 8) * (Math.max(range.low, Math.min(range.high, gain)) - range.low) / (range.high - range.low);
  const parts = [s("line", { x1: x(0), x2: x(0), y1: 1, y2: height - 1, class: "zero" })];
  if (line.best) {
    parts.push(s("line", { x1: x(line.best.low), x2: x(line.best.high), y1: height / 2, y2: height / 2, class: "whisker" }));
    parts.push(marker(line, x(line.best.gain), height / 2, 4.2));
  }
  return s("svg", { width, height, "aria-hidden": true }, parts);
}

function sparkline(line) {
  const [width, height] = [84, 26];
  const points = line.curve ? line.curve.points : [];
  if (!points.length) return "";
  const top = Math.min(1, Math.max(0.03, ...points.map((point) => point.gain + Math.min(point.high - point.gain, 0.3))));
  const bottom = Math.max(-1, Math.min(-0.03, ...points.map((point) => point.gain - Math.min(point.gain - point.low, 0.3))));
  const x = (speedup) => 1 + (width - 2) * speedup;
  const y = (gain) => 1 + (height - 2) * (top - Math.max(bottom, Math.min(top, gain))) / (top - bottom);
  const along = (key) => points.map((point) => `${x(point.speedup).toFixed(1)} ${y(point[key]).toFixed(1)}`);
  return s("svg", { width, height, "aria-hidden": true },
    s("path", { d: "M" + along("high").concat(along("low").reverse()).join("L") + "Z", class: "band" }),
    s("line", { x1: 0, x2: width, y1: y(0), y2: y(0), class: "zero" }),
    s("path", { d: "M" + along("gain").join("L"), class: "line", "stroke-width": 1.8 }));
}

function markChosen() {
  const chosen = (chosenLine() || {}).location;
  document.querySelectorAll("#lines tbody tr").forEach((row) => {
    const here = row.dataset.line === chosen;
    row.classList.toggle("chosen", here);
    const button = row.querySelector(".place button");
    if (here) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  });
}

function drawFilters() {
  const lines = thePoint().lines;
  const files = [...new Set(lines.map((line) => line.file))].sort();
  byId("file").replaceChildren(h("option", { value: "" }, "All files"), ...files.map((file) => h("option", { value: file, selected: file === state.file }, lines.find((line) => line.file === file).short_file)));
  byId("file").hidden = files.length < 2;
  byId("find").value = state.find;
  byId("verdicts").replaceChildren(...Object.entries(VERDICTS).map(([verdict, { tone, label }]) => {
    const number = lines.filter((line) => line.verdict === verdict).length;
    return number === 0 ? null : h("button", { type: "button", class: "tone-" + tone, "aria-pressed": state.hidden.includes(verdict) ? "false" : "true", onclick: () => {
      state.hidden = state.hidden.includes(verdict) ? state.hidden.filter((other) => other !== verdict) : [...state.hidden, verdict];
      drawFilters();
      drawList();
      writeFragment();
      const again = byId("verdicts").querySelector(".tone-" + tone);
      if (again) again.focus();
      say(byId("list-title").textContent);
    } }, `${label} ${number}`);
  }).filter(Boolean));
}

function drawUntried() {
  const box = byId("untried");
  const share = data.untried.reduce((sum, line) => sum + line.sample_share, 0);
  box.hidden = data.untried.length === 0;
  box.querySelector("summary").textContent = `Sampled, but not tried so far: ${count(data.untried_count)} lines with ${percentUnit(share)} of the samples`;
  box.querySelector("tbody").replaceChildren(...data.untried.map((line) => h("tr", {},
    h("td", { class: "place" }, h("span", { title: line.location }, line.short)), h("td", {}, line.function || ""), h("td", { class: "right" }, percentUnit(line.sample_share)))));
}
