// The tabs at the right, one of which is open.

import { $, arrowKeys } from "./elements.js";
import { keep, kept } from "./memory.js";

export const PANELS = ["rows", "picture", "plan", "shared", "live"];

export function choosePanel(name) {
  if ($(`tab-${name}`).hidden) return;
  for (const one of PANELS) {
    const chosen = one === name;
    $(`tab-${one}`).setAttribute("aria-selected", String(chosen));
    $(`tab-${one}`).tabIndex = chosen ? 0 : -1;
    $(`panel-${one}`).hidden = !chosen;
  }
  keep("panel", name);
}

export function openPanel() {
  const name = kept("panel", "rows");
  return PANELS.includes(name) && !$(`tab-${name}`).hidden ? name : "rows";
}

/** Shows or hides the tab of a panel that is not always of use. */
export function offerPanel(name, isOffered) {
  const open = openPanel();
  $(`tab-${name}`).hidden = !isOffered;
  if (!isOffered && open === name) choosePanel("rows");
}

export function startPanels() {
  for (const name of PANELS) $(`tab-${name}`).addEventListener("click", () => choosePanel(name));
  arrowKeys(document.querySelector(".tabs"));
  choosePanel(openPanel());
}
