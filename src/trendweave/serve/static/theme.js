// Light or dark: as the system has it, or as was chosen here.

import { $ } from "./elements.js";
import { keep, kept } from "./memory.js";

export function startTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const choice = $("theme");
  choice.value = kept("theme", "auto");
  const show = () => {
    const wanted = choice.value === "auto" ? (dark.matches ? "dark" : "light") : choice.value;
    document.documentElement.dataset.theme = wanted;
  };
  choice.addEventListener("change", () => { keep("theme", choice.value); show(); });
  dark.addEventListener("change", show);
  show();
}
