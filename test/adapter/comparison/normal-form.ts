import type { RecordedSpan } from '../../../src/spans/span-tree.ts'

/** What is aside when SDKs are compared: names, ids, times, and what the provider of the model says of itself. */
export const ASIDE: readonly {
  readonly what: string
  readonly why: string
  readonly attributes: readonly string[]
}[] = [
  {
    what: 'names of spans, and the operation of a model call',
    why: 'the API names it: `chat`, `generate_content`',
    attributes: ['gen_ai.operation.name'],
  },
  {
    what: 'ids',
    why: 'made anew in each run; a reply has its own',
    attributes: [
      'gen_ai.response.id',
      'hookspan.call.key',
      'hookspan.human.request_id',
      'hookspan.operation.id',
      'hookspan.operation.parent_id',
      'hookspan.operation.root_id',
      'hookspan.sub_operation.id',
    ],
  },
  {
    what: 'times',
    why: 'never the same twice',
    attributes: [
      'gen_ai.response.time_to_first_chunk',
      'gen_ai.server.ttft',
      'hookspan.gate.duration_ms',
      'hookspan.human.waited_ms',
    ],
  },
  {
    what: 'the provider, its server and its model, and what only its API asks for',
    why: 'each SDK is run on a model of its own',
    attributes: [
      'gen_ai.provider.name',
      'gen_ai.request.max_tokens',
      'gen_ai.request.model',
      'gen_ai.response.model',
      'gen_ai.system',
      'server.address',
      'server.port',
    ],
  },
  {
    what: 'which test double answered a model call, and what a model costs',
    why: 'the doubles of some SDKs are not ours, and no price is known of them',
    attributes: ['hookspan.mock.source', 'hookspan.cost_usd', 'hookspan.operation.cost_usd'],
  },
  {
    what: 'the class of an error, and its text where no tool threw it',
    why: 'SDKs and clients wrap what was thrown in errors of their own',
    attributes: ['error.type'],
  },
]

/** A span as all SDKs are to tell it. */
export interface Told {
  readonly kind: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly children: readonly Told[]
}

const LEFT_OUT = new Set(ASIDE.flatMap(({ attributes }) => attributes))

/** Each provider has a word of its own for the two ends of a reply. */
const FINISHED: Readonly<Record<string, string>> = {
  endTurn: 'stop',
  end_turn: 'stop',
  STOP: 'stop',
  stop: 'stop',
  tool_call: 'tool_calls',
  tool_calls: 'tool_calls',
  toolUse: 'tool_calls',
  tool_use: 'tool_calls',
}

export function normalised(span: RecordedSpan): Told {
  const operation = String(span.attributes['gen_ai.operation.name'] ?? span.name.split(' ')[0])
  const given = Object.entries(span.attributes).filter(
    ([name, value]) => !LEFT_OUT.has(name) && !(operation === 'chat' && value === 0),
  )
  const said = given.flatMap(([name, value]) => {
    const read = reading(name, value)
    return read === undefined ? [] : [[name, read] as const]
  })
  const isModel = operation === 'chat' || operation === 'generate_content'
  const events = span.events.filter(({ name }) => !(isModel && name === 'hookspan.mock'))
  const gates = events.map(({ name, attributes }) => [name, without(attributes)])
  return {
    kind: operation === 'generate_content' ? 'chat' : operation,
    attributes: {
      ...Object.fromEntries(said),
      kind: span.kind,
      failed: failureOf(span, operation),
      open: span.endTime === undefined,
      ...(gates.length > 0 && { gates }),
    },
    children: span.children.map(normalised),
  }
}

function failureOf({ status }: RecordedSpan, operation: string): unknown {
  if (status.code !== 2) return false
  return operation === 'execute_tool' ? status.message : true
}

function without(attributes: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !LEFT_OUT.has(name)))
}

interface Message {
  readonly parts: readonly { readonly type: string; readonly content?: unknown }[]
}

/** Undefined for what says nothing. */
function reading(name: string, value: unknown): unknown {
  if (name === 'gen_ai.response.finish_reasons')
    return (value as string[]).map((word) => FINISHED[word] ?? word)
  if (name === 'gen_ai.tool.definitions') {
    const definitions = JSON.parse(String(value)) as { name: string; description?: string }[]
    return definitions.map(({ name: tool, description }) => `${tool}: ${description}`)
  }
  if (name === 'gen_ai.system_instructions') return nonEmpty(JSON.parse(String(value)))
  if (!/^gen_ai\.(input|output)\.messages$/.test(name)) return value
  return nonEmpty(
    (JSON.parse(String(value)) as (Message & { role: string; finish_reason?: string })[]).flatMap(
      (message) => {
        const parts = message.finish_reason === 'error' ? undefined : nonEmpty(message.parts)
        const finish = message.finish_reason && FINISHED[message.finish_reason]
        return parts === undefined ? [] : [{ ...message, parts, ...(finish && { finish_reason: finish }) }]
      },
    ),
  )
}

function nonEmpty<T extends object>(parts: readonly T[]): readonly T[] | undefined {
  const said = parts.filter(
    (part) => !('type' in part && 'content' in part && part.type === 'text' && part.content === ''),
  )
  return said.length === 0 ? undefined : said
}
