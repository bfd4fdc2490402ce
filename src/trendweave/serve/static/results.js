// What a run gave: rows, pictures, and what was cut.

import { $, count, make, seconds, takeDrawing } from "./elements.js";
import { pagedTable } from "./table.js";

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
    if (result.cut) {
      told.push(result.total === null
        ? `Only the first ${count(result.rows)} rows are shown; the others were not computed.`
        : `Only the first ${count(result.rows)} of ${count(result.total)} rows are shown.`);
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
      ...this.parts.map((part, place) => make("option", { selected: place === this.place }, `${part.query} (${count(part.rows.length)})`)));
    return make("label", { class: "inline" }, "Query", choice);
  }

  showRows() {
    const { result } = this;
    const part = this.parts[this.place];
    const fact = (name, value) => make("span", {}, make("b", {}, value), ` ${name}`);
    const facts = make("div", { class: "facts" }, this.chooser(),
      fact(result.total === 1 ? "row" : "rows", count(result.total ?? result.rows) + (result.total === null ? "+" : "")),
      fact(result.stored ? "stored events" : "events", count(result.events)),
      fact("reading", seconds(result.reading)), fact("running", seconds(result.running)));
    this.table = pagedTable(part);
    $("rows").replaceChildren(facts, part.rows.length ? this.table : make("p", { class: "empty" }, "There are no rows: nothing in these events matches."));
  }

  showPicture() {
    const part = this.parts[this.place];
    if (!part.pictures.length) {
      const why = part.rows.length ? "Rows without windows have nothing to be drawn along; add WITHIN, or RETURN TRENDS." : "There are no rows to draw.";
      $("picture").replaceChildren(make("div", { class: "facts" }, this.chooser()), make("p", { class: "empty" }, why));
      return;
    }
    const holder = make("div");
    const draw = (place) => holder.replaceChildren(takeDrawing(part.pictures[place].drawing));
    const choice = make("select", { onchange: () => draw(choice.selectedIndex) }, ...part.pictures.map((one) => make("option", {}, one.name)));
    $("picture").replaceChildren(make("div", { class: "facts" }, this.chooser(),
      part.pictures.length > 1 ? make("label", { class: "inline" }, "Shown", choice) : null), holder);
    draw(0);
  }
}
