import type { ToolCallContext } from '../../hooks/index.ts'
import { isThenable, untilAborted } from '../../internal/async.ts'
import { snapshot } from '../../internal/snapshot.ts'
import { assertToolMock } from '../events/mock-slot.ts'
import type { StandInAnswer, StandInCall } from '../plugins/stand-in.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import type { ToolCallInit } from './tool-call-init.ts'

/**
 * What the first stand-in that takes a call answers. Undefined lets the real tool run. One that hangs cannot hold a
 * run that is aborted.
 *
 * @throws what a stand-in throws; HookspanError `MOCK_INVALID`.
 */
export async function askPlugged<A>(
  core: OperationCore,
  site: CallSite,
  call: ToolCallContext,
  init: ToolCallInit<A>,
): Promise<StandInAnswer | undefined> {
  for (const standIn of core.standIns()) {
    const answering = standIn(standInCall(core, site, call, init))
    const answer = isThenable(answering) ? await untilAborted(answering, core.signal) : answering
    if (answer === undefined) continue
    assertToolMock(answer.mock)
    return answer
  }
  return undefined
}

/** Tells the stand-ins of a call that they are not asked about, because the runtime has failed it. */
export function tellPlugged<A>(
  core: OperationCore,
  site: CallSite,
  call: ToolCallContext,
  init: ToolCallInit<A>,
  error: unknown,
): void {
  for (const standIn of core.standIns()) standIn.unasked?.(standInCall(core, site, call, init), error)
}

function standInCall<A>(
  core: OperationCore,
  site: CallSite,
  call: ToolCallContext,
  { inputSchema, outputSchema, onProgress }: ToolCallInit<A>,
): StandInCall {
  return {
    ...call,
    args: snapshot(call.args),
    operation: core.info,
    agentPath: core.agentPath,
    stepIndex: site.stepIndex ?? 0,
    signal: core.signal,
    inputSchema,
    outputSchema,
    ...(onProgress !== undefined && { onProgress }),
  }
}
