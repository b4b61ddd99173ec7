// Light or dark: as the system has it until the reader chooses, and then as chosen.

import { el } from "./dom";

type Theme = "light" | "dark";
const KEY = "showdown-theme";

/** A file that is opened from disk may not be allowed to remember. */
function remembered(): Theme | null {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : null;
  } catch {
    return null;
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then it lasts as long as the page.
  }
}

function current(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** The button that changes it. */
export function themeButton(): HTMLElement {
  const before = remembered();
  if (before) document.documentElement.dataset.theme = before;
  const button = el("button", { type: "button", class: "theme" });
  const label = (): void => {
    const dark = current() === "dark";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
  };
  button.addEventListener("click", () => {
    const next = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    remember(next);
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
  return button;
}
