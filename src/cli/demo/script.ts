import type { Respond, ScriptedRequest, ScriptedStep } from '../../mock/scripted-server/index.ts'

const asks = (name: string, args: object) => ({ name, arguments: args })

/** What the models say, by whom the request's instructions are addressed to. */
const SAYINGS: readonly { addressed: RegExp; steps: readonly ScriptedStep[] }[] = [
  {
    addressed: /^You are the support agent/,
    steps: [
      {
        content: 'Let me look at your order and at what happened to the parcel.',
        toolCalls: [asks('get_order', { order: '4711' }), asks('carrier_status', { parcel: 'JD-5520' })],
      },
      {
        content:
          'The box was damaged on its way. I ask the warehouse for another tent, and for your money meanwhile.',
        toolCalls: [
          asks('check_stock', { sku: 'TENT-2P' }),
          asks('issue_refund', { order: '4711', amountEur: 520 }),
        ],
      },
      {
        content: 'The warehouse is silent and the refund was too high. Our store in Bergen may be faster.',
        toolCalls: [
          asks('logistics', {
            instruction: 'Get a Fjell 2 tent from the Bergen store to the harbour hotel before Friday.',
          }),
          asks('outside_counsel', { instruction: 'Is Mara Lindqvist entitled to a courier at our expense?' }),
        ],
      },
      {
        content: 'Fjordexpress would make it. A courier needs the consent of our shift lead.',
        toolCalls: [asks('book_courier', { to: 'Harbour Hotel, Bergen', priceEur: 38 })],
      },
      {
        content: 'It is booked. Now something for your trouble, and the summary in Norwegian.',
        toolCalls: [
          asks('goodwill', {
            instruction: 'Mara Lindqvist had a torn tent two days before her hike. What can we do?',
          }),
          asks('translator', {
            instruction: 'Put into Norwegian: the new tent arrives on Thursday at 16:00.',
          }),
        ],
      },
      {
        content:
          'Good news, Mara: a new Fjell 2 leaves our Bergen store today and is at the Harbour Hotel on Thursday at 16:00 ' +
          '(EXP-8841), at our expense. Ines looks at a voucher for you herself, and our translator is out of order, so ' +
          'here are the words for the hut: "Nytt telt kommer torsdag kl. 16." Have a dry hike!',
      },
    ],
  },
  {
    addressed: /^You are the logistics agent/,
    steps: [
      { toolCalls: [asks('find_courier', { from: 'Bergen store', before: 'Friday' })] },
      { content: 'Fjordexpress takes it for €38 and delivers on Thursday at 16:00.' },
    ],
  },
  {
    addressed: /^You are the goodwill agent/,
    steps: [{ toolCalls: [asks('issue_voucher', { customer: 'Mara Lindqvist', amountEur: 200 })] }],
  },
  {
    addressed: /^You are the translator/,
    steps: [{ error: { status: 503, message: 'the model is overloaded' } }],
  },
  {
    addressed: /^You are given the older part of a conversation/,
    steps: [
      { error: { status: 503, message: 'the model is overloaded' } },
      {
        content:
          'Mara Lindqvist, order 4711 (Fjell 2 tent, €260): torn seam, box damaged by the carrier (JD-5520). Needs a ' +
          'tent in Bergen before Friday. Warehouse silent; refund of €520 denied; Fjordexpress €38 arrives Thursday 16:00.',
      },
    ],
  },
]

/** Answers each agent with its own lines, and counts tokens as the text is long. */
export function scriptedModels(pace: number): Respond {
  const said = new Map<RegExp, number>()
  return (request) => {
    const saying = SAYINGS.find(({ addressed }) => addressed.test(instructionsOf(request)))
    if (saying === undefined) return undefined
    const position = said.get(saying.addressed) ?? 0
    said.set(saying.addressed, position + 1)
    const step = saying.steps[position]
    if (step === undefined || step.error !== undefined) return step
    const outputTokens = tokensOf([step.content, step.toolCalls])
    const usage = { inputTokens: tokensOf([request.messages, request.body.tools]), outputTokens }
    return { ...step, usage, latencyMs: (90 + outputTokens * 4) * pace }
  }
}

function instructionsOf({ messages }: ScriptedRequest): string {
  const [first] = messages as readonly { content?: unknown }[]
  return typeof first?.content === 'string' ? first.content : ''
}

function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4)
}
