import { styleText } from 'node:util'
import { visibleText } from '../model/format.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan'

/** Colours text, or leaves it; and makes text from spans safe for a terminal. */
export interface Paint {
  style(style: Style, text: string): string
  /** One line of what a span says: no escapes, no line breaks, cut to `width`. */
  safe(text: string, width?: number): string
}

export function createPaint(colour: boolean): Paint {
  return {
    style: (style, text) => (colour && text ? styleText(style, text, { validateStream: false }) : text),
    safe(text, width = 1000) {
      const flat = visibleText(text.slice(0, width * 4))
        .replace(/\s+/g, ' ')
        .trim()
      const points = [...flat]
      return points.length <= width ? flat : `${points.slice(0, width - 1).join('')}…`
    },
  }
}

/** Wide characters take two cells; without this, tables with them do not line up. */
export function cells(text: string): number {
  let width = 0
  for (const char of text)
    width += /\p{Mn}/u.test(char)
      ? 0
      : /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u.test(
            char,
          )
        ? 2
        : 1
  return width
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - cells(text)))
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - cells(text))) + text
}

/** The text in at most so many columns, with an ellipsis where it was longer. */
export function fitTo(text: string, columns: number): string {
  if (cells(text) <= columns) return text
  if (columns <= 0) return ''
  let fitted = ''
  let width = 1
  for (const char of text) {
    width += cells(char)
    if (width > columns) break
    fitted += char
  }
  return `${fitted.trimEnd()}…`
}
