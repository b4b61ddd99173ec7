// Makes the marks of a drawing readable without a mouse: each mark with a title shows it on hover and on focus.
// A drawing is one stop of the Tab key. The arrow keys move between its marks, Home and End to the first and the last.

import { describe, hideBubble } from "../bubble";

/** Gives every mark of a drawing its name, and makes it reachable with the keyboard. */
export function labelMarks(drawing: Element): void {
  // The library names its groups ("rule", "dot"). That is no valid name of a group and does not help a listener.
  for (const group of drawing.querySelectorAll("g[aria-label]:not([role])")) group.removeAttribute("aria-label");
  const marks: SVGElement[] = [];
  for (const title of drawing.querySelectorAll("title")) {
    // A mark that is a link is wrapped in it, and the link takes the focus.
    const mark = title.closest<SVGElement>("a") ?? (title.parentElement as SVGElement | null);
    if (!mark) continue;
    const text = title.textContent ?? "";
    title.remove();
    if (mark.tagName !== "a") mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", text);
    mark.setAttribute("tabindex", marks.length === 0 ? "0" : "-1");
    describe(mark, text);
    marks.push(mark);
  }
  roveFocus(drawing, marks);
}

/** Moves the focus with the arrow keys among elements of which one is a stop of the Tab key (a roving tabindex). */
export function roveFocus(area: Element, stops: readonly (SVGElement | HTMLElement)[]): void {
  let current = 0;
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
    if (event.key === "Escape") hideBubble();
    if (next === undefined || !stop) return;
    event.preventDefault();
    stops[current]?.setAttribute("tabindex", "-1");
    stops[here]?.setAttribute("tabindex", "-1");
    stop.setAttribute("tabindex", "0");
    current = next;
    stop.focus();
  });
}
