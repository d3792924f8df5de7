// Hot versus matters: what any profiler shows against what the program gains.
function drawScatter() {
  const lines = thePoint().lines.filter((line) => line.best);
  const box = { width: 620, height: 500, left: 52, right: 16, top: 12, bottom: 44 };
  const inner = { x: box.width - box.left - box.right, y: box.height - box.top - box.bottom };
  const surely = lines.filter((line) => line.verdict !== "undecided");
  const scale = surely.length ? surely : lines;
  const highest = Math.max(0.05, ...scale.map((line) => Math.min(line.best.high, line.best.gain * 1.6 + 0.02)));
  const lowest = Math.min(-0.03, -0.12 * highest, ...scale.map((line) => Math.max(line.best.low, line.best.gain * 1.6 - 0.02, -1.5)));
  const top = Math.min(1.02, highest * 1.06);
  // What is far below lies on the edge: the gains are what is looked for.
  const bottom = Math.max(lowest * 1.06, -Math.max(0.15, 0.6 * top));
  const hottest = Math.min(1, Math.max(0.05, ...lines.map((line) => line.sample_share)) * 1.12);
  // Square roots: most lines are cold, and they shall not lie on one another.
  const x = (share) => box.left + inner.x * Math.sqrt(Math.max(0, share) / hottest);
  const clamp = (gain) => Math.max(bottom, Math.min(top, gain));
  const y = (gain) => box.top + inner.y * (top - clamp(gain)) / (top - bottom);
  const parts = [];
  for (const tick of ticks(bottom, top, 6)) {
    parts.push(s("line", { x1: box.left, x2: box.width - box.right, y1: y(tick), y2: y(tick), class: tick === 0 ? "zero" : "grid" }));
    parts.push(s("text", { x: box.left - 8, y: y(tick) + 4, "text-anchor": "end" }, percent(tick).replace(".0", "")));
  }
  for (const tick of [0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1].filter((share) => share <= hottest)) {
    parts.push(s("line", { x1: x(tick), x2: x(tick), y1: box.top, y2: box.height - box.bottom, class: "grid" }));
    parts.push(s("text", { x: x(tick), y: box.height - box.bottom + 17, "text-anchor": "middle" }, Math.round(tick * 100) + ""));
  }
  parts.push(s("text", { x: box.left + inner.x / 2, y: box.height - 6, "text-anchor": "middle" }, "share of samples, % (hot)"));
  parts.push(s("text", { x: 13, y: box.top + inner.y / 2, "text-anchor": "middle", transform: `rotate(-90 13 ${box.top + inner.y / 2})` }, words().axis + ", % (matters)"));
  const guide = [];
  for (let step = 0; step <= 40; step++) {
    const share = hottest * (step / 40) ** 2;
    if (share <= top) guide.push(`${x(share)} ${y(share)}`);
  }
  parts.push(s("path", { d: "M" + guide.join("L"), class: "guide" }));
  parts.push(s("text", { x: box.width - box.right - 6, y: box.height - box.bottom - 7, "text-anchor": "end", class: "region" }, "hot, but does not matter"));
  parts.push(s("text", { x: box.left + 8, y: box.top + 14, class: "region" }, "matters more than it is hot"));
  const taken = [];
  const order = [...lines].reverse();
  const labelled = new Set(lines.filter((line) => line.verdict !== "undecided").slice(0, 6).concat(
    [...lines].sort((a, b) => b.sample_share - a.sample_share).slice(0, 2), chosenLine() || []));
  for (const line of order) {
    const [cx, cy] = [x(line.sample_share), y(line.best.gain)];
    const chosen = line === chosenLine();
    const quiet = line.verdict === "undecided" && !chosen;
    const group = s("g", { class: "tone-" + toneOf(line) + (chosen ? " chosen" : "") + (quiet && line.best.gain - line.best.low > 0.15 ? " vague" : ""), "data-line": line.location });
    if (!quiet) group.append(s("line", { x1: cx, x2: cx, y1: y(line.best.low), y2: y(line.best.high), class: "whisker" }));
    group.append(marker(line, cx, cy, chosen ? 7 : 5.5));
    if (chosen) group.append(s("circle", { cx, cy, r: 11, class: "ring" }));
    const about = tipLines(line.short, line.function || "",
      `${words().gain} ${percentUnit(line.best.gain)} (${interval(line.best)}) with ${Math.round(line.best.speedup * 100)} % of its time cut`,
      `${percentUnit(line.sample_share)} of the samples — ${verdictText(line)}`);
    group.append(s("circle", { cx, cy, r: 12, class: "hit",
      onpointermove: (event) => tip.show(event, ...about), onpointerleave: tip.hide,
      onclick: () => choose(line.location) }));
    parts.push(group);
  }
  for (const line of lines.filter((line) => labelled.has(line))) {
    const [cx, cy] = [x(line.sample_share), y(line.best.gain)];
    const width = line.short.length * 7.1;
    const gap = line === chosenLine() ? 16 : 11;
    const right = cx + gap + width < box.width - 4;
    for (const shift of [4, -9, 17, -22, 30]) {
      const spot = { x1: right ? cx + gap : cx - gap - width, y1: cy + shift - 10 };
      spot.x2 = spot.x1 + width;
      spot.y2 = spot.y1 + 13;
      const free = spot.y1 > 0 && spot.y2 < box.height - box.bottom + 4 &&
        taken.every((other) => spot.x2 < other.x1 || spot.x1 > other.x2 || spot.y2 < other.y1 || spot.y1 > other.y2);
      if (!free) continue;
      taken.push(spot);
      parts.push(s("text", { x: right ? cx + gap : cx - gap, y: cy + shift, "text-anchor": right ? "start" : "end", class: "code" }, line.short));
      break;
    }
  }
  const title = `Hot versus matters: ${lines.length} lines by their share of samples and by ${words().axis}. The list below has the same numbers.`;
  byId("scatter").replaceChildren(
    s("svg", { viewBox: `0 0 ${box.width} ${box.height}`, role: "img", "aria-label": title }, parts));
  byId("legend").replaceChildren(...Object.entries(VERDICTS).map(([verdict, { tone, label }]) => {
    const icon = s("svg", { width: 14, height: 14, viewBox: "0 0 14 14", class: "tone-" + tone }, marker({ verdict }, 7, 7, 5));
    return h("li", {}, icon, label);
  }), h("li", {}, s("svg", { width: 22, height: 10, viewBox: "0 0 22 10" }, s("path", { d: "M1 5H21", class: "guide" })), "matters as much as it is hot"));
}
