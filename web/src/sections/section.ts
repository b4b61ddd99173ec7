// The frame of a section: a landmark with a heading that the page's navigation leads to.

import { el, type Child } from "../dom";

export interface Section {
  id: string;
  title: string;
  /** Shorter, for the navigation. */
  short: string;
  body: Child[];
}

export function render({ id, title, body }: Section): HTMLElement {
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), ...body);
}

/** A paragraph that says that something is not there. */
export function nothing(text: string): HTMLElement {
  return el("p", { class: "nothing" }, text);
}
