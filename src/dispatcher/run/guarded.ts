import type { GatePoint } from '../../gates/index.ts'
import type { OperationCore } from './operation-core.ts'

/** Whether tools are said to be mocked, by stand-ins or by hooks. */
export function isMocked(core: OperationCore): boolean {
  return core.standIns().length > 0 || core.record.mockingHooks.length > 0
}

/**
 * Whether gates decide at one of these points. Of a tool call, also whether stand-ins or hooks that mock have their say:
 * where hookspan itself fails there, the tool must not run instead.
 */
export function isGuarded(core: OperationCore, points: readonly GatePoint[]): boolean {
  if (core.stop !== undefined || points.some((point) => core.decidesAt(point))) return true
  if (!points.includes('beforeToolCall')) return false
  return core.standIns().length > 0 || core.record.mayMock
}
