import { RunState } from '@openai/agents'
import { SandboxAgent, shell } from '@openai/agents/sandbox'
import { scriptedSandboxSession } from '@openai/agents/testing'
import { HookDispatcher } from 'hookspan'
import type { Approver } from 'hookspan/gates'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { afterEach, describe, expect, it } from 'vitest'
import { bareRunner, letAllGo, observed, scripted } from './support.ts'

afterEach(letAllGo)

const WIPE: [string, object][] = [['exec_command', { cmd: 'rm -r .' }]]

function sandbox() {
  const ran: unknown[] = []
  const session = scriptedSandboxSession([
    {
      method: 'execCommand',
      respond: ({ args: [{ cmd }] }) => {
        ran.push(cmd)
        return 'gone'
      },
    },
  ])
  return { ran, options: { sandbox: { session } } }
}

const agentOn = (...turns: Parameters<typeof scripted>) =>
  new SandboxAgent({ name: 'coder', model: scripted(...turns), capabilities: [shell()] })

describe('the commands of an agent in a sandbox', () => {
  it('are not run where they are denied', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['exec_*'] })] })
    const { ran, options } = sandbox()

    const result = await observed(bareRunner(), { dispatcher }).run(agentOn(WIPE, 'done'), 'hi', options)

    expect(result.finalOutput).toBe('done')
    expect(ran).toEqual([])
  })

  it('wait for a human across processes', async () => {
    const { ran, options } = sandbox()
    let saved: string | undefined
    for (const decision of ['park', 'approve'] as const) {
      expect(ran).toEqual([])
      const approver: Approver = { requestApproval: async () => ({ decision, approver: 'ines' }) as never }
      const dispatcher = new HookDispatcher()
      dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'exec_*' })], approver })
      const agent = saved === undefined ? agentOn(WIPE) : agentOn('done')
      const input = saved === undefined ? 'hi' : await RunState.fromString(agent, saved)
      const result = await observed(bareRunner(), { dispatcher }).run(agent, input as never, options)
      saved = result.state.toString()
      letAllGo()
    }
    expect(ran).toEqual(['rm -r .'])
  })
})
