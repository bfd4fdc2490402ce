// What can stand where the caret is: columns after a dot, types in a pattern, words elsewhere.

const MOST = 12;

/** The word before the caret, and the candidates that begin with it. */
export function complete(text, caret, known) {
  const before = text.slice(0, caret);
  const word = /[A-Za-z_][\w-]*$/.exec(before)?.[0] ?? "";
  const start = caret - word.length;
  const lead = before.slice(0, start);
  const candidates = candidatesAt(lead, text, known);
  const low = word.toLowerCase();
  const seen = new Set();
  const found = candidates.filter(({ text: one }) => {
    if (!one.toLowerCase().startsWith(low) || one === word || seen.has(one)) return false;
    seen.add(one);
    return true;
  });
  return { word, start, found: found.slice(0, MOST) };
}

function candidatesAt(lead, text, known) {
  const { language, columns, types } = known;
  const asColumns = columns.map((column) => ({ text: quoteName(column.name), kind: column.type }));
  if (/\.\s*$/.test(lead)) return asColumns;
  if (/'[^']*$/.test(lead.split("\n").pop())) return types.map((type) => ({ text: type, kind: "type" }));
  const inPattern = /\bPATTERN\b(?![\s\S]*\b(WHERE|SEMANTICS|GROUP|WITHIN|RETURN|SLIDE|HAVING)\b)/i.test(lead);
  const list = (words, kind) => words.map((word) => ({ text: word, kind }));
  const ofTypes = list(types.map(quoteName), "type");
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
