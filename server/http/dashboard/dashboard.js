// The dashboard: an overview of the server with a table of its filters, or, by ?filter=NAME, the page of one filter.
// Texts from the server are put into text nodes alone, never into markup.

import {ErrorCurve, ExpiryBars, TimeChart, element} from "/charts.js";
import {
  bytes, count, dateAndTime, decimal, duration, exact, percent, perSecond, rate, seconds, time, wholePercent,
} from "/format.js";
import {BYTE_STEPS} from "/plot.js";

const PAGE = 25;
const STATUS_MS = 2000;
const HISTORY_MS = 5000;
const FILTERS_MS = 5000;
const PATIENCE_MS = 5000;
const LIST_PATIENCE_MS = 20_000;  // sorting the names of millions of filters takes a while
const MOST_POINTS = 720;

const $ = (id) => document.getElementById(id);

// Nothing came from the server in time.
class NoAnswer extends Error {}

let answeredAt = null;

// Without a time limit, a server that is frozen would keep the page as it is: the system still accepts connections.
async function ask(path, patienceMs = PATIENCE_MS) {
  try {
    const response = await fetch(path, {cache: "no-store", signal: AbortSignal.timeout(patienceMs)});
    const text = await response.text();
    answeredAt = Date.now();
    return {isGood: response.ok, status: response.status, text};
  } catch {
    throw new NoAnswer();
  }
}

async function get(path, patienceMs) {
  const {isGood, status, text} = await ask(path, patienceMs);
  if (isGood) return JSON.parse(text);
  let reason = `the server answers ${status}`;
  try {
    reason = JSON.parse(text).error ?? reason;
  } catch {
    // The answer is not JSON.
  }
  throw Object.assign(new Error(reason), {status});
}

// Runs `work` now, and again so long after it has ended, while the page is visible.
function repeat(work, pauseMs) {
  const step = async () => {
    if (!document.hidden) await attempt(work);
    setTimeout(step, pauseMs);
  };
  step();
}

const troubles = new Map();  // of each work that failed last time, its error

async function attempt(work) {
  try {
    await work();
    troubles.delete(work);
  } catch (error) {
    troubles.set(work, error);
  }
  showTroubles();
}

function showTroubles() {
  const errors = [...troubles.values()];
  const error = errors.find((each) => each instanceof NoAnswer) ?? errors[0];
  const since = answeredAt === null ? "" : `The figures are those of ${time(answeredAt)}. `;
  const text = !error ? "" : error instanceof NoAnswer ? `The server does not answer. ${since}Trying again …`
                                                       : error.message;
  if ($("trouble").textContent !== text) $("trouble").textContent = text;  // else it would be read aloud again
  $("trouble").hidden = text === "";
}

// What the head of the page says of the server, and whether the figures below are old.
function setBadge(text, isGood, isOld = false) {
  $("state").textContent = text;
  $("state").className = `badge ${isGood ? "good" : "bad"}`;
  $("main").classList.toggle("old", isOld);
}

// `tiles`: [[id, label, value, note, title]].
function showTiles(list, tiles) {
  for (const [id, label, value, note, title] of tiles) {
    let tile = list.querySelector(`[data-tile="${id}"]`);
    if (!tile) {
      tile = element("div", {className: "tile", "data-tile": id}, element("dt", {}, label), element("dd"),
                     element("dd", {className: "note"}));
      list.append(tile);
    }
    const [shown, below] = tile.querySelectorAll("dd");
    shown.textContent = value;
    shown.title = title ?? "";
    below.textContent = note ?? "";
  }
}

// ---- the overview

const charts = {};
let points = [];
let fields = [];

function makeCharts() {
  const figures = $("charts");
  charts.commands = new TimeChart(figures, "Commands", [{label: "commands", format: perSecond}]);
  charts.adds = new TimeChart(figures, "Items added", [{label: "new items", format: perSecond}]);
  charts.lookups = new TimeChart(figures, "Items looked up", [{label: "lookups", format: perSecond}]);
  charts.latency = new TimeChart(figures, "Latency", [{label: "median", format: seconds},
                                                      {label: "p99", format: seconds}]);
  charts.memory = new TimeChart(figures, "Memory", [{label: "filters", format: bytes},
                                                    {label: "process", format: bytes}], {steps: BYTE_STEPS});
  charts.hits = new TimeChart(figures, "Hit rate", [{label: "probably there", format: percent}],
                              {most: 1, format: wholePercent});
}

const valueOf = (point, field) => point.values[fields.indexOf(field)];

// Of a counter between two points; null if it was reset in between.
function perSecondBetween(before, now, field) {
  const change = valueOf(now, field) - valueOf(before, field);
  return change < 0 ? null : change / ((now.unix_ms - before.unix_ms) / 1000);
}

function lookups(before, now) {
  const hits = perSecondBetween(before, now, "keyspace_hits");
  const misses = perSecondBetween(before, now, "keyspace_misses");
  return hits === null || misses === null ? null : hits + misses;
}

function hitRate(before, now) {
  const all = lookups(before, now);
  return all ? perSecondBetween(before, now, "keyspace_hits") / all : null;
}

async function updateHistory() {
  const answer = await get(`/api/history?after=${points.at(-1)?.number ?? 0}`);
  fields = answer.fields;
  points = points.concat(answer.points).slice(-MOST_POINTS);
  const pairs = points.slice(1).map((now, i) => [points[i], now]);
  const times = pairs.map(([, now]) => now.unix_ms);
  const rates = (field) => pairs.map(([before, now]) => perSecondBetween(before, now, field));
  const values = (field) => pairs.map(([, now]) => valueOf(now, field));
  const each = (compute) => pairs.map(([before, now]) => compute(before, now));
  charts.commands.set(times, [rates("total_commands_processed")]);
  charts.adds.set(times, [rates("items_added")]);
  charts.lookups.set(times, [each(lookups)]);
  const latencies = (field) => values(field).map((value) => (value === 0 ? null : value));  // no command ran
  charts.latency.set(times, [latencies("latency_median_seconds"), latencies("latency_99th_seconds")]);
  charts.memory.set(times, [values("used_memory"), values("used_memory_rss")]);
  charts.hits.set(times, [each(hitRate)]);
}

const latest = (compute) => (points.length < 2 ? null : compute(points.at(-2), points.at(-1)));

function showOverview({info, loops, filters}) {
  const {Server: server, Clients: clients, Memory: memory, Stats: stats} = info;
  const commands = latest((before, now) => perSecondBetween(before, now, "total_commands_processed"));
  const hits = latest(hitRate);
  const longest = Math.max(...loops.map((loop) => loop.longest_round_s));
  const all = stats.keyspace_hits + stats.keyspace_misses;
  showTiles($("tiles"), [
    ["commands", "Commands", commands === null ? "–" : perSecond(commands),
     `${count(stats.total_commands_processed)} in all`, exact(stats.total_commands_processed)],
    ["hits", "Hit rate", hits === null ? "–" : percent(hits), all === 0 ? "no lookups yet"
     : `${percent(stats.keyspace_hits / all)} of ${count(all)} lookups`],
    ["memory", "Memory of filters", bytes(memory.used_memory),
     memory.maxmemory === 0 ? "no limit" : `of ${bytes(memory.maxmemory)}`, `${exact(memory.used_memory)} bytes`],
    ["filters", "Filters", count(filters), `${count(stats.items_added)} items added`, exact(filters)],
    ["clients", "Connections", count(clients.connected_clients), `at most ${count(clients.maxclients)}`],
    ["stall", "Longest stall", seconds(longest), "of an event loop, lately"],
  ]);
  showHead(server);
  showInfo(info);
  showFirstCommands(server.tcp_port);
}

// What makes a filter, for a server that has none.
function showFirstCommands(port) {
  const host = ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname) ? "" : ` -h ${location.hostname}`;
  const client = port ? `redis-cli${host} -p ${port} ` : "";
  $("first-add").textContent = `${client}BF.ADD seen alice`;
  $("first-reserve").textContent = `${client}BF.RESERVE users 0.001 1000000`;
}

function showHead(server) {
  $("version").textContent = server.bitsieve_version;
  $("uptime").textContent = `up ${duration(server.uptime_in_seconds)}`;
}

async function updateReadiness() {
  try {
    const {isGood, text} = await ask("/readyz");
    setBadge(isGood ? "ready" : "not ready", isGood);
    $("state").title = isGood ? "" : text.trim();
  } catch (error) {
    setBadge("no answer", false, true);
    throw error;
  }
}

// Rows are made once, so that a reader or a selection keeps its place.
function showInfo(info) {
  if (!$("info").open) return;
  for (const [section, values] of Object.entries(info)) {
    let body = $("info-tables").querySelector(`[data-section="${section}"]`);
    if (!body) {
      body = element("tbody", {"data-section": section});
      $("info-tables").append(element("div", {}, element("h3", {}, section),
                                      element("table", {className: "fields", "aria-label": section}, body)));
    }
    Object.entries(values).forEach(([field, value], i) => {
      const row = body.rows[i] ?? body.appendChild(element("tr", {}, element("th", {scope: "row"}), element("td")));
      row.cells[0].textContent = field;
      row.cells[1].textContent = value ?? "–";
    });
  }
}

async function updateStatus() {
  await updateReadiness();
  showOverview(await get("/api/status"));
}

// ---- the table of filters

// `sort`: the name of the order, if the column has one. Wide columns are left out where there is little room.
const COLUMNS = [
  {label: "Name", sort: "name"},
  {label: "Type", text: true, wide: true},
  {label: "Items", sort: "items", wide: true},
  {label: "Capacity", sort: "capacity", wide: true},
  {label: "Used", sort: "fill", text: true, title: "items over capacity"},
  {label: "Requested", sort: "requested", wide: true, title: "requested error rate"},
  {label: "Estimated", wide: true, title: "estimated error rate"},
  {label: "Growth", sort: "growth", wide: true, title: "items per second"},
  {label: "Sub-filters", sort: "sub_filters", wide: true},
  {label: "Memory", sort: "size"},
];

const view = {sort: "size", order: "desc", search: "", offset: 0};
let matches = 0;

function readAddress() {
  const parameters = new URLSearchParams(location.search);
  for (const name of ["sort", "order", "search"]) view[name] = parameters.get(name) ?? view[name];
  view.offset = Number(parameters.get("offset")) || 0;
}

function writeAddress() {
  const parameters = new URLSearchParams({sort: view.sort, order: view.order});
  if (view.search !== "") parameters.set("search", view.search);
  if (view.offset !== 0) parameters.set("offset", view.offset);
  history.replaceState(null, "", `?${parameters}`);
}

function makeTableHead() {
  for (const column of COLUMNS) {
    const cell = element("th", {scope: "col", className: classOf(column), title: column.title ?? ""});
    if (column.sort) {
      const button = element("button", {type: "button"}, column.label);
      button.addEventListener("click", () => sortBy(column.sort));
      cell.append(button);
    } else {
      cell.append(column.label);
    }
    $("filters").tHead.rows[0].append(cell);
  }
}

const classOf = ({text, wide}) => [text ? "text" : "", wide ? "wide" : ""].join(" ").trim();

function sortBy(sort) {
  const other = view.order === "asc" ? "desc" : "asc";
  view.order = view.sort === sort ? other : sort === "name" ? "asc" : "desc";
  Object.assign(view, {sort, offset: 0});
  show();
}

function showOrder() {
  COLUMNS.forEach((column, i) => {
    const cell = $("filters").tHead.rows[0].cells[i];
    if (column.sort === view.sort) cell.setAttribute("aria-sort", view.order === "asc" ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  });
}

const titleOf = (filter) => (filter.name === "" ? "(empty name)" : filter.name);

function fillBar(fill) {
  const part = element("b");
  part.style.width = `${Math.min(100, 100 * fill)}%`;
  return element("span", {className: `fill ${fill > 1 ? "bad" : fill > 0.9 ? "warn" : ""}`},
                 element("i", {"aria-hidden": "true"}, part), element("span", {}, percent(fill)));
}

function rowOf(filter) {
  const isOver = filter.estimated_error_rate > filter.requested_error_rate;
  const estimated = element("span", {className: isOver ? "over" : "", title: isOver ? "above the requested rate" : ""},
                            rate(filter.estimated_error_rate));
  const cells = [null, filter.type, exact(filter.items), exact(filter.capacity), fillBar(filter.fill),
                 rate(filter.requested_error_rate), estimated, perSecond(filter.growth_per_second),
                 exact(filter.sub_filters), bytes(filter.size_bytes)];
  const link = element("a", {href: `/?filter=${filter.link}`, title: filter.name}, titleOf(filter));
  return element("tr", {}, element("th", {scope: "row"}, link),
                 ...cells.slice(1).map((cell, i) => element("td", {className: classOf(COLUMNS[i + 1])}, cell)));
}

function showRange(text) {
  if ($("range").textContent !== text) $("range").textContent = text;  // else it would be read aloud again
}

async function updateFilters() {
  const wanted = new URLSearchParams({...view, limit: PAGE}).toString();
  const answer = await get(`/api/filters?${wanted}`, LIST_PATIENCE_MS);
  if (wanted !== new URLSearchParams({...view, limit: PAGE}).toString()) return;  // changed meanwhile
  if (!answer.ready) {
    showRange("Looking at the filters …");
    setTimeout(() => attempt(updateFilters), 300);
    return;
  }
  matches = answer.matches;
  // The focus stays on the same row.
  const body = $("filters").tBodies[0];
  const focused = [...body.rows].findIndex((row) => row.contains(document.activeElement));
  body.replaceChildren(...answer.rows.map(rowOf));
  if (focused >= 0) body.rows[focused]?.querySelector("a").focus();
  const isEmpty = matches === 0 && view.search === "";
  for (const id of ["search-form", "filters-region", "pages"]) $(id).hidden = isEmpty;
  $("no-filters").hidden = !isEmpty;
  const last = Math.min(view.offset + PAGE, matches);
  showRange(matches === 0 ? "No name matches" : `${exact(view.offset + 1)}–${exact(last)} of ${exact(matches)}`);
  for (const id of ["first", "previous"]) $(id).disabled = view.offset === 0;
  for (const id of ["next", "last"]) $(id).disabled = last >= matches;
}

function show() {
  writeAddress();
  showOrder();
  attempt(updateFilters);
}

function listenToTable() {
  let waiting;
  $("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      Object.assign(view, {search: $("search").value, offset: 0});
      show();
    }, 250);
  });
  $("search-form").addEventListener("submit", (event) => event.preventDefault());
  const offsets = {
    first: () => 0,
    previous: () => Math.max(0, view.offset - PAGE),
    next: () => view.offset + PAGE,
    last: () => Math.floor((matches - 1) / PAGE) * PAGE,
  };
  for (const [id, offset] of Object.entries(offsets)) {
    $(id).addEventListener("click", () => {
      view.offset = offset();
      show();
    });
  }
}

// ---- the page of a filter

let curve, expiry;

// Of a filter that counts what is done with it: very small ones do not.
function useTiles(use) {
  if (use === null) return [];
  const lookups = use.hits + use.misses;
  const last = dateAndTime(1000 * use.last_unix_s);
  return [
    ["hits", "Hits", lookups === 0 ? "–" : percent(use.hits / lookups), `of ${count(lookups)} lookups`,
     `${exact(use.hits)} of ${exact(lookups)}`],
    ["adds", "Adds", count(use.adds), use.last_unix_s === 0 ? "not used yet" : `last used ${last}`, exact(use.adds)],
  ];
}

// Other words for values of BF.INFO, and what they mean: [value, note].
const FIELD_WORDS = {
  "Size": (value) => [String(value), bytes(value)],
  "Fill ratio": (value) => [String(value), "share of bits or slots in use, from which the error rate follows"],
  "Last use": (value) => [dateAndTime(1000 * value), `Unix time ${value}`],
};

function fieldRow({label, value}) {
  const isKnown = value !== null;
  const [text, note] = !isKnown ? ["–", ""] : FIELD_WORDS[label]?.(value) ?? [String(value), ""];
  return element("tr", {}, element("th", {scope: "row"}, label), element("td", {}, text),
                 element("td", {className: "note"}, note));
}

// As text, if the bytes are.
function nameInAddress() {
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
}

function showTitle(title) {
  $("filter-name").textContent = title;
  document.title = `${title} – Bitsieve`;
}

async function updateFilter() {
  try {
    showFilter(await get(`/api/filter?name=${name}`));
    $("no-filter").hidden = true;
    $("filter-figures").hidden = false;
  } catch (error) {
    if (error.status !== 404) throw error;
    showTitle(titleOf({name: nameInAddress()}));
    $("no-filter").hidden = false;
    $("filter-figures").hidden = true;
  }
}

function showFilter(filter) {
  showTitle(titleOf(filter));
  showTiles($("filter-tiles"), [
    ["items", "Items", count(filter.items), `of ${count(filter.capacity)}`, exact(filter.items)],
    ["fill", "Capacity used", percent(filter.fill), "items over capacity"],
    ["estimated", "Estimated error rate", rate(filter.estimated_error_rate), "now",
     filter.estimated_error_rate === null ? "" : String(filter.estimated_error_rate)],
    ["requested", "Requested error rate", rate(filter.requested_error_rate), "when it was made"],
    ["size", "Memory", bytes(filter.size_bytes),
     filter.items === 0 ? "no items" : `${decimal((8 * filter.size_bytes) / filter.items)} bits per item`,
     `${exact(filter.size_bytes)} bytes`],
    ["sub-filters", "Sub-filters", exact(filter.sub_filters), filter.type],
    ...useTiles(filter.use),
  ]);
  curve ??= new ErrorCurve($("curve"));
  curve.set(filter);
  $("expiry-section").hidden = filter.expiry === null;
  if (filter.expiry !== null) {
    expiry ??= new ExpiryBars($("expiry"));
    expiry.set(filter.expiry);
  }
  $("fields").tBodies[0].replaceChildren(...filter.fields.map(fieldRow));
}

// ---- which of them

// As it stands in the address: decoding would lose bytes that are no text.
const name = /[?&]filter=([^&]*)/.exec(location.search)?.[1];
if (name === undefined) {
  $("overview").hidden = false;
  readAddress();
  $("search").value = view.search;
  makeCharts();
  makeTableHead();
  showOrder();
  listenToTable();
  repeat(updateHistory, HISTORY_MS);
  repeat(updateStatus, STATUS_MS);
  repeat(updateFilters, FILTERS_MS);
  $("info").addEventListener("toggle", () => attempt(updateStatus));
} else {
  $("filter").hidden = false;
  repeat(updateFilter, STATUS_MS);
  repeat(updateReadiness, STATUS_MS);
  repeat(async () => showHead((await get("/api/status")).info.Server), HISTORY_MS);
}
