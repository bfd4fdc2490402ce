// Small helpers to make elements; text is always set as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && !name.startsWith("aria")) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Drawings that the server made: pictures and short notes are taken out of them, nothing that could act. */
export function takeDrawing(text) {
  const parsed = new DOMParser().parseFromString(text, "text/html");
  const holder = make("div", { class: "drawing" });
  for (const found of parsed.querySelectorAll("svg, body > p, body > table")) {
    if (found.parentElement.closest("svg")) continue;
    for (const inner of [found, ...found.querySelectorAll("*")]) {
      if (["script", "style", "foreignobject", "a", "use", "image", "iframe"].includes(inner.localName.toLowerCase())) {
        inner.remove();
        continue;
      }
      for (const attribute of [...inner.attributes]) {
        if (/^on|href$|^style$/i.test(attribute.name)) inner.removeAttribute(attribute.name);
      }
    }
    const taken = document.importNode(found, true);
    if (found.localName === "svg") {
      taken.style.width = "100%";
      taken.style.maxWidth = `${found.viewBox?.baseVal?.width || 920}px`;
      // Small drawings stay as they are, wide ones may be scrolled.
      taken.style.minWidth = `${Math.min(found.viewBox?.baseVal?.width || 920, 640)}px`;
    }
    holder.append(taken);
  }
  return holder;
}

export const count = (number) => Number(number).toLocaleString("en-US");

/** A length of time as people say it. */
export const seconds = (number) => (number < 0.1 ? `${Math.round(number * 1000)} ms` : `${number.toFixed(number < 10 ? 2 : 1)} s`);

/** Tabs, or other things in a row, as people expect them: arrows move, Home and End jump, one of them is in the order of Tab. */
export function arrowKeys(list, selector = '[role="tab"]:not([hidden])', choose = (item) => item.click()) {
  list.addEventListener("keydown", (event) => {
    const items = [...list.querySelectorAll(selector)];
    const place = items.indexOf(document.activeElement);
    const next = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: items.length - 1 }[event.key];
    if (place < 0 || next === undefined) return;
    event.preventDefault();
    const chosen = (next + items.length) % items.length;
    choose(items[chosen], items[place]);
    list.querySelectorAll(selector)[chosen]?.focus();
  });
}
