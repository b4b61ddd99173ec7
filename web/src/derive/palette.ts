// How a variant looks, everywhere the same: a colour that colour-blind readers can tell apart (after Okabe and Ito,
// tuned for both grounds in style/tokens.css), and a shape and a dash so that colour is never all there is.

export interface Look {
  colour: string;
  symbol: "circle" | "square" | "triangle" | "diamond" | "star";
  /** An SVG dash pattern; empty for a line without gaps. */
  dash: string;
}

const COLOURS = 7;
const SYMBOLS: readonly Look["symbol"][] = ["circle", "square", "triangle", "diamond", "star"];
const DASHES = ["", "7 4", "2 3", "10 3 2 3", "5 2"];

/** The look of the series at a place in its order. */
export function look(place: number): Look {
  return {
    colour: `var(--series-${place % COLOURS})`,
    symbol: SYMBOLS[place % SYMBOLS.length] ?? "circle",
    dash: DASHES[place % DASHES.length] ?? "",
  };
}

/** The look of each name. */
export function looks(names: readonly string[]): (name: string) => Look {
  const places = new Map(names.map((name, place) => [name, place]));
  return (name) => look(places.get(name) ?? places.size);
}
