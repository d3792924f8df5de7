// What the reader has chosen, kept in the fragment of the address so that it can be linked to.
const state = { point: 0, line: null, find: "", file: "", hidden: [], sort: "rank", down: false, shown: 60 };

function readFragment() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const point = Number(wanted.get("point") || 0);
  state.point = Number.isInteger(point) && data.points[point] ? point : 0;
  state.line = wanted.get("line");
  state.find = wanted.get("find") || "";
  state.file = wanted.get("file") || "";
  state.hidden = (wanted.get("hide") || "").split(",").filter((verdict) => VERDICTS[verdict]);
  state.sort = wanted.get("sort") || "rank";
  state.down = wanted.get("down") === "1";
}

let writing = 0;
function writeFragment() {
  const wanted = new URLSearchParams();
  if (state.point) wanted.set("point", state.point);
  if (state.line && state.line !== firstLine()) wanted.set("line", state.line);
  if (state.find) wanted.set("find", state.find);
  if (state.file) wanted.set("file", state.file);
  if (state.hidden.length) wanted.set("hide", state.hidden.join(","));
  if (state.sort !== "rank") wanted.set("sort", state.sort);
  if (state.down) wanted.set("down", "1");
  const text = wanted.toString();
  clearTimeout(writing);
  // Browsers refuse more than some hundred changes in half a minute: typing must not get there.
  writing = setTimeout(() => history.replaceState(null, "", text ? "#" + text : location.pathname + location.search), 150);
}

const noPoint = { name: "", kind: "throughput", lines: [], sentence: "No progress point was visited in any experiment, so nothing is known yet." };
const thePoint = () => data.points[state.point] || noPoint;
const firstLine = () => (thePoint().lines[0] || {}).location;
const chosenLine = () => thePoint().lines.find((line) => line.location === state.line) || thePoint().lines[0];

// For those who hear the page.
const say = (text) => { byId("said").textContent = text; };

function choose(location, scroll) {
  state.line = location;
  drawScatter();
  drawDetail();
  markChosen();
  writeFragment();
  const line = chosenLine();
  if (line) say(`${line.short}: ${verdictText(line)}. ${describeCurve(line)}`);
  if (scroll) byId("detail").scrollIntoView({ block: "nearest" });
}

const words = () => thePoint().kind === "latency"
  ? { axis: "latency shorter by", gain: "shorter latency", subject: "the latency of “" + thePoint().name + "”", better: "shorter", worse: "longer" }
  : { axis: "program speedup", gain: "program speedup", subject: "the program", better: "faster", worse: "slower" };
