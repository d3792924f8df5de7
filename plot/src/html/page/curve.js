// The curve of one line: measured levels with their intervals, the fitted curve with its band.
const CURVE = { width: 740, height: 360, left: 56, right: 18, top: 14, bottom: 44 };

function curveScale(line) {
  const points = line.curve ? line.curve.points : [];
  const known = points.flatMap((point) => [point.gain, Math.min(point.high, point.gain + 0.6), Math.max(point.low, point.gain - 0.6)]);
  const measured = line.levels.map((level) => level.gain).filter((gain) => Math.abs(gain) < 1.2);
  const top = Math.min(1.02, Math.max(0.04, ...known, ...measured) * 1.08);
  const bottom = Math.max(-1.6, Math.min(-0.02, -0.14 * top, ...known, ...measured) * 1.08);
  const innerX = CURVE.width - CURVE.left - CURVE.right;
  const innerY = CURVE.height - CURVE.top - CURVE.bottom;
  const clamp = (gain) => Math.max(bottom, Math.min(top, gain));
  return {
    top, bottom,
    x: (speedup) => CURVE.left + innerX * speedup,
    y: (gain) => CURVE.top + innerY * (top - clamp(gain)) / (top - bottom),
    back: (place) => (place - CURVE.left) / innerX,
  };
}

function curveChart(line) {
  const { top, bottom, x, y, back } = curveScale(line);
  const floor = CURVE.height - CURVE.bottom;
  const parts = [];
  for (const tick of ticks(bottom, top, 6)) {
    parts.push(s("line", { x1: CURVE.left, x2: CURVE.width - CURVE.right, y1: y(tick), y2: y(tick), class: tick === 0 ? "zero" : "grid" }));
    parts.push(s("text", { x: CURVE.left - 8, y: y(tick) + 4, "text-anchor": "end" }, percent(tick).replace(".0", "")));
  }
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    parts.push(s("line", { x1: x(tick), x2: x(tick), y1: CURVE.top, y2: floor, class: "grid" }));
    parts.push(s("text", { x: x(tick), y: floor + 17, "text-anchor": "middle" }, tick * 100 + " %"));
  }
  parts.push(s("text", { x: x(0.5), y: CURVE.height - 6, "text-anchor": "middle" }, "how much of the line's time is cut (its virtual speedup)"));
  parts.push(s("text", { x: 14, y: (CURVE.top + floor) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(CURVE.top + floor) / 2})` }, words().axis + ", %"));
  const points = line.curve ? line.curve.points : [];
  if (points.length) {
    const upper = points.map((point) => `${x(point.speedup)} ${y(point.high)}`);
    const lower = points.map((point) => `${x(point.speedup)} ${y(point.low)}`);
    parts.push(s("path", { d: "M" + upper.concat([...lower].reverse()).join("L") + "Z", class: "band" }));
    parts.push(s("path", { d: "M" + upper.join("L"), class: "band-edge" }), s("path", { d: "M" + lower.join("L"), class: "band-edge" }));
  }
  if (line.curve && line.curve.knee) {
    const knee = x(line.curve.knee);
    parts.push(s("line", { x1: knee, x2: knee, y1: CURVE.top, y2: floor, class: "knee" }));
    parts.push(s("text", { x: knee + 5, y: floor - 7 }, `knee at ${Math.round(line.curve.knee * 100)} %`));
  }
  for (const level of line.levels) {
    level.each.forEach((gain, index) => {
      if (gain < bottom || gain > top) return;
      const aside = ((index * 7) % 11 - 5) * 1.1;
      parts.push(s("circle", { cx: x(level.speedup) + aside, cy: y(gain), r: 1.8, class: "each" }));
    });
  }
  if (points.length) {
    parts.push(s("path", { d: "M" + points.map((point) => `${x(point.speedup)} ${y(point.gain)}`).join("L"), class: "line" }));
  }
  const levels = s("g", { class: "levels" });
  for (const level of line.levels) {
    if (level.gain < bottom || level.gain > top) continue;
    if (level.low !== null && level.high !== null) {
      levels.append(s("line", { x1: x(level.speedup), x2: x(level.speedup), y1: y(level.low), y2: y(level.high), class: "whisker" }));
    }
    levels.append(s("circle", { cx: x(level.speedup), cy: y(level.gain), r: 4.2, class: "dot" }));
  }
  parts.push(levels);
  const cross = s("g", { class: "crosshair", visibility: "hidden" },
    s("line", { y1: CURVE.top, y2: floor, class: "cross" }), s("circle", { r: 5, class: "dot" }));
  parts.push(cross);
  const svg = s("svg", { viewBox: `0 0 ${CURVE.width} ${CURVE.height}`, role: "img", tabindex: 0, class: "tone-" + toneOf(line), "aria-label": describeCurve(line) }, parts);
  let place = 0.5;
  const look = (speedup, event) => {
    const last = points.length ? points[points.length - 1].speedup : 1;
    place = Math.max(0, Math.min(last, Math.round(speedup * 20) / 20));
    const point = at(line, place);
    const level = line.levels.find((level) => Math.abs(level.speedup - place) < 0.001);
    if (!point && !level) return;
    const shown = point || level;
    cross.setAttribute("visibility", "visible");
    cross.firstChild.setAttribute("x1", x(place));
    cross.firstChild.setAttribute("x2", x(place));
    cross.lastChild.setAttribute("cx", x(place));
    cross.lastChild.setAttribute("cy", y(shown.gain));
    const rows = [`with ${Math.round(place * 100)} % of its time cut`];
    if (point) rows.push(`curve: ${percentUnit(point.gain)} (${interval(point)})`);
    if (level) rows.push(`measured: ${percentUnit(level.gain)} (${interval(level)}), ${level.pairs} ${level.pairs === 1 ? "experiment" : "experiments"}`);
    const box = svg.getBoundingClientRect();
    const spot = event || { clientX: box.left + box.width * x(place) / CURVE.width, clientY: box.top + box.height * y(shown.gain) / CURVE.height };
    tip.show(spot, ...tipLines(words().gain, ...rows));
  };
  const leave = () => { cross.setAttribute("visibility", "hidden"); tip.hide(); };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    look(back((event.clientX - box.left) * CURVE.width / box.width), event);
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -0.05, ArrowRight: 0.05, Home: -1, End: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    look(place + step);
  });
  return svg;
}

// The curve in plain words: for the reader, and for readers of screens.
function describeCurve(line) {
  const { subject, better, worse } = words();
  const best = line.best;
  if (!best) return "Too few experiments to say anything about this line.";
  const knee = line.curve && line.curve.knee;
  const cut = `${Math.round(best.speedup * 100)} %`;
  switch (line.verdict) {
    case "worth-it":
      return knee
        ? `Cutting its time makes ${subject} ${better} until about ${Math.round(knee * 100)} % is cut; beyond that something else holds it up. At ${cut} it is ${percentUnit(best.gain)} (95 % interval ${interval(best)}).`
        : `Every cut of its time makes ${subject} ${better}, up to ${percentUnit(best.gain)} with ${cut} cut (95 % interval ${interval(best)}).`;
    case "makes-it-slower":
      return `Making this line faster makes ${subject} ${worse}: the threads that it lets go get into each other's way. Look for a lock or a queue behind it.`;
    case "no-effect":
      return `However fast this line gets, ${subject} changes by less than 2 points: something else is in the way. Leave it alone.`;
    default:
      return `Not known yet: the interval reaches from ${percent(best.low)} to ${percentUnit(best.high)}.` +
        (line.more_seconds ? ` About ${seconds(line.more_seconds)} more of experiments with this line would settle it.` : "");
  }
}
