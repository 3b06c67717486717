// Charts, each a figure with a caption, the current values, and the same points as a table.

import {exact, percent, rate, span, time, wholePercent} from "/format.js";
import {DECIMAL_STEPS, Plot, TIME_STEPS_MS} from "/plot.js";

const TABLE_ROWS = 60;
const LINE_CLASSES = ["first", "second"];

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

class Figure {
  constructor(parent, title, onCursor) {
    this.title = title;
    this.area = element("div", {className: "plot", role: "img"});
    this.key = element("span", {className: "key"});
    this.head = element("tr");
    this.body = element("tbody");
    const table = element("table", {}, element("caption", {className: "hidden-text"}, title),
                          element("thead", {}, this.head), this.body);
    const region = {className: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, as a table`};
    const scroll = element("div", region, table);
    parent.append(element("figure", {}, element("figcaption", {}, element("strong", {}, title), this.key), this.area,
                          element("details", {}, element("summary", {}, "Show as a table"), scroll)));
    this.plot = new Plot(this.area, onCursor);
  }

  setTable(labels, rows) {
    this.head.replaceChildren(...labels.map((label) => element("th", {scope: "col"}, label)));
    this.body.replaceChildren(...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell)))));
  }

  // In place of a plot.
  showText(text) {
    this.area.replaceChildren(element("p", {className: "empty"}, text));
  }
}

// Lines over time. `lines`: [{label, format}]. Of the scale: where it ends, the steps of its labels and their format.
export class TimeChart extends Figure {
  constructor(parent, title, lines, {most, steps = DECIMAL_STEPS, format = lines[0].format} = {}) {
    super(parent, title, (index) => this.showValues(index ?? this.values[0].length - 1));
    this.lines = lines;
    this.scale = {most, steps, format};
    this.values = lines.map(() => []);
    this.keys = lines.map((_, index) => element("span", {className: LINE_CLASSES[index]}));
    this.key.append(...this.keys);
    this.showText("Curves begin after ten seconds");
    this.area.setAttribute("aria-label", `${title}: no values yet`);
  }

  // Times in milliseconds; null where there is no value.
  set(times, values) {
    if (times.length === 0) return;
    this.values = values;
    this.showValues(times.length - 1);
    this.area.setAttribute("aria-label", `${this.title}, last hour. ${this.summary()}`);
    const cells = (i) => this.lines.map(({format}, line) => this.text(format, values[line][i]));
    const rows = times.map((at, i) => [time(at), ...cells(i)]);
    this.setTable(["Time", ...this.lines.map(({label}) => label)], rows.slice(-TABLE_ROWS).reverse());
    this.plot.set(this.figure(times));
  }

  summary() {
    return this.lines.map(({label, format}, index) => {
      const known = this.values[index].filter((value) => value !== null);
      if (known.length === 0) return `${label}: no values`;
      return `${label}: now ${format(known.at(-1))}, lowest ${format(Math.min(...known))}, ` +
             `highest ${format(Math.max(...known))}`;
    }).join(". ");
  }

  figure(times) {
    const high = Math.max(0, ...this.values.flat().filter((value) => value !== null));
    const last = times.at(-1);
    // A minute at least: a single moment is no range.
    const first = Math.min(times[0], last - 60_000);
    return {
      x: {low: first, high: last, steps: TIME_STEPS_MS,
          format: (at) => time(at).slice(0, last - first < 300_000 ? 8 : 5)},
      y: {low: 0, high: this.scale.most ?? (high > 0 ? high * 1.1 : 1), ...this.scale},
      lines: this.values.map((values, index) => ({
        className: LINE_CLASSES[index], isFilled: this.lines.length === 1,
        points: times.map((at, i) => [at, values[i]]),
      })),
    };
  }

  text(format, value) {
    return value === null || value === undefined ? "–" : format(value);
  }

  showValues(index) {
    this.lines.forEach(({label, format}, line) => {
      this.keys[line].textContent = `${label} ${this.text(format, this.values[line][index])}`;
    });
  }
}

const MOST_BARS = 50;
const DURATION_STEPS_S = [0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 4 * 3600, 12 * 3600,
                          ...[1, 2, 5, 10, 30, 90, 365, 1000].map((days) => days * 86400)];

// How many items of a filter expire when: a bar for each epoch, or for several if there are many.
export class ExpiryBars extends Figure {
  constructor(parent) {
    super(parent, "Items that expire");
  }

  // `epochs`: [[seconds until it ends, items]].
  set(epochs) {
    const together = Math.ceil(epochs.length / MOST_BARS);
    const bars = [];
    for (let i = 0; i < epochs.length; i += together) {
      const merged = epochs.slice(i, i + together);
      bars.push([merged.at(-1)[0], merged.reduce((sum, [, items]) => sum + items, 0)]);
    }
    const all = bars.reduce((sum, [, items]) => sum + items, 0);
    const note = together === 1 ? "a bar for each epoch" : `a bar for ${together} epochs`;
    this.key.textContent = `${exact(all)} items, ${note}`;
    const soonest = bars.find(([, items]) => items !== 0);
    const first = soonest ? ` The first ${exact(soonest[1])} expire within ${span(soonest[0])}.` : "";
    this.area.setAttribute("aria-label", `Items by the time until they expire: ${exact(all)} items.${first}`);
    this.setTable(["Expire within", "Items"], bars.map(([end, items]) => [span(end), exact(items)]));
    const high = Math.max(...bars.map(([, items]) => items));
    const points = bars.flatMap(([end, items], i) => {
      const begin = i === 0 ? 0 : bars[i - 1][0];
      return [[begin, 0], [begin, items], [end, items], [end, 0]];
    });
    this.plot.set({
      x: {low: 0, high: bars.at(-1)[0], steps: DURATION_STEPS_S, format: span},
      y: {low: 0, high: high > 0 ? high * 1.1 : 1, steps: DECIMAL_STEPS.filter((step) => step >= 1), format: exact},
      lines: [{className: "first", points, isFilled: true}],
    });
  }
}

// How the error rate of a filter rises with its fill, and where it is now.
export class ErrorCurve extends Figure {
  constructor(parent) {
    super(parent, "Error rate");
    this.key.append(element("span", {className: "first"}, "estimated"),
                    element("span", {className: "second"}, "requested"));
  }

  set(filter) {
    const {curve, fill, requested_error_rate: requested, estimated_error_rate: estimated} = filter;
    const now = `now ${rate(estimated)} at ${percent(fill)} of the capacity, ` +
                `${exact(filter.items)} of ${exact(filter.capacity)} items; requested ${rate(requested)}`;
    this.area.setAttribute("aria-label", `Estimated error rate against fill: ${now}`);
    this.setTable(["Capacity used", "Error rate"], curve.map(([at, error]) => [percent(at), rate(error)]));
    if (curve.length < 2) return this.showText("The error rate of this type does not follow from its fill");
    const end = Math.max(1, fill, ...curve.map(([at]) => at));
    const high = 1.2 * Math.max(requested, estimated ?? 0, ...curve.map(([, error]) => error));
    this.plot.set({
      x: {low: 0, high: end, steps: DECIMAL_STEPS, format: wholePercent},
      y: {low: 0, high, steps: DECIMAL_STEPS, format: rate},
      lines: [{className: "first", points: curve},
              {className: "second dashed", points: [[0, requested], [end, requested]]}],
      marks: estimated === null ? [] : [[fill, estimated]],
    });
  }
}
