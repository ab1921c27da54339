import { type Activity, type ActivityScope, HookDispatcher, type Instrument } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { currentCalls } from '../calls/call-maker.ts'

/** Writes down which activity was opened below which. */
function tree(): { instrument: Instrument; edges: string[] } {
  const names = new WeakMap<object, string>()
  const edges: string[] = []
  const nameOf = (activity: Activity) => ('apiName' in activity ? activity.apiName : activity.kind)
  return {
    edges,
    instrument: {
      start(activity, _operation, parent) {
        const scope: ActivityScope = { run: (fn) => fn(), end: () => {} }
        names.set(scope, nameOf(activity))
        edges.push(`${(parent && names.get(parent)) ?? '-'} > ${nameOf(activity)}`)
        return scope
      },
    },
  }
}

const call = { model: 'm', request: {} }
const reply = () => ({ content: 'ok' })

describe('the current place in an operation', () => {
  it('is the step, the tool, the called agent, the compaction, whichever is innermost', async () => {
    const { instrument, edges } = tree()
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'tree', instrument })
    const op = dispatcher.startOperation({ agentName: 'a' })

    await op.run(() => currentCalls()?.llmCall(call, reply))
    await op.step(async (step) => {
      await currentCalls()?.llmCall(call, reply)
      await step.toolCall({ apiName: 'search', args: {} }, async () => {
        await currentCalls()?.llmCall(call, reply)
      })
      await step.callAgent({ instruction: 'x' }, async () => {
        await currentCalls()?.llmCall(call, reply)
      })
    })
    await op.compact({ messageCount: 1, tokenCount: 1 }, async () => {
      await currentCalls()?.llmCall(call, reply)
      return {}
    })
    await op.complete()

    expect(edges).toEqual([
      '- > operation',
      'operation > llm',
      'operation > step',
      'step > llm',
      'step > search',
      'search > llm',
      'step > agent',
      'agent > llm',
      'operation > compact',
      'compact > llm',
    ])
    expect(op.totals.llmCalls).toBe(5)
  })

  it('keeps operations that run at once apart', async () => {
    const dispatcher = new HookDispatcher()
    const counts = await Promise.all(
      [1, 2, 3].map(async (times) => {
        const op = dispatcher.startOperation({})
        await op.step(async () => {
          for (let i = 0; i < times; i++) await currentCalls()?.llmCall(call, reply)
        })
        return op.totals.llmCalls
      }),
    )
    expect(counts).toEqual([1, 2, 3])
  })

  it('is nowhere outside of an operation and after its end', async () => {
    const op = new HookDispatcher().startOperation({})
    expect(currentCalls()).toBeUndefined()
    await op.run(async () => {
      await op.complete()
      expect(currentCalls()).toBeUndefined()
    })
  })
})
