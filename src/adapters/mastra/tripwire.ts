import { asName, asObject } from '../../wire/reading.ts'

/**
 * A processor ended the run (`abort()`), which Mastra gives as a result without a text, or as the last chunk of a stream: here
 * it has failed, as by the guardrails of SDKs that throw.
 */
export function tripwireOf({ tripwire }: { readonly tripwire?: unknown }): Error | undefined {
  const { reason, processorId } = asObject(tripwire) ?? {}
  const why = asName(reason)
  if (why === undefined) return undefined
  const by = asName(processorId)
  const error = new Error(by === undefined ? why : `processor "${by}": ${why}`)
  error.name = 'TripWire'
  return error
}
