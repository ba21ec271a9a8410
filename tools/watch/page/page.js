"use strict";
// Draws what /events sends: the view of tools/watch/view.hpp, once a look.

const $ = id => document.getElementById(id);
const kKept = 300; // looks that the small curves show
const history = { p50: [], feed: [], orders: [], fills: [], pnl: [] };
const sorts = {}; // by table: [column, 1 or -1]
let last = null, stale = null, control = false;

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const cents = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const count = value => whole.format(value || 0);
const money = value => cents.format(value || 0);
const rate = value => (value || 0) < 10 ? (value || 0).toFixed(1) : count(value);
const percent = value => (100 * value).toFixed(1) + " %";

function latency(ns) {
  if (ns === null || ns === undefined) return "-";
  if (ns < 1e4) return ns + " ns";
  if (ns < 1e6) return (ns / 1e3).toFixed(1) + " us";
  if (ns < 1e9) return (ns / 1e6).toFixed(2) + " ms";
  return (ns / 1e9).toFixed(2) + " s";
}

function uptime(ms) {
  const s = Math.floor(ms / 1000), two = value => String(value).padStart(2, "0");
  return s < 3600 ? Math.floor(s / 60) + ":" + two(s % 60) : Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + " h";
}

// Texts come from programs and feeds: they are put in as text, never as HTML.
function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

const stateClass = state => ["ready", "running", "good"].includes(state) ? "good"
  : ["starting", "stopping", "away", "ended"].includes(state) ? "warning" : "alarm";

// columns: [title, value of a row, its text (default: the value), class of the cell, "text": to the left]
function table(id, columns, rows, total) {
  const at = $(id), sort = sorts[id];
  if (sort) {
    const value = columns[sort[0]][1];
    rows = [...rows].sort((a, b) => {
      const one = value(a), other = value(b);
      return sort[1] * (typeof one === "string" ? one.localeCompare(other) : one - other);
    });
  }
  if (at.tHead && at.tHead.rows[0].cells.length !== columns.length) at.deleteTHead();
  if (!at.tHead) head(at, id, columns);
  [...at.tHead.rows[0].cells].forEach((cell, i) => {
    if (sort && sort[0] === i) cell.setAttribute("aria-sort", sort[1] > 0 ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  });
  const body = document.createElement("tbody");
  for (const row of rows) body.append(line(columns, row));
  if (total) body.append(line(columns, total, "total"));
  if (!rows.length) {
    const empty = element("td", "none", "none");
    empty.colSpan = columns.length;
    body.append(element("tr"));
    body.lastChild.append(empty);
  }
  // A button that has the focus keeps it, though it is another one now.
  const focused = at.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  at.tBodies[0] ? at.tBodies[0].replaceWith(body) : at.append(body);
  if (focused) [...body.querySelectorAll("[data-key]")].find(each => each.dataset.key === focused)?.focus();
}

function line(columns, row, className) {
  const made = element("tr", undefined, className);
  for (const [, value, text, classOf, side] of columns) {
    const shown = text ? text(value(row), row) : value(row);
    const cell = element("td", shown instanceof Node ? undefined : shown, [side, classOf && classOf(row)].filter(Boolean).join(" "));
    if (shown instanceof Node) cell.append(shown);
    made.append(cell);
  }
  return made;
}

function head(at, id, columns) {
  const row = at.createTHead().insertRow();
  columns.forEach(([title, , , , side], i) => {
    if (!title) return row.append(element("td")); // buttons below it, and nothing to sort by
    const cell = element("th", undefined, side), button = element("button", title);
    cell.scope = "col";
    button.type = "button";
    button.addEventListener("click", () => {
      const sort = sorts[id];
      sorts[id] = [i, sort && sort[0] === i ? -sort[1] : side ? 1 : -1];
      draw(last);
    });
    cell.append(button);
    return row.append(cell);
  });
}

function curve(values) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg"), path = document.createElementNS(space, "path");
  svg.setAttribute("viewBox", "0 0 300 40");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const shown = Math.max(values.length, 30); // a curve of a few looks is not drawn over the whole width
  const known = values.filter(value => value !== null);
  const low = Math.min(...known), high = Math.max(...known), span = high - low || 1;
  let d = "", pen = "M";
  values.forEach((value, i) => {
    if (value === null) { pen = "M"; return; }
    d += pen + (300 * (i + shown - values.length) / (shown - 1)).toFixed(1) + " " + (38 - 36 * (value - low) / span).toFixed(1);
    pen = "L";
  });
  path.setAttribute("d", d);
  svg.append(path);
  return svg;
}

function tile(title, text, values) {
  const made = element("div", undefined, "tile");
  made.append(element("h2", title), element("p", text), curve(values));
  return made;
}

const perSecond = (view, name) => (view.rates.find(each => each.name === name) || {}).per_second || 0;
const headline = view => view.hops.find(each => each.headline);

function keep(view) {
  const sample = {
    p50: headline(view) ? headline(view).p50_ns : null, feed: perSecond(view, "feed"), orders: perSecond(view, "orders"),
    fills: perSecond(view, "fills"), pnl: view.total.pnl === undefined ? null : view.total.pnl,
  };
  for (const [key, value] of Object.entries(sample)) {
    history[key].push(value);
    if (history[key].length > kKept) history[key].shift();
  }
}

function drawTiles(view) {
  const hop = headline(view);
  $("tiles").replaceChildren(
    tile("tick-to-order, median", hop ? latency(hop.p50_ns) : "-", history.p50),
    tile("feed, messages/s", rate(perSecond(view, "feed")), history.feed),
    tile("orders/s", rate(perSecond(view, "orders")), history.orders),
    tile("fills/s", rate(perSecond(view, "fills")), history.fills),
    tile("P&L", view.total.pnl === undefined ? "-" : money(view.total.pnl), history.pnl));
}

function drawAlarms(view) {
  const rows = view.alarms.map(each =>
    element("li", (each.level === "alarm" ? "ALARM: " : "Warning: ") + (each.name ? each.name + ": " : "") + each.text, each.level));
  if (view.nothing_runs) rows.unshift(element("li", view.nothing_runs, "warning"));
  if (!rows.length) rows.push(element("li", "none", "good"));
  // Unchanged, it is not read out again.
  if (rows.map(row => row.textContent).join("\n") !== [...$("alarms").children].map(row => row.textContent).join("\n"))
    $("alarms").replaceChildren(...rows);
}

function drawPrograms(view) {
  const roles = view.programs.some(row => row.role || row.host);
  const role = ["role", row => row.role || (row.host ? "on " + row.host : ""), undefined, undefined, "text"];
  table("programs", [
    ["program", row => row.name, undefined, undefined, "text"],
    ["state", row => row.state, undefined, row => stateClass(row.state), "text"],
    ...(roles ? [role] : []),
    ["per second", row => row.rate || 0, (value, row) => row.unit ? rate(value) + " " + row.unit : ""],
    ["busy", row => row.busy, value => value < 0 ? "-" : Math.round(100 * value) + " %"],
    ["uptime", row => row.uptime_ms, uptime],
    ["wait", row => row.wait, undefined, undefined, "text"],
  ], view.programs);
  const words = [
    ...view.feeds.map(each => [each.name + ": feed " + each.state, stateClass(each.state)]),
    ...view.replays.map(each => [each.name + ": replay " + each.state + " " + (each.position || "") +
      (each.messages_total ? ", " + percent(each.messages_sent / each.messages_total) : ""), ""]),
    ...view.sessions.map(each => [each.name + " with " + each.with + ": " + (each.logged_on ? "logged on" : "logged off"),
      each.logged_on ? "good" : "alarm"]),
    ...view.pairs.map(each => [each.name + ": " + each.role + ", epoch " + each.epoch + (each.text ? ", " + each.text : ""), ""]),
  ];
  $("links").replaceChildren(...words.map(([text, className]) => element("li", text, className)));
}

function drawHops(view) {
  $("hops-title").textContent = "Latency, last " + view.window_s + " s" + (view.no_hops ? ": " + view.no_hops : "");
  table("hops", [
    ["from, to", row => row.order, (value, row) => row.headline ? "tick-to-order" : row.from + " \u2192 " + row.to, row => row.headline ? "good" : "", "text"],
    ["p50", row => row.p50_ns, latency],
    ["p99", row => row.p99_ns, latency],
    ["max", row => row.max_ns, latency],
    ["count", row => row.count, count],
  ], view.hops);
}

function drawStrategies(view) {
  const columns = [
    ["strategy", row => row.strategy === undefined ? "total" : row.strategy + " " + row.name, undefined, undefined, "text"],
    ["state", row => row.killed ? "killed" : row.state || "", undefined, row => row.killed ? "alarm" : row.state ? stateClass(row.state) : "", "text"],
    ["P&L", row => row.pnl || 0, money, row => row.pnl < 0 ? "alarm" : ""],
    ["realised", row => row.realised || 0, money],
    ["gross", row => row.gross_notional || 0, money],
    ["open", row => row.open_orders || 0, count],
    ["requests/s", row => row.requests_per_second || 0, rate],
    ["fills", row => row.fills || 0, count],
    ["rejects", row => row.rejects || 0, count],
  ];
  if (control) columns.splice(2, 0, ["", () => "", (value, row) => killButton(row)]);
  table("strategies", columns, view.strategies, view.strategies.length ? view.total : undefined);
}

function killButton(row) {
  const whom = row.strategy === undefined ? "all" : row.strategy, what = row.killed ? "unkill" : "kill";
  const button = element("button", what, "act");
  button.dataset.key = String(whom);
  button.type = "button";
  button.addEventListener("click", () => command(what, whom));
  return button;
}

async function command(what, whom) {
  const text = whom === "all" ? "ALL strategies" : "strategy " + whom;
  if (!confirm(what === "kill" ? "Kill " + text + ": no new orders, what is open is cancelled?" : "Let " + text + " trade again?")) return;
  $("control").hidden = false;
  $("control").textContent = what + " " + text + ": asked, waits for the effect";
  try {
    const answer = await fetch("/" + what, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ strategy: whom }),
    });
    $("control").textContent = (answer.ok ? "" : "FAILED: ") + await answer.text();
  } catch (error) {
    $("control").textContent = "FAILED: " + error;
  }
}

function drawLimits(view) {
  table("limits", [
    ["limit", row => row.whose + " " + row.limit, undefined, undefined, "text"],
    ["used", row => row.used, (value, row) => {
      const box = element("span"), meter = element("meter");
      meter.max = 1; meter.low = .8; meter.high = .999; meter.optimum = 0; meter.value = Math.min(1, value);
      meter.setAttribute("aria-label", row.whose + " " + row.limit);
      box.append(meter, " " + percent(value));
      return box;
    }, row => row.used >= 1 ? "alarm" : row.used >= .8 ? "warning" : ""],
    ["value", row => row.value, (value, row) => /loss|notional/.test(row.limit) ? money(value) : count(value)],
    ["at most", row => row.max, count],
  ], [...view.limits].sort((a, b) => b.used - a.used));
}

function drawQueues(view) {
  table("queues", [
    ["queue", row => row.name, undefined, undefined, "text"],
    ["depth", row => row.depth, count],
    ["room", row => row.room, value => value ? count(value) : ""],
  ], view.queues);
}

function drawPositions(view) {
  $("positions-title").textContent = "Positions" +
    (view.position_rows > view.positions.length ? ", the largest " + view.positions.length + " of " + view.position_rows : "");
  table("positions", [
    ["symbol", row => row.symbol, undefined, undefined, "text"],
    ["strategy", row => row.strategy],
    ["shares", row => row.shares, count],
    ["cash", row => row.cash, money],
    ["fills", row => row.fills, count],
    ["to buy", row => row.open_buy, count],
    ["to sell", row => row.open_sell, count],
  ], view.positions);
}

function draw(view) {
  if (!view) return;
  $("where").textContent = view.run_dir;
  document.title = (view.alarms.some(each => each.level === "alarm") ? "ALARM " : "") + "tickpath " + view.run_dir;
  drawAlarms(view);
  drawTiles(view);
  drawPrograms(view);
  drawHops(view);
  drawStrategies(view);
  drawLimits(view);
  drawQueues(view);
  drawPositions(view);
}

function fresh(text, className) {
  if ($("fresh").textContent === text) return;
  $("fresh").textContent = text;
  $("fresh").className = className;
}

function listen() {
  const source = new EventSource("/events");
  source.addEventListener("view", event => {
    last = JSON.parse(event.data);
    keep(last);
    draw(last);
    fresh("live", "good");
    clearTimeout(stale);
    stale = setTimeout(() => fresh("no look for 10 s: " + last.utc, "alarm"), 10000);
  });
  source.addEventListener("error", () => fresh("no connection to tickpath serve", "alarm"));
}

fetch("/about.json").then(answer => answer.json()).then(about => { control = about.control; }).catch(() => {}).finally(listen);
