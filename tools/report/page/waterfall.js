// Where time goes: parts of orders around percentiles, each hop, and the slowest orders one by one.

const programOf = (hop) => hop.split(".")[0];
function barsPart(section, bars) {
  const stack = element("div", {class: "stack"});
  for (const bar of bars) {
    const whole = bar.parts.reduce((sum, part) => sum + Math.max(part.ns, 0), 0) || 1;
    const text = bar.parts.map((part) => `${part.hop} ${duration(part.ns)}`).join(", ");
    const drawn = element("div", {class: "bar", role: "img", "aria-label": `p${bar.percent}: ${text}`});
    bar.parts.forEach((part) => {
      const share = Math.max(part.ns, 0) / whole;
      const piece = element(
        "span",
        {title: `to ${part.hop}: ${duration(part.ns)}, ${(share * 100).toFixed(1)} %`},
        share > 0.12 ? `\u2002${part.hop.split(".")[1]}` : "",
      );
      piece.style.flex = `${share} 1 0`;
      piece.dataset.program = programOf(part.hop);
      drawn.append(piece);
    });
    stack.append(
      element("span", {}, `p${bar.percent}`),
      drawn,
      element("span", {class: "total"}, duration(bar.mean_ns)),
    );
  }
  const key = element("div", {class: "key", "aria-hidden": "true"});
  for (const program of ["mdh", "strategy", "oeg"]) {
    const square = element("b");
    square.dataset.program = program;
    key.append(square, program);
  }
  const columns = [{name: "up to"}, ...bars.map((bar) => ({name: `p${bar.percent}`, number: true}))];
  const hops = [...new Set(bars.flatMap((bar) => bar.parts.map((part) => part.hop)))];
  const cell = (bar, hop) => {
    const part = bar.parts.find((each) => each.hop === hop);
    return part ? duration(part.ns) : "";
  };
  const rows = hops.map((hop) => [hop, ...bars.map((bar) => cell(bar, hop))]);
  rows.push(["all", ...bars.map((bar) => duration(bar.mean_ns))]);
  const around = bars.map((bar) => `${grouped.format(bar.orders)} around p${bar.percent}`).join(", ");
  section.append(
    key,
    stack,
    scrolling(
      "Time by hop at percentiles",
      plainTable(`Mean of the orders around a percentile: ${around}`, columns, rows),
    ),
  );
}

// A bar from p50 to p99 and a line on to p99.9, all rows on one logarithmic scale.
function rangeCell(hop, low, high) {
  const place = (ns) => Math.max(0, Math.min(1, Math.log(Math.max(ns, low) / low) / Math.log(high / low))) * 100;
  const track = element("div", {
    class: "track",
    role: "img",
    "aria-label": `${duration(hop.p50)} to ${duration(hop.p99)}`,
  });
  const bar = element("i"),
    tail = element("u");
  bar.style.left = `${place(hop.p50)}%`;
  bar.style.width = `${place(hop.p99) - place(hop.p50)}%`;
  bar.dataset.program = programOf(hop.name.split(" -> ")[1]);
  tail.style.left = `${place(hop.p99)}%`;
  tail.style.width = `${place(hop.p999) - place(hop.p99)}%`;
  track.append(bar, tail);
  return track;
}

function hopsPart(section, hops, findings) {
  const positive = hops.flatMap((hop) => [hop.p50, hop.p999]).filter((ns) => ns > 0);
  const low = 10 ** Math.floor(Math.log10(Math.min(...positive))),
    high = 10 ** Math.ceil(Math.log10(Math.max(...positive)));
  const explains = (hop) => findings.filter((finding) => finding.hops.includes(hop.name)).map((finding) => finding.id);
  const found = findings.length > 0;
  const columns = [
    {name: "hop"},
    {name: "p50", number: true},
    {name: "p99", number: true},
    {name: "p99.9", number: true},
    {name: "max", number: true},
    ...(found ? [{name: "doctor: may make it slow", class: "wide"}] : []),
    {name: `p50 to p99, on to p99.9 (${duration(low)} to ${duration(high)}, log)`, class: "bar-cell"},
    {name: "count", number: true},
    {name: "over"},
  ];
  const rows = hops.map((hop) => [
    hop.name,
    duration(hop.p50),
    duration(hop.p99),
    duration(hop.p999),
    duration(hop.max),
    ...(found ? [explains(hop).join(", ")] : []),
    rangeCell(hop, low, high),
    grouped.format(hop.count),
    hop.population,
  ]);
  section.append(scrolling("Each hop", plainTable("Bars: median to p99; line: on to p99.9", columns, rows)));
  if (hops.some((hop) => hop.p50 < 0))
    section.append(
      element(
        "p",
        {class: "quiet"},
        "A hop below zero: the receiver was quicker than the return of the sender's call, which the hop before contains.",
      ),
    );
}

function waterfall(order) {
  const first = Math.min(...order.marks.map((mark) => mark.at)),
    whole = Math.max(...order.marks.map((mark) => mark.at)) - first || 1;
  const rows = order.marks.map((mark, index) => {
    const track = element("div", {class: "track"});
    if (index > 0 && mark.took !== null) {
      const bar = element("i"),
        begin = Math.min(mark.at, mark.at - mark.took);
      bar.style.left = `${((begin - first) / whole) * 100}%`;
      bar.style.width = `${(Math.abs(mark.took) / whole) * 100}%`;
      bar.dataset.program = programOf(mark.hop);
      track.append(bar);
    }
    return [mark.hop, index === 0 ? "" : duration(mark.took), track, duration(mark.at)];
  });
  return plainTable(
    `Order ${order.id}, caused by tick ${order.tick}`,
    [
      {name: "hop"},
      {name: "took", number: true},
      {name: "within the order's life", class: "bar-cell"},
      {name: "at", number: true},
    ],
    rows,
  );
}

// The part that took the longest between the two hops that the percentiles are of.
function longestPart(order) {
  const names = order.marks.map((mark) => mark.hop);
  const [from, to] = [names.indexOf(data.percentiles.from), names.indexOf(data.percentiles.to)];
  return order.marks
    .slice(from + 1, to + 1)
    .reduce((most, mark) => (mark.took > (most ? most.took : -1) ? mark : most), null);
}

function worstPart(section, worst, showFills) {
  const detail = element("div", {"aria-live": "polite"});
  const rows = worst.map((order, index) => {
    const longest = longestPart(order);
    const choose = element(
      "button",
      {type: "button", "aria-label": `Show order ${order.id}`, onclick: () => show(index)},
      duration(order.ns),
    );
    return [
      choose,
      timeOf(order.at),
      longest ? `${longest.hop} ${duration(longest.took)}` : "",
      grouped.format(order.burst),
      order.symbol,
      order.strategy,
      order.id,
    ];
  });
  const list = plainTable(
    `The ${worst.length} slowest from ${data.percentiles.from} to ${data.percentiles.to}; choose one`,
    [
      {name: "took", number: true},
      {name: "market time"},
      {name: "longest part, up to"},
      {name: "burst", number: true},
      {name: "symbol"},
      {name: "strategy"},
      {name: "order"},
    ],
    rows,
  );
  function show(index) {
    const order = worst[index];
    [...list.tBodies[0].rows].forEach((row, at) => row.setAttribute("aria-current", at === index ? "true" : "false"));
    const fills = order.fills.map((fill) =>
      element("li", {}, `${fill.text}, ${duration(fill.after_ns)} after oeg took the order`),
    );
    const what = order.changes
      ? `A change or a cancel${order.order ? ` of order ${order.order}: ` : " of an order."}`
      : "";
    const burst = `${grouped.format(order.burst)} message${order.burst === 1 ? "" : "s"} reached mdh in the millisecond up to its tick.`;
    detail.replaceChildren(
      element("p", {}, `${what}${order.text ? `${order.text}.` : ""} ${burst}`),
      scrolling(`Order ${order.id} hop by hop`, waterfall(order)),
      fills.length ? element("ul", {class: "marks"}, ...fills) : element("p", {class: "quiet"}, "No fill."),
      ...(order.order
        ? [element("button", {type: "button", onclick: () => showFills(order.order)}, "Show it in the tables")]
        : []),
    );
  }
  section.append(element("div", {class: "slow"}, scrolling("The slowest orders", list), detail));
  show(0);
}

function doctorPart(section, findings) {
  section.append(
    scrolling(
      "Findings of tickpath doctor",
      plainTable(
        "tickpath doctor, what is not fine",
        [
          {name: "finding"},
          {name: "state"},
          {name: "now", class: "wide"},
          {name: "needed", class: "wide"},
          {name: "why", class: "wide"},
          {name: "shows at", class: "wide"},
        ],
        findings.map((finding) => [
          finding.id,
          finding.state,
          finding.current,
          finding.needed,
          finding.why,
          finding.hops.join(", "),
        ]),
      ),
    ),
  );
}
