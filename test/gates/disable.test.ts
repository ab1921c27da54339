import { HookDispatcher, type Operation } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { deny } from 'hookspan/gates'
import { callTool, scriptedModel } from 'hookspan/mock'
import { commandHooks } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { traced } from '../support/span-tree.ts'

const no = { id: 'no', point: 'beforeToolCall', decide: () => deny('never') } as const

function shared() {
  const dispatcher = new HookDispatcher()
  const heard: string[] = []
  dispatcher.use({
    name: 'company',
    gates: [no],
    hooks: [
      { id: 'log', type: 'afterToolCall', handler: ({ operationId }) => void heard.push(operationId) },
      { id: 'told:afterToolCall', type: 'afterToolCall', handler: () => void heard.push('told') },
    ],
  })
  return { dispatcher, heard }
}

const call = (op: Operation) => op.step((step) => step.toolCall({ apiName: 'pay', args: {} }, () => 'paid'))

describe('disable', () => {
  it('takes a gate and a hook of the dispatcher out of one run, and of no other', async () => {
    const { dispatcher, heard } = shared()
    const without = dispatcher.startOperation({ operationId: 'a', disable: ['no', 'log'] })
    const beside = dispatcher.startOperation({ operationId: 'b' })
    expect((await call(without)).state).toBe('completed')
    expect((await call(beside)).state).toBe('denied')
    expect(heard).toEqual(['told', 'b', 'told'])
  })

  it('takes all hooks of an entry out by the id that they share', async () => {
    const { dispatcher, heard } = shared()
    await call(dispatcher.startOperation({ operationId: 'a', disable: ['told'] }))
    expect(heard).toEqual(['a'])
    const hooks = commandHooks({ id: 'tell', types: ['onStart', 'onComplete'], command: 'true' })
    dispatcher.use({ name: 'more', hooks })
    expect(() => dispatcher.startOperation({ disable: ['tell'] })).not.toThrow()
  })

  it('holds for what is put in its place while the run goes on', async () => {
    const { dispatcher } = shared()
    const op = dispatcher.startOperation({ disable: ['no'] })
    dispatcher.use({ name: 'again', gates: [{ ...no }] })
    expect((await call(op)).state).toBe('completed')
    dispatcher.use({ name: 'other', gates: [{ ...no, id: 'other' }] })
    expect((await call(op)).state).toBe('denied')
  })

  it('leaves the gates of the run itself alone', async () => {
    const { dispatcher } = shared()
    const op = dispatcher.startOperation({ disable: ['no'], gates: [no] })
    expect((await call(op)).state).toBe('denied')
  })

  it('holds in the sub-agents of the run, which cannot ask for it themselves', async () => {
    const { dispatcher } = shared()
    const pay = { name: 'pay', execute: () => 'paid' }
    const child = { name: 'child', model: 'm', tools: [pay] }
    const agent = { name: 'parent', model: 'm', subAgents: [child] }
    const model = () => scriptedModel([callTool('child', { instruction: 'go' }), callTool('pay'), 'x', 'y'])
    const told = async (disable: string[]) => {
      const results: unknown[] = []
      const hook = {
        id: 'r',
        type: 'afterToolCall',
        handler: (e: { apiName: string; outcome: string }) => void results.push([e.apiName, e.outcome]),
      } as const
      await execAgent({ agent, prompt: 'go', client: model(), dispatcher, disable, hooks: [hook as never] })
      return results
    }
    expect(await told(['no'])).toEqual([['child', 'completed']])
    const seen: string[] = []
    dispatcher.use({
      name: 'seen',
      hooks: [
        { id: 'seen', type: 'afterToolCall', handler: (e) => void seen.push(`${e.apiName} ${e.outcome}`) },
      ],
    })
    await told(['no'])
    expect(seen).toEqual(['pay completed', 'child completed'])

    const op = dispatcher.startOperation()
    expect(() => dispatcher.startOperation({ parent: op, disable: ['no'] })).toThrow(
      /A run that another one calls cannot disable no: give `disable` to the run that calls it/,
    )
  })

  it('says nothing of the gates of another dispatcher that have the same id', async () => {
    const parent = shared().dispatcher.startOperation({ disable: ['no'] })
    const elsewhere = shared().dispatcher
    expect((await call(elsewhere.startOperation({ parent }))).state).toBe('denied')
  })

  it('refuses an id that nothing has', () => {
    const { dispatcher } = shared()
    expect(() => dispatcher.startOperation({ disable: ['nop'] })).toThrow(
      '`disable` names "nop", and the dispatcher has no gate or hook of that id in use. Did you mean "no"? It has: no, log, told.',
    )
    expect(() => new HookDispatcher().startOperation({ disable: ['x'] })).toThrow('It has none.')
    expect(() => dispatcher.startOperation({ disable: 'no' as never })).toThrow(/`disable`/)
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('is on the span of the run', async () => {
    using setup = traced()
    setup.dispatcher.use({ name: 'company', gates: [no] })
    await setup.dispatcher.startOperation({ agentName: 'a', disable: ['no'] }).complete()
    await setup.dispatcher.startOperation({ agentName: 'b' }).complete()
    expect(setup.spans().map(({ attributes }) => attributes['hookspan.operation.disabled'])).toEqual([
      ['no'],
      undefined,
    ])
  })

  it('is over where a resumed run does not say it again', async () => {
    const { dispatcher } = shared()
    const parked = dispatcher.startOperation({ disable: ['no'] }).park({ waitingFor: 'human' })
    expect((await call(dispatcher.startOperation({ resume: parked }))).state).toBe('denied')
    const again = shared().dispatcher.startOperation({
      resume: { ...parked, operationId: 'o' },
      disable: ['no'],
    })
    expect((await call(again)).state).toBe('completed')
  })
})
