// What a run gave: rows, pictures, and what was cut.

import { $, count, make, seconds, takeDrawing } from "./elements.js";
import { ask } from "./server.js";
import { pagedTable } from "./table.js";

const numberOf = (part) => count(part.total ?? part.rows.length) + (part.total === null ? "+" : "");

const whyNone = (part) => (part.total === 0
  ? "There are no rows: nothing in these events matches."
  : "The rows of this query are not shown: there are too many, or they are too wide.");

export class Results {
  constructor() {
    this.table = null;
    this.question = null;
  }

  turn(by) { this.table?.turn(by); }

  stopped(message) {
    $("notes").replaceChildren();
    for (const id of ["rows", "picture"]) $(id).replaceChildren(make("p", { class: "stopped" }, message));
    this.table = this.question = null;
    this.compare(null);
  }

  /** Shows the rows of each query; `question` is what they answer. */
  finish(parts, result, notes, question) {
    const told = [...notes];
    if (parts.length === 1) parts[0].total ??= result.total;
    const each = parts.length > 1 ? ", some of each query," : "";
    if (result.cut) {
      told.push(result.total === null
        ? `Only the first ${count(result.rows)} rows${each} are shown; the others were not computed.`
        : `Only the first ${count(result.rows)} of ${count(result.total)} rows${each} are shown.`);
    }
    if (parts.some((part) => !part.fit)) told.push("Rows are so wide that only the first ones are shown.");
    $("notes").replaceChildren(...told.map((note) => make("p", { class: "note" }, note)));
    Object.assign(this, { parts, result, place: 0, question: JSON.stringify(question) });
    this.show();
    this.compare(question);
  }

  /** Says so where what is asked now is not what the rows answer. */
  compare(question) {
    const isOld = this.question !== null && JSON.stringify(question) !== this.question;
    for (const name of ["rows", "picture"]) {
      $(`panel-${name}`).classList.toggle("old", isOld);
      $(`old-${name}`).hidden = !isOld;
    }
  }

  show() {
    this.showRows();
    this.showPicture();
  }

  /** Of a workload, a choice of whose rows are shown. */
  chooser() {
    if (this.parts.length < 2) return null;
    const choice = make("select", { onchange: () => { this.place = choice.selectedIndex; this.show(); } },
      ...this.parts.map((part, place) => make("option", { selected: place === this.place }, `${part.query} (${numberOf(part)})`)));
    return make("label", { class: "inline" }, "Query", choice);
  }

  showRows() {
    const { result } = this;
    const part = this.parts[this.place];
    const fact = (name, value) => make("span", {}, make("b", {}, value), ` ${name}`);
    const facts = make("div", { class: "facts" }, this.chooser(),
      fact(part.total === 1 ? "row" : "rows", numberOf(part)),
      fact(result.stored ? "stored events" : "events", count(result.events)),
      fact("reading", seconds(result.reading)), fact("running", seconds(result.running)),
      part.rows.length ? make("button", { type: "button", class: "push", id: "csv", title: "Download these rows, as they are sorted", onclick: () => this.download(part) }, "CSV") : null);
    const { rules, source } = JSON.parse(this.question);
    const own = rules.find((rule) => rule.name === part.query) ?? rules[0];
    this.table = pagedTable(part, (row) => ask("events", { rules: [own], source, row }));
    $("rows").replaceChildren(facts, part.rows.length ? this.table : make("p", { class: "empty" }, whyNone(part)));
  }

  download(part) {
    const address = URL.createObjectURL(new Blob([this.table.csv()], { type: "text/csv" }));
    make("a", { href: address, download: `${part.query.replace(/[^\w.-]+/g, "_") || "rows"}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  showPicture() {
    const part = this.parts[this.place];
    if (!part.pictures.length) {
      const why = part.rows.length ? "Rows without windows have nothing to be drawn along; add WITHIN, or RETURN TRENDS." : whyNone(part);
      $("picture").replaceChildren(make("div", { class: "facts" }, this.chooser()), make("p", { class: "empty" }, why));
      return;
    }
    const holder = make("div");
    const draw = (place) => holder.replaceChildren(takeDrawing(part.pictures[place].drawing));
    const choice = make("select", { onchange: () => draw(choice.selectedIndex) }, ...part.pictures.map((one) => make("option", {}, one.name)));
    const note = part.drawn === part.total ? "" : `Drawn are the first ${count(part.drawn)}${part.total === null ? "" : ` of ${count(part.total)}`} rows.`;
    $("picture").replaceChildren(...(note ? [make("p", { class: "note" }, note)] : []), make("div", { class: "facts" }, this.chooser(),
      part.pictures.length > 1 ? make("label", { class: "inline" }, "Shown", choice) : null), holder);
    draw(0);
  }
}
