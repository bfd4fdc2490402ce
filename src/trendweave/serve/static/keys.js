// Keys that work everywhere on the page.

import { $ } from "./elements.js";
import { PANELS, choosePanel } from "./panels.js";

/** `page` has what keys do: run, stop, goToProblem and turn. */
export function startKeys(page) {
  document.addEventListener("keydown", (event) => {
    if ($("help").open) return;
    const act = actionOf(event, page);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function actionOf(event, page) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return page.run;
  if (event.key === "Escape") return page.stop;
  if (event.key === "F8") return page.goToProblem;
  if (!event.altKey) return null;
  // By the place of the key: with Alt, some keyboards write other characters.
  const panel = PANELS[/^Digit([1-5])$/.exec(event.code)?.[1] - 1];
  if (panel && !$(`tab-${panel}`).hidden) return () => { choosePanel(panel); $(`tab-${panel}`).focus(); };
  return { PageUp: () => page.turn(-1), PageDown: () => page.turn(1) }[event.key];
}
