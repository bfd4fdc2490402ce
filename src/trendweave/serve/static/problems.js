// What is wrong, as a terminal would tell it: the line, carets under the place, and a hint.

import { $, make } from "./elements.js";

export function showProblems(answer, goTo) {
  const place = $("problems");
  place.classList.remove("old");
  if (answer.event === "problems") {
    const shown = answer.problems.map((problem) => make("button", {
      type: "button", class: "problem", onclick: () => goTo(problem), title: "Go to the place",
    }, make("pre", {}, ...lines(problem.shown))));
    const more = answer.count - answer.problems.length;
    place.replaceChildren(...shown, ...(more > 0 ? [make("p", { class: "quiet" }, `and ${more} more`)] : []));
  } else if (answer.message) {
    place.replaceChildren(make("p", { class: "stopped" }, answer.message));
  } else place.replaceChildren();
}

/** What was told of an earlier text, until the new one is checked. */
export function ageProblems() {
  $("problems").classList.add("old");
}

function lines(text) {
  return text.split("\n").map((line, number) => {
    if (number === 0) return make("span", { class: "told" }, line);
    if (line.startsWith("  hint:")) return make("span", { class: "told hint" }, line);
    return make("span", { class: /^\s*\^+$/.test(line) ? "caret" : "" }, line + "\n");
  });
}
