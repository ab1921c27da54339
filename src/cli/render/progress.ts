import { fitTo } from '../../viewer/text/paint.ts'
import type { Terminal } from './terminal.ts'

const BAR_COLUMNS = 24
const REDRAW_MS = 80

/** One line that is written over while work goes on. Where lines cannot be written over, nothing is shown. */
export class Progress {
  readonly #terminal: Terminal
  readonly #total: number
  readonly #unit: string
  #drawnAt = 0

  /** @param unit What is counted, in the plural. */
  constructor(terminal: Terminal, total: number, unit: string) {
    this.#terminal = terminal
    this.#total = total
    this.#unit = unit
  }

  update(done: number, note = ''): void {
    if (!this.#terminal.interactive) return
    const now = performance.now()
    if (done < this.#total && now - this.#drawnAt < REDRAW_MS) return
    this.#drawnAt = now
    const filled = Math.round((done / Math.max(this.#total, 1)) * BAR_COLUMNS)
    const bar = this.#terminal.style('cyan', '█'.repeat(filled)) + '░'.repeat(BAR_COLUMNS - filled)
    const text = ` ${done}/${this.#total} ${this.#unit}  ${note}`
    this.#terminal.write(`\r${bar}${fitTo(text, this.#terminal.columns - BAR_COLUMNS - 1)}\u001b[K`)
  }

  /** Takes the line away, so that what follows stands in its place. */
  clear(): void {
    if (this.#terminal.interactive) this.#terminal.write('\r\u001b[K')
  }
}
