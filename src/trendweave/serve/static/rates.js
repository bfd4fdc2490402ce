// How fast events came, drawn as a line.

import { count, make } from "./elements.js";

/** The last rates as a line, with what they were at most. */
export function drawRates(rates) {
  return make("figure", {}, make("figcaption", {}, make("span", {}, "events a second"),
    make("span", {}, `at most ${count(Math.round(Math.max(...rates)))}`)), sparkline(rates));
}

function sparkline(rates) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", `0 0 ${Math.max(1, rates.length - 1)} 40`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("class", "spark");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Events a second, now ${Math.round(rates.at(-1))}`);
  const most = Math.max(1, ...rates) * 1.1;
  const points = rates.map((rate, place) => `${place} ${(40 - 38 * rate / most).toFixed(2)}`);
  const add = (kind, path) => {
    const made = document.createElementNS(space, "path");
    made.setAttribute("class", kind);
    made.setAttribute("d", path);
    svg.append(made);
  };
  if (points.length > 1) {
    add("area", `M0 40L${points.join("L")}L${rates.length - 1} 40Z`);
    add("rate", `M${points.join("L")}`);
  }
  return svg;
}
