// Rows of a result, page by page, sorted by any column; numbers stand at the right, with all their digits.

import { count, make } from "./elements.js";
import { eventsButton } from "./row_events.js";

const PAGE = 50;

export function cell(text, column) {
  if (text === null) return make("td", { class: `null ${column.kind}-cell` }, "NULL");
  const shown = column.kind === "number" && column.is_value ? grouped(text) : text;
  return make("td", { class: `${column.kind}-cell`, title: text.length > 60 ? text : "" }, shown);
}

/** A number with separators between thousands; what stands behind the point stays as it is. */
export function grouped(text) {
  const parts = /^(-?\d+)(\..*)?$/.exec(text);
  return parts ? parts[1].replace(/\B(?=(\d{3})+$)/g, ",") + (parts[2] ?? "") : text;
}

/** The type of a column in a word or two. */
export function shortType(type) {
  const zone = /^timestamp.*tz=(.*)\]$/.exec(type)?.[1];
  if (zone) return `timestamp, ${zone}`;
  return type.replace(/^list<.*/, "list").replace(/^decimal.*/, "decimal").replace(/[[(<].*/, "");
}

/** `sort` is called with the place of a column whose name was clicked, where there is one. */
export function head(columns, first = null, sort = null) {
  const cells = columns.map((column, place) => make("th", { scope: "col", class: `${column.kind}-cell` },
    sort ? make("button", { type: "button", class: "sort", title: "Sort by this column", onclick: () => sort(place) }, column.name) : column.name,
    make("small", { title: column.type }, shortType(column.type))));
  return make("thead", {}, make("tr", {}, ...(first ? [first] : []), ...cells));
}

const WORDS = { inf: Infinity, "-inf": -Infinity, nan: Infinity };
const whole = /^-?\d+$/;

/** Compares two cells of a kind; whole numbers of any size by all their digits. */
function compareCells(one, other, kind) {
  if (kind === "number") {
    if (whole.test(one) && whole.test(other)) {
      const left = BigInt(one), right = BigInt(other);
      return left < right ? -1 : Number(left > right);
    }
    const [left, right] = [one, other].map((text) => WORDS[text] ?? Number(text));
    if (left !== right) return left < right ? -1 : 1;
    return (one === "nan") - (other === "nan");
  }
  return one < other ? -1 : Number(one > other);
}

/** The places of rows in the order of a column; NULL comes last, and rows that are equal stay as they were. */
export function sortedPlaces(rows, place, kind, down) {
  const places = rows.map((_, number) => number);
  return places.sort((left, right) => {
    const [one, other] = [rows[left][place], rows[right][place]];
    if (one === null || other === null) return (one === null) - (other === null) || left - right;
    return (down ? -1 : 1) * compareCells(one, other, kind) || left - right;
  });
}

/** Rows as CSV, with all digits; NULL is an empty cell, an empty text a pair of quotes. */
export function writeCsv(columns, rows) {
  const quoted = (text) => (text === null ? "" : text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [columns.map((column) => column.name), ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

/** A table with buttons for its pages; `turn(by)` is there for keys, `csv()` for the rows as they are sorted. */
export function pagedTable(found, askEvents) {
  const { columns, rows } = found;
  let page = 0;
  let order = rows.map((_, number) => number);
  let sorting = { place: -1, down: false };
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const body = make("tbody");
  const where = make("span", { class: "quiet", role: "status" });
  const back = make("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const on = make("button", { type: "button", onclick: () => turn(1) }, "Next");
  const names = head(columns, null, sort);
  const holder = make("div", {}, make("div", { class: "table", tabIndex: 0, role: "region", "aria-label": "Rows" },
    make("table", {}, names, body)));
  holder.append(make("div", { class: "row" }, ...(pages > 1 ? [back, on] : []), where));
  /** Up, then down, then as the rows came. */
  function sort(place) {
    const again = sorting.place === place;
    sorting = again && sorting.down ? { place: -1, down: false } : { place, down: again };
    order = sorting.place < 0 ? rows.map((_, number) => number) : sortedPlaces(rows, place, columns[place].kind, sorting.down);
    names.querySelectorAll("th").forEach((one, number) => {
      if (number === sorting.place) one.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
      else one.removeAttribute("aria-sort");
    });
    page = 0;
    turn(0);
  }
  function row(number) {
    const made = make("tr", {}, ...rows[number].map((text, place) => cell(text, columns[place])));
    if (found.events && askEvents) made.firstChild.prepend(eventsButton(found, number, made, askEvents));
    return made;
  }
  function turn(by) {
    page = Math.min(pages - 1, Math.max(0, page + by));
    const from = page * PAGE;
    const shown = order.slice(from, from + PAGE);
    body.replaceChildren(...shown.map(row));
    back.disabled = page === 0;
    on.disabled = page === pages - 1;
    where.textContent = rows.length ? `rows ${count(from + 1)} to ${count(from + shown.length)} of ${count(rows.length)}` : "no rows";
  }
  turn(0);
  holder.turn = turn;
  holder.csv = () => writeCsv(columns, order.map((number) => rows[number]));
  return holder;
}
