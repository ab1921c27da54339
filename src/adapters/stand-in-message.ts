import type { LlmResponse } from '../hooks/index.ts'
import { asObject } from '../wire/reading.ts'

/** What stands in for a stream: its pieces are made of the message, also where a durable run has kept that. */
export function standInMessage(message: LlmResponse): { readonly response: LlmResponse } {
  return { response: message }
}

/** The message of one. */
export function messageOf(standIn: unknown): LlmResponse {
  return (asObject(asObject(standIn)?.response) ?? {}) as LlmResponse
}
