import { toolCallFacts } from './call-content.ts'
import { classify, digestSpan } from './digest.ts'
import { isObject } from './messages.ts'
import type { AttributeValue, SpanRecord } from './span.ts'

/** The call of a tool span as a rule for `mockTools`, ready to paste; `undefined` for other spans. */
export function mockRule(span: SpanRecord): string | undefined {
  if (classify(span.name, span.attributes) !== 'tool') return undefined
  const name = digestSpan(span.name, span.attributes, [], span.status).label
  const facts = toolCallFacts(span)
  const when = isFilledObject(facts.args) ? `.when(${literal(facts.args)})` : ''
  if (facts.error) return `mock(${quote(name)})${when}.throws(new Error(${quote(facts.error)}))`
  const note = facts.result === null ? ' // the trace holds no result' : ''
  return `mock(${quote(name)})${when}.returns(${literal(facts.result)})${note}`
}

function isFilledObject(value: AttributeValue): boolean {
  return isObject(value) && Object.keys(value).length > 0
}

function literal(value: AttributeValue, indent = ''): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object') return String(value)
  const entries = Array.isArray(value)
    ? value.map((item) => literal(item, `${indent}  `))
    : Object.entries(value).map(([key, item]) => `${property(key)}: ${literal(item, `${indent}  `)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (entries.length === 0) return open + close
  const flat = Array.isArray(value) ? `[${entries.join(', ')}]` : `{ ${entries.join(', ')} }`
  if (flat.length <= 80 && !flat.includes('\n')) return flat
  return `${open}\n${entries.map((entry) => `${indent}  ${entry},`).join('\n')}\n${indent}${close}`
}

/** `__proto__: x` in an object literal sets the prototype; in brackets it is a key like any other. */
function property(key: string): string {
  if (key === '__proto__') return "['__proto__']"
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key)
}

function quote(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inner.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`
}
