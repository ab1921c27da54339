import fc from 'fast-check'
import type { ContractReply, ContractSubject } from 'hookspan/adapter/contract'
import { deny, mutate } from 'hookspan/gates'
import { expect, type RepeatedRun, repeatRuns } from 'hookspan/vitest'
import { describe, it } from 'vitest'
import { requestContent } from '../../../src/wire/request.ts'
import { EXPERT, expectedOf, type Plan, plan, TOOLS, within, written } from './plan.ts'

const parameters = {
  type: 'object',
  properties: { q: { type: 'string' } },
  required: ['q'],
  additionalProperties: false,
}

/** The test that somebody writes: these mocks, and an agent that makes these calls. */
async function drive(
  subject: ContractSubject,
  { rules, steps, stream }: Plan,
  { dispatcher, mocks }: RepeatedRun,
) {
  const bodies: string[] = []
  mocks.use(...rules.map((rule, index) => written(rule, `r${index}`)))
  const decide = ({ payload }: { payload: unknown }) => {
    const { q } = payload as { q?: string }
    if (q === 'no') return deny('not this one')
    return q === 'swap' ? mutate({ q: 'a' }) : undefined
  }
  dispatcher.use({ name: 'gates', gates: [{ id: 'words', point: 'beforeToolCall', decide }] })
  const replies: ContractReply[] = steps.map((calls, step) => ({
    toolCalls: calls.map(({ tool, q }, index) => ({
      id: `call_${step}_${index}`,
      name: tool,
      args: tool === EXPERT ? { instruction: 'help' } : { q },
    })),
  }))
  const asks = steps.flat().some(({ tool }) => tool === EXPERT)
  const outcome = await subject.run({
    dispatcher,
    agentName: 'contract',
    prompt: 'Go.',
    tools: TOOLS.map((name) => ({
      name,
      description: 'A tool.',
      parameters,
      execute: async ({ q }) => {
        bodies.push(`${name} ${q}`)
        return `real ${q}`
      },
    })),
    replies: [...replies, { content: 'done' }],
    ...(asks && { subAgent: { name: EXPERT, replies: [{ content: 'it is 42' }] } }),
    ...(stream && { stream: 'read' }),
  })
  await dispatcher.drain()
  return { outcome, bodies }
}

/** What the model was told last, as the results of its calls. */
function toldIn({ trace }: RepeatedRun): string[] {
  const asked = trace.events.filter((event) => event.hookType === 'beforeLlmCall')
  const last = asked.findLast(({ parentOperationId }) => parentOperationId === undefined)
  if (last === undefined) return []
  return requestContent(last.request).messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'tool_call_response' ? JSON.stringify(part.response) : [])),
  )
}

/** Holds what a test sees, and what it is told at its end, to what the guide says of its mocks. */
async function holds(subject: ContractSubject, asked: Plan): Promise<void> {
  const random = within(subject, asked)
  const { calls, ...failures } = expectedOf(subject, random)
  let seen: unknown
  const report = await repeatRuns(1, async (kit) => {
    const { outcome, bodies } = await drive(subject, random, kit)
    const made = kit.mocks.calls().map(({ apiName, args, answeredBy, rule }) => ({
      tool: apiName,
      q: (args as { q?: string }).q ?? '',
      answeredBy,
      rule: /"(r\d)"\)$/.exec(rule ?? '')?.[1],
    }))
    expect(outcome).toMatchObject({ status: 'done', content: expect.stringMatching(/done$/) })
    const live = calls.filter(({ outcome, tool }) => outcome === 'completed' && tool !== EXPERT)
    expect(bodies.toSorted()).toEqual(live.map(({ tool, q }) => `${tool} ${q}`).toSorted())
    expect(made).toEqual(
      calls
        .filter(({ answeredBy }) => answeredBy !== undefined)
        .map(({ tool, q, answeredBy, rule }) => ({ tool, q, answeredBy, rule })),
    )
    expect(kit.trace).toMatchTrajectory(
      calls.map(({ tool: name, outcome, q }) => ({ name, outcome, ...(name !== EXPERT && { args: { q } }) })),
    )
    // Of Anthropic's, what is new is told; the server has the rest.
    const told =
      subject.name === 'observeAnthropic' || calls.length === 0 ? [] : toldIn(kit).slice(-calls.length)
    expect(told).toEqual(calls.slice(0, told.length).map(({ says }) => expect.stringContaining(says)))
    seen = made
  })
  const error = report.failures[0]?.error
  if (seen === undefined) throw error
  const count = (words: string) => (error?.message ?? '').split(words).length - 1
  expect({
    unused: count('A mock was not used'),
    refused: count('and no mock fits'),
    unknown: count('tool that no agent has'),
  }).toEqual(failures)
}

/** Each subject with random mocks and random calls. `MOCKS_RUNS=500`, `MOCKS_SEED=1` look further, or again. */
export function mockAlikeAtRandom(subjects: readonly ContractSubject[], runs: number): void {
  const { MOCKS_RUNS = runs, MOCKS_SEED } = process.env
  const options = { numRuns: Number(MOCKS_RUNS), ...(MOCKS_SEED && { seed: Number(MOCKS_SEED) }) }
  describe('random mocks answer random calls as the guide says', () => {
    it.each(subjects)(
      '$name',
      (subject) =>
        fc.assert(
          fc.asyncProperty(plan, (asked) => holds(subject, asked)),
          options,
        ),
      600_000,
    )
  })
}
