// What the page asks its server for: single answers, and answers that come line by line.

export async function ask(kind, asked, signal) {
  const answer = await fetch(`/api/${kind}`, {
    method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked),
  });
  return read(answer);
}

export async function about() {
  return read(await fetch("/api/about"));
}

/** Calls `take` with each message of an answer; aborting the signal ends the work on the server, too. */
export async function listen(kind, asked, signal, take) {
  const answer = await fetch(`/api/${kind}`, {
    method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked),
  });
  if (!answer.ok) { take(await read(answer)); return; }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) take(JSON.parse(line));
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
