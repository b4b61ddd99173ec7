// The frame of a section: a landmark with a heading, to which the page's navigation leads.

import { el, type Child } from "../dom";
import { onceEach } from "../terms";

export interface Section {
  id: string;
  title: Child;
  /** A shorter title for the navigation. */
  short: string;
  body: Child[];
}

export function render({ id, title, body }: Section): HTMLElement {
  return onceEach(el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), ...body));
}

/** A paragraph in place of content that does not exist. */
export function nothing(text: Child): HTMLElement {
  return el("p", { class: "nothing" }, text);
}
