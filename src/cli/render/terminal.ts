import { styleText } from 'node:util'
import { cells, createPaint, type Paint } from '../../viewer/text/paint.ts'
import { shownJson } from './shown.ts'

/** Where a command writes. */
export interface Terminal extends Paint {
  readonly columns: number
  /** True when lines can be written over. */
  readonly interactive: boolean
  write(text: string): void
  line(text?: string): void
}

/** Colours only where somebody sees them: NO_COLOR, FORCE_COLOR and pipes are honoured. */
export function terminalOf(stream: NodeJS.WriteStream): Terminal {
  return {
    ...createPaint(styleText('red', 'x', { stream }) !== 'x'),
    columns: stream.columns || Number(process.env.COLUMNS) || 100,
    interactive: stream.isTTY === true && process.env.TERM !== 'dumb',
    write: (text) => void stream.write(text),
    line: (text = '') => void stream.write(`${text}\n`),
  }
}

/** Breaks a text between words into lines of at most so many columns. */
export function wrap(text: string, columns: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines: string[] = []
    let line = ''
    for (const word of paragraph.split(' ')) {
      if (line !== '' && cells(line) + 1 + cells(word) > columns) {
        lines.push(line)
        line = word
      } else line = line === '' ? word : `${line} ${word}`
    }
    return [...lines, line]
  })
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

export function terminalPaint(): Paint {
  const { env, stdout } = process
  return createPaint(env.FORCE_COLOR ? env.FORCE_COLOR !== '0' : Boolean(stdout.isTTY) && !env.NO_COLOR)
}

export function terminalWidth(): number {
  return process.stdout.columns || Number(process.env.COLUMNS) || 120
}

export function printJson(value: unknown): void {
  process.stdout.write(`${shownJson(value, 2)}\n`)
}
