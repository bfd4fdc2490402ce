// Text of a query as pieces with a class each, by the words that the server tells.

const TOKEN = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?|"(?:[^"]|"")*"?)|(`(?:[^`]|``)*`?)|(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([A-Za-z_][\w]*(?:-[A-Za-z]+)*)|(\s+)|(.)/gsu;

/** Longer texts stay black, so that typing stays quick. */
const MOST_COLOURED = 30_000;

export function makeHighlighter(language) {
  const upper = (list) => new Set(list.map((word) => word.toUpperCase()));
  const words = upper([...language.clauses.flatMap((one) => one.split(/[\s-]/)), ...language.words]);
  const calls = upper([...language.aggregates, ...language.functions]);
  const others = upper([...language.strategies, ...language.relations]);
  return function pieces(text, types) {
    if (text.length > MOST_COLOURED) return [{ start: 0, text, kind: "" }];
    const found = [];
    let last = "";
    for (const match of text.matchAll(TOKEN)) {
      const [whole, comment, quoted, , number, word] = match;
      let kind = "";
      if (comment) kind = "comment";
      else if (quoted) kind = "quoted";
      else if (number) kind = "number";
      else if (word) {
        const name = word.toUpperCase();
        if (last === "." || last.toUpperCase() === "AS") kind = "";
        else if (calls.has(name) && /^\s*\(/.test(text.slice(match.index + word.length))) kind = "call";
        else if (name.split("-").every((part) => words.has(part)) || others.has(name)) kind = "word";
        else if (types.has(word)) kind = "type";
      }
      if (whole.trim()) last = whole;
      found.push({ start: match.index, text: whole, kind });
    }
    return found;
  };
}

/** Pieces as elements, with what is wrong underlined; `wrong` has [start, end) places. */
export function render(pieces, wrong) {
  const holder = document.createDocumentFragment();
  for (const piece of pieces) {
    const end = piece.start + piece.text.length;
    const cuts = new Set([piece.start, end]);
    for (const [from, to] of wrong) for (const place of [from, to]) if (place > piece.start && place < end) cuts.add(place);
    const places = [...cuts].sort((a, b) => a - b);
    for (let at = 0; at + 1 < places.length; at++) {
      const span = document.createElement("span");
      span.textContent = piece.text.slice(places[at] - piece.start, places[at + 1] - piece.start);
      const bad = wrong.some(([from, to]) => from < places[at + 1] && to > places[at]);
      span.className = [piece.kind, bad ? "wrong-place" : ""].join(" ").trim();
      holder.append(span);
    }
  }
  return holder;
}
