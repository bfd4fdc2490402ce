// Rows of a result, page by page; numbers stand at the right, with all their digits.

import { count, make } from "./elements.js";

const PAGE = 50;

export function cell(text, column) {
  if (text === null) return make("td", { class: `null ${column.kind}-cell` }, "NULL");
  return make("td", { class: `${column.kind}-cell`, title: text.length > 60 ? text : "" }, text);
}

/** The type of a column in a word or two. */
export function shortType(type) {
  const zone = /^timestamp.*tz=(.*)\]$/.exec(type)?.[1];
  if (zone) return `timestamp, ${zone}`;
  return type.replace(/^list<.*/, "list").replace(/^decimal.*/, "decimal").replace(/[[(<].*/, "");
}

export function head(columns, first = null) {
  const cells = columns.map((column) => make("th", { scope: "col", class: `${column.kind}-cell` }, column.name,
    make("small", { title: column.type }, shortType(column.type))));
  return make("thead", {}, make("tr", {}, ...(first ? [first] : []), ...cells));
}

/** A table with buttons for its pages; `turn(by)` is there for keys. */
export function pagedTable(found) {
  const { columns, rows } = found;
  let page = 0;
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const body = make("tbody");
  const where = make("span", { class: "quiet", role: "status" });
  const back = make("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const on = make("button", { type: "button", onclick: () => turn(1) }, "Next");
  const holder = make("div", {}, make("div", { class: "table", tabIndex: 0, role: "region", "aria-label": "Rows" },
    make("table", {}, head(columns), body)));
  holder.append(make("div", { class: "row" }, ...(pages > 1 ? [back, on] : []), where));
  function turn(by) {
    page = Math.min(pages - 1, Math.max(0, page + by));
    const from = page * PAGE;
    const shown = rows.slice(from, from + PAGE);
    body.replaceChildren(...shown.map((row) => make("tr", {}, ...row.map((text, place) => cell(text, columns[place])))));
    back.disabled = page === 0;
    on.disabled = page === pages - 1;
    where.textContent = rows.length ? `rows ${count(from + 1)} to ${count(from + shown.length)} of ${count(rows.length)}` : "no rows";
  }
  turn(0);
  holder.turn = turn;
  return holder;
}
