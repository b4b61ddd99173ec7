// Light, dark, or as the system has it. Charts take their colours from CSS, so nothing is drawn again.

import { h } from "./dom";

const CHOICES = ["auto", "light", "dark"] as const;
type Choice = (typeof CHOICES)[number];
const KEY = "showdown-theme";

/** A file that is opened from disk may not be allowed to remember. */
function remembered(): Choice {
  try {
    const found = localStorage.getItem(KEY);
    return CHOICES.find((choice) => choice === found) ?? "auto";
  } catch {
    return "auto";
  }
}

function apply(choice: Choice): void {
  document.documentElement.dataset["theme"] = choice;
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // Then it lasts as long as the page.
  }
}

/** The toggle, which also applies what was chosen before. */
export function themeToggle(): HTMLElement {
  const chosen = remembered();
  apply(chosen);
  const option = (choice: Choice) =>
    h(
      "label",
      null,
      h("input", {
        type: "radio",
        name: "theme",
        value: choice,
        checked: choice === chosen,
        onchange: () => apply(choice),
      }),
      h("span", null, choice),
    );
  return h("fieldset", { class: "segments theme no-print" }, h("legend", { class: "sr" }, "Colours"), CHOICES.map(option));
}
