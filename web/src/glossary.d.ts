// What scripts/glossary.mjs makes of docs/GLOSSARY.md.

interface GlossaryEntry {
  /** The anchor, such as `offered-load`. */
  id: string;
  term: string;
  /** Other words for the same thing. */
  aliases: string[];
  text: string;
}

declare module "*/GLOSSARY.md" {
  const entries: GlossaryEntry[];
  export default entries;
}
