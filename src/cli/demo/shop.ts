/** The shop that the demo's agents work for: its tools, its rules and its shift lead. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Agent, AgentTool } from '../../agent/index.ts'
import type { Plugin, PriceOf } from '../../dispatcher/index.ts'
import { type Approver, deny, type Gate } from '../../gates/index.ts'
import { commandGate } from '../../policies/index.ts'

export const CUSTOMER_SAYS =
  'Hi, this is Mara Lindqvist, order 4711: the tent arrived with a torn seam, and on Friday my hike in Norway ' +
  'starts from Bergen. Can you get me one that holds by then? The summary in Norwegian would help the hut, too.'

const PAID_EUR = 260

export interface ShopOptions {
  /** How long things take: 1 as in the story, 0 not at all. */
  pace: number
  models: { support: string; small: string }
}

/** The support agent, with all that it may use. */
export function supportAgent({ pace, models }: ShopOptions): Agent {
  const wait = (ms: number) => sleep(ms * pace)
  return {
    name: 'support',
    model: models.support,
    maxSteps: 12,
    instructions:
      'You are the support agent of Juniper Outdoor. Look into the order and its parcel first. Ask `logistics` how to get ' +
      'a replacement to the customer and `goodwill` about a consolation; `translator` writes the summary. Be brief and kind.',
    tools: [
      tool('get_order', 'Looks up an order.', { order: 'string' }, async () => {
        await wait(45)
        return { order: '4711', item: 'Fjell 2 tent', paidEur: PAID_EUR, sku: 'TENT-2P', state: 'delivered' }
      }),
      tool('carrier_status', 'Asks the carrier where a parcel was.', { parcel: 'string' }, () => {
        throw new Error('The demo has no contract with the carrier.')
      }),
      tool('check_stock', 'Asks the warehouse for an article.', { sku: 'string' }, async () => {
        await wait(180)
        throw Object.assign(new Error('the warehouse did not answer within 150 ms'), { code: 'ETIMEDOUT' })
      }),
      tool('issue_refund', 'Pays money back.', { order: 'string', amountEur: 'number' }, () => ({
        paid: true,
      })),
      {
        ...tool(
          'book_courier',
          'Books an express courier.',
          { to: 'string', priceEur: 'number' },
          async () => {
            await wait(70)
            return { booked: true, arrives: 'Thursday 16:00', tracking: 'EXP-8841' }
          },
        ),
        needsApproval: true,
        approval: { timeoutMs: 60_000, instructions: 'Couriers cost money: may this one be booked?' },
      },
    ],
    subAgents: [
      logistics(models.small, wait),
      outsideCounsel(models.small),
      goodwill(models.small),
      translator(models.small),
    ],
    compaction: {
      thresholdTokens: 1_100,
      keepMessages: 2,
      model: models.small,
      // Close enough for a demo, and the same everywhere: four characters a token.
      countTokens: (text) => Math.ceil(text.length / 4),
    },
  }
}

function logistics(model: string, wait: (ms: number) => Promise<void>): Agent {
  return {
    name: 'logistics',
    model,
    description: 'Finds a way to get an article to a customer in time.',
    instructions: 'You are the logistics agent of Juniper Outdoor. Find the cheapest way that is in time.',
    tools: [
      tool('find_courier', 'Lists express couriers.', { from: 'string', before: 'string' }, async () => {
        await wait(120)
        return [
          { courier: 'Fjordexpress', priceEur: 38, arrives: 'Thursday 16:00' },
          { courier: 'SkyBox', priceEur: 94, arrives: 'Thursday 09:00' },
        ]
      }),
    ],
  }
}

function outsideCounsel(model: string): Agent {
  return {
    name: 'outside_counsel',
    model,
    description: 'A law firm that knows consumer rights.',
    instructions: 'You are a lawyer outside of Juniper Outdoor.',
  }
}

function goodwill(model: string): Agent {
  return {
    name: 'goodwill',
    model,
    description: 'Decides what a customer gets for the trouble.',
    instructions:
      'You are the goodwill agent of Juniper Outdoor. Vouchers need the consent of the shift lead.',
    tools: [
      {
        ...tool('issue_voucher', 'Issues a voucher.', { customer: 'string', amountEur: 'number' }, () => ({
          issued: true,
        })),
        needsApproval: true,
        approval: { timeoutMs: 60_000, instructions: 'May this voucher be issued?' },
      },
    ],
  }
}

function translator(model: string): Agent {
  return {
    name: 'translator',
    model,
    description: 'Writes a text in another language.',
    instructions: 'You are the translator of Juniper Outdoor.',
  }
}

/** What the shop allows, in front of every agent. */
export function shopRules(): Gate[] {
  // The same module, whether it runs from the sources or from the build.
  const policy = new URL(`./refund-policy${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
  return [
    commandGate({
      id: 'refund-limit',
      point: 'beforeToolCall',
      match: 'issue_refund',
      command: process.execPath,
      args: [fileURLToPath(policy)],
      env: { PAID_EUR: String(PAID_EUR) },
    }),
    {
      id: 'no-customer-data-outside',
      point: 'beforeCallAgent',
      match: 'outside_*',
      decide: ({ payload }) =>
        /Lindqvist|Mara/.test(String(payload))
          ? deny("the customer's name must not leave the house", { code: 'personal_data' })
          : undefined,
    },
  ]
}

/** Stands in for the carrier, as a test would: the real one is never asked. */
export function carrierMock(): Plugin {
  return {
    name: 'demo-carrier',
    hooks: [
      {
        id: 'carrier-mock',
        type: 'beforeToolCall',
        match: 'carrier_status',
        handler: (event) =>
          event.mock({
            content: '{"parcel":"JD-5520","state":"delivered","note":"box damaged at one corner"}',
          }),
      },
    ],
  }
}

/** Ines leads the shift. She answers as she would, a little faster. */
export function shiftLead(pace: number): Approver {
  return {
    async requestApproval({ apiName, args, argsDigest }) {
      await sleep(650 * pace)
      const { amountEur = 0, priceEur = 0 } = args as { amountEur?: number; priceEur?: number }
      const approver = 'Ines'
      if (apiName === 'book_courier' && priceEur <= 50) return { decision: 'approve', approver, argsDigest }
      return {
        decision: 'reject',
        approver,
        argsDigest,
        reason: `€${amountEur || priceEur} is too much, and I want to look at this one myself`,
        stop: apiName === 'issue_voucher',
      }
    },
  }
}

/** List prices of the two models, in US dollars a million tokens. */
export const priceOf: PriceOf = ({ model, usage }) => {
  const [input, output] = model.includes('mini') ? [0.15, 0.6] : [2.5, 10]
  return (usage.inputTokens * input + usage.outputTokens * output) / 1_000_000
}

function tool(
  name: string,
  description: string,
  parameters: Record<string, 'string' | 'number'>,
  execute: AgentTool['execute'],
): AgentTool {
  return {
    name,
    description,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(parameters).map(([key, type]) => [key, { type }])),
      required: Object.keys(parameters),
      additionalProperties: false,
    },
    execute,
  }
}
