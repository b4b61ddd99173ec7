// The run's data as crates/report put it into the page.

import type { Report } from "./model";

/** The data, or null where the page was opened without any. */
export function readData(): Report | null {
  const text = document.getElementById("showdown-data")?.textContent?.trim() ?? "";
  return text === "" || text.startsWith("/*") ? null : (JSON.parse(text) as Report);
}
