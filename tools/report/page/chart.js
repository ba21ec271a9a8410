// Curves by dygraphs: zoom by mouse, buttons and keys, what is under the pointer as text, and colours of the page.

const curves = []; // every one, for a change between light and dark

function logTicks(low, high) {
  const ticks = [];
  const decades = Math.log10(high / low);
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const factor of decades > 3 ? [1] : decades > 1 ? [1, 3] : [1, 2, 5]) ticks.push(factor * 10 ** power);
  return ticks.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

function timeTicks(low, high, pixels) {
  const ticks = d3.ticks(low, high, Math.max(3, Math.floor(pixels / 95)));
  const digits = timeDigits(ticks.length > 1 ? ticks[1] - ticks[0] : 1);
  return ticks.map((value) => ({v: value, label: timeOf(value, digits)}));
}

// options: {label: what a screen reader says, class, group: curves that zoom together, readout(row): text nodes,
// colours(): names to colours, dygraph: its own options}. rows: [[x, y...]...].
function curve(parent, rows, options) {
  const readout = element("p", {class: "readout", role: "status"});
  const box = element("div", {
    class: `chart curve ${options.class || ""}`,
    tabindex: "0",
    role: "group",
    "aria-label": `${options.label} Arrow keys read points; plus and minus zoom, 0 shows all.`,
  });
  const buttons = [
    ["+", "Zoom in", () => zoom(0.5)],
    ["−", "Zoom out", () => zoom(2)],
    ["all", "Show all", () => reset()],
  ].map(([text, label, act]) =>
    element("button", {type: "button", "aria-label": `${label}: ${options.name}`, onclick: act}, text),
  );
  parent.append(element("div", {class: "controls"}, readout, element("span", {class: "zoom"}, ...buttons)), box);

  const touch = matchMedia("(pointer: coarse)").matches;
  const graph = new Dygraph(box, rows, {
    legend: "never",
    axisLineColor: colour("line"),
    gridLineColor: colour("grid"),
    axisLabelFontSize: 11,
    strokeWidth: 1.5,
    highlightCircleSize: 3,
    rightGap: 12,
    xRangePad: 2,
    animatedZooms: false,
    ...(touch ? {interactionModel: {}} : {}),
    highlightCallback: (event, x, points, row) => read(row),
    drawCallback: (drawn, initial) => {
      if (!initial) follow(drawn);
    },
    ...options.dygraph,
    ...options.colours(),
  });
  let at = Math.floor(rows.length / 2),
    following = false;

  function read(row) {
    at = row;
    readout.replaceChildren(...options.readout(rows[row], row));
  }
  function follow(drawn) {
    if (following || !options.group) return;
    for (const other of options.group) if (other !== self) other.window(drawn.xAxisRange());
  }
  function zoom(factor) {
    const [low, high] = graph.xAxisRange();
    const middle = (low + high) / 2,
      half = ((high - low) / 2) * factor;
    const [first, last] = graph.xAxisExtremes();
    graph.updateOptions({dateWindow: [Math.max(first, middle - half), Math.min(last, middle + half)]});
  }
  function reset() {
    graph.resetZoom();
  }
  box.addEventListener("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20}[event.key];
    if (step) {
      read(Math.max(0, Math.min(rows.length - 1, at + step)));
      graph.setSelection(at);
    } else if (event.key === "+") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "0") reset();
    else return;
    event.preventDefault();
  });
  const self = {
    graph,
    recolour: () =>
      graph.updateOptions({axisLineColor: colour("line"), gridLineColor: colour("grid"), ...options.colours()}),
    window: (range) => {
      following = true;
      graph.updateOptions({dateWindow: range});
      following = false;
    },
    draw: (changed, other) => {
      rows = changed;
      at = Math.min(at, rows.length - 1);
      following = true;
      graph.updateOptions({file: rows, ...other});
      following = false;
    },
  };
  if (options.group) options.group.push(self);
  curves.push(self);
  if (rows.length) read(options.begin === undefined ? rows.length - 1 : options.begin);
  return self;
}

// A coloured square and its text, for a readout.
function keyed(index, text) {
  const square = element("b");
  square.style.background = `var(--series-${(index % 6) + 1})`;
  return element("span", {class: "keyed"}, square, text);
}

// Tick-to-order by percentile: the scale opens toward 100 %, as HDR histograms are drawn.
function percentileChart(section, percentiles) {
  const place = (percent) => (percent >= 100 ? Infinity : -Math.log10(1 - percent / 100));
  const finite = percentiles.points.map(([percent, ns]) => [place(percent), Math.max(ns, 1)]).filter(([x]) => x < 20);
  const last = finite[finite.length - 1][0];
  const marks = [
    [50, "p50", percentiles.p50_ns],
    [99, "p99", percentiles.p99_ns],
    [99.9, "p99.9", percentiles.p999_ns],
  ].filter(([percent]) => place(percent) <= last);
  const narrow = section.clientWidth < 480;
  const ticks = [0, ...(narrow ? [] : [50]), 90, 99, 99.9, 99.99, 99.999, 99.9999].filter(
    (percent) => place(percent) <= last,
  );
  const label =
    `${percentiles.name}, ${grouped.format(percentiles.count)} orders: median ${duration(percentiles.p50_ns)}, ` +
    `p99 ${duration(percentiles.p99_ns)}, p99.9 ${duration(percentiles.p999_ns)}, slowest ${duration(percentiles.max_ns)}.`;
  curve(section, finite, {
    name: "percentiles",
    label,
    begin: finite.findIndex(([x]) => x >= place(50)),
    colours: () => ({colors: [seriesColour(0)]}),
    readout: ([x, ns]) => [`p${+(100 - 100 * 10 ** -x).toPrecision(Math.max(4, Math.ceil(x) + 3))}: ${duration(ns)}`],
    dygraph: {
      labels: ["percentile", "latency"],
      logscale: true,
      strokeWidth: 2,
      valueRange: [Math.min(...finite.map(([, ns]) => ns)) * 0.8, percentiles.max_ns * 1.35],
      axes: {
        x: {
          ticker: () =>
            ticks.map((percent) => ({v: place(percent), label: percent === 0 ? "fastest" : `${percent} %`})),
          axisLabelWidth: 62,
        },
        y: {
          ticker: (low, high) => logTicks(low, high).map((value) => ({v: value, label: duration(value)})),
          axisLabelWidth: 58,
        },
      },
      underlayCallback: (canvas, area, graph) =>
        drawMarks(
          canvas,
          area,
          graph,
          marks.map(([percent, name, ns]) => [place(percent), `${name} ${duration(ns)}`]),
        ),
    },
  });
  section.append(
    element(
      "p",
      {class: "quiet"},
      `${grouped.format(percentiles.count)} orders; slowest ${duration(percentiles.max_ns)}. Percentiles by nearest rank, every order counts.`,
    ),
  );
}

// Vertical lines with a text at their foot, where a rising curve is not.
function drawMarks(canvas, area, graph, marks) {
  canvas.save();
  canvas.strokeStyle = colour("mark");
  canvas.fillStyle = colour("mark");
  canvas.font = "600 11px system-ui, sans-serif";
  canvas.setLineDash([4, 3]);
  marks.forEach(([x, text], index) => {
    const at = graph.toDomXCoord(x);
    if (at < area.x || at > area.x + area.w) return;
    canvas.beginPath();
    canvas.moveTo(at, area.y);
    canvas.lineTo(at, area.y + area.h);
    canvas.stroke();
    const width = canvas.measureText(text).width;
    const right = at + 4 + width <= area.x + area.w;
    canvas.fillText(text, right ? at + 4 : at - 4 - width, area.y + area.h - 8 - ((marks.length - 1 - index) % 3) * 14);
  });
  canvas.restore();
}
