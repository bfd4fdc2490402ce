// Queries to begin with: examples of the sample, query files, and all queries of a folder as a workload.

import { $, make } from "./elements.js";

export class Examples {
  constructor(sources, rules) {
    this.sources = sources;
    this.rules = rules;
    this.files = sources.about.queries;
    this.folders = foldersOf(this.files);
    $("example").addEventListener("change", () => this.take($("example").value));
    this.fill();
  }

  get ofSample() { return this.sources.sample?.examples ?? []; }

  fill() {
    const group = (label, kind, names) => names.length
      ? [make("optgroup", { label }, ...names.map((name, place) => make("option", { value: `${kind}:${place}` }, name)))] : [];
    const nameOf = (one) => one.name;
    $("example").replaceChildren(make("option", { value: "" }, "choose ..."), ...group("Examples", "example", this.ofSample.map(nameOf)),
      ...group("Query files", "file", this.files.map(nameOf)),
      ...group("All queries of a folder", "folder", this.folders.map((name) => name || "the served folder")));
    $("example").disabled = $("example").options.length === 1;
  }

  /** Another source: a query that was an example is replaced by one of the new sample. */
  follow() {
    this.fill();
    const known = new Set(this.sources.about.samples.flatMap((sample) => sample.examples.map((one) => one.text.trim())));
    const [first] = this.ofSample;
    if (first && !this.rules.several && known.has(this.rules.chosen.text.trim())) this.rules.replace(first.name, first.text);
  }

  /** An example or a file takes the place of the query that is shown; those of a folder become the workload. */
  take(value) {
    const [kind, place] = value.split(":");
    const chosen = { example: this.ofSample, file: this.files }[kind]?.[Number(place)];
    if (chosen) this.rules.replace(chosen.name, chosen.text);
    if (kind === "folder") {
      const start = startOf(this.folders[Number(place)]);
      const own = this.files.filter((one) => one.name.startsWith(start));
      this.rules.takeAll(own.map(({ name, text }) => ({ name: name.slice(start.length), text })));
    }
    $("example").selectedIndex = 0;
  }
}

/** What stands in the editor of someone who comes for the first time. */
export function firstQuery(sources) {
  return sources.sample?.examples[0] ?? { name: "query", text: "RETURN COUNT(*)\nPATTERN A+\nWITHIN 1 minute" };
}

const startOf = (folder) => folder && `${folder}/`;

/** Folders that have more than one query. */
function foldersOf(files) {
  const names = new Set(files.map((one) => one.name.split("/").slice(0, -1).join("/")));
  return [...names].filter((name) => files.filter((one) => one.name.startsWith(startOf(name))).length > 1);
}
