// Puts the parts of the page together from its data.

function tablesPart(section) {
  const made = new Map(data.tables.filter((table) => table.rows.length).map((table) => [table.id, sortedTable(table)]));
  for (const {section: part} of made.values()) section.append(part);
  return (order) => {
    for (const id of ["orders", "fills"]) if (made.has(id)) made.get(id).filter(order);
    const first = made.get("fills") || made.get("orders");
    if (first) first.section.scrollIntoView();
  };
}

function parts() {
  const list = document.getElementById("parts");
  for (const section of document.querySelectorAll("main section[data-title]"))
    if (!section.hidden) list.append(element("li", {}, element("a", {href: `#${section.id}`}, section.dataset.title)));
}

function page() {
  const charts = Boolean(window.Dygraph && window.d3);
  const findings = data.doctor || [];
  if (charts) document.getElementById("pictures").hidden = true;
  if (data.percentiles) {
    if (charts) percentileChart(show("percentiles"), data.percentiles);
    barsPart(show("bars"), data.bars);
    if (charts) heatChart(show("heat"), data.heat);
  }
  if (data.hops && data.hops.length) hopsPart(show("hops"), data.hops, findings);
  const showFills = tablesPart(document.getElementById("tables"));
  if (data.tables.some((table) => table.rows.length)) show("tables");
  if (data.percentiles) worstPart(show("worst"), data.worst, showFills);
  if (data.curves.strategies.length) profitPart(show("pnl"), data.curves, data.results, data.prices);
  if (charts && data.instruments.length) instrumentPart(show("instruments"), data.instruments);
  if (findings.length) doctorPart(show("doctor"), findings);
  parts();
  for (const media of ["(prefers-color-scheme: dark)", "print"])
    matchMedia(media).addEventListener("change", () => curves.forEach((each) => each.recolour()));
  document.documentElement.dataset.ready = "true";
}

page();
