// Which events: a sample, a file of the served folder, or a store and a month of it.

import { $, arrowKeys, count, make } from "./elements.js";
import { quoteName } from "./completion.js";
import { keep, kept } from "./memory.js";
import { ask } from "./server.js";
import { shortType } from "./table.js";

export class Sources {
  constructor(about, write, changed) {
    this.about = about;
    this.write = write;
    this.changed = changed;
    this.columns = [];
    this.types = [];
    this.months = [];
    this.fill();
    $("source").addEventListener("change", () => this.choose());
    arrowKeys($("columns"), "button", (column, before) => { before.tabIndex = -1; column.tabIndex = 0; });
    for (const id of ["events", "month", "times", "pattern"]) $(id).addEventListener("change", () => this.look());
    for (const id of ["time-column", "type-column"]) $(id).addEventListener("change", () => { this.picked = true; this.look(); });
  }

  fill() {
    const option = (kind, name, title) => make("option", { value: `${kind}:${name}` }, title);
    const group = (label, options) => options.length ? make("optgroup", { label }, ...options) : null;
    const groups = [
      group("Samples", this.about.samples.map((sample) => option("sample", sample.name, sample.title))),
      group(`Files in ${this.about.folder}`, this.about.files.map((name) => option("file", name, name))),
      group("Stored events", this.about.stores.map((name) => option("store", name, name))),
    ];
    $("source").append(...groups.filter(Boolean));
    const before = kept("source", null);
    if (before && [...$("source").options].some((one) => one.value === before)) $("source").value = before;
    this.arrange();
  }

  get kind() { return $("source").value.split(":")[0]; }
  get name() { return $("source").value.slice(this.kind.length + 1); }
  get sample() { return this.kind === "sample" ? this.about.samples.find((one) => one.name === this.name) : null; }

  /** The source as the server takes it. */
  get asked() {
    const month = this.months[Number($("month").value)];
    const columns = this.picked
      ? { time: $("time-column").value, type: $("type-column").value, untyped: !$("type-column").value } : {};
    return { kind: this.kind, name: this.name, events: this.events, times: this.times, ...columns,
      ...(month ? { start: month.start, end: month.end } : {}) };
  }

  get events() { return Math.min(1_000_000, Math.max(1, Math.round(Number($("events").value)) || 20_000)); }

  get times() { return $("times").value === "pattern" ? $("pattern").value.trim() || "iso" : $("times").value; }

  arrange() {
    $("events-field").hidden = !this.sample?.events;
    $("month-field").hidden = true;
    $("times-field").hidden = $("pattern-field").hidden = true;
    $("times").value = "";
    if (this.sample?.events) $("events").value = this.sample.events;
    this.picked = false;
    this.months = [];
    $("month").replaceChildren();
  }

  async choose() {
    keep("source", $("source").value);
    this.arrange();
    await this.look();
    this.changed(true);
  }

  /** Asks for the columns; an answer that comes after a newer question is not shown. */
  async look() {
    const asked = this.asking = {};
    $("source-facts").textContent = "reading ...";
    $("pattern-field").hidden = $("times").value !== "pattern";
    let answer;
    try { answer = await ask("columns", { source: this.asked }); } catch { answer = { event: "refused", message: "the server does not answer" }; }
    if (this.asking !== asked) return;
    if (answer.event === "columns") this.show(answer);
    else this.complain(answer);
    this.changed(false);
  }

  /** Events that cannot be read; how their times are written may be chosen anew. */
  complain(answer) {
    this.columns = [];
    this.types = [];
    const [problem] = answer.problems ?? [];
    $("source-facts").textContent = "";
    this.warn("stopped", answer.message ?? [problem?.message ?? "these events cannot be read", problem?.hint].filter(Boolean).join("; "));
    if (!$("times").value) for (const id of ["columns", "time-column", "type-column"]) $(id).replaceChildren();
  }

  warn(kind, text) {
    $("source-note").className = kind;
    $("source-note").textContent = text;
    $("source-note").hidden = !text;
  }

  show(answer) {
    this.columns = answer.columns;
    this.types = answer.types;
    const what = this.kind === "store" ? "stored events" : "events";
    const range = answer.first ? `, ${answer.first} to ${answer.last}` : "";
    $("source-facts").textContent = `${count(answer.rows)} ${what}${range}${answer.types.length > 1 ? `, types ${answer.types.join(", ")}` : ""}`;
    this.warn("note", answer.note);
    $("columns").replaceChildren(...answer.columns.map((column, place) => make("li", {}, make("button", {
      type: "button", title: column.type, tabIndex: place ? -1 : 0, onclick: () => this.write(quoteName(column.name)),
    }, column.name, " ", make("small", {}, shortType(column.type))))));
    const options = (chosen, none) => [...(none ? [make("option", { value: "" }, "none")] : []),
      ...answer.columns.map((column) => make("option", { value: column.name, selected: column.name === chosen }, column.name))];
    $("time-column").replaceChildren(...options(answer.time, false));
    $("type-column").replaceChildren(...options(answer.type, true));
    $("type-column").value = answer.type ?? "";
    if (answer.months.length && !this.months.length) {
      this.months = answer.months;
      $("month").replaceChildren(make("option", { value: "" }, "all"),
        ...answer.months.map((month, place) => make("option", { value: String(place) }, month.name)));
    }
    $("month-field").hidden = !this.months.length;
    const written = /^(u?int|string|large_string)/.test(answer.columns.find((column) => column.name === answer.time)?.type ?? "");
    $("times-field").hidden = this.kind !== "file" || !(written || $("times").value);
  }
}
