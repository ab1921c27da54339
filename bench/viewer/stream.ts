/** The same OTLP stream for every system: runs of an agent with model and tool calls, as protobuf requests. */

export const SPANS_PER_RUN = 100
/** Occurs in one span of every ten thousand. */
export const RARE_WORD = 'chrysoprase'

const WORDS =
  'the agent asked for a booking and the tool answered with fares dates names prices seats rules refunds cities weather routes notes plans steps summaries'.split(
    ' ',
  )

class Writer {
  #parts: Buffer[] = []
  #length = 0

  bytes(field: number, body: Buffer): this {
    return this.#push(varint((field << 3) | 2), varint(body.length), body)
  }
  text(field: number, text: string): this {
    return this.bytes(field, Buffer.from(text))
  }
  number(field: number, value: number): this {
    return this.#push(varint(field << 3), varint(value))
  }
  nanos(field: number, ms: number): this {
    const body = Buffer.alloc(8)
    body.writeBigUInt64LE(BigInt(Math.round(ms * 1000)) * 1000n)
    return this.#push(varint((field << 3) | 1), body)
  }
  message(field: number, fill: (writer: Writer) => void): this {
    const inner = new Writer()
    fill(inner)
    return this.bytes(field, inner.done())
  }
  done(): Buffer {
    return Buffer.concat(this.#parts, this.#length)
  }
  #push(...parts: Buffer[]): this {
    for (const part of parts) {
      this.#parts.push(part)
      this.#length += part.length
    }
    return this
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
  bytes.push(rest)
  return Buffer.from(bytes)
}

function attribute(writer: Writer, key: string, value: string | number): void {
  writer.message(9, (pair) => {
    pair
      .text(1, key)
      .message(2, (any) => (typeof value === 'string' ? any.text(1, value) : any.number(3, value)))
  })
}

function sentence(seed: number, words: number): string {
  return Array.from(
    { length: words },
    (_, at) => WORDS[(seed * 7 + at * 13 + ((seed * at) % 5)) % WORDS.length],
  ).join(' ')
}

export const traceIdOf = (run: number): string => (run + 1).toString(16).padStart(32, '0')

/** One request with one whole run. */
export function runRequest(run: number, beginMs: number, spans: number = SPANS_PER_RUN): Buffer {
  const traceId = Buffer.from(traceIdOf(run), 'hex')
  const startMs = beginMs + run * 10
  const spanId = (at: number) => {
    const id = Buffer.alloc(8)
    id.writeUInt32BE(run + 1)
    id.writeUInt32BE(at + 1, 4)
    return id
  }
  const body = new Writer().message(1, (resourceSpans) => {
    resourceSpans.message(1, (resource) => {
      resource.message(1, (pair) =>
        pair.text(1, 'service.name').message(2, (any) => any.text(1, 'bench-agent')),
      )
    })
    resourceSpans.message(2, (scopeSpans) => {
      scopeSpans.message(1, (scope) => scope.text(1, 'bench'))
      for (let at = 0; at < spans; at++) {
        scopeSpans.message(2, (span) => {
          const kind = at === 0 ? 'agent' : at % 2 === 1 ? 'chat' : 'tool'
          span.bytes(1, traceId).bytes(2, spanId(at))
          if (at > 0) span.bytes(4, spanId(at < 10 ? 0 : Math.floor(at / 10)))
          span
            .text(
              5,
              kind === 'agent'
                ? 'invoke_agent bench'
                : kind === 'chat'
                  ? 'chat gpt-4o'
                  : 'execute_tool search',
            )
            .number(6, 1)
          span.nanos(7, startMs + at).nanos(8, startMs + (at === 0 ? spans + 5 : at + 3))
          fill(span, kind, run * spans + at)
        })
      }
    })
  })
  return body.done()
}

function fill(span: Writer, kind: 'agent' | 'chat' | 'tool', seed: number): void {
  const rare = seed % 10_000 === 5_001 ? ` ${RARE_WORD}` : ''
  attribute(span, 'openinference.span.kind', kind === 'agent' ? 'AGENT' : kind === 'chat' ? 'LLM' : 'TOOL')
  attribute(span, 'input.value', sentence(seed, 30) + rare)
  attribute(span, 'output.value', sentence(seed + 3, 30))
  if (kind === 'agent') {
    attribute(span, 'gen_ai.operation.name', 'invoke_agent')
    attribute(span, 'gen_ai.agent.name', 'bench')
    attribute(span, 'gen_ai.conversation.id', `conversation-${seed % 500}`)
  } else if (kind === 'chat') {
    attribute(span, 'gen_ai.operation.name', 'chat')
    attribute(span, 'gen_ai.provider.name', 'openai')
    attribute(span, 'gen_ai.request.model', 'gpt-4o')
    attribute(span, 'gen_ai.usage.input_tokens', 1000 + (seed % 300))
    attribute(span, 'gen_ai.usage.output_tokens', 50 + (seed % 40))
    attribute(span, 'gen_ai.response.id', `response-${seed}`)
  } else {
    attribute(span, 'gen_ai.operation.name', 'execute_tool')
    attribute(span, 'gen_ai.tool.name', 'search')
    attribute(span, 'gen_ai.tool.call.id', `call-${seed}`)
    attribute(
      span,
      'gen_ai.tool.call.arguments',
      JSON.stringify({ query: sentence(seed, 4), limit: seed % 10 }),
    )
  }
}
