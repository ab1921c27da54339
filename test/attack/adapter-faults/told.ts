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

export async function toldBy(
  run: (world: World) => Promise<unknown>,
  { abortAt = 0 }: { readonly abortAt?: number } = {},
): Promise<Told & { readonly moments: number }> {
  const tools: string[] = []
  const controller = new AbortController()
  let moments = 0
  const moment = () => {
    if (++moments === abortAt) controller.abort()
  }
  const world: World = {
    signal: abortAt > 0 ? controller.signal : undefined,
    moment,
    async tool(name, args) {
      tools.push(`${name} ${JSON.stringify(args)}`)
      moment()
      await new Promise((resolve) => setImmediate(resolve))
      moment()
      if (name === 'broken') throw new TypeError('the shelf fell down')
      return `${name} found ${JSON.stringify(args)}`
    },
  }
  let timer: NodeJS.Timeout | undefined
  const hangs = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the run hangs')), HANGS_MS)
  })
  try {
    const result = plain(await Promise.race([run(world), hangs]))
    return { result, tools, moments }
  } catch (error) {
    const { name, message } = error as Error
    return { thrown: { name, message: withoutIds(message) }, tools, moments }
  } finally {
    clearTimeout(timer)
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
