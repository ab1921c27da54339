import { AsyncLocalStorage } from 'node:async_hooks'
import { type HookspanError, Operation, type ParkedOperation } from 'hookspan'
import { currentCalls, OpenStep, type OpenToolCall } from 'hookspan/adapter'
import { deny, type Gate, mutate, requireApproval } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { startWatched } from '../core/support.ts'
import { recorded } from '../support/scripted-client.ts'
import { traced } from '../support/span-tree.ts'

const look = { toolCallId: 'call_1', apiName: 'look', args: { q: 'a' } }

async function open(init: Parameters<typeof startWatched>[0] = {}) {
  const watched = startWatched(init)
  const step = await watched.op.openStep()
  return { ...watched, step }
}

/** The part of a decision that says to run. */
async function toRun<A, R>(call: OpenToolCall<A, R>) {
  const decided = await call.decided
  if (decided.state !== 'run') throw new Error(`not to run: ${decided.state}`)
  return decided
}

describe('a step that is opened', () => {
  it('tells its begin and its end apart, and is one step', async () => {
    const { op, step, types } = await open()
    expect(step).toBeInstanceOf(OpenStep)
    await step.llmCall({ model: 'm', request: {} }, async () => ({ content: 'hi' }))
    step.report({ shouldContinue: false })
    await step.end()
    await step.end()
    step.fail(new Error('too late'))
    await op.complete()

    expect(types()).toEqual([
      'onStart',
      'beforeStep',
      'beforeLlmCall',
      'afterLlmCall',
      'afterStep',
      'onComplete',
    ])
  })

  it('takes the count of its runtime, and goes on from it', async () => {
    const { op, step, events } = await open()
    await step.end()
    const fifth = await op.openStep({ stepIndex: 5 })
    await fifth.end()
    await op.step((next) => expect(next.stepIndex).toBe(6))

    expect(
      events.filter((event) => event.hookType === 'beforeStep').map(({ stepIndex }) => stepIndex),
    ).toEqual([0, 5, 6])
    await expect(op.openStep({ stepIndex: -1 })).rejects.toThrow('`stepIndex`')
  })

  it('ends as failed, and with its run at the latest', async () => {
    const { op, step, events } = await open()
    step.fail(new RangeError('no'))
    await op.openStep()
    await op.complete()

    const ends = events.filter((event) => event.hookType === 'afterStep')
    expect(ends.map(({ errorType }) => errorType)).toEqual(['RangeError', 'AbortError'])
    expect(op).toBeInstanceOf(Operation)
    await expect(op.openStep()).rejects.toMatchObject({ code: 'OPERATION_ENDED' })
  })
})

describe('a tool call that is opened', () => {
  it('is decided before it is run, by a function of somebody else', async () => {
    const gate = { id: 'g', point: 'beforeToolCall' as const, decide: () => mutate({ q: 'b' }) }
    const { step, types } = await open({ gates: [gate] })
    const call = step.openToolCall<{ q: string }, string>(look)
    const { args } = await toRun(call)
    expect([args, call.args]).toEqual([{ q: 'b' }, { q: 'b' }])
    expect(types()).toContain('beforeToolCall')
    expect(types()).not.toContain('afterToolCall')

    const outcome = await call.run(({ q }) => `found ${q}`)
    expect(outcome).toMatchObject({ state: 'completed', result: 'found b' })
    expect(await call.outcome).toBe(outcome)
  })

  it('gives the outcome instead where it is not to run, and then no body runs', async () => {
    const gate = { id: 'g', point: 'beforeToolCall' as const, decide: () => deny('no', { code: 'c' }) }
    const { step } = await open({ gates: [gate] })
    const call = step.openToolCall(look)
    expect(await call.decided).toMatchObject({ state: 'denied', code: 'c' })
    expect(await call.run(() => expect.unreachable())).toMatchObject({ state: 'denied' })
  })

  it('is settled with a result from elsewhere, which gates may change', async () => {
    const gate = { id: 'g', point: 'afterToolCall' as const, decide: () => mutate('changed') }
    const { step } = await open({ gates: [gate] })
    const call = step.openToolCall(look)
    await call.decided
    expect(await call.settle('found')).toMatchObject({ state: 'completed', result: 'changed' })
    await expect(call.run(() => 'again')).rejects.toMatchObject({ code: 'CALL_SETTLED' })
  })

  it('fails with what the tool threw', async () => {
    const { step, events } = await open()
    const call = step.openToolCall(look)
    await call.decided
    expect(await call.fail(new RangeError('no'))).toMatchObject({ state: 'errored' })
    expect(events.find((event) => event.hookType === 'onToolCallError')?.errorType).toBe('RangeError')
  })

  it('ends with its step when it is never run, and is not run afterwards', async () => {
    const { step, events, op } = await open()
    const [decided, undecided] = [step.openToolCall(look), step.openToolCall(look)]
    await decided.decided
    await step.end()
    for (const call of [decided, undecided]) {
      expect(await call.outcome).toMatchObject({ state: 'errored' })
    }
    await expect(decided.run(() => expect.unreachable())).rejects.toMatchObject({ code: 'CALL_SETTLED' })
    await op.complete()
    const types = events.map(({ hookType }) => hookType)
    expect(types.filter((type) => type === 'onToolCallError')).toHaveLength(2)
    expect(types.lastIndexOf('onToolCallError')).toBeLessThan(types.indexOf('afterStep'))
  })

  it.each(['completed', 'parked'])(
    'ends with its run that is %s when it is never run, and is not run afterwards',
    async (how) => {
      const op = recorded().dispatcher.startOperation()
      const [left, late] = [op.openToolCall(look), op.openToolCall(look)]
      await Promise.all([left.decided, late.decided])
      if (how === 'completed') await op.complete()
      else op.park({ waitingFor: 'human' })
      const over = { state: 'errored', error: { code: 'OPERATION_ENDED' } }
      expect(await late.run(() => expect.unreachable())).toMatchObject(over)
      expect(await left.outcome).toMatchObject(over)
    },
  )

  it('takes the question about it along when it ends with its step', async () => {
    const asked = Promise.withResolvers<AbortSignal>()
    const ask = { id: 'ask', point: 'beforeToolCall' as const, decide: () => requireApproval() }
    const approver = {
      requestApproval: (_request: unknown, { signal }: { signal: AbortSignal }) => {
        asked.resolve(signal)
        return new Promise<never>(() => {})
      },
    }
    const { step, op, events } = await open({ gates: [ask], approver })
    step.openToolCall(look)
    const signal = await asked.promise
    await step.end()
    expect(signal.aborted).toBe(true)
    await op.complete()
    const types = events.map(({ hookType }) => hookType)
    expect(types.filter((type) => type === 'afterHumanIntervention')).toHaveLength(1)
    expect(types.indexOf('afterHumanIntervention')).toBeLessThan(types.indexOf('onToolCallError'))
  })

  it('is not run once another call has stopped the run after the decision', async () => {
    const stop = {
      id: 'stop',
      point: 'beforeToolCall' as const,
      decide: ({ apiName }: { apiName?: string }) =>
        apiName === 'drop' ? deny('never', { code: 'no_drop', stop: true }) : undefined,
    }
    const { step } = await open({ gates: [stop] })
    const call = step.openToolCall(look)
    await toRun(call)
    await step.openToolCall({ apiName: 'drop', args: {} }).decided
    expect(await call.run(() => expect.unreachable())).toMatchObject({
      state: 'denied',
      code: 'no_drop',
      stop: true,
    })
  })

  it('is not run once the run was aborted after the decision', async () => {
    const controller = new AbortController()
    const { step } = await open({ signal: controller.signal })
    const call = step.openToolCall(look)
    await toRun(call)
    controller.abort(new Error('enough'))
    await call.outcome
    expect(await call.run(() => expect.unreachable())).toMatchObject({ state: 'errored' })
  })

  describe('of an SDK that waits for its tools also once it is aborted', () => {
    const outlasting = { ...look, outlastsAbort: true }
    const aborted = async (gates: Gate[] = []) => {
      const controller = new AbortController()
      const { dispatcher, step } = await open({ signal: controller.signal })
      dispatcher.use({ name: 'gates', gates })
      return { step, abort: () => controller.abort(new Error('enough')) }
    }

    it('ends with its tool, and begins where the SDK begins it', async () => {
      const { step, abort } = await aborted()
      const found = Promise.withResolvers<string>()
      const atWork = step.openToolCall(outlasting).run(() => found.promise)
      const inPieces = step.openToolCall({ ...outlasting, toolCallId: 'call_2' })
      await toRun(inPieces)
      abort()
      const late = step.openToolCall({ ...outlasting, toolCallId: 'call_3' }).run(() => 'begun late')
      found.resolve('found late')

      expect(await atWork).toMatchObject({ state: 'completed', result: 'found late' })
      expect(await inPieces.settle('told late')).toMatchObject({ state: 'completed', result: 'told late' })
      expect(await late).toMatchObject({ state: 'completed', result: 'begun late' })
    })

    it('runs to the end of a generator', async () => {
      const { step, abort } = await aborted()
      const outcome = step.openToolCall(outlasting).run(async function* () {
        abort()
        yield 'half'
        return 'whole'
      })
      expect(await outcome).toMatchObject({ state: 'completed', result: 'whole' })
    })

    it('waits for no gate that is still at it, and tells nothing that no gate has seen', async () => {
      const hanging = () => new Promise<never>(() => {})
      const before = await aborted([{ id: 'b', point: 'beforeToolCall', decide: hanging }])
      const refused = before.step.openToolCall(outlasting).run(() => expect.unreachable())
      before.abort()
      expect(await refused).toMatchObject({ state: 'denied', code: 'gate_error' })

      const after = await aborted([{ id: 'a', point: 'afterToolCall', decide: hanging }])
      const ran = after.step.openToolCall(outlasting).run(() => 'a secret')
      await new Promise(setImmediate)
      after.abort()
      expect(await ran).toMatchObject({ state: 'denied', code: 'gate_error' })
    })

    it('waits for no hook that is to mock it, and does not run the tool instead', async () => {
      const controller = new AbortController()
      const { dispatcher, step } = await open({ signal: controller.signal })
      const handler = () => new Promise<never>(() => {})
      dispatcher.use({
        name: 'mocks',
        hooks: [{ id: 'hanging', type: 'beforeToolCall', mocks: true, handler }],
      })
      const refused = step.openToolCall(outlasting).run(() => expect.unreachable())
      controller.abort(new Error('enough'))
      expect(await refused).toMatchObject({ state: 'denied', code: 'mock_error' })
    })
  })

  it('brings its place and its span to the body, and leaves every other AsyncLocalStorage alone', async () => {
    using setup = traced()
    const storage = new AsyncLocalStorage<string>()
    const op = setup.dispatcher.startOperation({ agentName: 'a' })
    const step = await op.openStep()
    const call = await storage.run('deciding', async () => {
      const opened = step.openToolCall<unknown, string>(look)
      await opened.decided
      return opened
    })
    const seen = await storage.run('running', () =>
      call.run(async () => {
        await Promise.resolve()
        await currentCalls()?.toolCall({ apiName: 'inner', args: {} }, () => 'x')
        return storage.getStore() ?? 'lost'
      }),
    )
    await step.end()
    await op.complete()

    expect(seen).toMatchObject({ result: 'running' })
    expect(setup.tree().split('\n')).toEqual([
      'invoke_agent a',
      '  step 0',
      '    execute_tool look',
      '      execute_tool inner',
    ])
  })

  it('is malformed loudly', async () => {
    const { step } = await open()
    expect(() => step.openToolCall({ apiName: '', args: {} })).toThrow('`apiName`')
    expect(() => step.openLlmCall({ model: '', request: {} })).toThrow('`model`')
    expect(() => step.openAgentCall({ instruction: 7 as never })).toThrow('`instruction`')
    expect(() => step.openCompaction({ messageCount: Number.NaN, tokenCount: 0 })).toThrow('`messageCount`')
  })
})

describe('a model call that is opened', () => {
  it('ends with the reply that is handed in', async () => {
    const { step, events } = await open()
    const call = step.openLlmCall({ model: 'm', request: { messages: [] } })
    expect(await call.decided).toMatchObject({ state: 'run', request: { messages: [] } })
    const reply = { content: 'hi', usage: { inputTokens: 1, outputTokens: 2 } }
    expect(await call.settle(reply)).toBe(reply)
    expect(events.find((event) => event.hookType === 'afterLlmCall')).toMatchObject({
      response: { content: 'hi' },
      usage: { outputTokens: 2 },
    })
  })

  it('is answered by a gate, or refused where nothing can stand in', async () => {
    const gate = { id: 'g', point: 'beforeLlmCall' as const, decide: () => deny('no budget') }
    const { step } = await open({ gates: [gate] })
    const standIn = ({ content }: { content?: string }) => ({ content })
    const call = step.openLlmCall({ model: 'm', request: {}, standIn })
    expect(await call.decided).toMatchObject({ state: 'answered', reply: { content: 'no budget' } })
    const bare = step.openLlmCall({ model: 'm', request: {} })
    await expect(bare.decided).rejects.toMatchObject({ code: 'CALL_DENIED' })
  })

  it('gives the reply that a gate made of it', async () => {
    const gate = { id: 'g', point: 'afterLlmCall' as const, decide: () => mutate({ content: 'changed' }) }
    const { step } = await open({ gates: [gate] })
    const standIn = ({ content }: { content?: string }) => ({ content })
    const call = step.openLlmCall({ model: 'm', request: {}, standIn })
    await call.decided
    expect(await call.settle({ content: 'hi' })).toEqual({ content: 'changed' })
    expect(call.replaced).toEqual({ content: 'changed' })
  })

  it('fails, and ends with its step at the latest', async () => {
    const { step, events } = await open()
    step.openLlmCall({ model: 'm', request: {} }).fail(new RangeError('503'))
    step.openLlmCall({ model: 'm', request: {} })
    await step.end()
    const failed = events.filter((event) => event.hookType === 'onLlmCallError')
    expect(failed.map(({ errorType }) => errorType)).toEqual(['RangeError', 'AbortError'])
  })
})

describe('agents, compactions and humans', () => {
  it('are told in pieces, too', async () => {
    const { dispatcher, events, tree } = recorded()
    const op = dispatcher.startOperation({ agentName: 'a' })
    const step = await op.openStep()
    const agent = step.openAgentCall<{ content: string }>({ agentName: 'b', instruction: 'go' })
    const decided = await agent.decided
    if (decided.state === 'run') {
      await dispatcher.startOperation({ agentName: 'b', parent: decided.parent }).complete()
    }
    agent.settle({ content: 'done' })
    const compaction = step.openCompaction({ messageCount: 9, tokenCount: 900 })
    await compaction.decided
    compaction.settle({ messagesAfter: 2, tokensAfter: 90 })
    const pendingTools = [{ identifier: 'local', apiName: 'pay', args: {}, toolCallId: 'call_1' }]
    step.openHumanIntervention({ pendingTools }).answered({ action: 'approve', approver: 'ines' })
    step.openHumanIntervention({ pendingTools })
    await step.end()
    await op.complete()

    expect(tree.lines()).toEqual([
      'invoke_agent a',
      '  step 0',
      '    agent',
      '      invoke_agent b',
      '    compact',
      '    human',
      '    human (error)',
    ])
    const told = events.filter(({ operationId }) => operationId === op.operationId)
    expect(told.map(({ hookType }) => hookType).slice(2, -2)).toEqual([
      'beforeCallAgent',
      'afterCallAgent',
      'beforeCompact',
      'afterCompact',
      'beforeHumanIntervention',
      'afterHumanIntervention',
      'beforeHumanIntervention',
      'afterHumanIntervention',
    ])
  })

  it('end with their step when they are never run, and are not run afterwards', async () => {
    const { step } = await open()
    const calls = [
      step.openAgentCall({ agentName: 'b', instruction: 'go' }),
      step.openCompaction({ messageCount: 9, tokenCount: 900 }),
    ]
    for (const call of calls) await call.decided
    await step.end()
    for (const call of calls) {
      await expect(call.run(() => expect.unreachable())).rejects.toMatchObject({ code: 'CALL_SETTLED' })
    }
  })

  it('are refused as their gates say', async () => {
    const gates = (['beforeCallAgent', 'beforeCompact'] as const).map((point) => ({
      id: point,
      point,
      decide: () => deny('no', { code: 'c' }),
    }))
    const { step, types } = await open({ gates })
    const calls = [
      step.openAgentCall({ agentName: 'b', instruction: 'go' }),
      step.openCompaction({ messageCount: 1, tokenCount: 1 }),
    ]
    for (const call of calls) expect(await call.decided).toMatchObject({ state: 'denied', code: 'c' })
    expect(types()).toEqual(expect.arrayContaining(['onCallAgentError', 'onCompactError']))
  })
})

describe('a tool call that failed before any tool could run', () => {
  it('is told to hooks, and neither gates nor mocks are asked', async () => {
    const decide = () => expect.unreachable()
    const { step, op, events } = await open({ gates: [{ id: 'g', point: 'beforeToolCall', decide }] })
    const error = new Error('there is no such tool')
    const body = () => expect.unreachable()
    const outcome = await step.toolCall({ ...look, apiName: 'made_up', failed: { error } }, body)
    expect(outcome).toMatchObject({ state: 'errored', error })
    const opened = step.openToolCall({ ...look, failed: { error } })
    expect(await opened.decided).toMatchObject({ state: 'errored', error })
    await op.complete()

    const told = events.flatMap((event) => ('apiName' in event ? [[event.hookType, event.apiName]] : []))
    expect(told).toEqual([
      ['beforeToolCall', 'made_up'],
      ['onToolCallError', 'made_up'],
      ['beforeToolCall', 'look'],
      ['onToolCallError', 'look'],
    ])
    expect(() => step.openToolCall({ ...look, failed: 'no' } as never)).toThrow('`failed`')
  })
})

describe('a checkpoint', () => {
  it('is plain JSON from which another process goes on, and ends nothing here', async () => {
    const { op, types } = startWatched()
    await op.step(() => {})
    const saved = JSON.parse(JSON.stringify(op.checkpoint())) as ParkedOperation
    const rest = startWatched({ resume: saved })
    await rest.op.step((step) => expect(step.stepIndex).toBe(1))
    await rest.op.complete()
    expect(rest.events[0]?.sequence).toBe(types().length)
    expect(rest.types()).toEqual(['beforeStep', 'afterStep', 'onComplete'])

    await op.step(() => {})
    await op.complete()
    expect(types().at(-1)).toBe('onComplete')
    expect(() => op.checkpoint()).toThrow(
      expect.objectContaining<Partial<HookspanError>>({ code: 'OPERATION_ENDED' }),
    )
  })

  it('answers a tool that was at work with `execution_unknown`, and makes an idempotent call again', async () => {
    const { op } = startWatched()
    const step = await op.openStep()
    const call = { ...look, args: { amount: 5 } }
    const atWork = ['call_1', 'call_2', 'call_3'].map((toolCallId) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      void step.toolCall({ ...call, toolCallId, idempotent: toolCallId === 'call_2' }, () => {
        resolve()
        return new Promise(() => {})
      })
      return promise
    })
    await Promise.all(atWork)
    const saved = JSON.parse(JSON.stringify(op.checkpoint())) as ParkedOperation
    const rest = startWatched({ resume: saved })
    const outcomes = await rest.op.step((again) => {
      expect(again.stepIndex).toBe(0)
      return Promise.all([
        again.toolCall(call, () => expect.unreachable()),
        again.toolCall({ ...call, toolCallId: 'call_2', idempotent: true }, ({ amount }) => amount),
        again.toolCall({ ...call, toolCallId: 'call_3', idempotent: true }, () => expect.unreachable()),
      ])
    })
    await rest.op.complete()

    expect(outcomes).toMatchObject([
      { state: 'denied', code: 'execution_unknown' },
      { state: 'completed', result: 5 },
      { state: 'denied', code: 'execution_unknown' },
    ])
    // What was told before the process died is not told again.
    expect(rest.types().filter((type) => type === 'beforeStep' || type === 'beforeToolCall')).toEqual([])
  })
})
