// Marks that speak: every mark with a title shows it while the pointer or the keyboard's focus is on it.
// A drawing is one stop of the Tab key; the arrows go from mark to mark, Home and End to the first and the last.

import { el } from "../dom";

let bubble: HTMLElement | null = null;

function show(mark: Element, text: string): void {
  bubble ??= document.body.appendChild(el("div", { class: "bubble", role: "presentation" }));
  bubble.textContent = text;
  bubble.hidden = false;
  const place = mark.getBoundingClientRect();
  const size = bubble.getBoundingClientRect();
  const left = Math.min(Math.max(8, place.left + place.width / 2 - size.width / 2), document.documentElement.clientWidth - size.width - 8);
  const above = place.top - size.height - 8;
  bubble.style.left = `${left}px`;
  bubble.style.top = `${above < 4 ? place.bottom + 8 : above}px`;
}

function hide(): void {
  if (bubble) bubble.hidden = true;
}

/** Lets the marks of a drawing speak, and be reached with the keyboard. */
export function marksSpeak(drawing: Element): void {
  // The library names its groups ("rule", "dot"), which tells a listener nothing and is no valid name of a group.
  for (const group of drawing.querySelectorAll("g[aria-label]")) group.removeAttribute("aria-label");
  const marks: SVGElement[] = [];
  for (const title of drawing.querySelectorAll("title")) {
    // A mark that leads somewhere is wrapped in its link, which is what takes the focus.
    const mark = title.closest<SVGElement>("a") ?? (title.parentElement as SVGElement | null);
    if (!mark) continue;
    const text = title.textContent ?? "";
    title.remove();
    if (mark.tagName !== "a") mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", text);
    mark.setAttribute("tabindex", marks.length === 0 ? "0" : "-1");
    mark.addEventListener("pointerenter", () => show(mark, text));
    mark.addEventListener("pointerleave", hide);
    mark.addEventListener("focus", () => show(mark, text));
    mark.addEventListener("blur", hide);
    marks.push(mark);
  }
  rove(drawing, marks);
}

/** Arrow keys among elements of which only one is a stop of the Tab key. */
export function rove(area: Element, stops: readonly (SVGElement | HTMLElement)[]): void {
  let at = 0;
  area.addEventListener("keydown", (event) => {
    if (!(event instanceof KeyboardEvent)) return;
    const here = stops.indexOf(event.target as SVGElement);
    if (here < 0) return;
    const steps: Record<string, number> = {
      ArrowRight: here + 1,
      ArrowDown: here + 1,
      ArrowLeft: here - 1,
      ArrowUp: here - 1,
      Home: 0,
      End: stops.length - 1,
    };
    const next = steps[event.key];
    const stop = next === undefined ? undefined : stops[next];
    if (event.key === "Escape") hide();
    if (next === undefined || !stop) return;
    event.preventDefault();
    stops[at]?.setAttribute("tabindex", "-1");
    stops[here]?.setAttribute("tabindex", "-1");
    stop.setAttribute("tabindex", "0");
    at = next;
    stop.focus();
  });
}
