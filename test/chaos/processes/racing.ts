/**
 * Makes runs of one adapter that wait for a human, or goes on from them: whatever it is told, it does, and says what came of
 * it. The tool that needs nobody's approval writes a line each time it runs.
 */
import { appendFileSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import type { ContractTool } from 'hookspan/adapter/contract'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { oneSubject } from '../../adapter/subjects/one.ts'
import { hideWholeSdk } from './small-sdk.ts'

export interface Order {
  readonly race: number
  /** Of the run to go on with; absent where one is to be made. */
  readonly state?: unknown
}

const [name = '', folder = '', endpoint = ''] = process.argv.slice(2)
const subject = await oneSubject(name)
hideWholeSdk()
const approvals = createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }), mode: 'park' })
const tracing = startTracing({ endpoint })
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)
dispatcher.use(approvals)
dispatcher.use({ name: 'guard', gates: [requireHuman({ match: 'refund' })] })

function tool(name: string, race: number): ContractTool {
  const parameters = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] }
  const execute = async () => {
    appendFileSync(`${folder}/ran.log`, `${race} ${name}\n`)
    return `${name} done`
  }
  return { name, description: `${name}.`, parameters, execute }
}

const call = (name: string) => ({ toolCalls: [{ id: name, name, args: { q: name } }] })

async function run({ race, state }: Order): Promise<object> {
  const replies = state === undefined ? [call('refund')] : [call('send_mail'), { content: 'done' }]
  const tools = ['refund', 'send_mail'].map((name) => tool(name, race))
  const asked = { dispatcher, agentName: `race ${race}`, prompt: 'Refund it.', replies, tools }
  return subject.run({ ...asked, ...(state !== undefined && { state }) })
}

/** The SDK may have wrapped what it was told. */
function codeOf(error: unknown): unknown {
  for (let at = error as Error | undefined; at !== undefined; at = at.cause as Error | undefined) {
    if ('code' in at) return at.code
  }
  return String(error)
}

process.on('message', async (order: Order | 'end') => {
  if (order !== 'end') {
    const said = await run(order).catch((error: unknown) => ({ code: codeOf(error) }))
    await dispatcher.drain()
    process.send?.({ race: order.race, ...said })
    return
  }
  await tracing.shutdown()
  await approvals.close()
  process.disconnect()
})
process.send?.('ready')
