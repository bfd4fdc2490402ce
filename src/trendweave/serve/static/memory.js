// What the page remembers in this browser: the queries, the source, the colours. It works without, too.

export function keep(name, value) {
  try { localStorage.setItem(`trendweave.${name}`, JSON.stringify(value)); } catch { /* not allowed here */ }
}

export function kept(name, otherwise) {
  try { return JSON.parse(localStorage.getItem(`trendweave.${name}`)) ?? otherwise; } catch { return otherwise; }
}
