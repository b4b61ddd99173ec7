// How a variant's series looks, the same everywhere on the page: a colour for colour-blind readers (after Okabe and Ito,
// adjusted for both backgrounds in style/tokens.css), and a shape and a dash, so that colour is never the only sign.

export interface SeriesStyle {
  colour: string;
  symbol: "circle" | "square" | "triangle" | "diamond" | "star";
  /** An SVG dash pattern; empty for a solid line. */
  dash: string;
}

const COLOURS = 7;
const SYMBOLS: readonly SeriesStyle["symbol"][] = ["circle", "square", "triangle", "diamond", "star"];
const DASHES = ["", "7 4", "2 3", "10 3 2 3", "5 2"];

/** The style of the series at an index. */
export function seriesStyle(index: number): SeriesStyle {
  return {
    colour: `var(--series-${index % COLOURS})`,
    symbol: SYMBOLS[index % SYMBOLS.length] ?? "circle",
    dash: DASHES[index % DASHES.length] ?? "",
  };
}

/** The style of each name. */
export function seriesStyles(names: readonly string[]): (name: string) => SeriesStyle {
  const indices = new Map(names.map((name, index) => [name, index]));
  return (name) => seriesStyle(indices.get(name) ?? indices.size);
}
