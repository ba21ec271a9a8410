// Latency over the market's time as a heat map by d3: every order is in a cell. Below it the rate of the feed.

const kHeatShades = 6;
const kHeatRow = 7; // pixels of a row
const kRateHeight = 54;
const kRateGap = 22;
const kHeatMargin = {top: 30, right: 12, bottom: 22, left: 62};

// Cells of the file put together as the screen has room: {columns, cells: Map(column * 1000 + row -> count), ...}.
function heatCells(heat, range, columns, rowsTogether) {
  const [first, last] = range,
    cells = new Map();
  const wide = Math.max(1, Math.ceil((last - first) / columns));
  for (let i = 0; i < heat.cells.length; i += 3) {
    const [column, row, count] = [heat.cells[i], heat.cells[i + 1], heat.cells[i + 2]];
    if (column < first || column >= last) continue;
    const key = Math.floor((column - first) / wide) * 1000 + Math.floor(row / rowsTogether);
    cells.set(key, (cells.get(key) || 0) + count);
  }
  return {cells, wide};
}

function heatChart(section, heat) {
  const whole = data.time,
    perColumn = (whole.last - whole.first) / heat.columns;
  const secondOf = (column) => whole.first + column * perColumn;
  let range = [0, heat.columns];
  const readout = element("p", {class: "readout", role: "status"});
  const zoomButton = (text, label, act) =>
    element("button", {type: "button", "aria-label": `${label}: heat map`, onclick: act}, text);
  section.append(
    element(
      "div",
      {class: "controls"},
      readout,
      element(
        "span",
        {class: "zoom"},
        zoomButton("◀", "Earlier", () => move(-0.5)),
        zoomButton("▶", "Later", () => move(0.5)),
        zoomButton("+", "Zoom in", () => zoom(0.5)),
        zoomButton("−", "Zoom out", () => zoom(2)),
        zoomButton("all", "Show all", () => set([0, heat.columns])),
      ),
    ),
  );
  const box = element("div", {class: "chart"});
  section.append(box);
  const key = element("div", {class: "key"});
  section.append(key);

  function set([first, last]) {
    const least = 24;
    const size = Math.min(heat.columns, Math.max(least, Math.round(last - first)));
    first = Math.max(0, Math.min(heat.columns - size, Math.round(first)));
    range = [first, first + size];
    draw();
  }
  function zoom(factor) {
    const middle = (range[0] + range[1]) / 2,
      half = ((range[1] - range[0]) / 2) * factor;
    set([middle - half, middle + half]);
  }
  function move(share) {
    const by = (range[1] - range[0]) * share;
    set([range[0] + by, range[1] + by]);
  }

  function draw() {
    const width = Math.max(280, box.clientWidth),
      inner = width - kHeatMargin.left - kHeatMargin.right;
    const {cells, wide} = heatCells(heat, range, Math.floor(inner / 5), 2);
    const rows = [...cells.keys()].map((each) => each % 1000);
    const lowRow = Math.max(0, Math.min(...rows) - 1),
      highRow = Math.max(...rows) + 2;
    const height = (highRow - lowRow) * kHeatRow,
      most = Math.max(...cells.values());
    const decade = heat.rows_per_decade / 2;
    const nsOf = (row) => 10 ** (heat.lowest_decade + row / decade);
    const x = d3
      .scaleLinear()
      .domain([secondOf(range[0]), secondOf(range[1])])
      .range([0, inner]);
    const y = d3
      .scaleLog()
      .domain([nsOf(lowRow), nsOf(highRow)])
      .range([height, 0]);
    const shade = (count) =>
      Math.min(kHeatShades, 1 + Math.floor((Math.log(count) / Math.log(most + 1)) * kHeatShades));
    const svg = d3
      .create("svg")
      .attr("viewBox", `0 0 ${width} ${kHeatMargin.top + height + kRateGap + kRateHeight + kHeatMargin.bottom}`)
      .attr("role", "img")
      .attr("aria-label", heatLabel(heat, range, secondOf));
    const plot = svg.append("g").attr("transform", `translate(${kHeatMargin.left},${kHeatMargin.top})`);
    const ticks = logTicks(nsOf(lowRow), nsOf(highRow));
    plot
      .append("g")
      .call(d3.axisLeft(y).tickValues(ticks).tickFormat(duration).tickSize(-inner))
      .call((axis) => axis.selectAll(".tick line").attr("class", "gridline"));
    const cell = plot
      .append("g")
      .selectAll("rect")
      .data([...cells])
      .join("rect")
      .attr("class", ([, count]) => `heat-${shade(count)}`)
      .attr("x", ([at]) => x(secondOf(range[0] + Math.floor(at / 1000) * wide)))
      .attr("y", ([at]) => height - ((at % 1000) - lowRow + 1) * kHeatRow)
      .attr("width", Math.max(1, ((wide * perColumn) / (x.domain()[1] - x.domain()[0])) * inner - 0.5))
      .attr("height", kHeatRow - 0.5);
    cell.append("title").text(([at, count]) => {
      const row = at % 1000,
        from = range[0] + Math.floor(at / 1000) * wide;
      return `${timeOf(secondOf(from))} to ${timeOf(secondOf(from + wide))}, ${duration(nsOf(row))} to ${duration(nsOf(row + 1))}: ${grouped.format(count)} order${count === 1 ? "" : "s"}`;
    });
    drawRate(plot, x, height + kRateGap, inner);
    drawMarkers(plot, x, height + kRateGap + kRateHeight);
    box.replaceChildren(svg.node());
    dragToZoom(svg.node(), plot.node(), x, inner, height);
    key.replaceChildren(`Orders in a cell of ${duration(wide * perColumn * 1e9)}:`, ...heatKey(most, shade));
    readout.textContent = `${timeOf(secondOf(range[0]))} to ${timeOf(secondOf(range[1]))}, ${grouped.format([...cells.values()].reduce((a, b) => a + b, 0))} orders, each in a cell`;
  }

  function drawRate(plot, x, top, inner) {
    const shown = heat.rate.slice(range[0], range[1]);
    const y = d3
      .scaleLinear()
      .domain([0, Math.max(1, d3.max(shown))])
      .nice(2)
      .range([top + kRateHeight, top]);
    const wide = inner / shown.length;
    plot
      .append("path")
      .attr("class", "rate")
      .attr(
        "d",
        shown
          .map(
            (rate, at) =>
              `M${(at * wide).toFixed(1)},${top + kRateHeight}V${y(rate).toFixed(1)}h${(wide + 0.3).toFixed(2)}V${top + kRateHeight}z`,
          )
          .join(""),
      );
    plot.append("g").call(
      d3
        .axisLeft(y)
        .ticks(2)
        .tickFormat((value) => `${compact.format(value)}/s`),
    );
    plot
      .append("text")
      .attr("x", inner)
      .attr("y", top - 3)
      .attr("text-anchor", "end")
      .text("messages a second at mdh");
    const time = timeTicks(x.domain()[0], x.domain()[1], inner);
    plot
      .append("g")
      .attr("transform", `translate(0,${top + kRateHeight})`)
      .call(
        d3
          .axisBottom(x)
          .tickValues(time.map((tick) => tick.v))
          .tickFormat((value, at) => time[at].label),
      );
  }
  function drawMarkers(plot, x, bottom) {
    const [low, high] = x.domain();
    data.markers.shown
      .filter((mark) => mark.at >= low && mark.at <= high)
      .forEach((mark, index) => {
        const group = plot
          .append("g")
          .attr("class", "mark")
          .attr("transform", `translate(${x(mark.at)},0)`);
        group.append("line").attr("y1", -4).attr("y2", bottom);
        const right = x(mark.at) > x.range()[1] - 60;
        group
          .append("text")
          .attr("x", right ? -4 : 3)
          .attr("y", -8 - (index % 2) * 11)
          .attr("text-anchor", right ? "end" : "start")
          .text(mark.kind);
        group.append("title").text(`${timeOf(mark.at)} ${mark.program}: ${mark.text}`);
      });
  }
  // A span that is drawn over with the mouse fills the chart.
  function dragToZoom(svg, plot, x, inner, height) {
    let from = null,
      span = null;
    const second = (event) =>
      Math.max(
        0,
        Math.min(inner, new DOMPoint(event.clientX, event.clientY).matrixTransform(plot.getScreenCTM().inverse()).x),
      );
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse") return;
      from = second(event);
      span = d3.select(plot).append("rect").attr("class", "chosen-span").attr("height", height);
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const to = second(event);
      span.attr("x", Math.min(from, to)).attr("width", Math.abs(to - from));
    });
    svg.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const [a, b] = [from, second(event)].sort((one, two) => one - two);
      from = null;
      span.remove();
      const column = (pixel) => (x.invert(pixel) - whole.first) / perColumn;
      if (b - a > 4) set([column(a), column(b)]);
    });
  }
  if (!whole.market)
    section.append(
      element(
        "p",
        {class: "quiet"},
        "Times are seconds since the run's begin: no order of it has a time of the market.",
      ),
    );
  draw();
  let known = box.clientWidth;
  new ResizeObserver(() => {
    if (box.clientWidth !== known) {
      known = box.clientWidth;
      draw();
    }
  }).observe(box);
  section.append(markerList(), heatTable(heat, secondOf));
}

function heatLabel(heat, [first, last], secondOf) {
  return `Heat map of ${grouped.format(heat.orders)} orders from ${timeOf(secondOf(first))} to ${timeOf(secondOf(last))}: time across, latency upward. The table below has the same in twenty parts.`;
}

// Of each shade the counts that have it.
function heatKey(most, shade) {
  const parts = [];
  for (let step = 1, from = 1; step <= kHeatShades; ++step) {
    let after = from;
    while (after <= most && shade(after) === step) ++after;
    if (after === from) continue;
    const square = element("b");
    square.style.background = `var(--heat-${step})`;
    parts.push(
      square,
      after - from === 1 ? grouped.format(from) : `${grouped.format(from)}–${grouped.format(after - 1)}`,
    );
    from = after;
  }
  return parts;
}

function markerList() {
  const {shown, all} = data.markers;
  if (!shown.length)
    return element("p", {class: "quiet"}, "The programs' logs name no pause, kill, gap or change of leader.");
  const rest = all > shown.length ? [element("li", {}, `and ${grouped.format(all - shown.length)} more`)] : [];
  return element(
    "ul",
    {class: "marks"},
    ...shown.map((mark) =>
      element("li", {}, `${timeOf(mark.at)} `, element("strong", {}, mark.kind), `, ${mark.program}: ${mark.text}`),
    ),
    ...rest,
  );
}

// The same as text, in twenty parts.
function heatTable(heat, secondOf) {
  const parts = 20,
    wide = heat.columns / parts,
    orders = new Array(parts).fill(0),
    slowest = new Array(parts).fill(-1);
  for (let i = 0; i < heat.cells.length; i += 3) {
    const part = Math.floor(heat.cells[i] / wide);
    orders[part] += heat.cells[i + 2];
    slowest[part] = Math.max(slowest[part], heat.cells[i + 1]);
  }
  const upTo = (row) => (row < 0 ? "" : duration(10 ** (heat.lowest_decade + (row + 1) / heat.rows_per_decade)));
  const rows = orders.map((count, part) => {
    const rates = heat.rate.slice(part * wide, (part + 1) * wide);
    return [
      timeOf(secondOf(part * wide)),
      grouped.format(count),
      upTo(slowest[part]),
      grouped.format(Math.round(rates.reduce((a, b) => a + b, 0) / rates.length)),
      grouped.format(Math.max(...rates)),
    ];
  });
  return element(
    "details",
    {},
    element("summary", {}, "As a table"),
    scrolling(
      "Latency over time",
      plainTable(
        "Orders, slowest of them, and messages a second at mdh",
        [
          {name: "from"},
          {name: "orders", number: true},
          {name: "slowest below", number: true},
          {name: "messages/s", number: true},
          {name: "highest rate", number: true},
        ],
        rows,
      ),
    ),
  );
}
