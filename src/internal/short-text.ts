/** Longer lists and lines are for files, not for the message of an error. */
const MAX_LINES = 100
const MAX_CHARS = 300

/** What would break the line, act on a terminal, or turn the reading direction. */
const ACTING = /[\p{Cc}\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Any text as one line of a message, no longer than so many characters. */
export function oneLine(text: string, maxChars: number = MAX_CHARS): string {
  const cut = text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text
  return cut.replace(ACTING, (char) => {
    const escaped = JSON.stringify(char).slice(1, -1)
    return escaped === char ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}` : escaped
  })
}

/** As many of the lines as a message has place for; where there are more, only those of the news among them. */
export function fewLines(lines: readonly string[], news: readonly string[] = lines): readonly string[] {
  if (lines.length <= MAX_LINES) return lines
  const shown = news.slice(0, MAX_LINES)
  return [...shown, `… and ${lines.length - shown.length} more`]
}
