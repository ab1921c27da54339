/** An agent that pays, for runs that are killed. `CUT=1` kills the process right after the refund was booked. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Agent } from 'hookspan/agent'

export const folder = process.env.REFUNDS_FOLDER ?? '.'

/** As payment services do: one key is booked once, and whoever asks again is given the same receipt. */
async function bookRefund(amount: number, idempotencyKey: string): Promise<string> {
  const receipt = `${folder}/${encodeURIComponent(idempotencyKey)}.receipt`
  if (!existsSync(receipt)) {
    writeFileSync(receipt, `${amount} EUR, booked under ${idempotencyKey}`)
    // The network is cut, or the process is killed, at the worst moment: nobody here knows that it was booked.
    if (process.env.CUT) process.kill(process.pid, 'SIGKILL')
  }
  return readFileSync(receipt, 'utf8')
}

export const agent: Agent = {
  name: 'refunds',
  model: 'scripted',
  tools: [
    {
      name: 'refund',
      parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
      // The key goes with the call, so it may be made again.
      idempotent: true,
      execute: ({ amount }, { idempotencyKey }) => bookRefund(Number(amount), idempotencyKey),
    },
  ],
}
