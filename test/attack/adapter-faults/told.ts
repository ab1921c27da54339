/** All that the user of an SDK has of a run: what it gave, or what it threw, and what its tools were asked. */
export interface Told {
  readonly result?: unknown
  readonly thrown?: { readonly name: string; readonly message: string }
  readonly tools: readonly string[]
}

/** What a program is run in. */
export interface World {
  readonly signal: AbortSignal | undefined
  /** A tool of the program's agent: one that answers, or `broken`, which throws. */
  tool(name: string, args: unknown): Promise<string>
  /** Something that the program, its model or its tools do. */
  moment(): void
}

/** How long a run may take before it counts as hanging. */
const HANGS_MS = 60_000
/** Turns of the event loop: these runs wait for nothing that is elsewhere. */
const TURNS = 1_000

/** How long a process of its own has to end a run that was aborted. */
const ENDS_MS = 10_000

export interface How {
  /** The moment at which the user aborts the run, from 1. */
  readonly abortAt?: number
  /** A tool does not return until the run has had its time to end. */
  readonly hangs?: boolean
  /** The agent is a process of its own. */
  readonly elsewhere?: boolean | undefined
}

export async function toldBy(
  run: (world: World) => Promise<unknown>,
  { abortAt = 0, hangs = false, elsewhere = false }: How = {},
): Promise<Told & { readonly moments: number; readonly outlasted: boolean }> {
  const tools: string[] = []
  const controller = new AbortController()
  let moments = 0
  const moment = () => {
    if (++moments === abortAt) controller.abort()
  }
  const world: World = {
    signal: abortAt > 0 || hangs ? controller.signal : undefined,
    moment,
    async tool(name, args) {
      tools.push(`${name} ${JSON.stringify(args)}`)
      moment()
      if (hangs && name === 'look') {
        atWork.resolve()
        return hanging.promise
      }
      await new Promise((resolve) => setImmediate(resolve))
      moment()
      if (name === 'broken') throw new TypeError('the shelf fell down')
      return `${name} found ${JSON.stringify(args)}`
    },
  }
  let outlasted = false
  const hanging = Promise.withResolvers<string>()
  const atWork = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  /** Once the run has had all the time that it needs to end by itself, the tool does return, so that no run is left. */
  const release = async () => {
    for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve))
    outlasted = true
    hanging.resolve('at last')
  }
  const releaseElsewhere = async () => {
    await atWork.promise
    controller.abort()
    const late = setTimeout(() => {
      outlasted = true
      ended.resolve()
    }, ENDS_MS)
    await ended.promise
    clearTimeout(late)
    hanging.resolve('at last')
  }
  if (hangs) void (elsewhere ? releaseElsewhere() : release())
  let timer: NodeJS.Timeout | undefined
  const never = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the run hangs')), HANGS_MS)
  })
  try {
    const result = plain(await Promise.race([run(world), never]))
    return { result, tools, moments, outlasted }
  } catch (error) {
    const { name, message } = error as Error
    return { thrown: { name, message: withoutIds(message) }, tools, moments, outlasted }
  } finally {
    clearTimeout(timer)
    ended.resolve()
  }
}

/** What differs from run to run whoever runs it: ids that the SDK makes up, times. */
const MADE_UP =
  /^(id|responseId|messageId|callId|traceId|spanId|timestamp|createdAt|created|date|performance|run_id|headers|.*Ms|.*PerSecond)$/

function plain(value: unknown): unknown {
  const text = JSON.stringify(value, (key, one) => {
    if (MADE_UP.test(key)) return undefined
    return one instanceof Error ? { name: one.name, message: one.message } : one
  })
  return text === undefined ? undefined : JSON.parse(withoutIds(text))
}

function withoutIds(text: string): string {
  return text.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
}
