// The data, small builders of elements, and how numbers read. Text from the profile reaches the
// page as text nodes and attributes only, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

const build = (make) => (name, attributes = {}, ...children) => {
  const element = make(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "width_px") element.style.width = value + "px";
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
};
const h = build((name) => document.createElement(name));
const s = build((name) => document.createElementNS("http://www.w3.org/2000/svg", name));

const VERDICTS = {
  "worth-it": { tone: "worth", label: "worth it", mark: "●" },
  "makes-it-slower": { tone: "slower", label: "makes it slower", mark: "▼" },
  "undecided": { tone: "open", label: "undecided", mark: "○" },
  "no-effect": { tone: "none", label: "no effect", mark: "·" },
};
const toneOf = (line) => (VERDICTS[line.verdict] || VERDICTS.undecided).tone;

// A part as percent; null means that it is not known.
function percent(part) {
  if (part === null || part === undefined || !isFinite(part)) return "?";
  const value = part * 100;
  if (value < -999) return "< −999";
  const text = Math.abs(value) < 9.95 ? value.toFixed(1) : value.toFixed(0);
  return text.replace("-0.0", "0.0").replace("-", "−");
}
const percentUnit = (part) => percent(part) + " %";
const interval = (place) => percent(place.low) + " to " + percent(place.high);
const count = (number) => Math.round(number).toLocaleString("en").replaceAll(",", "\u202f");

function seconds(value) {
  if (value < 9.5) return Math.max(1, Math.ceil(value)) + " s";
  if (value < 100) return Math.ceil(value / 5) * 5 + " s";
  if (value < 5400) return Math.ceil(value / 60) + " min";
  return Math.min(999, Math.ceil(value / 3600)) + " h";
}

function nanoseconds(value) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (value >= size) return (value / size).toPrecision(3) + " " + unit;
  }
  return value.toPrecision(3) + " ns";
}

function verdictText(line) {
  const { label } = VERDICTS[line.verdict] || VERDICTS.undecided;
  const more = line.more_seconds;
  return line.verdict === "undecided" && more ? label + ", ~" + seconds(more) + " more" : label;
}
const chip = (line) => h("span", { class: "chip tone-" + toneOf(line) }, verdictText(line));

// The curve of a line at a speedup; null beyond what was tried.
function at(line, speedup) {
  const points = line.curve ? line.curve.points : [];
  const after = points.findIndex((point) => point.speedup >= speedup - 1e-6);
  if (after < 0) return null;
  const right = points[after];
  if (after === 0 || Math.abs(right.speedup - speedup) < 1e-6) return right;
  const left = points[after - 1];
  const part = (speedup - left.speedup) / (right.speedup - left.speedup);
  const mix = (key) => left[key] + (right[key] - left[key]) * part;
  return { speedup, gain: mix("gain"), low: mix("low"), high: mix("high") };
}

// Round steps for an axis.
function ticks(low, high, wanted) {
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  const list = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) {
    list.push(Math.abs(tick) < step * 1e-9 ? 0 : tick);
  }
  return list;
}

const tip = {
  show(event, ...content) {
    const box = byId("tip");
    box.replaceChildren(...content);
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - width - 8);
    const below = event.clientY + 16;
    box.style.left = Math.max(8, x) + "px";
    box.style.top = (below + height > innerHeight ? event.clientY - height - 12 : below) + "px";
  },
  hide() { byId("tip").hidden = true; },
};
const tipLines = (first, ...rest) =>
  [h("div", { class: "code" }, first), ...rest.map((text) => h("div", {}, text))];

// A path's marker by verdict: shapes differ, not only colours.
function marker(line, x, y, size) {
  const { verdict } = line;
  if (verdict === "makes-it-slower") {
    const d = `M${x - size} ${y - size * 0.8}h${2 * size}l${-size} ${1.8 * size}z`;
    return s("path", { d, class: "dot" });
  }
  const hollow = verdict === "undecided" ? " hollow" : "";
  const r = verdict === "no-effect" ? size * 0.72 : size;
  return s("circle", { cx: x, cy: y, r, class: "dot" + hollow });
}
