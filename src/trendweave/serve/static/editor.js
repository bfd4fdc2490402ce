// The editor: a text area over its own text in colours, with completions and the places of problems.

import { $, make } from "./elements.js";
import { complete } from "./completion.js";
import { makeHighlighter, render } from "./highlight.js";

export class Editor {
  constructor(language, changed) {
    this.area = $("query-text");
    this.shown = $("shown-text");
    this.list = $("completions");
    this.known = { language, columns: [], types: [] };
    this.pieces = makeHighlighter(language);
    this.problems = [];
    this.choice = -1;
    this.offered = null;
    this.changed = changed;
    this.area.addEventListener("input", () => { this.problems = []; this.paint(); this.offer(false); changed(); });
    this.area.addEventListener("scroll", () => this.follow());
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("blur", () => this.close());
    this.area.addEventListener("click", () => this.close());
    new ResizeObserver(() => this.follow()).observe(this.area);
  }

  get text() { return this.area.value; }

  set text(text) { this.area.value = text; this.problems = []; this.close(); this.paint(); }

  know(columns, types) { this.known.columns = columns; this.known.types = types; this.paint(); }

  mark(problems) { this.problems = problems; this.paint(); }

  /** Writes text at the caret, as if it had been typed, so that it can be undone. */
  write(text, from = this.area.selectionStart, to = this.area.selectionEnd) {
    this.area.focus();
    this.area.setSelectionRange(from, to);
    if (!document.execCommand("insertText", false, text)) {
      this.area.setRangeText(text, from, to, "end");
      this.area.dispatchEvent(new Event("input"));
    }
    this.close();
  }

  goTo(problem) {
    const [from, to] = this.placeOf(problem) ?? [0, 0];
    this.area.focus();
    this.area.setSelectionRange(from, to);
  }

  /** Where a problem lies in the text; lines and columns count characters, as people do. */
  placeOf(problem) {
    if (problem.line === null) return null;
    const lines = this.text.split("\n");
    if (problem.line > lines.length) return null;
    const before = lines.slice(0, problem.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
    const letters = Array.from(lines[problem.line - 1]);
    const start = before + letters.slice(0, problem.column - 1).join("").length;
    const length = letters.slice(problem.column - 1, problem.column - 1 + problem.length).join("").length;
    return [Math.min(start, this.text.length), Math.min(start + Math.max(1, length), this.text.length + 1)];
  }

  paint() {
    const wrong = this.problems.map((problem) => this.placeOf(problem)).filter(Boolean);
    this.area.rows = Math.min(24, Math.max(9, this.text.split("\n").length + 1));
    this.shown.replaceChildren(render(this.pieces(this.text, new Set(this.known.types)), wrong), "\n");
    this.follow();
  }

  follow() {
    this.shown.scrollTop = this.area.scrollTop;
  }

  key(event) {
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); this.offer(true); return; }
    if (this.list.hidden) return;
    const number = this.offered.found.length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      this.choose((this.choice + (event.key === "ArrowDown" ? 1 : -1) + number) % number);
    } else if (event.key === "Tab" || (event.key === "Enter" && this.choice >= 0 && !event.ctrlKey)) {
      event.preventDefault();
      this.take(Math.max(0, this.choice));
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.close();
    }
  }

  offer(asked) {
    this.offered = complete(this.text, this.area.selectionStart, this.known);
    const { word, found, start } = this.offered;
    const afterDot = this.text[start - 1] === ".";
    // A unit that is written out needs no other one.
    const isWhole = this.known.language.units.includes(word.toLowerCase());
    if (!found.length || (!asked && ((!word && !afterDot) || isWhole))) { this.close(); return; }
    this.list.replaceChildren(...found.map((one, place) => make("li", {
      role: "option", id: `completion-${place}`, "aria-selected": "false",
      onmousedown: (event) => { event.preventDefault(); this.take(place); },
    }, make("span", {}, one.text), make("small", {}, one.kind))));
    this.list.hidden = false;
    this.choose(asked ? 0 : -1);
    this.place(start);
  }

  /** Puts the list below the word; where that is, is read from the coloured text. */
  place(start) {
    const range = document.createRange();
    let left = start;
    const walker = document.createTreeWalker(this.shown, NodeFilter.SHOW_TEXT);
    while (walker.nextNode() && left > walker.currentNode.length) left -= walker.currentNode.length;
    const node = walker.currentNode;
    if (node.nodeType === Node.TEXT_NODE) { range.setStart(node, Math.min(left, node.length)); range.collapse(true); }
    const at = range.getClientRects()[0] ?? range.getBoundingClientRect();
    const frame = $("editor").getBoundingClientRect();
    const x = at.left ? at.left - frame.left : 12;
    this.list.style.left = `${Math.max(4, Math.min(x, frame.width - 220))}px`;
    this.list.style.top = `${(at.bottom ? at.bottom - frame.top : 30) + 4}px`;
  }

  choose(place) {
    this.choice = place;
    [...this.list.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === place)));
    if (place >= 0) {
      this.list.children[place].scrollIntoView({ block: "nearest" });
      this.area.setAttribute("aria-activedescendant", `completion-${place}`);
    } else this.area.removeAttribute("aria-activedescendant");
  }

  take(place) {
    const { start, word, found } = this.offered;
    this.write(found[place].text, start, start + word.length);
  }

  close() {
    this.list.hidden = true;
    this.choice = -1;
    this.area.removeAttribute("aria-activedescendant");
  }
}
