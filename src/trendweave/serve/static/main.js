// Puts the parts of the page together.

import { Editor } from "./editor.js";
import { $, make, seconds } from "./elements.js";
import { Examples, firstQuery } from "./examples.js";
import { startKeys } from "./keys.js";
import { Live, offerColumns } from "./live.js";
import { choosePanel, openPanel, startPanels } from "./panels.js";
import { showPlan } from "./plans.js";
import { ageProblems, showProblems } from "./problems.js";
import { Results } from "./results.js";
import { Rules } from "./rules.js";
import { about as askAbout, ask, listen } from "./server.js";
import { Sources } from "./sources.js";
import { startTheme } from "./theme.js";

const PATIENCE = 300;

startTheme();
start();

async function start() {
  let about;
  try { about = await askAbout(); } catch { about = { event: "refused", message: "the server does not answer" }; }
  if (!about.samples) { $("state").textContent = about.message; return; }
  $("about").textContent = `version ${about.version}; everything stays on this server`;
  const page = { problems: [], problem: 0 };
  let timer = 0;
  const changed = () => {
    page.results.compare(asked(page));
    clearTimeout(timer);
    timer = setTimeout(() => check(page), PATIENCE);
  };
  page.editor = new Editor(about.language, () => { page.rules.typed(); ageProblems(); changed(); });
  const sources = page.sources = new Sources(about, (text) => page.editor.write(text), (other) => {
    page.editor.know(sources.columns, sources.types);
    if (other) page.examples.follow();
    changed();
  });
  page.rules = new Rules(page.editor, { ...firstQuery(sources) }, changed);
  page.examples = new Examples(sources, page.rules);
  page.results = new Results();
  page.live = new Live(() => asked(page), (problems) => tell(page, problems));
  startPanels();
  startKeys({
    run: () => run(page),
    stop: () => { page.running?.abort(); page.live.stop(); },
    goToProblem: () => { if (page.problems.length) goTo(page, page.problems[page.problem++ % page.problems.length]); },
    turn: (by) => page.results.turn(by),
  });
  $("run").addEventListener("click", () => run(page));
  $("stop").addEventListener("click", () => page.running?.abort());
  $("which").addEventListener("change", changed);
  $("help-open").addEventListener("click", () => $("help").showModal());
  await sources.look();
  document.documentElement.dataset.ready = "yes";
}

function asked(page, alone = page.rules.several && $("which").value === "one") {
  return { rules: page.rules.asked(alone), source: page.sources.asked };
}

function tell(page, answer) {
  const { rules, editor } = page;
  const all = rules.asked(false);
  const only = all.length === 1 ? all[0].name : rules.chosen.name;  // a query that is alone is not named
  const problems = (answer.problems ?? []).map((problem) => ({ ...problem, query: problem.query ?? only }));
  editor.mark(problems.filter((problem) => problem.query === rules.chosen.name));
  rules.mark(new Set(problems.map((problem) => problem.query)));
  page.problems = problems;
  showProblems({ ...answer, problems }, (problem) => goTo(page, problem));
  if (answer.event === "ok") $("state").replaceChildren(make("span", { class: "fine" }, "no problems"));
  else $("state").textContent = !problems.length ? "" : answer.count === 1 ? "1 problem" : `${answer.count} problems`;
}

function goTo(page, problem) {
  const place = page.rules.list.findIndex((rule) => rule.name === problem.query);
  if (place >= 0 && place !== page.rules.place) page.rules.choose(place);
  page.editor.goTo(problem);
}

/** Checks what was written, and shows the plan; what comes after a newer question is not shown. */
async function check(page) {
  page.checking?.abort();
  const own = page.checking = new AbortController();
  const question = asked(page, false);
  const chosen = page.rules.chosen.name;
  if (!question.rules.length) {
    tell(page, { event: "blank" });
    showPlan({ event: "blank", message: "Write a query, or choose an example." }, chosen);
    return;
  }
  try {
    const answer = await ask("check", question, own.signal);
    if (page.checking !== own) return;
    if (!page.running) tell(page, answer);
    showPlan(answer.event === "ok" ? await ask("plan", question, own.signal) : answer, chosen);
  } catch { if (page.checking === own && !own.signal.aborted) tell(page, { event: "refused", message: "The server does not answer any more." }); }
}

async function run(page) {
  if (page.running) return;
  const own = page.running = new AbortController();
  const question = asked(page);
  const notes = [];
  const parts = [];
  const began = performance.now();
  const passed = () => (performance.now() - began) / 1000;
  let what = "starting";
  let seen = { event: "stopped", message: "The run ended without an answer." };
  const ticking = setInterval(() => { $("state").textContent = `${what} ... ${passed().toFixed(1)} s`; }, 100);
  page.editor.close();
  $("run").disabled = true;
  $("stop").hidden = false;
  try {
    await listen("run", question, own.signal, (message) => {
      if (message.event === "doing") what = message.what;
      else if (message.event === "waiting") what = "waiting for others";
      else if (message.event === "rows") parts.push(message);
      else if (message.event === "notes") notes.push(...message.notes);
      else if (message.event !== "working") seen = message;
    });
  } catch {
    seen = { event: "stopped", message: own.signal.aborted ? "Stopped." : "The server does not answer any more." };
  }
  clearInterval(ticking);
  page.running = null;
  $("run").disabled = false;
  $("stop").hidden = true;
  if (seen.event === "result") finish(page, parts, seen, notes, question, passed());
  else fail(page, seen);
}

function finish(page, parts, result, notes, question, time) {
  tell(page, { event: "ok" });
  page.results.finish(parts, result, notes, question);
  page.results.compare(asked(page));
  offerColumns(parts.flatMap((part) => part.columns));
  $("state").replaceChildren(make("span", { class: "fine" }, `done in ${seconds(time)}`));
  if (!["rows", "picture"].includes(openPanel())) choosePanel("rows");
}

function fail(page, seen) {
  tell(page, seen);
  if (seen.event !== "problems") $("state").textContent = "stopped";
  page.results.stopped(seen.event === "problems" ? "The query has problems; they are told below it." : seen.message);
}
