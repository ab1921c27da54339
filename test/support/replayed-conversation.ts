/** A conversation put together from spans alone, and the same one from the recording, to be compared. */

export interface SeenSpan {
  name: string
  spanId: string
  parentSpanId?: string | undefined
  /** Sortable. */
  start: bigint
  attributes: Readonly<Record<string, unknown>>
  failed: boolean
  events: readonly { name: string; attributes: Readonly<Record<string, unknown>> }[]
}

export type Said =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant' | 'user'; content: string | null; calls: SaidCall[] }
  | { role: 'tool'; id: string; name: string; by: 'assistant' | 'user'; content: string; failed?: boolean }

export interface SaidCall {
  id: string
  name: string
  /** Byte for byte. */
  arguments: string
}

interface Part {
  type: string
  content?: string
  id?: string
  name?: string
  arguments?: unknown
  response?: unknown
}
interface Message {
  role: string
  parts: Part[]
}

/**
 * What was said in a replayed run. Takes nothing from anywhere else than the spans; throws when two spans that
 * tell of the same message do not agree.
 */
export function conversationOf(spans: readonly SeenSpan[]): Said[] {
  const root = spans.find((span) => span.name.startsWith('invoke_agent '))
  if (root === undefined) throw new Error('There is no invoke_agent span.')
  const below = (parent: SeenSpan) =>
    spans
      .filter((span) => span.parentSpanId === parent.spanId)
      .sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0))
  const said: Said[] = []
  /** Everything that the model has been sent, or has said, until now. */
  let known: Message[] = []
  for (const step of below(root)) {
    const children = below(step)
    const chat = children.find((span) => span.name.startsWith('chat '))
    const tools = children.filter((span) => span.name.startsWith('execute_tool '))
    if (chat === undefined) {
      const calls = tools.map((tool) => callOf(tool))
      said.push({ role: 'user', content: null, calls }, ...tools.map((tool) => resultOf(tool, 'user')))
      continue
    }
    const sent = messages(chat.attributes['gen_ai.input.messages'])
    const again = sent.slice(0, known.length)
    if (JSON.stringify(again) !== JSON.stringify(known)) {
      throw new Error(`${chat.name} was sent other messages than were said: ${firstDifference(again, known)}`)
    }
    for (const message of sent.slice(known.length)) {
      if (message.role !== 'system' && message.role !== 'user') throw new Error(`Unexpected ${message.role}.`)
      said.push({ role: message.role, content: textOf(message) ?? '' })
    }
    const [answer] = messages(chat.attributes['gen_ai.output.messages'])
    if (answer === undefined) throw new Error(`${chat.name} has no output.`)
    said.push({
      role: 'assistant',
      content: textOf(answer),
      calls: answer.parts.flatMap((part) => (part.type === 'tool_call' ? [callOfPart(part)] : [])),
    })
    const results = tools.map((tool) => resultOf(tool, 'assistant'))
    said.push(...results)
    known = [
      ...sent,
      answer,
      ...results.map(({ id, content }) => ({
        role: 'tool',
        parts: [{ type: 'tool_call_response', id, response: content }],
      })),
    ]
  }
  for (const { name, attributes } of root.events) {
    if (name !== 'hookspan.user_message') continue
    for (const message of messages(attributes['gen_ai.input.messages'])) {
      said.push({ role: 'user', content: textOf(message) ?? '' })
    }
  }
  return said
}

function messages(json: unknown): Message[] {
  // Only what a message says: why the model stopped is told by its answer, not when it is sent again.
  return (JSON.parse(String(json)) as Message[]).map(({ role, parts }) => ({ role, parts }))
}

function textOf({ parts }: Message): string | null {
  return parts.find((part) => part.type === 'text')?.content ?? null
}

function callOfPart({ id = '', name = '', arguments: args }: Part): SaidCall {
  return { id, name, arguments: typeof args === 'string' ? args : JSON.stringify(args) }
}

function callOf({ attributes }: SeenSpan): SaidCall {
  return {
    id: String(attributes['gen_ai.tool.call.id']),
    name: String(attributes['gen_ai.tool.name']),
    arguments: String(attributes['gen_ai.tool.call.arguments']),
  }
}

function resultOf({ attributes, failed }: SeenSpan, by: 'assistant' | 'user') {
  if ((attributes['hookspan.tool.identifier'] === 'user') !== (by === 'user')) {
    throw new Error(`${attributes['gen_ai.tool.name']} is not marked as made by the ${by}.`)
  }
  const text = String(attributes['gen_ai.tool.call.result'])
  const value = JSON.parse(text) as Record<string, unknown>
  const isWrapped = typeof value.content === 'string' && Object.keys(value).length === 1
  return {
    role: 'tool' as const,
    id: String(attributes['gen_ai.tool.call.id']),
    name: String(attributes['gen_ai.tool.name']),
    by,
    content: isWrapped ? (value.content as string) : text,
    failed,
  }
}

function firstDifference(a: readonly unknown[], b: readonly unknown[]): string {
  const index = b.findIndex((item, at) => JSON.stringify(a[at]) !== JSON.stringify(item))
  return `message ${index}: ${JSON.stringify(a[index])?.slice(0, 300)} for ${JSON.stringify(b[index])?.slice(0, 300)}`
}

interface TauMessage {
  role: string
  content: string | null
  name?: string
  tool_call_id?: string
  tool_calls?: { id: string; function: { name: string; arguments: string } }[]
}

/** A tau-bench run as it was recorded. */
export function saidInTauBench(traj: readonly TauMessage[]): Said[] {
  return traj.map((message): Said => {
    const content = message.content
    switch (message.role) {
      case 'assistant': {
        const calls = (message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function }))
        return { role: 'assistant', content, calls }
      }
      case 'tool':
        return {
          role: 'tool',
          id: message.tool_call_id!,
          name: message.name!,
          by: 'assistant',
          content: content!,
          failed: content!.startsWith('Error'),
        }
      default:
        return { role: message.role as 'system' | 'user', content: content! }
    }
  })
}

interface Tau2Message {
  role: string
  content: string | null
  id?: string
  error?: boolean
  requestor?: 'assistant' | 'user'
  tool_calls?: { id: string; name: string; arguments: object }[] | null
  raw_data?: { message?: { tool_calls?: { function: { arguments: string } }[] | null } } | null
}

/** A tau2-bench simulation as it was recorded, behind its policy. */
export function saidInTau2Bench(policy: string, recorded: readonly Tau2Message[]): Said[] {
  const names = new Map(
    recorded.flatMap((message) => message.tool_calls ?? []).map((call) => [call.id, call.name]),
  )
  const said = recorded.map((message): Said => {
    const content = message.content
    if (message.role === 'tool') {
      return {
        role: 'tool',
        id: message.id!,
        name: names.get(message.id!)!,
        by: message.requestor!,
        content: content!,
        failed: message.error === true,
      }
    }
    const calls = message.tool_calls ?? []
    if (message.role === 'user' && calls.length === 0) return { role: 'user', content: content! }
    const written = message.role === 'assistant' ? message.raw_data?.message?.tool_calls : undefined
    return {
      role: message.role as 'assistant' | 'user',
      content,
      calls: calls.map(({ id, name, arguments: args }, index) => {
        const value = JSON.stringify(args)
        const text = written?.[index]?.function.arguments
        // What the model wrote, where the recording has it beside the value.
        const isSame =
          text !== undefined && JSON.stringify(sorted(JSON.parse(text))) === JSON.stringify(sorted(args))
        return { id, name, arguments: isSame ? text : value }
      }),
    }
  })
  return [{ role: 'system', content: policy }, ...said]
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  )
}
