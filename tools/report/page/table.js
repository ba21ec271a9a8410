// Tables: those that stand as they are, and those that sort, filter and have pages.

// Scrolls by mouse and by keyboard, and says of what.
function scrolling(label, table) {
  const scroll = element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": label}, table);
  const frame = element("div", {class: "frame"}, scroll);
  const look = () =>
    frame.toggleAttribute("data-more", scroll.scrollLeft + scroll.clientWidth < scroll.scrollWidth - 2);
  scroll.addEventListener("scroll", look);
  new ResizeObserver(look).observe(scroll);
  return frame;
}

// columns: [{name, number}]; rows: arrays of texts or elements, the first of each is its header.
function plainTable(caption, columns, rows) {
  const cells = (row) =>
    row.map((cell, at) =>
      element(
        at === 0 ? "th" : "td",
        {
          ...(at === 0 ? {scope: "row"} : {}),
          class: columns[at].class || (columns[at].number ? "number" : false),
        },
        cell,
      ),
    );
  return element(
    "table",
    {},
    element("caption", {}, caption),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...columns.map((column) => element("th", {scope: "col", class: column.class || (column.number ? "number" : false)}, column.name)),
      ),
    ),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))),
  );
}

const kRowsOfPage = 100;

// table: {id, title, columns: [names], rows: [[texts]], all}. Returns {section, filter(text)}.
function sortedTable(table) {
  const numeric = table.columns.map(
    (_, at) => table.rows.length > 0 && table.rows.every((row) => row[at] === "" || /^-?[\d.]+$/.test(row[at])),
  );
  let rows = table.rows,
    sortedBy = -1,
    descending = false,
    first = 0;

  const count = element("span", {role: "status"});
  const before = element("button", {type: "button", onclick: () => turn(-kRowsOfPage)}, "Previous");
  const after = element("button", {type: "button", onclick: () => turn(kRowsOfPage)}, "Next");
  const input = element("input", {type: "search", size: "18", autocomplete: "off"});
  input.addEventListener("input", () => choose(input.value));
  const headers = table.columns.map((name, at) =>
    element(
      "th",
      {scope: "col", class: numeric[at] ? "number" : false},
      element("button", {type: "button", onclick: () => sort(at)}, name),
    ),
  );
  const body = element("tbody");

  function draw() {
    first = Math.max(0, Math.min(first, rows.length - 1));
    const shown = rows.slice(first, first + kRowsOfPage);
    body.replaceChildren(
      ...shown.map((row) =>
        element("tr", {}, ...row.map((text, at) => element("td", {class: numeric[at] ? "number" : false}, text))),
      ),
    );
    const some =
      table.all > table.rows.length
        ? `; the last ${grouped.format(table.rows.length)} of ${grouped.format(table.all)} are here`
        : "";
    count.textContent =
      rows.length === 0
        ? `no row${some}`
        : `${grouped.format(first + 1)}–${grouped.format(first + shown.length)} of ${grouped.format(rows.length)}${some}`;
    before.disabled = first === 0;
    after.disabled = first + kRowsOfPage >= rows.length;
    headers.forEach((header, at) =>
      header.setAttribute("aria-sort", at !== sortedBy ? "none" : descending ? "descending" : "ascending"),
    );
  }
  function turn(by) {
    first += by;
    draw();
  }
  function order() {
    if (sortedBy < 0) return;
    const at = sortedBy,
      sign = descending ? -1 : 1;
    rows = [...rows].sort((a, b) => sign * (numeric[at] ? a[at] - b[at] : a[at].localeCompare(b[at])));
  }
  function sort(at) {
    descending = sortedBy === at ? !descending : false;
    sortedBy = at;
    first = 0;
    order();
    draw();
  }
  function choose(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    rows = table.rows.filter((row) => words.every((word) => row.some((cell) => cell.toLowerCase().includes(word))));
    first = 0;
    order();
    draw();
  }
  draw();
  const section = element(
    "section",
    {id: `table-${table.id}`},
    element("h3", {}, table.title),
    element(
      "div",
      {class: "controls"},
      element("label", {}, "Filter", input),
      element("span", {class: "spring"}),
      count,
      before,
      after,
    ),
    scrolling(table.title, element("table", {}, element("thead", {}, element("tr", {}, ...headers)), body)),
  );
  return {
    section,
    filter: (text) => {
      input.value = text;
      choose(text);
    },
  };
}
