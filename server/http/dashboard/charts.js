// Charts, each a figure with a caption, the current values, and the same points as a table.

import {exact, percent, rate, time} from "/format.js";

const HEIGHT = 180;
const TABLE_ROWS = 60;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

const axisStyle = () => ({
  stroke: colour("--muted"),
  font: "12px system-ui, sans-serif",
  grid: {stroke: colour("--grid"), width: 1},
  ticks: {stroke: colour("--grid"), width: 1, size: 4},
});

const lineStyle = (index) => ({
  stroke: colour(index === 0 ? "--accent" : "--second"),
  width: 2,
  points: {show: false},
});

class Figure {
  constructor(parent, title, height) {
    this.title = title;
    this.height = height;
    this.plot = element("div", {className: "plot", role: "img"});
    this.key = element("span", {className: "key"});
    this.head = element("tr");
    this.body = element("tbody");
    const table = element("table", {}, element("caption", {className: "hidden-text"}, title),
                          element("thead", {}, this.head), this.body);
    const region = {className: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, as a table`};
    const scroll = element("div", region, table);
    parent.append(element("figure", {}, element("figcaption", {}, element("strong", {}, title), this.key), this.plot,
                          element("details", {}, element("summary", {}, "Show as a table"), scroll)));
    new ResizeObserver(() => this.chart?.setSize(this.size())).observe(this.plot);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  size() {
    return {width: this.plot.clientWidth, height: this.height};
  }

  setTable(labels, rows) {
    this.head.replaceChildren(...labels.map((label) => element("th", {scope: "col"}, label)));
    this.body.replaceChildren(...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell)))));
  }

  draw(options, data) {
    this.chart?.destroy();
    this.plot.replaceChildren();
    this.chart = new uPlot({...this.size(), legend: {show: false}, ...options}, data, this.plot);
  }
}

// Bytes are shown in powers of two.
export const BYTE_STEPS = Array.from({length: 50}, (_, i) => 2 ** i);

// Lines over time. `lines`: [{label, format}]; `most`: where the scale ends; `steps`: of the scale.
export class TimeChart extends Figure {
  constructor(parent, title, lines, {most, steps} = {}) {
    super(parent, title, HEIGHT);
    Object.assign(this, {lines, most, steps});
    this.data = [[], ...lines.map(() => [])];
    this.keys = lines.map((_, index) => element("span", {className: index === 0 ? "first" : "second"}));
    this.key.append(...this.keys);
    this.showEmpty();
  }

  showEmpty() {
    this.plot.replaceChildren(element("p", {className: "empty"}, "Curves begin after ten seconds"));
    this.plot.setAttribute("aria-label", `${this.title}: no values yet`);
  }

  // Times in milliseconds; null where there is no value.
  set(times, values) {
    if (times.length === 0) return;
    this.data = [times.map((at) => at / 1000), ...values];
    this.showValues(times.length - 1);
    const said = this.lines.map(({label, format}, index) => {
      const known = values[index].filter((value) => value !== null);
      if (known.length === 0) return `${label}: no values`;
      return `${label}: now ${format(known.at(-1))}, lowest ${format(Math.min(...known))}, ` +
             `highest ${format(Math.max(...known))}`;
    });
    this.plot.setAttribute("aria-label", `${this.title}, last hour. ${said.join(". ")}`);
    const cells = (i) => this.lines.map(({format}, line) => this.text(format, values[line][i]));
    const rows = times.map((at, i) => [time(at), ...cells(i)]);
    this.setTable(["Time", ...this.lines.map(({label}) => label)], rows.slice(-TABLE_ROWS).reverse());
    if (this.chart) this.chart.setData(this.data);
    else this.redraw();
  }

  text(format, value) {
    return value === null || value === undefined ? "–" : format(value);
  }

  showValues(index) {
    this.lines.forEach(({label, format}, line) => {
      this.keys[line].textContent = `${label} ${this.text(format, this.data[line + 1][index])}`;
    });
  }

  redraw() {
    if (this.data[0].length === 0) return;
    const clock = (_, ticks, axis, space, step) => ticks.map((at) => time(at * 1000).slice(0, step < 60 ? 8 : 5));
    this.draw({
      cursor: {y: false, points: {size: 6}},
      // A minute at least: a single moment is no range.
      scales: {x: {range: (_, first, last) => [Math.min(first, last - 60), last]},
        y: {range: (_, low, high) => [0, this.most ?? (high > 0 ? high * 1.1 : 1)]}},
      axes: [{...axisStyle(), space: 80, size: 32, values: clock},
             {...axisStyle(), size: 68, space: 36, incrs: this.steps,
              values: (_, ticks) => ticks.map(this.lines[0].format)}],
      series: [{}, ...this.lines.map((_, index) => lineStyle(index))],
      hooks: {setCursor: [(chart) => this.showValues(chart.cursor.idx ?? this.data[0].length - 1)]},
    }, this.data);
  }
}

// How the error rate of a filter rises with its fill, and where it is now.
export class ErrorCurve extends Figure {
  constructor(parent) {
    super(parent, "Error rate", 260);
    this.key.append(element("span", {className: "first"}, "estimated"),
                    element("span", {className: "second"}, "requested"));
  }

  set(filter) {
    this.filter = filter;
    const now = `now ${rate(filter.estimated_error_rate)} at ${percent(filter.fill)} of the capacity, ` +
                `${exact(filter.items)} of ${exact(filter.capacity)} items; ` +
                `requested ${rate(filter.requested_error_rate)}`;
    this.plot.setAttribute("aria-label", `Estimated error rate against fill: ${now}`);
    this.setTable(["Fill", "Error rate"], filter.curve.map(([fill, error]) => [percent(fill), rate(error)]));
    this.redraw();
  }

  redraw() {
    if (!this.filter) return;
    if (this.filter.curve.length < 2) {
      const reason = "The error rate of this type does not follow from its fill";
      this.plot.replaceChildren(element("p", {className: "empty"}, reason));
      return;
    }
    const {curve, fill, requested_error_rate: requested, estimated_error_rate: estimated} = this.filter;
    const fills = [...curve.map(([at]) => at), fill].sort((a, b) => a - b);
    const byFill = new Map(curve);
    const data = [fills, fills.map((at) => byFill.get(at) ?? undefined), fills.map(() => requested),
                  fills.map((at) => (at === fill ? estimated : null))];
    const high = 1.2 * Math.max(requested, estimated ?? 0, ...curve.map(([, error]) => error));
    this.draw({
      cursor: {show: false},
      scales: {x: {time: false, range: [0, Math.max(1, ...fills)]}, y: {range: [0, high]}},
      axes: [{...axisStyle(), space: 70, size: 32, values: (_, ticks) => ticks.map((at) => `${Math.round(at * 100)}%`)},
             {...axisStyle(), size: 68, values: (_, ticks) => ticks.map(rate)}],
      series: [{}, {...lineStyle(0), spanGaps: true}, {...lineStyle(1), dash: [6, 5]},
               {stroke: colour("--text"), width: 0, points: {show: true, size: 11, width: 3, fill: colour("--card")}}],
    }, data);
  }
}
