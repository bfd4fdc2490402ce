// What can stand where the caret is: columns after a dot, types in a pattern, words elsewhere.

const MOST = 12;

/** The word before the caret, and the candidates that begin with it; names in backticks begin behind the backtick. */
export function complete(text, caret, known) {
  const before = text.slice(0, caret);
  const quote = openQuote(before);
  const word = before[quote] === "`" ? before.slice(quote)
    : before[quote] === "'" ? before.slice(quote + 1)
      : /[A-Za-z_][\w-]*$/.exec(before)?.[0] ?? "";
  const start = caret - word.length;
  const isQuoted = word.startsWith("`");
  const low = (isQuoted ? word.slice(1).replaceAll("``", "`") : word).toLowerCase();
  const seen = new Set();
  const found = candidatesAt(before.slice(0, start), text, known).filter(({ text: one, name }) => {
    if (isQuoted && name === undefined) return false;
    if (!(name ?? one).toLowerCase().startsWith(low) || one === word || seen.has(one)) return false;
    seen.add(one);
    return true;
  });
  return { word, start, found: found.slice(0, MOST) };
}

/** Where a quote or a backtick stands that its line does not close before the caret; -1 where none does. */
function openQuote(before) {
  let open = -1;
  for (let place = before.lastIndexOf("\n") + 1; place < before.length; place += 1) {
    const letter = before[place];
    if (open < 0 && (letter === "'" || letter === "`")) open = place;
    else if (open >= 0 && letter === before[open]) {
      // Two of them stand for one.
      if (before[place + 1] === letter) place += 1;
      else open = -1;
    }
  }
  return open;
}

function candidatesAt(lead, text, known) {
  const { language, columns, types } = known;
  const asColumns = columns.map(({ name, type }) => ({ text: quoteName(name), name, kind: type }));
  if (/\.\s*$/.test(lead)) return asColumns;
  if (lead[openQuote(lead)] === "'") return types.map((type) => ({ text: type, kind: "type" }));
  const inPattern = /\bPATTERN\b(?![\s\S]*\b(WHERE|SEMANTICS|GROUP|WITHIN|RETURN|SLIDE|HAVING)\b)/i.test(lead);
  const list = (words, kind) => words.map((word) => ({ text: word, kind }));
  const ofTypes = types.map((name) => ({ text: quoteName(name), name, kind: "type" }));
  if (/\b(WITHIN|SLIDE|LEAST|MOST|EVERY)\s+\d+(\.\d+)?\s+$/i.test(lead)) return list(language.shown_units, "unit");
  if (/\bSEMANTICS\s+$/i.test(lead)) return list(language.strategies, "strategy");
  if (/\[[^\]]*$/.test(lead) || /\b(GROUP\s*-?\s*BY|PARTITION\s*-?\s*BY)\s[^\n]*$/i.test(lead)) return asColumns;
  const rest = [
    ...list(language.clauses, "clause"), ...list(language.aggregates, "aggregate"), ...list(language.words, "word"),
    ...asColumns, ...list(variables(text), "variable"), ...list(language.functions, "function"),
    ...list(language.strategies, "strategy"), ...list(language.relations, "relation"),
  ];
  return inPattern ? [...ofTypes, ...rest] : [...rest, ...ofTypes];
}

/** Names that a pattern gives to its events. */
function variables(text) {
  const pattern = /\bPATTERN\b([\s\S]*?)(?=\b(?:WHERE|SEMANTICS|GROUP|WITHIN|RETURN|SLIDE|HAVING)\b|$)/i.exec(text)?.[1] ?? "";
  return [...pattern.matchAll(/[A-Za-z_]\w*\s+([A-Za-z_]\w*)/g)].map((match) => match[1]);
}

export function quoteName(name) {
  return /^[A-Za-z_]\w*$/.test(name) ? name : "`" + name.replaceAll("`", "``") + "`";
}
