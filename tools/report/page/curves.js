// P&L and exposure by strategy, and what was done in one instrument, on its price.

const overTime = []; // curves over the market's time zoom together

function timeAxes(format) {
  return {
    x: {ticker: (low, high, pixels) => timeTicks(low, high, pixels), axisLabelWidth: 76},
    y: {axisLabelFormatter: format, axisLabelWidth: 64},
  };
}

function seriesReadout(names, format) {
  return (row) => [
    `${timeOf(row[0])}`,
    ...names.map((name, at) => keyed(at, `${name} ${row[at + 1] === null ? "-" : format(row[at + 1])}`)),
  ];
}

// Deepest fall from a height before it.
function drawdown(values) {
  let height = -Infinity,
    deepest = 0;
  for (const value of values) {
    height = Math.max(height, value);
    deepest = Math.max(deepest, height - value);
  }
  return deepest;
}

function profitPart(section, curveData, results, prices) {
  const names = curveData.strategies.map((each) => `strategy ${each.name}`);
  const all = curveData.times.map((_, at) => curveData.strategies.reduce((sum, each) => sum + each.pnl[at], 0));
  const several = names.length > 1;
  const labels = several ? [...names, "all"] : names;
  const columns = [...curveData.strategies.map((each) => each.pnl), ...(several ? [all] : [])];
  const charts = element("div", {class: "pair"});
  section.append(charts);
  if (window.Dygraph && window.d3) {
    const colours = () => ({colors: labels.map((_, at) => seriesColour(at))});
    const part = (title) => charts.appendChild(element("div", {}, element("h3", {}, title)));
    const rows = curveData.times.map((time, at) => [time, ...columns.map((each) => each[at])]);
    curve(part("P&L, currency units"), rows, {
      name: "P&L",
      label: `P&L by strategy over time: ${labels.map((name, at) => `${name} ends at ${money(columns[at].at(-1))}`).join(", ")}.`,
      group: overTime,
      colours,
      readout: seriesReadout(labels, money),
      dygraph: {labels: ["time", ...labels], axes: timeAxes((value) => compact.format(value)), includeZero: true},
    });
    const exposure = [...curveData.strategies.map((each) => each.net)];
    const grossLabels = names.map((name) => `${name} net`);
    const gross = curveData.times.map((_, at) => curveData.strategies.reduce((sum, each) => sum + each.gross[at], 0));
    const exposureLabels = [...grossLabels, "gross of all"];
    curve(
      part("Exposure: shares held at their price, currency units"),
      curveData.times.map((time, at) => [time, ...exposure.map((each) => each[at]), gross[at]]),
      {
        name: "exposure",
        label: `Exposure over time: ${exposureLabels.join(", ")}; the table below has the last and the largest.`,
        group: overTime,
        colours: () => ({colors: exposureLabels.map((_, at) => seriesColour(at))}),
        readout: seriesReadout(exposureLabels, (value) => compact.format(value)),
        dygraph: {
          labels: ["time", ...exposureLabels],
          axes: timeAxes((value) => compact.format(value)),
          includeZero: true,
        },
      },
    );
  }
  const said = new Map((results || []).map((each) => [each.strategy, each]));
  const rows = curveData.strategies.map((each) => {
    const risk = said.get(each.name);
    return [
      each.name,
      risk ? grouped.format(risk.orders) : "",
      risk ? grouped.format(risk.fills) : "",
      risk ? money(risk.realised) : "",
      risk ? money(risk.unrealised) : "",
      risk ? money(risk.realised + risk.unrealised) : "",
      money(each.pnl.at(-1)),
      money(Math.min(...each.pnl)),
      money(Math.max(...each.pnl)),
      money(drawdown(each.pnl)),
      grouped.format(each.net.at(-1)),
      grouped.format(Math.max(...each.gross)),
    ];
  });
  if (several) {
    const sum = (key) => (results || []).reduce((total, each) => total + each[key], 0);
    const risk = Boolean(results);
    rows.push([
      "all",
      risk ? grouped.format(sum("orders")) : "",
      risk ? grouped.format(sum("fills")) : "",
      risk ? money(sum("realised")) : "",
      risk ? money(sum("unrealised")) : "",
      risk ? money(sum("realised") + sum("unrealised")) : "",
      money(all.at(-1)),
      money(Math.min(...all)),
      money(Math.max(...all)),
      money(drawdown(all)),
      "",
      "",
    ]);
  }
  const number = (name) => ({name, number: true});
  section.append(
    scrolling(
      "P&L by strategy",
      plainTable(
        `Currency units. ${prices} P&L by risk is by its own last marks.`,
        [
          {name: "strategy"},
          ...[
            "orders",
            "fills",
            "realised",
            "unrealised",
            "P&L by risk",
            "P&L here",
            "lowest",
            "highest",
            "deepest fall",
            "net at the end",
            "largest gross",
          ].map(number),
        ],
        rows,
      ),
    ),
  );
}

// ▲ below a bought price, ▼ above a sold one.
function triangle(up) {
  return (graph, name, canvas, x, y, paint, size) => {
    const sign = up ? 1 : -1;
    canvas.fillStyle = paint;
    canvas.beginPath();
    canvas.moveTo(x, y);
    canvas.lineTo(x - size, y + sign * size * 1.6);
    canvas.lineTo(x + size, y + sign * size * 1.6);
    canvas.closePath();
    canvas.fill();
  };
}
function dash(graph, name, canvas, x, y, paint) {
  canvas.strokeStyle = paint;
  canvas.beginPath();
  canvas.moveTo(x - 3, y);
  canvas.lineTo(x + 3, y);
  canvas.stroke();
}

const kPriceLabels = ["time", "price", "bought", "sold", "buy order", "sell order"];

// Rows for dygraphs, by time: in each the price, a fill or an order. Behind its columns stands the text that reads it out.
function priceRows(instrument, strategy) {
  const mine = (name) => strategy === "" || name === strategy;
  const rows = instrument.mid.map((price, at) => [data.curves.times[at], price, null, null, null, null, ""]);
  for (const [time, price, shares, name, order] of instrument.fills)
    if (mine(name))
      rows.push([
        time,
        null,
        shares > 0 ? price : null,
        shares < 0 ? price : null,
        null,
        null,
        `${shares > 0 ? "bought" : "sold"} ${grouped.format(Math.abs(shares))} at ${price}, strategy ${name}, order ${order}`,
      ]);
  for (const [time, price, shares, name] of instrument.orders)
    if (mine(name))
      rows.push([
        time,
        null,
        null,
        null,
        shares > 0 ? price : null,
        shares < 0 ? price : null,
        `order to ${shares > 0 ? "buy" : "sell"} ${grouped.format(Math.abs(shares))} at ${price}, strategy ${name}`,
      ]);
  return rows.sort((a, b) => a[0] - b[0]);
}

function heldRows(instrument, strategies) {
  const last = strategies.map(() => 0),
    rows = [[data.time.first, ...last]];
  for (const [time, name, shares] of instrument.held) {
    last[strategies.indexOf(name)] = shares;
    rows.push([time, ...last]);
  }
  rows.push([data.time.last, ...last]);
  return rows;
}

function instrumentPart(section, instruments) {
  const strategies = data.curves.strategies.map((each) => each.name);
  const options = (values, text) => values.map((value) => element("option", {value}, text(value)));
  const symbol = element(
    "select",
    {},
    ...options(
      instruments.map((each) => each.symbol),
      (name) => `${name} (${grouped.format(instruments.find((each) => each.symbol === name).fills_all)} fills)`,
    ),
  );
  const strategy = element("select", {}, ...options(["", ...strategies], (name) => (name === "" ? "all" : name)));
  const note = element("p", {class: "quiet"});
  section.append(
    element(
      "div",
      {class: "controls"},
      element("label", {}, "Instrument", symbol),
      element("label", {}, "Strategy", strategy),
    ),
  );
  let rows = priceRows(instruments[0], "");
  const shown = () => rows.map((row) => row.slice(0, 6));
  const price = curve(section, shown(), {
    name: "price",
    label: "Price with orders and fills; the tables below list them.",
    group: overTime,
    colours: () => ({colors: [colour("quiet"), seriesColour(0), seriesColour(1), seriesColour(0), seriesColour(1)]}),
    readout: (row, at) => [`${timeOf(row[0])} ${rows[at][6] || `price ${row[1]}`}`],
    dygraph: {
      labels: kPriceLabels,
      axes: timeAxes((value) => String(+value.toPrecision(7))),
      connectSeparatedPoints: true,
      series: {
        price: {strokeWidth: 1.2},
        bought: {strokeWidth: 0, drawPoints: true, pointSize: 5, drawPointCallback: triangle(true)},
        sold: {strokeWidth: 0, drawPoints: true, pointSize: 5, drawPointCallback: triangle(false)},
        "buy order": {strokeWidth: 0, drawPoints: true, drawPointCallback: dash},
        "sell order": {strokeWidth: 0, drawPoints: true, drawPointCallback: dash},
      },
    },
  });
  section.append(
    element(
      "div",
      {class: "key", "aria-hidden": "true"},
      keyed(0, "▲ bought, – buy order"),
      keyed(1, "▼ sold, – sell order"),
    ),
    element("h3", {}, "Held, shares"),
  );
  const names = strategies.map((name) => `strategy ${name}`);
  const held = curve(section, heldRows(instruments[0], strategies), {
    name: "position",
    class: "low",
    label: "Shares held by strategy; the table of positions has their ends.",
    group: overTime,
    colours: () => ({colors: names.map((_, at) => seriesColour(at))}),
    readout: seriesReadout(names, (value) => grouped.format(value)),
    dygraph: {
      labels: ["time", ...names],
      stepPlot: true,
      axes: timeAxes((value) => compact.format(value)),
      includeZero: true,
    },
  });
  section.append(note);
  function change() {
    const instrument = instruments.find((each) => each.symbol === symbol.value);
    rows = priceRows(instrument, strategy.value);
    price.draw(shown());
    held.draw(heldRows(instrument, strategies));
    note.textContent =
      `${data.prices} Shown: ${grouped.format(instrument.fills.length)} of ${grouped.format(instrument.fills_all)} fills, ` +
      `${grouped.format(instrument.orders.length)} of ${grouped.format(instrument.orders_all)} orders with a price. The ${instruments.length} instruments with the most fills can be chosen.`;
  }
  symbol.addEventListener("change", change);
  strategy.addEventListener("change", change);
  change();
}
