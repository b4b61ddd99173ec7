// One bubble of text for the whole page, beside the element that has the pointer or the keyboard's focus.

import { el } from "./dom";

let bubble: HTMLElement | null = null;
let owner: Element | null = null;

/** Shows text beside an element. */
export function showBubble(beside: Element, text: string): void {
  bubble ??= document.body.appendChild(el("div", { class: "bubble", role: "presentation" }));
  owner = beside;
  bubble.textContent = text;
  bubble.hidden = false;
  const place = beside.getBoundingClientRect();
  const size = bubble.getBoundingClientRect();
  const left = Math.min(Math.max(8, place.left + place.width / 2 - size.width / 2), document.documentElement.clientWidth - size.width - 8);
  const above = place.top - size.height - 8;
  bubble.style.left = `${left}px`;
  bubble.style.top = `${above < 4 ? place.bottom + 8 : above}px`;
}

export function hideBubble(): void {
  owner = null;
  if (bubble) bubble.hidden = true;
}

/** Shows text while an element has the pointer or the focus. */
export function describe(element: SVGElement | HTMLElement, text: string): void {
  element.addEventListener("pointerenter", () => showBubble(element, text));
  element.addEventListener("pointerleave", hideBubble);
  describeOnFocus(element, text);
}

/** The same for a link: Escape hides the text, and on a touch screen the first tap shows it and the second follows. */
export function explain(link: HTMLAnchorElement, text: string): void {
  let follows = true;
  const isTouch = (event: PointerEvent): boolean => event.pointerType === "touch";
  link.addEventListener("pointerenter", (event) => isTouch(event) || showBubble(link, text));
  link.addEventListener("pointerleave", (event) => isTouch(event) || hideBubble());
  link.addEventListener("pointerdown", (event) => {
    follows = !isTouch(event) || owner === link;
  });
  link.addEventListener("click", (event) => {
    if (follows) return;
    event.preventDefault();
    follows = true;
  });
  link.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") hideBubble();
  });
  describeOnFocus(link, text);
}

function describeOnFocus(element: SVGElement | HTMLElement, text: string): void {
  element.addEventListener("focus", () => showBubble(element, text));
  element.addEventListener("blur", hideBubble);
}
