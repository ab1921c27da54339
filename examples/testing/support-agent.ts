/** The agent that the guide tests: it looks up an order and refunds it. Its real tools reach a shop and a bank. */
import type { Agent } from 'hookspan/agent'

const SHOP = 'https://shop.example.com'

async function post(path: string, body: unknown): Promise<unknown> {
  const response = await fetch(`${SHOP}${path}`, { method: 'POST', body: JSON.stringify(body) })
  return response.json()
}

// #region agent
export const support: Agent = {
  name: 'support',
  model: 'gpt-4o',
  instructions: 'Refund what was paid twice. Never refund more than was paid.',
  tools: [
    {
      name: 'find_order',
      parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      execute: ({ id }) => post('/orders/find', { id }),
    },
    {
      name: 'refund',
      parameters: {
        type: 'object',
        properties: { id: { type: 'string' }, amount: { type: 'number', minimum: 0 } },
        required: ['id', 'amount'],
      },
      needsApproval: ({ amount }) => Number(amount) > 50,
      approval: { timeoutMs: 60_000 },
      execute: (args) => post('/refunds', args),
    },
  ],
}
// #endregion
