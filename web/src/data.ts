// Reads the run's data, which crates/report puts into the page.

import type { Report } from "./model";

/** The data, or null where the page has none. */
export function readData(): Report | null {
  const text = document.getElementById("showdown-data")?.textContent?.trim() ?? "";
  return text === "" || text.startsWith("/*") ? null : (JSON.parse(text) as Report);
}
