// What a run gave: rows, pictures, and what was cut.

import { $, count, make, takeDrawing } from "./elements.js";
import { pagedTable } from "./table.js";

export class Results {
  constructor() { this.table = null; }

  begin() { this.parts = []; }

  take(part) { this.parts.push(part); }

  turn(by) { this.table?.turn(by); }

  stopped(message) {
    const told = () => make("p", { class: "stopped" }, message);
    $("notes").replaceChildren();
    $("rows").replaceChildren(told());
    $("picture").replaceChildren(told());
    this.table = null;
  }

  finish(result, notes) {
    const told = [...notes];
    if (result.cut) {
      told.push(result.total === null
        ? `Only the first ${count(result.rows)} rows are shown; the others were not computed.`
        : `Only the first ${count(result.rows)} of ${count(result.total)} rows are shown.`);
    }
    if (this.parts.some((part) => !part.fit)) told.push("Rows are so wide that only the first ones are shown.");
    $("notes").replaceChildren(...told.map((note) => make("p", { class: "note" }, note)));
    this.result = result;
    this.place = 0;
    this.showRows();
    this.showPicture();
  }

  /** Of a workload, a choice of whose rows are shown. */
  chooser(label, again) {
    if (this.parts.length < 2) return null;
    const choice = make("select", { onchange: () => { this.place = Number(choice.value); again(); } },
      ...this.parts.map((part, place) => make("option", { value: String(place), selected: place === this.place }, `${part.query} (${count(part.rows.length)})`)));
    return make("label", { class: "inline" }, label, choice);
  }

  showRows() {
    const { result } = this;
    const part = this.parts[this.place];
    const fact = (name, value) => make("span", {}, make("b", {}, value), ` ${name}`);
    const facts = make("div", { class: "facts" },
      this.chooser("Query", () => { this.showRows(); this.showPicture(); }),
      fact(result.rows === 1 ? "row" : "rows", count(result.total ?? result.rows) + (result.total === null ? "+" : "")),
      fact("events", count(result.events)), fact("s reading", result.reading.toFixed(2)), fact("s running", result.running.toFixed(2)));
    this.table = pagedTable(part);
    $("rows").replaceChildren(facts, part.rows.length ? this.table : make("p", { class: "empty" }, "There are no rows: nothing in these events matches."));
  }

  showPicture() {
    const part = this.parts[this.place];
    const holder = make("div");
    const draw = (place) => holder.replaceChildren(takeDrawing(part.pictures[place].drawing));
    if (!part.pictures.length) {
      const why = part.rows.length ? "Rows without windows have nothing to be drawn along; add WITHIN, or RETURN TRENDS." : "There are no rows to draw.";
      $("picture").replaceChildren(make("p", { class: "empty" }, why));
      return;
    }
    const choice = make("select", { onchange: () => draw(choice.selectedIndex) }, ...part.pictures.map((one) => make("option", {}, one.name)));
    $("picture").replaceChildren(make("div", { class: "facts" },
      this.chooser("Query", () => { this.showRows(); this.showPicture(); }),
      part.pictures.length > 1 ? make("label", { class: "inline" }, "Shown", choice) : null), holder);
    draw(0);
  }
}
