import { HookDispatcher, type HookFailure, type Operation } from 'hookspan'
import { type Agent, execAgent, resumeAgent } from 'hookspan/agent'
import { createApprovals } from 'hookspan/approval'
import { deny, type Gate, proceed } from 'hookspan/gates'
import { loopGuard, requireHuman, toolCache, toolPolicy } from 'hookspan/policies'
import { describe, expect, it, vi } from 'vitest'
import { scripted } from '../support/scripted-client.ts'
import { callTool, start } from './support.ts'

const no: Gate = { id: 'no', point: 'beforeToolCall', decide: () => deny('no') }
const handler = () => {}

/** One call of `delete_order`, and whether it ran. */
async function runOnce(options: object, agent: Partial<Agent> = {}) {
  const ran: unknown[] = []
  const { client } = scripted([
    { toolCalls: [{ id: 'c', name: 'delete_order', arguments: {} }] },
    { content: 'done' },
  ])
  const tools = [{ name: 'delete_order', execute: () => void ran.push(1) }]
  const run = await execAgent({
    agent: { name: 'a', model: 'm', tools, ...agent },
    prompt: 'go',
    client,
    ...options,
  })
  return { run, ran }
}

/** A guard that is missing without a word lets the tool run. */
describe('a guard that is misspelt is refused, with the nearest name', () => {
  const mistakes: [string, () => unknown, RegExp][] = [
    [
      'use({ gate })',
      () => new HookDispatcher().use({ name: 'p', gate: [no] } as never),
      /Unknown option `gate` of plugin "p"\. Did you mean `gates`\?/,
    ],
    [
      'startOperation({ gate })',
      () => new HookDispatcher().startOperation({ gate: [no] } as never),
      /Unknown option `gate` of the operation\. Did you mean `gates`\?/,
    ],
    ['execAgent({ gate })', () => runOnce({ gate: [no] }), /`gate` of execAgent\. Did you mean `gates`\?/],
    [
      'an agent with `gate`',
      () => runOnce({}, { gate: [no] } as never),
      /`gate` of agent "a"\. Did you mean `gates`\?/,
    ],
    [
      'a tool with `needApproval`',
      () => runOnce({}, { tools: [{ name: 't', execute: handler, needApproval: true } as never] }),
      /`needApproval` of tool "t" of agent "a"\. Did you mean `needsApproval`\?/,
    ],
    [
      'a tool of a sub-agent',
      () =>
        runOnce({}, {
          subAgents: [
            { name: 's', model: 'm', tools: [{ name: 't', execute: handler, needApproval: true }] },
          ],
        } as never),
      /`needApproval` of tool "t" of agent "s"/,
    ],
    [
      "a hook with LobeHub's `matcher`",
      () =>
        new HookDispatcher().register('op', [
          { id: 'h', type: 'beforeToolCall', handler, matcher: '^fs/' } as never,
        ]),
      /`matcher` of hook "h"\. Did you mean `match`\?/,
    ],
    [
      'a gate with `timeout`',
      () => start([{ ...no, timeout: 5 } as never]),
      /`timeout` of gate "no"\. Did you mean `timeoutMs`\?/,
    ],
    [
      'a gate with `onfailure`',
      () => start([{ ...no, onfailure: 'deny' } as never]),
      /Did you mean `onFailure`\?/,
    ],
    [
      'an approver without its ledger',
      () =>
        new HookDispatcher().use({
          name: 'p',
          approver: { requestApproval: handler, ledgers: {} } as never,
        }),
      /`ledgers` of the approver of plugin "p"\. Did you mean `ledger`\?/,
    ],
  ]
  it.each(mistakes)('%s', async (_name, make, message) => {
    await expect((async () => make())()).rejects.toThrow(message)
  })

  it('holds for what is given in any way: without a prototype, and as an instance of a class', () => {
    const bare = Object.assign(Object.create(null), { name: 'p', gate: [no] })
    class Guarded {
      readonly name = 'p'
      readonly gate = [no]
    }
    class Inherited extends Guarded {}
    class Accessor {
      readonly name = 'p'
      get gate() {
        return [no]
      }
    }
    for (const plugin of [bare, new Guarded(), new Inherited(), new Accessor()]) {
      expect(() => new HookDispatcher().use(plugin)).toThrow('Did you mean `gates`?')
    }
  })

  it('leaves a class what it has more than what it is used as', async () => {
    class Counting implements Gate {
      readonly id = 'count'
      readonly point = 'beforeToolCall'
      readonly seen: unknown[] = []
      limit = 3
      private readonly _id = 'mine'
      decide() {
        this.seen.push(this._id)
        return deny('no')
      }
      report() {}
    }
    const gate = new Counting()
    expect((await callTool(start([gate]).op)).ran).toEqual([])
    expect(gate.seen).toHaveLength(1)
  })
})

describe('a pattern with signs that it would take literally is refused', () => {
  const patterns = [
    'delete_{order,user}',
    'delete_[a-z]*',
    '^fs/read',
    'delete_(order|user)',
    'Edit|Write',
    '!read_*',
    'send$',
    'a\\*',
    ' delete_*',
    'delete_*, send_mail',
    "'run_shell'",
    '\u201crun_shell\u201d',
    'delete\u200b_*',
    'delete\u00a0order',
    'delete_order\ufeff',
    'dеlete_*',
    'delete_\uff0a',
    'get\u2013order',
    '\ufb01le_*',
  ]
  it.each(patterns)('%s', (pattern) => {
    const refused = /without \[ \] \{ \} ! \^ \| \$ \( \)/
    expect(() => requireHuman({ match: pattern })).toThrow(refused)
    expect(() => requireHuman({ match: ['read_*', pattern] })).toThrow(refused)
    expect(() => toolPolicy({ deny: [pattern] })).toThrow(refused)
    expect(() => toolPolicy({ allow: [pattern] })).toThrow(refused)
    expect(() => toolCache({ match: pattern })).toThrow(refused)
    expect(() => loopGuard({ ignore: [pattern] })).toThrow(refused)
    expect(() => start([{ ...no, match: pattern }])).toThrow(refused)
    const hook = { id: 'h', type: 'beforeToolCall' as const, handler, match: pattern }
    expect(() => new HookDispatcher().register('op', [hook])).toThrow(/or a RegExp/)
  })

  it('but regular expressions may be written as such, and arguments may be called $ref', async () => {
    const seen: unknown[] = []
    const dispatcher = new HookDispatcher()
    const op = dispatcher.startOperation({
      hooks: [
        {
          id: 'h',
          type: 'beforeToolCall',
          match: /^fs\/(read|write)$/,
          handler: ({ apiName }) => void seen.push(apiName),
        },
      ],
    })
    for (const apiName of ['read', 'list', 'write'])
      await op.toolCall({ identifier: 'fs', apiName, args: {} }, () => 1)
    expect(seen).toEqual(['read', 'write'])

    const { op: held } = start([toolPolicy({ denyArguments: { $where: 'sleep' } })])
    expect((await callTool(held, { filter: { $where: 'sleep(9)' } })).ran).toEqual([])
    expect(() => toolPolicy({ denyArguments: { '^path$': 'x' } })).toThrow(/denyArguments/)
  })

  it('but names of other scripts may be written, and what does not show is told by its number', async () => {
    const names = ['löschen', '削除', 'удалить_заказ', 'api_удалить', 'my server/delete_*']
    expect((await callTool(start([{ ...no, match: names }]).op, {}, 'удалить_заказ')).ran).toEqual([])
    expect(() => requireHuman({ match: 'dеl\u200bete' })).toThrow('got `"d\\u{435}l\\u{200b}ete"`')
  })
})

describe('gates of a run and of an agent', () => {
  it('hold: given to execAgent, or brought by the agent', async () => {
    expect((await runOnce({ gates: [no] })).ran).toEqual([])
    expect((await runOnce({}, { gates: [no] })).ran).toEqual([])
    expect((await runOnce({})).ran).toEqual([1])
  })

  it('hold in sub-agents, too', async () => {
    const ran: unknown[] = []
    const child: Agent = {
      name: 'child',
      model: 'm',
      tools: [{ name: 'delete_order', execute: () => void ran.push(1) }],
    }
    const { client } = scripted([
      { toolCalls: [{ id: 'a', name: 'child', arguments: { instruction: 'delete' } }] },
      { toolCalls: [{ id: 'b', name: 'delete_order', arguments: {} }] },
      { content: 'child done' },
      { content: 'done' },
    ])
    const gates = [{ ...no, match: 'delete_*' }]
    await execAgent({ agent: { name: 'a', model: 'm', subAgents: [child] }, prompt: 'go', client, gates })
    expect(ran).toEqual([])
  })

  it('are looked at before anything runs, those of sub-agents included', async () => {
    const bad = { name: 's', model: 'm', gates: [{ ...no, point: 'beforeTool' }] }
    await expect(runOnce({}, { subAgents: [bad] } as never)).rejects.toMatchObject({ code: 'INVALID_GATE' })
    await expect(runOnce({ gates: [no] }, { gates: [no] })).rejects.toThrow('Two gates have the id "no"')
    await expect(runOnce({ gates: no as never })).rejects.toThrow('Expected a list of gates')
  })

  it('must be there when the run is resumed', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use(createApprovals({ mode: 'park' }))
    const asks = { ...requireHuman({ id: 'ask' }) }
    const { run, ran } = await runOnce({ dispatcher, gates: [asks] }, { gates: [{ ...no, match: 'x' }] })
    expect(run.status).toBe('waiting_for_human')
    const { client } = scripted([{ content: 'done' }])
    const agent: Agent = {
      name: 'a',
      model: 'm',
      tools: [{ name: 'delete_order', execute: () => ran.push(1) }],
    }
    const state = JSON.stringify(run.state)
    await expect(resumeAgent({ agent, client, dispatcher, state })).rejects.toThrow(
      /held by the gate\(s\) ask, no, which are missing/,
    )
    const whole = { ...agent, gates: [{ ...no, match: 'x' }] }
    const rest = await resumeAgent({ agent: whole, client, dispatcher, state, gates: [asks] })
    expect(rest.status).toBe('waiting_for_human')
    expect(ran).toEqual([])
  })
})

describe('a pattern that matches none of the tools of a run', () => {
  const failuresOf = async (agent: Partial<Agent>, options: object = {}, times = 1) => {
    const failures: HookFailure[] = []
    const dispatcher = new HookDispatcher({ onHookError: (failure) => void failures.push(failure) })
    for (let i = 0; i < times; i++) await runOnce({ dispatcher, ...options }, agent)
    return failures
  }

  it('is reported once, with the nearest name and the tools that there are', async () => {
    const gates = [
      requireHuman({ match: 'delete_ordr' }),
      { ...no, id: 'other', match: 'send_*', names: ['delete_*'] },
    ]
    const failures = await failuresOf({ gates }, {}, 3)
    expect(failures).toMatchObject([
      {
        kind: 'unmatched',
        hookId: 'require-human',
        message:
          'Gate "require-human" names no tool of agent "a" by delete_ordr. Did you mean `delete_order`? Its tools: delete_order.',
      },
      { kind: 'unmatched', hookId: 'other', message: expect.stringContaining('by send_*.') },
    ])
    expect(failures).toHaveLength(2)
  })

  it('is reported of the lists of toolPolicy, of hooks and of plugins', async () => {
    const failures: HookFailure[] = []
    const dispatcher = new HookDispatcher({ onHookError: (failure) => void failures.push(failure) })
    dispatcher.use({ name: 'p', gates: [toolPolicy({ deny: ['run_shell'] })] })
    const hooks = [
      { id: 'text', type: 'afterToolCall', handler, match: 'delet_order' },
      { id: 'regex', type: 'afterToolCall', handler, match: /^read_/ },
      { id: 'fits', type: 'afterToolCall', handler, match: /order$/ },
    ]
    await runOnce({ dispatcher, hooks })
    expect(failures.map(({ kind, hookId }) => `${kind} ${hookId}`)).toEqual([
      'unmatched text',
      'unmatched regex',
      'unmatched tool-policy',
    ])
  })

  it.each([
    ['drop_*', false],
    ['*_table', false],
    ['mail/*', false],
    ['dle*', false],
    ['delte_*', true],
    ['*_ordr', true],
    [/^drop_.*/, true],
  ])('is reported of a guard for all runs, %s: %s', async (pattern, isTold) => {
    const failures: HookFailure[] = []
    const dispatcher = new HookDispatcher({ onHookError: (failure) => void failures.push(failure) })
    dispatcher.use({ name: 'p', hooks: [{ id: 'h', type: 'afterToolCall', handler, match: pattern }] })
    await runOnce({ dispatcher })
    expect(failures.map(({ kind }) => kind)).toEqual(isTold ? ['unmatched'] : [])
  })

  it('knows the tools of sub-agents, and those that a request names', async () => {
    const child: Agent = {
      name: 'child',
      model: 'm',
      tools: [{ name: 'send_mail', identifier: 'mail', execute: handler }],
    }
    const gates = ['child', 'send_*', 'mail/*', 'web_search', 'extra'].map((match) => ({
      ...no,
      id: match,
      match,
      shadow: true,
    }))
    const request = { tools: [{ type: 'web_search' }, { type: 'function', function: { name: 'extra' } }] }
    expect(await failuresOf({ gates, subAgents: [child], request })).toEqual([])
  })

  it('warns on the console where nobody else is told', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    await runOnce({ gates: [{ ...no, match: 'nothing' }] })
    expect(warn.mock.calls).toEqual([
      ['[hookspan] Gate "no" names no tool of agent "a" by nothing. Its tools: delete_order.'],
    ])
    warn.mockRestore()
  })

  describe('is looked for when the run is over', () => {
    const gateFor = (match: string): Gate => ({ id: match, point: 'beforeToolCall', match, decide: proceed })
    const told: string[] = []
    const started = (...match: string[]) => {
      told.length = 0
      const dispatcher = new HookDispatcher({ onHookError: ({ message }) => void told.push(message) })
      dispatcher.use({ name: 'p', gates: match.map(gateFor) })
      return dispatcher
    }
    const search = [{ name: 'search' }]
    const searching = (op: Operation) => op.toolCall({ apiName: 'search', args: {} }, () => 1)
    const nothing = 'Gate "nothing" names no tool of agent "a" by nothing. Its tools: search.'
    const mayHave = ' An agent that was not called here may have it.'

    it.each([
      ['done', (op: Operation) => op.complete()],
      ['failed', (op: Operation) => op.fail(new Error('broke'))],
      ['interrupted', (op: Operation) => op.interrupt()],
      ['abandoned', (op: Operation) => op.abandon()],
      ['parked', (op: Operation) => op.park({ waitingFor: 'human' })],
    ])('however it ends: %s', async (_how, end) => {
      const dispatcher = started('search', 'nothing')
      const op = dispatcher.startOperation({ agentName: 'a', tools: search })
      await searching(op)
      expect(told).toEqual([])
      await end(op)
      expect(told).toEqual([nothing])
    })

    it('and where nothing was called, it says that an agent may have it which was not', async () => {
      const op = started('nothing').startOperation({ agentName: 'a', tools: search })
      await op.complete()
      expect(told).toEqual([nothing + mayHave])
    })

    it('but not where another process goes on with it', () => {
      started('nothing').startOperation({ agentName: 'a', tools: search }).leave()
      expect(told).toEqual([])
    })

    it('once, whichever of its runs it was', async () => {
      const dispatcher = started('nothing')
      for (let i = 0; i < 3; i++) {
        const op = dispatcher.startOperation({ agentName: 'a', tools: search })
        await searching(op)
        await op.complete()
      }
      expect(told).toEqual([nothing])
    })

    it('in the tools of agents below, which are known from what they say, offer or call', async () => {
      const dispatcher = started('search', 'said', 'offered', 'mail/offered', 'mail/called', 'nothing')
      const root = dispatcher.startOperation({ agentName: 'a', tools: search })
      await searching(root)
      const said = dispatcher.startOperation({ parent: root, tools: [{ name: 'said' }] })
      await said.toolCall({ apiName: 'said', args: {} }, () => 1)
      await said.complete()
      const offers = dispatcher.startOperation({ parent: root })
      const request = { messages: [], tools: [{ type: 'function', function: { name: 'offered' } }] }
      await offers.llmCall({ model: 'm', request }, () => ({}))
      await offers.toolCall({ apiName: 'offered', args: {} }, () => 1)
      const below = dispatcher.startOperation({ parent: offers, tools: [] })
      await below.toolCall({ identifier: 'mail', apiName: 'called', args: {} }, () => 1)
      await below.complete()
      await offers.complete()
      await root.complete()
      expect(told).toEqual([
        'Gate "nothing" names no tool of agent "a" by nothing. Its tools: search, said, offered, called.',
      ])
    })

    it("of a sub-agent's own guards, in its own tools", async () => {
      const dispatcher = started()
      const root = dispatcher.startOperation({ agentName: 'a', tools: search, gates: [gateFor('search')] })
      const child = dispatcher.startOperation({
        agentName: 'c',
        parent: root,
        tools: [{ name: 'send' }],
        gates: ['search', 'send'].map((match) => ({ ...gateFor(match), id: `own ${match}` })),
      })
      await child.toolCall({ apiName: 'send', args: {} }, () => 1)
      await child.complete()
      await root.complete()
      expect(told).toEqual(['Gate "own search" names no tool of agent "c" by search. Its tools: send.'])
    })

    it('not where an agent has tools whose names nobody knows', async () => {
      const dispatcher = started('nothing')
      const root = dispatcher.startOperation({ agentName: 'a', tools: search })
      await dispatcher.startOperation({ parent: root }).complete()
      await root.complete()
      await dispatcher.startOperation({ agentName: 'b', tools: [...search, { name: '*' }] }).complete()
      await dispatcher.startOperation({ agentName: 'd', tools: [] }).complete()
      expect(told).toEqual([])
    })

    it('in all runs of the dispatcher, for what is in use in all of them', async () => {
      const dispatcher = started('send')
      for (const [agentName, name] of [
        ['mailer', 'send'],
        ['a', 'search'],
      ] as const) {
        const op = dispatcher.startOperation({ agentName, tools: [{ name }] })
        await op.complete()
      }
      expect(told).toEqual([])
    })

    it('and what one agent has is none of another, whose sub-agent was not called this time', async () => {
      const dispatcher = started()
      const gates = [gateFor('send')]
      const runOf = async (agentName: string, calls: boolean) => {
        const root = dispatcher.startOperation({ agentName, tools: search, gates })
        if (calls) {
          await dispatcher.startOperation({ parent: root, tools: [{ name: 'send' }] }).complete()
        }
        await searching(root)
        await root.complete()
      }
      await runOf('a', true)
      await runOf('a', false)
      expect(told).toEqual([])
      await runOf('b', false)
      expect(told).toEqual(['Gate "send" names no tool of agent "b" by send. Its tools: search.'])
    })
  })
})

it('a long list of globs costs the end of a run next to nothing, whatever its tools are', async () => {
  const things = ['order', 'invoice', 'customer', 'branch', 'database', 'cluster', 'payment', 'refund']
  const tools = things.flatMap((thing) =>
    ['get', 'list', 'update', 'archive'].map((verb) => `${verb}_${thing}`),
  )
  const guarded = Array.from({ length: 300 }, (_, n) => `delete_${things[n % 8]}_${n}*`)
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'p', gates: [toolPolicy({ deny: guarded })] })
  const end = async () => {
    const op = dispatcher.startOperation({ tools: tools.map((name) => ({ name })) })
    const begun = performance.now()
    await op.complete()
    return performance.now() - begun
  }
  await end()
  let took = 0
  for (let n = 0; n < 20; n++) took += await end()
  // Each took half a second and more.
  expect(took).toBeLessThan(2_000)
})
