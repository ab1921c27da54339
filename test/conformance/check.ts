import type { SemconvProfile } from 'hookspan/tracing'
import registry from './registry.json' with { type: 'json' }

type Type = string | readonly string[]
const ATTRIBUTES: Readonly<Record<string, Type>> = registry.attributes
const COMPAT: Readonly<Record<string, Type>> = { ...ATTRIBUTES, ...registry.compatOnly }

interface SpanRule {
  readonly kinds: readonly string[]
  readonly name: string
  readonly required: readonly string[]
  readonly requiredOfClient?: readonly string[]
}

interface MetricRule {
  readonly type: string
  readonly unit: string
  readonly bounds?: readonly number[]
  readonly required: readonly string[]
}

/** A span from wherever it was read. */
export interface CheckedSpan {
  readonly name: string
  readonly kind: string
  readonly failed: boolean
  readonly ok: boolean
  readonly attributes: Readonly<Record<string, unknown>>
}

export interface CheckedMetric {
  readonly name: string
  readonly type: string
  readonly unit: string
  readonly description: string
  readonly bounds: readonly number[] | undefined
  readonly points: readonly Readonly<Record<string, unknown>>[]
}

/** What of a span is against the conventions. Names of ours (`hookspan.*`) are ours. */
export function spanViolations(span: CheckedSpan, profile: SemconvProfile): string[] {
  const { name, kind, attributes } = span
  const found = attributeViolations(attributes, profile)
  if (span.ok) found.push('the status is OK, which is for the application to say')
  if (span.failed !== 'error.type' in attributes)
    found.push('error.type is not there exactly where the status is ERROR')
  if ('server.address' in attributes !== 'server.port' in attributes)
    found.push('server.address and server.port are not together')
  const operation = attributes['gen_ai.operation.name']
  if (typeof operation === 'string') {
    const rule = (registry.spans as Record<string, SpanRule>)[operation]
    if (rule === undefined) return [...found, `an operation that is not known: ${operation}`]
    const about = attributes[rule.name]
    const expected = about === undefined ? operation : `${operation} ${about}`
    if (name !== expected) found.push(`the name is not ${expected}`)
    if (!rule.kinds.includes(kind)) found.push(`the kind is ${kind}`)
    const required = [...rule.required, ...(kind === 'client' ? (rule.requiredOfClient ?? []) : [])]
    for (const one of required) if (!(one in attributes)) found.push(`${one} is missing`)
  } else if (Object.keys(attributes).some((key) => key.startsWith('gen_ai.'))) {
    found.push('gen_ai attributes without gen_ai.operation.name')
  }
  return found.map((what) => `span "${name}": ${what}`)
}

/** Names that a profile has and the other has not: those of before the renames of 2026, and those of after. */
function metricRule(name: string, profile: SemconvProfile): MetricRule | undefined {
  const rules: Record<string, MetricRule> = registry.metrics
  if (profile === 'latest') return rules[name]
  const before: Record<string, MetricRule> = registry.compatMetrics
  return before[name] ?? (name.startsWith('gen_ai.client.inference.') ? undefined : rules[name])
}

export function metricViolations(metric: CheckedMetric, profile: SemconvProfile): string[] {
  const { name, points } = metric
  const rule = metricRule(name, profile)
  if (rule === undefined) return [`metric ${name}: not known`]
  const found = points.flatMap((labels) => attributeViolations(labels, profile))
  if (metric.type !== rule.type) found.push(`is a ${metric.type}`)
  if (metric.unit !== rule.unit) found.push(`the unit is ${metric.unit}`)
  if (metric.description === '') found.push('no description')
  if (rule.bounds && String(rule.bounds) !== String(metric.bounds))
    found.push(`the bounds are ${metric.bounds}`)
  for (const one of rule.required) {
    if (points.some((labels) => !(one in labels))) found.push(`${one} is missing`)
  }
  return found.map((what) => `metric ${name}: ${what}`)
}

function attributeViolations(
  attributes: Readonly<Record<string, unknown>>,
  profile: SemconvProfile,
): string[] {
  const known = profile === 'compat' ? COMPAT : ATTRIBUTES
  return Object.entries(attributes).flatMap(([name, value]) => {
    if (name.startsWith('hookspan.')) return []
    const type = known[name]
    if (type === undefined) return [`${name} is no attribute of the conventions`]
    return isOf(type, value) ? [] : [`${name} is no ${type}: ${JSON.stringify(value)?.slice(0, 100)}`]
  })
}

function isOf(type: Type, value: unknown): boolean {
  if (typeof type !== 'string') return type.includes(value as string)
  switch (type) {
    case 'int':
      return Number.isInteger(value)
    case 'double':
      return typeof value === 'number'
    case 'string[]':
      return Array.isArray(value) && value.every((one) => typeof one === 'string')
    case 'object':
      return isObject(parsed(value))
    case 'list':
      return Array.isArray(parsed(value))
    case 'parts':
      return areParts(parsed(value))
    case 'messages':
      return areMessages(parsed(value))
    default:
      return typeof value === type
  }
}

function parsed(value: unknown): unknown {
  try {
    return JSON.parse(String(value))
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const areParts = (parts: unknown): boolean =>
  Array.isArray(parts) && parts.every((part) => isObject(part) && typeof part.type === 'string')

const areMessages = (messages: unknown): boolean =>
  Array.isArray(messages) &&
  messages.every((one) => isObject(one) && typeof one.role === 'string' && areParts(one.parts))
