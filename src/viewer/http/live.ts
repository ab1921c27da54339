/** Tells open pages which runs changed: at most four times a second, however many spans arrive. */
import type { ServerResponse } from 'node:http'

const EVERY_MS = 250
const MAX_PAGES = 50
/** More runs than these are not named. */
const MOST_NAMED = 500

export class Live {
  readonly #pages = new Set<ServerResponse>()
  /** Of them, those that nobody sees, as another tab is in front. */
  readonly #hidden = new WeakSet<ServerResponse>()
  readonly #changed = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  /** Keeps the response open and writes server-sent events into it; of a page that is `isHidden` not which runs changed. */
  join(response: ServerResponse, isHidden = false): void {
    if (this.#pages.size >= MAX_PAGES) this.#pages.values().next().value?.end()
    response.write('retry: 1000\n\n')
    this.#pages.add(response)
    if (isHidden) this.#hidden.add(response)
    response.on('close', () => this.#pages.delete(response))
  }

  /** Whether a page is open, though it may be behind others. */
  get isOpen(): boolean {
    return this.#pages.size > 0
  }

  /** Whether anybody looks. */
  get watched(): boolean {
    return this.#seen().length > 0
  }

  changed(traceIds: Iterable<string>): void {
    if (!this.watched) return
    for (const traceId of traceIds) this.#changed.add(traceId)
    this.#timer ??= setTimeout(() => this.#tell(), EVERY_MS)
  }

  /** Not known which. */
  changedElsewhere(): void {
    this.tell({ type: 'changed', runs: [], areAll: false }, this.#seen())
  }

  /** Also used for states other than runs, as the store's. */
  tell(event: object, pages: Iterable<ServerResponse> = this.#pages): void {
    const line = `data: ${JSON.stringify(event)}\n\n`
    for (const page of pages) {
      // A page that does not read is not waited for. It connects again, and asks for what it missed.
      if (page.writableLength < 1_000_000) page.write(line)
      else page.destroy()
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const page of this.#pages) page.end()
    this.#pages.clear()
  }

  #tell(): void {
    this.#timer = undefined
    const areAll = this.#changed.size <= MOST_NAMED
    const runs = [...this.#changed].slice(0, MOST_NAMED)
    this.#changed.clear()
    this.tell({ type: 'changed', runs, areAll }, this.#seen())
  }

  #seen(): ServerResponse[] {
    return [...this.#pages].filter((page) => !this.#hidden.has(page))
  }
}
