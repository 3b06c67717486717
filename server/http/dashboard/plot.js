// Plots in SVG: lines over an axis of numbers or of times, with a grid, labelled axes and a cursor. Colours and fonts
// are those of dashboard.css, so that they follow the page's.

const LEFT = 72, RIGHT = 28, TOP = 10, BOTTOM = 24;

// Steps between the labels of an axis.
export const DECIMAL_STEPS = Array.from({length: 90}, (_, i) => [1, 2, 5][i % 3] * 10 ** (Math.floor(i / 3) - 12));
export const BYTE_STEPS = Array.from({length: 60}, (_, i) => 2 ** i);
export const TIME_STEPS_MS = [5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600].map((seconds) => 1000 * seconds);

// An element of SVG.
function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The multiples of a step within a range: of the smallest step that gives at most `most` of them.
function ticksOf({low, high, steps}, most) {
  const step = steps.find((each) => (high - low) / each <= most) ?? steps.at(-1);
  const first = Math.ceil(low / step), last = Math.floor(high / step + 1e-9);
  return Array.from({length: last - first + 1}, (_, i) => (first + i) * step);
}

// Runs of points that have a value.
function runsOf(points) {
  const runs = [[]];
  for (const point of points) {
    if (point[1] !== null) runs.at(-1).push(point);
    else if (runs.at(-1).length > 0) runs.push([]);
  }
  return runs.filter((run) => run.length > 0);
}

export class Plot {
  // `onCursor` is called with the index of the point under the cursor, or with null.
  constructor(parent, onCursor) {
    this.parent = parent;
    this.onCursor = onCursor;
    this.svg = shape("svg", {"aria-hidden": "true"});
    new ResizeObserver(() => this.draw()).observe(parent);
    if (!onCursor) return;
    this.svg.addEventListener("pointermove", (event) => this.moveCursor(event.offsetX));
    this.svg.addEventListener("pointerleave", () => this.moveCursor(null));
  }

  // `x` and `y`: {low, high, steps, format}. `lines`: [{className, points: [[x, y]], isFilled}], where a y of null is
  // a gap. `marks`: [[x, y]].
  set(figure) {
    this.figure = figure;
    if (this.svg.parentNode !== this.parent) this.parent.replaceChildren(this.svg);
    this.draw();
  }

  draw() {
    const width = this.parent.clientWidth, height = this.parent.clientHeight;
    if (!this.figure || width === 0) return;
    const {x, y, lines, marks = []} = this.figure;
    this.right = Math.max(LEFT + 1, width - RIGHT);
    this.bottom = height - BOTTOM;
    this.toX = (value) => LEFT + ((value - x.low) / (x.high - x.low)) * (this.right - LEFT);
    this.toY = (value) => this.bottom - ((value - y.low) / (y.high - y.low)) * (this.bottom - TOP);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.cursor = shape("g", {class: "cursor"});
    this.svg.replaceChildren(this.grid(), ...lines.flatMap((line) => this.line(line)),
                             ...marks.map((mark) => this.circle(mark, "mark", 5)), this.cursor);
    if (this.pointer !== undefined) this.moveCursor(this.pointer);
  }

  grid() {
    const {x, y} = this.figure;
    const group = shape("g", {class: "grid"});
    for (const at of ticksOf(y, (this.bottom - TOP) / 32)) {
      const top = this.toY(at);
      group.append(shape("path", {d: `M${LEFT} ${top}H${this.right}`}),
                   shape("text", {x: LEFT - 8, y: top + 4, "text-anchor": "end"}, y.format(at)));
    }
    for (const at of ticksOf(x, (this.right - LEFT) / 76)) {
      group.append(shape("path", {d: `M${this.toX(at)} ${TOP}V${this.bottom + 4}`}),
                   shape("text", {x: this.toX(at), y: this.bottom + 18, "text-anchor": "middle"}, x.format(at)));
    }
    return group;
  }

  line({className, points, isFilled}) {
    const place = ([x, y]) => `${this.toX(x).toFixed(1)} ${this.toY(y).toFixed(1)}`;
    const lines = [], areas = [];
    for (const run of runsOf(points)) {
      const path = run.map(place).join("L");
      lines.push(`M${place(run[0])}L${path}`);  // twice the first, so that a single point is a dot
      areas.push(`M${this.toX(run[0][0])} ${this.bottom}L${path}L${this.toX(run.at(-1)[0])} ${this.bottom}Z`);
    }
    const line = shape("path", {class: `line ${className}`, d: lines.join("")});
    return isFilled ? [shape("path", {class: `area ${className}`, d: areas.join("")}), line] : [line];
  }

  circle([x, y], className, radius) {
    return shape("circle", {class: className, cx: this.toX(x), cy: this.toY(y), r: radius});
  }

  // To the point that is nearest to a place on the screen; null: nowhere.
  moveCursor(pointer) {
    this.pointer = pointer ?? undefined;
    this.cursor.replaceChildren();
    const points = this.figure.lines[0].points;
    if (pointer === null || points.length === 0) return this.onCursor(null);
    const distance = (i) => Math.abs(this.toX(points[i][0]) - pointer);
    const nearest = points.reduce((best, _, i) => (distance(i) < distance(best) ? i : best), 0);
    this.cursor.append(shape("path", {d: `M${this.toX(points[nearest][0])} ${TOP}V${this.bottom}`}));
    for (const line of this.figure.lines) {
      if (line.points[nearest][1] !== null) this.cursor.append(this.circle(line.points[nearest], line.className, 3.5));
    }
    this.onCursor(nearest);
  }
}
