// The chosen line: its curve, what the curve means, its source, and exports of the picture.
function drawDetail() {
  const line = chosenLine();
  const box = byId("detail");
  if (!line) {
    box.replaceChildren(h("h2", { id: "detail-title" }, "No line was measured"));
    return;
  }
  const chart = curveChart(line);
  const hits = line.hit_share !== null && line.hit_share !== undefined
    ? `, on the stack in ${percentUnit(line.hit_share)}` : "";
  const facts = `${count(line.pairs)} ${line.pairs === 1 ? "experiment" : "experiments"} in ${seconds(line.seconds)}; ` +
    `${percentUnit(line.sample_share)} of the samples${hits}`;
  box.replaceChildren(
    h("div", { class: "detail-head" },
      h("div", { class: "names" },
        h("h2", { id: "detail-title", title: line.location }, line.short),
        line.function ? h("p", { class: "function" }, line.function) : null),
      chip(line)),
    h("div", { class: "chart" }, chart),
    h("p", { class: "reading" }, describeCurve(line)),
    h("div", { class: "detail-foot" }, h("span", {}, facts),
      h("button", { type: "button", class: "push", onclick: () => savePicture(chart, line, "svg") }, "Save SVG"),
      h("button", { type: "button", onclick: () => savePicture(chart, line, "png") }, "Save PNG")),
    ...doubtsOf(line), ...sourceOf(line), ...callersOf(line), valuesOf(line));
  const [window, here] = [box.querySelector(".source"), box.querySelector(".here")];
  if (here) window.scrollTop = here.offsetTop - window.clientHeight / 2;
}

// The source around the line, with both figures of every known line in the margin.
function sourceOf(line) {
  const source = data.sources[line.location];
  if (!source) return [];
  const known = new Map(thePoint().lines.filter((other) => other.file === line.file).map((other) => [other.number, other]));
  const rows = source.lines.map((text, index) => {
    const number = source.first + index;
    const other = known.get(number);
    const here = other === line;
    const attributes = here ? { class: "here" } : other ? { class: "other", onclick: () => choose(other.location) } : {};
    return h("tr", attributes,
      h("td", { class: "note" }, other ? percentUnit(other.sample_share) : ""),
      h("td", { class: "note" + (other ? " gain-note tone-" + toneOf(other) : "") }, other && other.best ? percentUnit(other.best.gain) : ""),
      h("td", { class: "number" }, number + ""), h("td", {}, text || " "));
  });
  const changed = source.changed ? [h("p", { class: "changed" }, "This file was changed after the run: what stands here may not be what was measured.")] : [];
  return [...changed, h("div", { class: "source", tabindex: 0, role: "region", "aria-label": "Source" },
    h("table", {}, h("thead", {}, h("tr", {}, h("th", { class: "right" }, "hot"), h("th", { class: "right" }, "matters"), h("th", {}, ""), h("th", {}, line.file))),
      h("tbody", {}, rows)))];
}

// What makes this line's figures doubtful.
const doubtsAbout = (line) => data.doubts.filter((doubt) => doubt.location === line.location);
function doubtsOf(line) {
  const doubts = doubtsAbout(line);
  return doubts.length ? [h("div", { class: "doubts" }, h("ul", {}, doubts.map((doubt) => h("li", {}, doubt.text))))] : [];
}

// The chains of calls that led to the line's samples.
function callersOf(line) {
  const known = data.callers[line.location];
  if (!known || !known.chains.length) return [];
  const frame = (frame) => {
    const text = `${frame.short_function || "?"} ${frame.short}`;
    const title = `${frame.function} ${frame.location}`;
    const measured = thePoint().lines.some((other) => other.location === frame.location);
    return measured ? h("button", { type: "button", class: "link", title, onclick: () => choose(frame.location) }, text)
      : h("span", { title }, text);
  };
  const rows = known.chains.map((chain) => h("tr", {},
    h("td", { class: "note" }, percentUnit(chain.count / known.total)),
    h("td", { class: "chain" }, chain.frames.length
      ? chain.frames.flatMap((one, index) => (index ? [" ← ", frame(one)] : [frame(one)]))
      : "not called by code of the program's own")));
  return [h("details", { open: true }, h("summary", {}, "Called from"),
    h("div", { class: "scroll" }, h("table", { class: "callers", "aria-label": "Chains of calls, innermost first, with their part of the line's samples" }, h("tbody", {}, rows))))];
}

// The same numbers as a table.
function valuesOf(line) {
  const row = (level) => {
    const point = at(line, level.speedup);
    return h("tr", {}, h("td", { class: "right" }, Math.round(level.speedup * 100) + " %"),
      h("td", { class: "right" }, percentUnit(level.gain)), h("td", {}, interval(level)),
      h("td", { class: "right" }, point ? percentUnit(point.gain) : ""), h("td", {}, point ? interval(point) : ""),
      h("td", { class: "right" }, level.pairs + ""));
  };
  const heads = ["time cut", "measured", "95 % interval", "curve", "95 % interval", "experiments"];
  return h("details", {}, h("summary", {}, "Values"),
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, heads.map((text) => h("th", {}, text)))),
      h("tbody", {}, line.levels.map(row)))));
}

// The picture alone, with its colours written into it.
function savePicture(chart, line, kind) {
  const copy = chart.cloneNode(true);
  const properties = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "font-style", "visibility"];
  const originals = chart.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((element, index) => {
    const style = getComputedStyle(originals[index]);
    for (const property of properties) element.setAttribute(property, style.getPropertyValue(property));
    element.removeAttribute("class");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", CURVE.width);
  copy.setAttribute("height", CURVE.height + 26);
  copy.setAttribute("viewBox", `0 -26 ${CURVE.width} ${CURVE.height + 26}`);
  const look = getComputedStyle(document.documentElement);
  copy.prepend(s("rect", { x: 0, y: -26, width: CURVE.width, height: CURVE.height + 26, fill: look.getPropertyValue("--card").trim() }),
    s("text", { x: CURVE.left, y: -6, "font-family": "monospace", "font-size": 13, fill: look.getPropertyValue("--ink").trim() }, line.short));
  const text = new XMLSerializer().serializeToString(copy);
  const picture = new Blob([text], { type: "image/svg+xml" });
  const name = line.short.replace(/[^A-Za-z0-9._-]+/g, "-");
  if (kind === "svg") return save(picture, name + ".svg");
  const image = new Image();
  const address = URL.createObjectURL(picture);
  image.onload = () => {
    const canvas = h("canvas", { width: CURVE.width * 2, height: (CURVE.height + 26) * 2 });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(address);
    canvas.toBlob((blob) => blob && save(blob, name + ".png"));
  };
  image.src = address;
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
