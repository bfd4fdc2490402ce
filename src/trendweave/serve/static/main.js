// Puts the parts of the page together.

import { $, arrowKeys, make } from "./elements.js";
import { Editor } from "./editor.js";
import { Live } from "./live.js";
import { keep, kept } from "./memory.js";
import { showPlan } from "./plans.js";
import { showProblems } from "./problems.js";
import { Results } from "./results.js";
import { Rules } from "./rules.js";
import { about as askAbout, ask, listen } from "./server.js";
import { Sources } from "./sources.js";
import { startTheme } from "./theme.js";

const PANELS = ["rows", "picture", "plan", "shared", "live"];
const PATIENCE = 300;

startTheme();
start();

async function start() {
  let about;
  try { about = await askAbout(); } catch { about = { event: "refused", message: "the server does not answer" }; }
  if (!about.samples) { $("state").textContent = about.message; return; }
  $("about").textContent = `version ${about.version}; everything stays on this server`;
  const page = {};
  page.editor = new Editor(about.language, () => { page.rules.typed(); checkSoon(); });
  const sources = page.sources = new Sources(about, (text) => page.editor.write(text), (other) => {
    page.editor.know(sources.columns, sources.types);
    if (other) fillExamples(page, false);
    checkSoon();
  });
  page.rules = new Rules(page.editor, exampleOf(sources, 0), checkSoon);
  page.results = new Results();
  page.live = new Live(() => asked(page), (problems) => tell(page, problems));
  let timer = 0;
  function checkSoon() { clearTimeout(timer); timer = setTimeout(() => check(page), PATIENCE); }
  fillExamples(page, true);
  startTabs();
  startKeys(page);
  $("run").addEventListener("click", () => run(page));
  $("stop").addEventListener("click", () => page.running?.abort());
  $("which").addEventListener("change", checkSoon);
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("example").addEventListener("change", () => takeExample(page, $("example").value));
  await sources.look();
  document.documentElement.dataset.ready = "yes";
}

function exampleOf(sources, place) {
  const found = sources.sample?.examples[place];
  return found ? { ...found } : { name: "query", text: place === 0 ? "RETURN COUNT(*)\nPATTERN A+\nWITHIN 1 minute" : "" };
}

/** Examples of the sample; a query that was one is replaced by one of the new sample. */
function fillExamples(page, first) {
  const { sources, rules } = page;
  const examples = sources.sample?.examples ?? [];
  const files = sources.about.queries;
  const folders = [...new Set(files.map((one) => one.name.split("/").slice(0, -1).join("/")))].filter((name) =>
    files.filter((one) => one.name.startsWith(name && `${name}/`)).length > 1);
  const group = (label, kind, names) => names.length
    ? [make("optgroup", { label }, ...names.map((name, place) => make("option", { value: `${kind}:${place}` }, name)))] : [];
  page.folders = folders;
  $("example").replaceChildren(make("option", { value: "" }, "choose ..."), ...group("Examples", "example", examples.map((one) => one.name)),
    ...group("Query files", "file", files.map((one) => one.name)), ...group("All queries of a folder", "folder", folders.map((name) => name || "the served folder")));
  $("example").disabled = !examples.length && !files.length;
  const known = new Set(sources.about.samples.flatMap((sample) => sample.examples.map((one) => one.text.trim())));
  if (!first && examples.length && !rules.several && known.has(rules.chosen.text.trim())) rules.replace(examples[0].name, examples[0].text);
}

/** An example or a file takes the place of the query that is shown; those of a folder become the workload. */
function takeExample(page, value) {
  const [kind, place] = value.split(":");
  const files = page.sources.about.queries;
  const chosen = kind === "example" ? exampleOf(page.sources, Number(place)) : kind === "file" ? files[Number(place)] : null;
  if (chosen) page.rules.replace(chosen.name, chosen.text);
  if (kind === "folder") {
    const folder = page.folders[Number(place)];
    const start = folder && `${folder}/`;
    page.rules.takeAll(files.filter((one) => one.name.startsWith(start)).map((one) => ({ ...one, name: one.name.slice(start.length) })));
  }
  $("example").selectedIndex = 0;
}

function asked(page, alone = page.rules.several && $("which").value === "one") {
  return { rules: page.rules.asked(alone), source: page.sources.asked };
}

function tell(page, answer) {
  const { rules, editor } = page;
  const problems = answer.event === "problems" ? answer.problems : [];
  const own = (problem) => problem.query === null || problem.query === rules.chosen.name;
  editor.mark(problems.filter(own));
  rules.mark(new Set(problems.map((problem) => problem.query ?? rules.chosen.name)));
  page.problems = problems;
  showProblems(answer, (problem) => goTo(page, problem));
  if (answer.event === "ok") $("state").replaceChildren(make("span", { class: "fine" }, "no problems"));
  else if (answer.event === "problems") $("state").textContent = answer.count === 1 ? "1 problem" : `${answer.count} problems`;
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
  const notes = [];
  const began = performance.now();
  let what = "starting";
  let seen = null;
  const state = () => { $("state").textContent = `${what} ... ${((performance.now() - began) / 1000).toFixed(1)} s`; };
  const ticking = setInterval(state, 100);
  $("run").disabled = true;
  $("stop").hidden = false;
  page.results.begin();
  try {
    await listen("run", asked(page), own.signal, (message) => {
      if (message.event === "doing") what = message.what;
      else if (message.event === "waiting") what = "waiting for others";
      else if (message.event === "rows") page.results.take(message);
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
  finish(page, seen ?? { event: "stopped", message: "The run ended without an answer." }, notes, performance.now() - began);
}

function finish(page, seen, notes, milliseconds) {
  if (seen.event === "result") {
    tell(page, { event: "ok" });
    page.results.finish(seen, notes);
    $("state").replaceChildren(make("span", { class: "fine" }, `done in ${(milliseconds / 1000).toFixed(1)} s`));
    if (!["rows", "picture"].includes(kept("panel", "rows"))) choosePanel("rows");
    return;
  }
  tell(page, seen);
  if (seen.event !== "problems") $("state").textContent = "stopped";
  page.results.stopped(seen.event === "problems" ? "The query has problems; they are told below it." : seen.message);
}

function choosePanel(name) {
  for (const one of PANELS) {
    const chosen = one === name;
    $(`tab-${one}`).setAttribute("aria-selected", String(chosen));
    $(`tab-${one}`).tabIndex = chosen ? 0 : -1;
    $(`panel-${one}`).hidden = !chosen;
  }
  keep("panel", name);
}

function startTabs() {
  for (const name of PANELS) $(`tab-${name}`).addEventListener("click", () => choosePanel(name));
  arrowKeys(document.querySelector(".tabs"));
  choosePanel(PANELS.includes(kept("panel", "rows")) ? kept("panel", "rows") : "rows");
}

function startKeys(page) {
  let problem = 0;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(page); }
    else if (event.key === "Escape") { page.running?.abort(); page.live.stop(); }
    else if (event.key === "F8" && page.problems?.length) { event.preventDefault(); goTo(page, page.problems[problem++ % page.problems.length]); }
    else if (event.altKey && /^[1-5]$/.test(event.key)) { event.preventDefault(); choosePanel(PANELS[event.key - 1]); $(`tab-${PANELS[event.key - 1]}`).focus(); }
    else if (event.altKey && (event.key === "PageUp" || event.key === "PageDown")) { event.preventDefault(); page.results.turn(event.key === "PageUp" ? -1 : 1); }
  });
}
