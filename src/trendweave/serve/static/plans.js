// The plan of a query, drawn and in words; of a workload, what its queries compute together.

import { $, make, takeDrawing } from "./elements.js";

export function showPlan(answer, chosen) {
  if (answer.event !== "plan") {
    const why = answer.event === "problems" ? "The plan appears when the query has no problems." : answer.message;
    for (const id of ["plan", "shared"]) $(id).replaceChildren(make("p", { class: "empty" }, why));
    return;
  }
  const one = answer.queries.find((query) => query.name === chosen) ?? answer.queries[0];
  $("plan").replaceChildren(
    make("p", { class: "quiet" }, `A query for ${one.kind}.${one.kind === "intervals" ? "" : " A double border is where trends may end; a dashed arrow says what may not lie between."}`),
    takeDrawing(one.drawing), make("pre", { class: "plan", tabIndex: 0, "aria-label": "Plan" }, one.text),
    ...(answer.access ? [make("h3", {}, "What is read of the store"), make("pre", { class: "plan", tabIndex: 0 }, answer.access)] : []));
  if (answer.shared) {
    $("shared").replaceChildren(
      make("p", { class: "quiet" }, "Events are read once, and what stands under one heading is computed together."),
      takeDrawing(answer.shared.drawing), make("pre", { class: "plan", tabIndex: 0, "aria-label": "What is shared" }, answer.shared.text));
  } else {
    $("shared").replaceChildren(make("p", { class: "empty" }, "Write a second query to see what queries compute together."));
  }
}
