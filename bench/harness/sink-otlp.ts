/** A span as it came: its name, and the names and OTLP types of its attributes. */
export interface SpanShape {
  readonly name: string
  readonly attributes: readonly string[]
}

/** The kinds of an OTLP value, by their fields in protobuf. */
const VALUE_KINDS: readonly string[] = [
  'none',
  'stringValue',
  'boolValue',
  'intValue',
  'doubleValue',
  'arrayValue',
  'kvlistValue',
  'bytesValue',
]

interface JsonRequest {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string
        readonly attributes: readonly { readonly key: string; readonly value: object }[]
      }[]
    }[]
  }[]
}

/** What the tracing of OpenAI's Agents SDK sends. */
interface AgentsRequest {
  readonly data: readonly {
    readonly object: string
    readonly span_data?: { readonly type: string; readonly name?: string }
  }[]
}

export function readJson(body: Buffer): SpanShape[] {
  const request = JSON.parse(body.toString()) as JsonRequest | AgentsRequest
  if ('data' in request) {
    return request.data
      .filter(({ object }) => object === 'trace.span')
      .map(({ span_data: data }) => ({ name: data?.name ?? data?.type ?? '', attributes: [] }))
  }
  const { resourceSpans } = request
  return resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, attributes }) => ({
        name,
        attributes: attributes.map(({ key, value }) => `${key}:${Object.keys(value)[0] ?? 'none'}`),
      })),
    ),
  )
}

export function readProtobuf(body: Buffer): SpanShape[] {
  const spans: SpanShape[] = []
  for (const resourceSpans of fieldsOf(body, 1))
    for (const scopeSpans of fieldsOf(resourceSpans, 2))
      for (const span of fieldsOf(scopeSpans, 2)) spans.push(spanOf(span))
  return spans
}

function spanOf(span: Buffer): SpanShape {
  const attributes = [...fieldsOf(span, 9)].map((attribute) => {
    const [value] = fieldsOf(attribute, 2)
    const kind = value === undefined || value.length === 0 ? 0 : (value[0] as number) >> 3
    return `${textOf(attribute, 1)}:${VALUE_KINDS[kind]}`
  })
  return { name: textOf(span, 5), attributes }
}

function textOf(message: Buffer, field: number): string {
  const [text] = fieldsOf(message, field)
  return text?.toString() ?? ''
}

/** The length-delimited fields of a message that have this number. */
function* fieldsOf(message: Buffer, field: number): Generator<Buffer> {
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++] as number
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    const wireType = tag & 7
    if (wireType === 2) {
      const end = varint() + at
      if (tag >> 3 === field) yield message.subarray(at, end)
      at = end
    } else if (wireType === 0) varint()
    else at += wireType === 1 ? 8 : 4
  }
}
