import { type Attributes, diag } from '@opentelemetry/api'

/** How much of its attributes a span, an event or a link keeps. */
export interface AttributeLimits {
  readonly attributeCountLimit: number
  /** Of texts, in UTF-16 units, and of byte arrays. */
  readonly attributeValueLengthLimit: number
}

export interface CleanAttributes {
  readonly attributes: Attributes
  readonly droppedAttributesCount: number
}

/** What a span takes: any value of OTLP. */
export function isAnyValue(value: unknown): boolean {
  return isAnyValueWithin(value, [])
}

/** What an event takes: a text, a number, a boolean, or a list of one of these, with gaps. */
export function isSimpleValue(value: unknown): boolean {
  if (!Array.isArray(value)) return isScalar(value)
  let type: string | undefined
  for (const item of value as unknown[]) {
    if (item === undefined || item === null) continue
    if (!isScalar(item) || (type !== undefined && typeof item !== type)) return false
    type = typeof item
  }
  return true
}

function isScalar(value: unknown): boolean {
  const type = typeof value
  return type === 'string' || type === 'number' || type === 'boolean'
}

function isAnyValueWithin(value: unknown, above: readonly object[]): boolean {
  if (isScalar(value) || value === null || value instanceof Uint8Array) return true
  if (typeof value !== 'object' || above.includes(value)) return false
  const path = [...above, value]
  const fits = (item: unknown) => item === undefined || isAnyValueWithin(item, path)
  if (Array.isArray(value)) {
    for (const item of value) if (!fits(item)) return false
    return true
  }
  const made = value.constructor as unknown
  if (made !== Object && made !== undefined) return false
  return Object.keys(value).every((key) => fits((value as Record<string, unknown>)[key]))
}

/** A copy, so that nobody changes it afterwards, with texts and bytes cut to `maxLength`. */
export function copyValue(value: unknown, maxLength: number): unknown {
  if (typeof value === 'string') return value.length <= maxLength ? value : value.substring(0, maxLength)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return value.length <= maxLength ? value : value.slice(0, maxLength)
  if (Array.isArray(value)) return value.map((item) => copyValue(item, maxLength))
  const copy: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined) copy[key] = copyValue(item, maxLength)
  }
  return copy
}

/** What is left of attributes: no undefined, no empty keys, no values that are none, no more than the limits allow. */
export function cleanAttributes(
  given: object | undefined,
  limits: AttributeLimits,
  isValid: (value: unknown) => boolean,
): CleanAttributes {
  const attributes: Record<string, unknown> = {}
  const maxLength = lengthLimit(limits)
  let count = 0
  let droppedAttributesCount = 0
  for (const [key, value] of Object.entries(given ?? {})) {
    if (value === undefined) continue
    if (count >= limits.attributeCountLimit) {
      droppedAttributesCount++
    } else if (key === '' || !isValid(value)) {
      warnOfAttribute(key)
      droppedAttributesCount++
    } else {
      attributes[key] = copyValue(value, maxLength)
      count++
    }
  }
  return { attributes: attributes as Attributes, droppedAttributesCount }
}

/** As many as there are when they are kept as they are; -1 when something of them would be changed or dropped. */
export function countClean(given: Attributes, limits: AttributeLimits): number {
  const maxLength = lengthLimit(limits)
  let count = 0
  for (const key in given) {
    const value = given[key]
    if (typeof value === 'string' ? !(value.length <= maxLength) : !isScalar(value)) return -1
    // Assigning the second one, as the SDK does, adds nothing.
    if (key === '' || key === '__proto__') return -1
    count++
  }
  return count <= limits.attributeCountLimit ? count : -1
}

/** A limit of nothing is a mistake, and none. */
export function lengthLimit({ attributeValueLengthLimit: limit }: AttributeLimits): number {
  return limit <= 0 ? Number.POSITIVE_INFINITY : limit
}

export function warnOfAttribute(key: string): void {
  diag.warn(key === '' ? 'Invalid attribute key: ' : `Invalid attribute value set for key: ${key}`)
}
