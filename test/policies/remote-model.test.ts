/** Random chains of gates that are real commands and a real server, which answer in every way that there is. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { HookDispatcher, type HookEvent } from 'hookspan'
import type { Gate } from 'hookspan/gates'
import { commandGate, httpGate } from 'hookspan/policies'
import { expect, it, onTestFinished } from 'vitest'
import { folder } from '../approval/support.ts'
import { COMMANDS } from './remote/commands.ts'
import { ENDPOINTS, type Endpoint, startEndpoint } from './remote/endpoints.ts'
import { MAX_BYTES, type Meant, SAID, type Said } from './remote/said.ts'
import type { Way } from './remote/way.ts'

/** More of them look further: `MODEL_RUNS=2000`, `MODEL_SEED=17` for one of them. */
const RUNS = Number(process.env.MODEL_RUNS ?? 12)
const SEED = process.env.MODEL_SEED === undefined ? {} : { seed: Number(process.env.MODEL_SEED) }

/** What is late by plan gets little time, and everything else more than a test takes. */
const SHORT_MS = 400
const LONG_MS = 60_000

interface GatePlan {
  readonly kind: 'command' | 'http'
  readonly way: string
  readonly said: string
  readonly open: boolean
  readonly shadow: boolean
}

const SAYINGS = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('yes', 'what was asked') },
  { weight: 3, arbitrary: fc.constantFrom(...Object.keys(SAID)) },
)
const gatePlan: fc.Arbitrary<GatePlan> = fc
  .constantFrom(
    ...Object.keys(COMMANDS).map((way) => ['command', way]),
    ...Object.keys(ENDPOINTS).map((way) => ['http', way]),
  )
  .chain(([kind, way]) =>
    fc.record({
      kind: fc.constant(kind as GatePlan['kind']),
      way: fc.constant(way as string),
      said: SAYINGS,
      open: fc.constantFrom(false, false, true),
      shadow: fc.constantFrom(false, false, false, true),
    }),
  )

/** Of each tool its gates, and which tools are called at once, one batch after the other. */
const worldPlan = fc.record({
  tools: fc.array(fc.array(gatePlan, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 5 }),
  /** Milliseconds after the first calls. */
  abortMs: fc.constantFrom(undefined, undefined, undefined, undefined, 0, 10, 60),
  batches: fc.array(fc.array(fc.nat(4), { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 2 }),
})

const wayOf = ({ kind, way }: GatePlan): Way => (kind === 'command' ? COMMANDS : ENDPOINTS)[way] as Way

/** Each thing that a gate may have said, where it may be one of several. */
function meantBy(plan: GatePlan): Meant[] {
  const { fails, unasked, unless, perhaps } = wayOf(plan)
  const { meant, echo } = SAID[plan.said] as Said
  const taken: Meant = unasked && echo ? { failed: ['gate_invalid'] } : meant
  if (fails === undefined || unless === plan.said) return [taken]
  const both = 'failed' in taken ? [...fails, ...taken.failed] : fails
  return perhaps ? [taken, { failed: both }] : [{ failed: plan.said === 'more than may be' ? both : fails }]
}

class World {
  readonly mark = crypto.randomUUID()
  readonly dispatcher = new HookDispatcher()
  readonly told: HookEvent<'afterToolCall'>[] = []
  readonly tools: readonly (readonly GatePlan[])[]
  readonly #place = folder()
  readonly #url: string

  constructor(tools: readonly (readonly GatePlan[])[], url: string) {
    this.tools = tools
    this.#url = url
    for (const [name, { before, after = '' }] of Object.entries(SAID)) {
      writeFileSync(this.#path(name, 'before'), before)
      writeFileSync(this.#path(name, 'after'), after)
    }
    const gates = tools.flatMap((plans, tool) =>
      plans.map((plan, at) => this.#gate(plan, `t${tool}`, `t${tool}-${at}`)),
    )
    this.dispatcher.use({ name: 'gates', gates })
    const handler = (event: HookEvent<'afterToolCall'>) => void this.told.push(event)
    this.dispatcher.use({ name: 'see', hooks: [{ id: 'see', type: 'afterToolCall', handler }] })
  }

  #path(name: string, part: string): string {
    return `${this.#place}/${name.replaceAll(/\W/g, '_')}.${part}`
  }

  #gate(plan: GatePlan, match: string, id: string): Gate {
    const { kind, way, said, open, shadow } = plan
    const isLate = wayOf(plan).fails?.includes('gate_timeout') === true
    const shared = {
      ...{ id, match, shadow, point: 'beforeToolCall' as const, timeoutMs: isLate ? SHORT_MS : LONG_MS },
      ...{ maxBodyBytes: MAX_BYTES, ...(open && { onFailure: 'proceed' as const }) },
    }
    if (kind === 'http') {
      const url = `${this.#url}/${encodeURIComponent(JSON.stringify([way, said]))}`
      return httpGate({ ...shared, url, allowPrivateAddresses: true })
    }
    const env = {
      ...{ MARK: this.mark, BEFORE: this.#path(said, 'before'), AFTER: this.#path(said, 'after') },
      ECHO: SAID[said]?.echo ? 'yes' : '',
    }
    return commandGate({
      ...shared,
      command: '/bin/sh',
      args: ['-c', (COMMANDS[way] as { script: string }).script],
      env,
    })
  }

  async call(tool: number, n: number): Promise<void> {
    const ran: unknown[] = []
    const toolCallId = `call-${n}`
    const op = this.op
    const outcome = await op.toolCall({ apiName: `t${tool}`, args: { n }, toolCallId }, (args) => {
      ran.push(args)
      return 'ran'
    })
    // What was decided by halves must not have run; what ran was decided on as ever.
    if (this.aborter.signal.aborted && ran.length === 0) return
    const event = this.told.find((one) => one.toolCallId === toolCallId)
    let args: unknown = { n }
    let end: string | undefined
    const records = [...(event?.gates ?? [])]
    for (const [at, plan] of (this.tools[tool] ?? []).entries()) {
      const record = records.shift()
      const why = JSON.stringify({ plan, record })
      const enforces = !plan.shadow
      const meant = meantBy(plan).find((one) =>
        'failed' in one
          ? one.failed.includes(record?.failure ?? '')
          : record?.failure === undefined && record?.decision === one.decision,
      )
      expect(meant, why).toBeDefined()
      if (meant === undefined) return
      const failed = 'failed' in meant
      expect([record?.gateId, record?.enforced], why).toEqual([
        `t${tool}-${at}`,
        enforces && !(failed && plan.open),
      ])
      expect(record?.durationMs, why).toBeLessThan(LONG_MS / 2)
      if (!record?.enforced) continue
      if (failed || meant.decision === 'deny') end = failed ? record.failure : 'own'
      else if (meant.decision === 'skip') end = 'skipped'
      else if (meant.decision === 'mutate' && meant.made !== undefined) args = meant.made
      else if (meant.decision === 'mutate') {
        const asked = { gateId: record.gateId, toolCallId, apiName: `t${tool}`, payload: args }
        args = { asked: expect.objectContaining(asked) }
      }
      if (end !== undefined) break
    }
    expect(records).toEqual([])
    const { state, code } = { code: undefined, ...outcome }
    if (end === undefined) expect([state, ran]).toEqual(['completed', [args]])
    else if (end === 'skipped') expect([state, ran]).toEqual(['skipped', []])
    else expect([state, code, ran]).toEqual(['denied', end, []])
  }

  readonly aborter = new AbortController()
  readonly op = this.dispatcher.startOperation({ agentName: 'a', signal: this.aborter.signal })

  /** Of the commands, whatever still runs. What was killed may stay as a zombie where nobody reaps it. */
  left(): string[] {
    return readdirSync('/proc').filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(this.mark)
      } catch {
        return false
      }
    })
  }
}

it.runIf(process.platform === 'linux')(
  'takes each answer for what it is, whatever a command or an endpoint does, and leaves nothing behind',
  async () => {
    const endpoint: Endpoint = await startEndpoint((path) => {
      const [way, said] = JSON.parse(path) as [string, string]
      return { way, said: SAID[said] as Said }
    })
    onTestFinished(() => endpoint.close())
    await fc.assert(
      fc.asyncProperty(worldPlan, async ({ tools, batches, abortMs }) => {
        const world = new World(tools, endpoint.url)
        if (abortMs !== undefined) setTimeout(() => world.aborter.abort(), abortMs)
        let n = 0
        for (const batch of batches)
          await Promise.all(batch.map((tool) => world.call(tool % tools.length, n++)))
        if (abortMs === undefined) expect(world.told).toHaveLength(n)
        await expect.poll(() => world.left(), { timeout: 10_000 }).toEqual([])
        await expect.poll(() => endpoint.busy.size, { timeout: 10_000 }).toBe(0)
      }),
      // What fails may wait for its time each time: it is told as it was found.
      { numRuns: RUNS, ...SEED, endOnFailure: true },
    )
  },
  Math.max(120_000, RUNS * 5_000),
)
