// A command line that a shell reads back as the same words.

/** The words joined; those that a POSIX shell would change are quoted. */
export function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`)).join(" ");
}
