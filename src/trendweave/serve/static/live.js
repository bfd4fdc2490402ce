// A stream while it runs: how fast events come, what the watermark closes, what is late, and alerts.

import { $, count, make } from "./elements.js";
import { cell, head } from "./table.js";
import { drawRates } from "./rates.js";
import { listen } from "./server.js";

/** Columns that all queries of a workload may have. */
const COMMON = ["query", "window_start", "window_end"];
const KEPT_ROWS = 200;
const KEPT_QUERIES = 8;
const KEPT_ALERTS = 50;
const KEPT_RATES = 160;

export class Live {
  constructor(asked, failed) {
    this.asked = asked;
    this.failed = failed;
    $("live-form").addEventListener("submit", (event) => { event.preventDefault(); this.start(); });
    $("live-stop").addEventListener("click", () => this.stop());
    addEventListener("pagehide", () => this.stop());
  }

  get stream() {
    const column = $("live-column").value.trim();
    const number = (id) => Number($(id).value) || 0;
    return { rate: number("live-rate"), watermark: $("live-watermark").value, delay: Math.max(0, number("live-delay")),
      alert: column ? { column, comparison: $("live-comparison").value, value: number("live-value") } : null };
  }

  stop() { this.abort?.abort(); }

  async start() {
    this.stop();
    const abort = this.abort = new AbortController();
    this.rates = [];
    this.ended = false;
    this.frame(null);
    $("live-stop").hidden = false;
    $("live-said").textContent = "The stream begins.";
    try {
      await listen("live", { ...this.asked(), stream: this.stream }, abort.signal, (message) => { if (this.abort === abort) this.take(message); });
      if (this.abort === abort && !this.ended) this.tell("The stream has ended.");
    } catch (error) {
      if (this.abort === abort) this.tell(abort.signal.aborted ? "Stopped." : "The server does not answer any more.");
    }
    if (this.abort === abort) $("live-stop").hidden = true;
  }

  tell(text) {
    $("live-said").textContent = text;
    if (this.state) this.state.textContent = text;
  }

  take(message) {
    switch (message.event) {
      case "begins": this.frame(message); break;
      case "tick": this.update(message); break;
      case "ends":
        this.update(message);
        this.ended = true;
        this.tell(`All ${count(message.sent)} events were replayed: ${count(message.rows)} rows, ${count(message.alerts)} alerts, ${count(message.late)} late.`);
        break;
      case "waiting": this.tell("waiting for others ..."); break;
      case "doing": this.tell(`${message.what} ...`); break;
      case "problems": this.ended = true; this.failed(message); this.complain(message.problems[0].message, message.problems[0].hint); break;
      case "refused": case "stopped": this.ended = true; this.complain(message.message, ""); break;
    }
  }

  complain(message, hint) {
    $("live").replaceChildren(make("p", { class: "stopped" }, message, hint ? make("br") : null, hint ? `hint: ${hint}` : null));
    this.state = null;
    $("live-said").textContent = message;
  }

  /** What stays while numbers change. */
  frame(begin) {
    this.several = begin?.several ?? false;
    this.known = begin?.columns ?? [];
    // Queries of a workload have columns of their own, of which each row has few: these are told in words.
    this.common = this.known.map((column, place) => place).filter((place) => !this.several || COMMON.includes(this.known[place].name));
    const common = this.common.map((place) => this.known[place]);
    this.columns = this.several ? [...common, { name: "row", type: "what it tells", kind: "text" }] : common;
    this.state = make("p", { class: "quiet" }, begin ? "" : "starting ...");
    this.tiles = {};
    const tile = (id, name, kind = "") => {
      this.tiles[id] = make("b", {}, "0");
      return make("div", { class: `tile ${kind}` }, make("span", {}, name), this.tiles[id]);
    };
    const dropped = tile("dropped", "events of no use");
    dropped.hidden = true;
    this.progress = make("progress", { max: begin?.total || 1, value: 0, "aria-label": "Events replayed" });
    this.spark = make("div");
    this.perQuery = make("p", { class: "quiet" });
    this.body = make("tbody");
    this.alerts = make("tbody");
    this.alertBox = make("div", { hidden: true }, make("h3", {}, "Latest alerts"), this.table(this.alerts, "Latest alerts"));
    if (begin) offerColumns(this.known);
    $("live").replaceChildren(this.state, this.progress,
      make("div", { class: "tiles" }, tile("rate", "events a second"), tile("sent", "events"), tile("watermark", "watermark", "time"),
        tile("windows", "windows closed"), tile("rows", "rows"), tile("late", "late events"), tile("alerts", "alerts"), dropped),
      this.spark, this.perQuery, this.alertBox,
      ...(begin ? [make("h3", {}, "Latest rows"), this.table(this.body, "Latest rows")] : []));
  }

  table(body, name) {
    const first = make("th", { scope: "col" }, make("span", { class: "hidden" }, "Alert"));
    return make("div", { class: "table short", tabIndex: 0, role: "region", "aria-label": name }, make("table", {}, head(this.columns, first), body));
  }

  row(row) {
    return make("tr", { class: row.alert ? "alert" : "" }, make("td", {}, row.alert ? make("span", { class: "badge" }, "alert") : ""),
      ...this.cellsOf(row).map((text, place) => cell(text, this.columns[place])));
  }

  cellsOf(row) {
    if (!this.several) return row.cells;
    const told = row.cells.map((text, place) => text === null || this.common.includes(place) ? null : `${this.known[place].name} ${text}`);
    return [...this.common.map((place) => row.cells[place]), told.filter(Boolean).join(", ")];
  }

  update(tick) {
    const show = (id, text) => { this.tiles[id].textContent = text; };
    show("rate", count(Math.round(tick.rate)));
    show("watermark", tick.watermark ?? "none");
    for (const id of ["sent", "windows", "rows", "late", "dropped", "alerts"]) show(id, count(tick[id]));
    this.tiles.alerts.parentElement.classList.toggle("hot", tick.alerts > 0);
    this.tiles.dropped.parentElement.hidden = !tick.dropped;
    this.tiles.late.parentElement.classList.toggle("hot", tick.late > 0);
    this.progress.value = tick.sent;
    this.state.textContent = `${Math.floor(100 * tick.sent / Math.max(1, tick.total))}% of ${count(tick.total)} events`;
    const queries = Object.entries(tick.queries).sort((one, other) => other[1] - one[1]);
    const more = queries.length > KEPT_QUERIES ? `  ·  and ${queries.length - KEPT_QUERIES} more` : "";
    this.perQuery.textContent = queries.slice(0, KEPT_QUERIES).map(([name, rows]) => `${name}: ${count(rows)} rows`).join("  ·  ") + more;
    this.rates.push(tick.rate);
    if (this.rates.length > KEPT_RATES) this.rates.shift();
    this.spark.replaceChildren(drawRates(this.rates));
    const alerts = tick.new.filter((row) => row.alert);
    this.body.prepend(...tick.new.map((row) => this.row(row)).reverse());
    this.alerts.prepend(...alerts.map((row) => this.row(row)).reverse());
    while (this.body.children.length > KEPT_ROWS) this.body.lastChild.remove();
    while (this.alerts.children.length > KEPT_ALERTS) this.alerts.lastChild.remove();
    this.alertBox.hidden = !this.alerts.children.length;
    if (alerts.length) $("live-said").textContent = `${count(tick.alerts)} alerts`;
  }
}

/** Columns of rows that alerts may compare. */
export function offerColumns(columns) {
  const names = new Set(columns.filter((one) => one.kind === "number").map((one) => one.name));
  $("live-columns").replaceChildren(...[...names].map((value) => make("option", { value })));
}
