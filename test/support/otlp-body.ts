import { REQUEST } from '../../src/internal/otlp/messages.ts'
import { ProtobufReader } from '../../src/internal/otlp/protobuf-reader.ts'

interface Group {
  readonly resources: readonly {
    readonly resource?: object
    readonly scopes: readonly { readonly scope?: object; readonly items: readonly object[] }[]
  }[]
}

/** The body of a request for traces in OTLP's JSON form, whichever form it was sent in. */
export function otlpBody(body: Buffer): unknown {
  // JSON begins with a brace; protobuf with the tag of its first resource.
  if (body[0] === 0x7b) return JSON.parse(body.toString())
  const reader = new ProtobufReader(body)
  const resources = []
  while (!reader.done) {
    const [field] = [REQUEST.byTag[reader.tag()]]
    if (field !== undefined) resources.push(field.read(reader))
  }
  return {
    resourceSpans: (resources as unknown as Group['resources']).map(({ resource, scopes }) => ({
      resource,
      scopeSpans: scopes.map(({ scope, items }) => ({ scope, spans: items })),
    })),
  }
}
