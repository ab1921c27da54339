import type { Operation } from 'hookspan'
import { deny, type Gate } from 'hookspan/gates'
import type { TraceHooksOptions } from 'hookspan/tracing'
import { describe, expect, it } from 'vitest'
import { titleOf, traced } from '../support/span-tree.ts'

const KEEP = 'hookspan.operation.keep'
const reply = {
  model: 'm-1',
  choices: [{ message: { role: 'assistant', content: 'Hi.' } }],
  usage: { prompt_tokens: 11, completion_tokens: 5 },
}

const refuses: Gate = { id: 'no-deletes', point: 'beforeToolCall', decide: () => deny('no deletes') }
const refusesModels: Gate = { id: 'no-models', point: 'beforeLlmCall', decide: () => deny('not that one') }

type Dispatcher = ReturnType<typeof traced>['dispatcher']
type Begin = Parameters<Dispatcher['startOperation']>[0]

/** The spans of a run with a step before, a step of `act`, and a step after, by title: what each says of keeping. */
async function keepOf(
  act: (operation: Operation, dispatcher: Dispatcher) => unknown,
  { options = {}, begin = {} }: { options?: TraceHooksOptions; begin?: Partial<Begin> } = {},
) {
  using setup = traced(options, { priceOf: () => 0.3 })
  const operation = setup.dispatcher.startOperation({ agentName: 'support', ...begin })
  const looks = () => operation.step((step) => step.toolCall({ apiName: 'look', args: {} }, () => 'seen'))
  await looks()
  await act(operation, setup.dispatcher)
  await looks()
  await operation.complete()
  return setup.spans().map((span) => [titleOf(span), span.attributes[KEEP]])
}

const UNTIL = [
  ['execute_tool look', undefined],
  ['step 0', undefined],
]
const from = (reason: string) => [
  ['execute_tool look', reason],
  ['step 2', reason],
  ['invoke_agent support', reason],
]

const callsTool = (body: () => unknown) => (operation: Operation) =>
  operation.step((step) => step.toolCall({ apiName: 'act', args: {} }, body))

describe('hookspan.operation.keep', () => {
  it('is on no span of a run of which there is nothing to say', async () => {
    const spans = await keepOf(callsTool(() => 'done'))
    expect(spans).toHaveLength(7)
    expect(spans.filter(([, keep]) => keep !== undefined)).toEqual([])
  })

  it('is on all that ends from an error on', async () => {
    const failing = callsTool(() => {
      throw new Error('no such order')
    })
    expect(await keepOf(failing)).toEqual([
      ...UNTIL,
      ['execute_tool act', 'error'],
      ['step 1', 'error'],
      ...from('error'),
    ])
  })

  it('tells the denial of a tool and of a call of a model from an error', async () => {
    const denied = await keepOf(
      callsTool(() => 'never'),
      { begin: { gates: [{ ...refuses, match: 'act' }] } },
    )
    expect(denied).toEqual([
      ...UNTIL,
      ['execute_tool act', 'denied'],
      ['step 1', 'denied'],
      ...from('denied'),
    ])
    const noModel = await keepOf(
      (operation) =>
        operation.step((step) =>
          step.llmCall({ model: 'm', request: {}, standIn: () => reply }, () => reply),
        ),
      { begin: { gates: [refusesModels] } },
    )
    expect(noModel).toEqual([...UNTIL, ['chat m', 'denied'], ['step 1', 'denied'], ...from('denied')])
  })

  it('is not there for a shadow gate, which denies nothing', async () => {
    const gates = [{ ...refuses, match: 'act', shadow: true }]
    const spans = await keepOf(
      callsTool(() => 'done'),
      { begin: { gates } },
    )
    expect(spans.filter(([, keep]) => keep !== undefined)).toEqual([])
  })

  it.each(['approve', 'reject'] as const)('names a human who was asked, and says %s', async (decision) => {
    const asks: Gate = {
      id: 'ask',
      point: 'beforeToolCall',
      match: 'act',
      decide: () => ({ decision: 'require_approval' }),
    }
    const approver = { requestApproval: async () => ({ decision, reason: 'because' }) }
    const spans = await keepOf(
      callsTool(() => 'done'),
      { begin: { gates: [asks], approver } },
    )
    expect(spans).toEqual([
      ...UNTIL,
      ['human_intervention', 'human'],
      ['execute_tool act', 'human'],
      ['step 1', 'human'],
      ...from('human'),
    ])
  })

  it('is told of a run by what happened in an agent that it called', async () => {
    const spans = await keepOf((operation, dispatcher) =>
      operation.step((step) =>
        step.callAgent({ agentName: 'researcher', instruction: 'look' }, async (parent) => {
          const child = dispatcher.startOperation({ agentName: 'researcher', parent })
          await child.step((inner) =>
            inner.toolCall({ apiName: 'fetch', args: {} }, () => {
              throw new Error('away')
            }),
          )
          await child.complete()
          return { content: 'nothing' }
        }),
      ),
    )
    expect(spans.at(-1)).toEqual(['invoke_agent support', 'error'])
    expect(spans).toContainEqual(['invoke_agent researcher', 'error'])
  })

  it('is there for the sum of what models cost, once that is over `keepOverUsd`', async () => {
    const pays = (operation: Operation) =>
      operation.step(async (step) => {
        for (const model of ['first', 'second']) {
          const call = await step.openLlmCall({ model, provider: 'openai', request: {} })
          await call.settle(reply)
        }
      })
    const spans = await keepOf(pays, { options: { keepOverUsd: 0.5 } })
    expect(spans).toEqual([
      ...UNTIL,
      ['chat first', undefined],
      ['chat second', 'cost'],
      ['step 1', 'cost'],
      ...from('cost'),
    ])
  })

  it('counts the duration of a run that goes on elsewhere from its first beginning', async () => {
    for (const [keepOverMs, keep] of [
      [3_590_000, 'duration'],
      [3_700_000, undefined],
    ] as const) {
      using first = traced()
      const operation = first.dispatcher.startOperation({ agentName: 'support' })
      await operation.step((step) => step.toolCall({ apiName: 'look', args: {} }, () => 'seen'))
      const parked = JSON.parse(JSON.stringify(operation.park({ waitingFor: 'next' })))
      const anHourAgo = parked.startedAt - 3_600_000
      using second = traced({ keepOverMs })
      const again = second.dispatcher.startOperation({ resume: { ...parked, startedAt: anHourAgo } })
      await again.step((step) => step.toolCall({ apiName: 'look', args: {} }, () => 'seen'))
      await again.complete()
      expect(second.spans().map(({ attributes }) => attributes[KEEP])).toEqual([keep, keep, keep])
    }
  })

  it('refuses limits that are no numbers', () => {
    expect(() => traced({ keepOverUsd: -1 })).toThrow(/`keepOverUsd`/)
    expect(() => traced({ keepOverMs: '1 h' as unknown as number })).toThrow(/`keepOverMs`/)
    expect(() => traced({ keepOver: 1 } as TraceHooksOptions)).toThrow(/keepOver/)
  })
})
