/** Begins a run that is saved on its way. `CUT=1` kills its process right after the refund was booked. */
import { execAgent } from 'hookspan/agent'
import { callTools, scriptedModel } from 'hookspan/mock'
import { agent } from './agent.ts'
import { checkpoint } from './refunds.ts'

const client = scriptedModel([callTools(['refund', { amount: 40 }]), 'It is refunded.'])
const run = await execAgent({ agent, prompt: 'Refund order 7', client, checkpoint, operationId: 'refund-7' })
console.log(run.status, '-', run.messages.at(-2)?.content, '-', run.content)
