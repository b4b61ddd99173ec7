// The islands of the harness's pages: all but live progress and charts work without them. A page names its islands with `data-island`.

import { choice } from "./choice";
import { renewed } from "./renewed";
import { run } from "./run";

const ISLANDS: Record<string, (element: HTMLElement) => void> = {
  choice,
  renewed,
  run,
  // A browser that was led here by the link opens it; a program that only looks at links does not.
  link: (element) => (element as HTMLFormElement).requestSubmit(),
};

for (const element of document.querySelectorAll<HTMLElement>("[data-island]")) {
  ISLANDS[element.dataset.island ?? ""]?.(element);
}
