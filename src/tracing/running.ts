/** For all copies of this file in a process: a bundler may have put one into each route. */
const RUNNING = Symbol.for('hookspan: the tracing that runs')

interface Running<Give> {
  /** Of what was started: where spans go, and as whose. */
  readonly asked: string
  /** A plugin with options of its own, whose spans go there, too. */
  readonly give: Give
  /** Started for a program that had not started its own by then: see `shareRunning()`. */
  isShared?: boolean
}

const shared = globalThis as { [RUNNING]?: unknown }

/** What `startTracing()` runs in this process. */
export function runningTracing<Give>(): Running<Give> | undefined {
  return shared[RUNNING] as Running<Give> | undefined
}

/** From now on, or from now on none. */
export function keepRunning(running: Running<unknown> | undefined): void {
  shared[RUNNING] = running
}

/** Others are given it, too, whatever they ask for: a program that starts its own later must not fail because of us. */
export function shareRunning(): void {
  const running = runningTracing()
  if (running !== undefined) running.isShared = true
}

const numbers = new WeakMap<object, number>()
let last = 0

/** The same text for the same options. What is more than data, an exporter or a function, is the same if it is the same one. */
export function textOf(options: object): string {
  return JSON.stringify(options, (_key, value: unknown) => {
    if (typeof value === 'bigint') return `${value}n`
    if (typeof value !== 'function' && (typeof value !== 'object' || value === null)) return value
    const prototype = Object.getPrototypeOf(value) as unknown
    if (prototype === null || prototype === Object.prototype || Array.isArray(value)) return value
    const number = numbers.get(value) ?? ++last
    numbers.set(value, number)
    return `#${number}`
  })
}
