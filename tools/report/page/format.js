// The data of the run, as tools/report/run_report.cpp wrote it.
const data = JSON.parse(document.getElementById("data").textContent);

// Numbers, times and elements. Texts of a run reach the page through textContent alone.

const grouped = new Intl.NumberFormat("en-US");
const compact = new Intl.NumberFormat("en-US", {notation: "compact", maximumFractionDigits: 1});

// A duration in nanoseconds, with three significant digits.
function duration(ns) {
  if (ns === null || ns === undefined) return "?";
  const size = Math.abs(ns);
  const units = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
  ];
  for (const [unit, name] of units) if (size >= unit * 0.9995) return `${+(ns / unit).toPrecision(3)} ${name}`;
  return `${Math.round(ns)} ns`;
}

// Seconds of the market since midnight; of a run whose market has no time, since its start.
function timeOf(seconds, digits = 3) {
  if (!data.time.market) return `${seconds.toFixed(digits)} s`;
  const scale = 10 ** digits;
  const whole = Math.floor(seconds * scale + 0.5) / scale;
  const two = (value) => String(Math.floor(value)).padStart(2, "0");
  const second = (whole % 60).toFixed(digits).padStart(digits ? 3 + digits : 2, "0");
  return `${two(whole / 3600)}:${two((whole / 60) % 60)}:${second}`;
}

// Digits of a second that tell two ticks of an axis apart.
function timeDigits(step) {
  return step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3;
}

function money(value) {
  return value.toLocaleString("en-US", {minimumFractionDigits: 2, maximumFractionDigits: 2});
}

// element("td", {class: "number"}, "12", other): attributes, then texts and elements.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key === "onclick") made.addEventListener("click", value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  made.append(...children);
  return made;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
function seriesColour(index) {
  return colour(`series-${(index % 6) + 1}`);
}

// What a part of the page shows is there; its link as well.
function show(id) {
  const section = document.getElementById(id);
  section.hidden = false;
  return section;
}
