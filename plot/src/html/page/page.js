// The frame: what was run, the verdict, doubts, help, and how it all starts.
function drawHead() {
  const session = data.sessions[data.sessions.length - 1];
  byId("command").textContent = session ? session.command.join(" ") : "Causal profile";
  byId("command").title = byId("command").textContent;
  const runs = data.sessions.length;
  const facts = [`${count(data.experiments)} experiments`, runs > 1 && `${count(runs)} runs`, data.run_seconds > 0 && seconds(data.run_seconds),
    data.total_samples > 0 && `${count(data.total_samples)} samples`, session && session.sampler && `${session.sampler} sampler`,
    session && session.processors > 0 && `${session.processors} processors`, session && session.host];
  byId("facts").textContent = facts.filter(Boolean).join(" · ");
  byId("point-choice").hidden = data.points.length < 2;
  byId("point").replaceChildren(...data.points.map((point, index) =>
    h("option", { value: index, selected: index === state.point }, point.name + (point.kind === "latency" ? " (latency)" : ""))));
}

function drawVerdict() {
  const point = thePoint();
  const first = point.lines[0];
  const box = byId("verdict");
  box.className = "verdict tone-" + (first ? toneOf(first) : "none");
  const what = point.kind === "latency" ? "latency of" : "progress point";
  const pace = point.period ? `, ${point.kind === "latency" ? "mean" : "every"} ${nanoseconds(point.period)}` : "";
  byId("eyebrow").textContent = point.name ? `${what} ${point.name}${pace}` : "";
  const parted = point.sentence.indexOf(": ");
  const headline = parted > 0 ? point.sentence.slice(0, parted) : point.sentence;
  const rest = parted > 0 ? point.sentence.slice(parted + 2) : "";
  byId("headline").textContent = headline.replace(/\.$/, "");
  byId("sentence").textContent = rest ? rest[0].toUpperCase() + rest.slice(1) : "";
  const tiles = [];
  if (first && first.best && (first.verdict === "worth-it" || first.verdict === "makes-it-slower")) {
    const best = first.best;
    const places = [0.25, 0.5].filter((speedup) => speedup <= 0.8 * best.speedup).concat(best.speedup);
    for (const speedup of places) {
      const place = at(first, speedup);
      if (place) tiles.push(h("div", { class: "tile" }, h("div", { class: "when" }, `${Math.round(speedup * 100)} % of its time cut`),
        h("div", { class: "gain" }, percentUnit(place.gain)), h("div", { class: "sure" }, `95 %: ${interval(place)}`)));
    }
  }
  byId("tiles").replaceChildren(...tiles);
}

function drawDoubts() {
  const box = byId("doubts");
  // Those about one line stand with the line, too.
  const item = (doubt) => h("li", {}, doubt.text);
  const all = [...data.doubts].sort((a, b) => Number(Boolean(a.location)) - Number(Boolean(b.location)));
  box.hidden = all.length === 0;
  const [first, rest] = [all.slice(0, 2), all.slice(2)];
  box.replaceChildren(h("ul", {}, first.map(item)));
  if (rest.length) box.append(h("details", {}, h("summary", {}, `${rest.length} more doubts`), h("ul", {}, rest.map(item))));
}

function drawScope() {
  const box = byId("scope");
  box.hidden = data.scope_text.length === 0;
  box.querySelector("ul").replaceChildren(...data.scope_text.map((text) => h("li", {}, text)));
}

function drawHelp() {
  const shape = (d, tone, title, text) => h("figure", {},
    s("svg", { viewBox: "0 0 160 90", class: "tone-" + tone }, s("line", { x1: 6, x2: 156, y1: 66, y2: 66, class: "zero" }), s("path", { d, class: "line" })),
    h("figcaption", {}, h("b", {}, title), " ", text));
  const term = (word, text) => [h("dt", {}, word), h("dd", {}, text)];
  byId("help").replaceChildren(
    h("div", { class: "help-head" }, h("h2", { id: "help-title" }, "How to read this report"),
      h("button", { type: "button", onclick: () => byId("help").close() }, "Close")),
    h("p", {}, "An ordinary profiler shows where time is spent. This report shows what would happen if a line took less time: while the program ran, every other thread was paused a little whenever the line was executed, which has the effect of the line being faster. The pauses are subtracted afterwards."),
    h("h3", {}, "The shape of a curve"),
    h("div", { class: "shapes" },
      shape("M8 66L152 16", "worth", "Rises all the way.", "Everything waits for this line. Each bit of its time that you cut counts."),
      shape("M8 66L70 26L152 26", "worth", "Rises, then stays.", "It helps until something else becomes the bottleneck. Cutting more than the knee is wasted."),
      shape("M8 66L152 64", "none", "Stays at zero.", "However hot it is, nobody waits for it. Leave it alone."),
      shape("M8 66L152 84", "slower", "Falls.", "If it were faster, threads would get into each other's way: look for a lock or a queue.")),
    h("h3", {}, "Words"),
    h("dl", {},
      term("Hot", "the share of samples that fall on the line: what ordinary profilers show."),
      term("Matters", "the program speedup: how much less time the program needs for the same work."),
      term("95 % interval", "the range that holds the true value in 95 of 100 cases. Lines are ranked by its lower end."),
      term("Worth it", "the gain is there beyond doubt, counting how many lines were asked about."),
      term("No effect", "whatever is done to the line, the program changes by less than 2 points."),
      term("Undecided", "the interval is still too wide; more experiments narrow it."),
      term("Knee", "where the gain stops growing because something else is in the way."),
      term("Time cut", "100 % means the line takes no time at all; 50 % is twice as fast.")));
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  byId("help").addEventListener("click", (event) => { if (event.target === byId("help")) byId("help").close(); });
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = dark ? "☀" : "☾";
}

function drawAll() {
  state.shown = 60;
  drawHead();
  drawVerdict();
  drawDoubts();
  drawScope();
  drawScatter();
  drawDetail();
  drawFilters();
  drawList();
  drawUntried();
}

function start() {
  for (const point of data.points) point.lines.forEach((line, index) => { line.rank = index + 1; });
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  setTheme(preferred.matches);
  preferred.addEventListener("change", (event) => setTheme(event.matches));
  byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
  byId("point").addEventListener("change", (event) => {
    state.point = Number(event.target.value);
    drawAll();
    writeFragment();
  });
  let typing = 0;
  byId("find").addEventListener("input", (event) => {
    state.find = event.target.value;
    clearTimeout(typing);
    typing = setTimeout(() => { drawList(); writeFragment(); say(byId("list-title").textContent); }, 60);
  });
  byId("file").addEventListener("change", (event) => { state.file = event.target.value; drawList(); writeFragment(); });
  addEventListener("hashchange", () => { readFragment(); drawAll(); });
  addEventListener("scroll", tip.hide, { passive: true });
  addEventListener("beforeprint", () => { state.shown = 1000; drawList(); });
  // Up and down go through the list as through a menu.
  byId("lines").addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const row = event.target.closest("tbody tr");
    if (!step || !row) return;
    const next = step < 0 ? row.previousElementSibling : row.nextElementSibling;
    if (!next) return;
    event.preventDefault();
    next.querySelector(".place button").focus();
    choose(next.dataset.line);
  });
  drawHelp();
  readFragment();
  byId("footer").textContent = `Made by coz-rs ${data.version}. This file is complete in itself: it loads nothing and sends nothing.`;
  byId("app").hidden = false;
  drawAll();
}
start();
