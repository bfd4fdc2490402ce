// What the page asks its server for: single answers, and answers that come in pieces.

export async function ask(kind, asked, signal) {
  return read(await fetch(`/api/${kind}`, {
    method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked),
  }));
}

export async function about() {
  return read(await fetch("/api/about"));
}

/** Calls `take` with each message of an answer, which comes in pieces; aborting the signal ends the work on the server, too. */
export async function listen(kind, asked, signal, take) {
  let piece = await ask(`begin/${kind}`, asked, signal);
  for (;;) {
    if (!piece.messages) { take(piece); return; }
    piece.messages.forEach(take);
    if (!piece.ticket) return;
    piece = await ask("more", { ticket: piece.ticket }, signal);
  }
}

async function read(answer) {
  try {
    const found = await answer.json();
    return found.refused ? { event: "refused", message: found.refused } : found;
  } catch {
    return { event: "refused", message: `the server answered ${answer.status}` };
  }
}
