// Light or dark colours: the system's choice until the reader makes one.

import { el } from "./dom";

type Theme = "light" | "dark";
const KEY = "showdown-theme";

/** The reader's choice. A browser may deny storage to a file that is opened from disk. */
function storedTheme(): Theme | null {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : null;
  } catch {
    return null;
  }
}

function storeTheme(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice then lasts until the page is closed.
  }
}

function current(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** The button that switches between them. */
export function themeButton(): HTMLElement {
  const stored = storedTheme();
  if (stored) document.documentElement.dataset.theme = stored;
  const button = el("button", { type: "button", class: "theme" });
  const label = (): void => {
    const dark = current() === "dark";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
  };
  button.addEventListener("click", () => {
    const next = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    storeTheme(next);
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
  return button;
}
