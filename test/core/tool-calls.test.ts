import { type HookEvent, ToolResult } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { startWatched, turn } from './support.ts'

const last = (events: HookEvent[]) => events.at(-1)

describe('parallel tool calls', () => {
  it('of one message, twelve of them, are told apart and counted', async () => {
    const { op, events } = startWatched()

    const outcomes = await op.step((step) =>
      Promise.all(
        Array.from({ length: 12 }, (_item, index) =>
          step.toolCall({ apiName: 'search', args: { index }, toolCallId: `t${index}` }, async (args) => {
            // The last one returns first.
            for (let i = index; i < 12; i++) await turn()
            return args.index
          }),
        ),
      ),
    )

    expect(outcomes.map((outcome) => 'result' in outcome && outcome.result)).toEqual([...Array(12).keys()])
    const before = events.filter((event) => event.hookType === 'beforeToolCall')
    expect(before).toMatchObject(
      Array.from({ length: 12 }, (_item, callIndex) => ({ callIndex, stepIndex: 0 })),
    )
    const after = events.filter((event) => event.hookType === 'afterToolCall')
    expect(after.map((event) => event.result)).toEqual([...Array(12).keys()].reverse())
    for (const event of after) expect(event.toolCallId).toBe(`t${event.result}`)
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, index) => index))
  })

  it('that share a toolCallId are told apart by their key', async () => {
    const { op, events } = startWatched()
    const call = (n: number) =>
      op.toolCall({ apiName: 'search', args: { n }, toolCallId: 'same' }, () => turn().then(() => n))

    await Promise.all([call(1), call(2)])

    const keyOf = (type: string) =>
      events.flatMap((event) =>
        event.hookType === type
          ? [[(event as { callKey?: string }).callKey, (event as { args: { n: number } }).args.n]]
          : [],
      )
    expect(keyOf('beforeToolCall')).toEqual([
      ['call-0', 1],
      ['call-1', 2],
    ])
    expect(keyOf('afterToolCall')).toEqual([
      ['call-0', 1],
      ['call-1', 2],
    ])
  })
})

describe('what the model is told of a tool', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic

  it.each([
    ['text as it is', 'plain', 'plain'],
    ['objects as JSON', { a: 1 }, '{"a":1}'],
    ['nothing as nothing', undefined, ''],
    ['null', null, 'null'],
    ['cycles', cyclic, '{"self":"[Circular]"}'],
    ['BigInts', { n: 1n }, '{"n":"1"}'],
    ['content of its own', new ToolResult({ content: 'told', data: { a: 1 } }), 'told'],
  ])('is %s', async (_name, result, content) => {
    const { op } = startWatched()

    const outcome = await op.toolCall({ apiName: 'a', args: {}, toolCallId: 't' }, () => result)

    expect(outcome.toToolMessage()).toEqual({ role: 'tool', tool_call_id: 't', content })
  })

  it('is 50 MB when the result is', async () => {
    const { op } = startWatched()
    const huge = 'x'.repeat(50_000_000)

    const outcome = await op.toolCall({ apiName: 'a', args: {} }, () => ({ huge }))

    expect(outcome.toToolMessage().content).toHaveLength(50_000_011)
  })

  it('is the beginning of what is thrown and no error, of which no more is looked at', async () => {
    const { op } = startWatched()
    let looks = 0
    const item = {
      get id() {
        return ++looks
      },
    }
    const response = { body: new Uint8Array(1_000), items: Array.from({ length: 10_000 }, () => item) }

    const outcome = await op.toolCall({ apiName: 'a', args: {} }, () => {
      throw response
    })

    expect(outcome.toToolMessage().content).toContain('{"body":"[object Uint8Array]","items":[{"id":')
    expect(looks).toBeLessThan(1_000)
  })

  it.each([
    [{ isError: true, content: [] }, false],
    [new ToolResult({ content: 'no', success: false }), false],
    [{ isError: false }, true],
  ])('%o reports a failure or not', async (result, success) => {
    const { op, events } = startWatched()

    await op.toolCall({ apiName: 'a', args: {} }, () => result)

    expect(last(events)).toMatchObject({ hookType: 'afterToolCall', success })
  })
})
