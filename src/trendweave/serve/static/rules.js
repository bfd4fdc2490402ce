// The queries: one, or several that make a workload; each is a tab above the editor.

import { $, arrowKeys, make } from "./elements.js";
import { keep, kept } from "./memory.js";
import { offerPanel } from "./panels.js";

export class Rules {
  constructor(editor, first, changed) {
    this.editor = editor;
    this.changed = changed;
    const before = kept("rules", null);
    this.list = Array.isArray(before) && before.length && before.every((one) => typeof one?.text === "string" && typeof one?.name === "string")
      ? before : [first];
    this.place = 0;
    this.wrong = new Set();
    arrowKeys($("rules"));
    this.editor.text = this.chosen.text;
    this.show();
  }

  get chosen() { return this.list[this.place]; }
  get several() { return this.list.length > 1; }

  /** What the server is asked about: all queries in which something is written, or the one that is shown. */
  asked(alone) {
    const written = (alone ? [this.chosen] : this.list).filter((rule) => rule.text.trim());
    return written.map(({ name, text }) => ({ name, text }));
  }

  focus() { $("rules").querySelector(".chosen [role=tab]").focus(); }

  typed() {
    this.chosen.text = this.editor.text;
    keep("rules", this.list);
  }

  choose(place) {
    this.place = place;
    this.editor.text = this.chosen.text;
    this.show();
    this.changed();
  }

  /** Another query; its name is made different from those that are there. */
  add(name = "query", text = "") {
    let free = name;
    for (let number = 2; this.list.some((rule) => rule.name === free); number++) free = `${name} ${number}`;
    this.list.push({ name: free, text });
    this.choose(this.list.length - 1);
    keep("rules", this.list);
    this.editor.area.focus();
  }

  replace(name, text) {
    Object.assign(this.chosen, { name: this.several && this.list.some((rule) => rule !== this.chosen && rule.name === name) ? this.chosen.name : name, text });
    this.choose(this.place);
    keep("rules", this.list);
  }

  takeAll(rules) {
    this.list = rules.map(({ name, text }) => ({ name, text }));
    keep("rules", this.list);
    this.choose(0);
  }

  drop(place) {
    this.list.splice(place, 1);
    if (place < this.place) this.place -= 1;
    this.choose(Math.min(this.place, this.list.length - 1));
    this.focus();
    keep("rules", this.list);
  }

  mark(names) {
    this.wrong = names;
    for (const tab of $("rules").querySelectorAll('[role="tab"]')) tab.classList.toggle("wrong", names.has(tab.dataset.name));
  }

  rename(place, holder) {
    const input = make("input", { value: this.list[place].name, "aria-label": "Name of the query", maxLength: 60 });
    const done = (taken) => {
      if (!input.isConnected) return;
      const name = input.value.trim();
      if (taken && name && !this.list.some((rule, other) => other !== place && rule.name === name)) this.list[place].name = name;
      keep("rules", this.list);
      this.show();
      this.changed();
    };
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      done(event.key === "Enter");
      this.focus();
    });
    input.addEventListener("blur", () => done(true));
    holder.replaceChildren(input);
    input.select();
  }

  show() {
    const tabs = this.list.map((rule, place) => {
      const chosen = place === this.place;
      const holder = make("span", { class: chosen ? "chosen" : "" });
      holder.append(make("button", {
        type: "button", role: "tab", "aria-selected": String(chosen), tabIndex: chosen ? 0 : -1, "data-name": rule.name,
        class: this.wrong.has(rule.name) ? "wrong" : "", title: "F2 or a double click gives another name",
        onclick: () => this.choose(place), ondblclick: () => this.rename(place, holder),
        onkeydown: (event) => { if (event.key === "F2") this.rename(place, holder); },
      }, rule.name));
      if (this.several) holder.append(make("button", { type: "button", class: "drop", "aria-label": `Remove ${rule.name}`, onclick: () => this.drop(place) }, "×"));
      return holder;
    });
    $("rules").replaceChildren(...tabs, make("button", { type: "button", "aria-label": "Add a query", title: "Add a query", onclick: () => this.add() }, "+"));
    $("which-field").hidden = !this.several;
    offerPanel("shared", this.several);
    $("rules").querySelector(".chosen").scrollIntoView({ block: "nearest" });
  }
}
