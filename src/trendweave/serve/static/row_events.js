// From a row to its events: those of the trend that it shows, or those of its window and group.

import { count, make } from "./elements.js";
import { cell, head } from "./table.js";

/** A button that opens and closes the events of a row, below it; `ask` gives those of a window. */
export function eventsButton(found, number, row, ask) {
  const button = make("button", { type: "button", class: "open", "aria-label": "Events of this row", title: "Events of this row", "aria-expanded": "false" });
  let opened = null;
  button.addEventListener("click", async () => {
    if (opened) {
      opened.remove();
      opened = null;
      button.setAttribute("aria-expanded", "false");
      return;
    }
    const inside = make("td", { colSpan: found.columns.length }, make("p", { class: "quiet" }, "reading events ..."));
    const own = opened = make("tr", { class: "events" }, inside);
    row.after(own);
    button.setAttribute("aria-expanded", "true");
    const answer = await eventsOf(found, number, ask);
    if (own.isConnected) inside.replaceChildren(...showEvents(answer));
  });
  return button;
}

async function eventsOf(found, number, ask) {
  const { events, columns, rows } = found;
  const trend = events.trends?.[number];
  if (trend) return { event: "events", of: "trend", columns: events.columns, rows: trend, total: trend.length };
  if (events.of === "trend") return { event: "refused", message: "This trend has too many events to be shown with all others; LIMIT shows fewer trends." };
  try {
    return await ask(Object.fromEntries(columns.map((column, place) => [column.name, rows[number][place]])));
  } catch {
    return { event: "refused", message: "The server does not answer any more." };
  }
}

function showEvents(answer) {
  if (answer.event !== "events") return [make("p", { class: "stopped" }, answer.message ?? answer.problems?.[0]?.message ?? "There is no answer.")];
  const { columns, rows, total } = answer;
  const number = rows.length < total ? `The first ${count(rows.length)} of ${count(total)} events` : total === 1 ? "1 event" : `${count(total)} events`;
  return [make("p", { class: "quiet" }, `${number} of ${answer.of === "trend" ? "this trend" : "this window and group"}.`),
    make("div", { class: "table short", tabIndex: 0, role: "region", "aria-label": "Events of the row" }, make("table", {}, head(columns),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text, place) => cell(text, columns[place])))))))];
}
