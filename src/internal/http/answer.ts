/** What every server that takes a human's answer keeps to. */
import { HookspanError, type HookspanErrorCode } from '../errors.ts'

export const MAX_ANSWER_BYTES = 262_144

const STATUS: Partial<Record<HookspanErrorCode, number>> = {
  APPROVAL_NOT_FOUND: 404,
  APPROVAL_ANSWERED: 409,
  APPROVAL_MISMATCH: 409,
  APPROVAL_EXPIRED: 410,
  APPROVAL_NOT_ALLOWED: 403,
  APPROVAL_UNREACHABLE: 503,
  INVALID_ANSWER: 422,
}

/** The HTTP status of a refused answer; undefined for what is no refusal but a failure. */
export function statusOfRefusal(error: unknown): number | undefined {
  return error instanceof HookspanError ? STATUS[error.code] : undefined
}
