/** A durable loop in which an SDK is used in some way, whose process dies behind each record of it. */
import { HookDispatcher, type HookEvent, type HookFailure } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import type { Gate } from 'hookspan/gates'
import { requireHuman } from 'hookspan/policies'
import type { Segment } from '../../../src/durable/drive.ts'
import type { LoopRecord } from '../../../src/durable/loop/records.ts'
import type { DurableLoop } from '../../../src/durable/loop-run.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../../../src/durable/options.ts'
import { DurableRuns } from '../../../src/durable/runs.ts'
import { Journal, MemoryEngine } from '../../agent/durable-model/engine.ts'

export interface Attempt {
  readonly dispatcher: HookDispatcher
  readonly signal: AbortSignal
  /** What was told so far, in whichever attempt. */
  readonly events: readonly HookEvent[]
  /** How many of its model's replies are kept. */
  readonly asked: number
  readonly ran: string[]
}

export type Way = (attempt: Attempt) => Promise<string | undefined>

/** What came of a run whose process died behind a record, of which there may have been fewer. */
export interface Gone {
  readonly where: string
  readonly died: boolean
  readonly last: unknown
  readonly ran: readonly string[]
  readonly events: readonly HookEvent[]
  /** What hookspan reports. */
  readonly failures: readonly HookFailure[]
  /** Questions that nobody has answered. */
  readonly pending: number
}

const never = () => new Promise<never>(() => {})

export interface Dying {
  /** Beside `requireHuman` for the tool `search`, where the run asks. */
  readonly gates?: Gate[]
  /** Before what it has done last is kept, and not behind that. */
  readonly before?: boolean
}

/** One run for each record that there is, and one that does not die. */
export async function* dyingBehindEach(way: Way, asks: boolean, how: Dying = {}): AsyncGenerator<Gone> {
  for (let diesAfter = 0; diesAfter < 40; diesAfter++) {
    const gone = await dyingBehind(way, asks, how, diesAfter)
    yield gone
    if (!gone.died) return
  }
  throw new Error('It has no end.')
}

async function dyingBehind(
  way: Way,
  asks: boolean,
  { gates = [], before = false }: Dying,
  diesAfter: number,
): Promise<Gone> {
  const journal = new Journal()
  const store = memoryStore()
  const events: HookEvent[] = []
  const ran: string[] = []
  const failures: HookFailure[] = []

  const attempt = async (dies: boolean) => {
    const dispatcher = new HookDispatcher({ onHookError: (failure) => void failures.push(failure) })
    const approvals = createApprovals({ store, mode: 'park' })
    dispatcher.use(approvals)
    if (asks) dispatcher.use({ name: 'asks', gates: [requireHuman({ match: 'search' })] })
    if (gates.length > 0) dispatcher.use({ name: 'guards', gates })
    let dead = false
    const handler = (event: HookEvent) => void (dead || events.push(event))
    for (const type of ['beforeLlmCall', 'afterLlmCall', 'afterToolCall', 'onComplete'] as const) {
      dispatcher.use({ name: type, hooks: [{ id: type, type, handler }] } as never)
    }
    const over = Promise.withResolvers<'died'>()
    let records = 0
    const engine = new MemoryEngine(journal, {
      suspends: false,
      forgets: false,
      moment: async (what) => {
        if (!dies || what !== (before ? 'after a part' : 'after a record') || records++ !== diesAfter) return
        dead = true
        over.resolve('died')
        await never()
      },
      wait: async () => {
        for (const { request } of await approvals.list({ status: 'pending' }))
          await approvals.respond(request.id, { decision: 'approve', approver: 'ines' })
      },
      suspend: () => {},
      hasLost: () => false,
    })
    const agent: DurableLoop = ({ signal }) => {
      return way({ dispatcher, signal, events, asked: repliesIn(journal), ran })
    }
    const runs = DurableRuns.of(
      { name: 'support', dispatcher, agent } as unknown as DurableAgentOptions,
      DURABLE_FIELDS,
      () => undefined,
    )
    const run = runs.run(engine, 'run-1', { prompt: 'go' })
    return Promise.race([run, over.promise])
  }

  const first = await attempt(true)
  const died = first === 'died'
  const last = died ? await attempt(false) : first
  const pending = (await store.list()).filter(({ status }) => status === 'pending').length
  const where = `died ${before ? 'before' : 'behind'} record ${diesAfter}`
  return { where, died, last, ran, events, failures, pending }
}

function repliesIn({ entries }: Journal): number {
  const parts = entries.flatMap((entry) =>
    entry.kind === 'kept' ? [JSON.parse(entry.output) as Partial<Segment<LoopRecord, unknown>>] : [],
  )
  const kept = parts.flatMap((part) => part.kept ?? []).flatMap((record) => Object.keys(record.entries))
  return kept.filter((key) => key.startsWith('model call')).length
}
