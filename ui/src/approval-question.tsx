/** What is asked, by whom, and what led to it. */
import type { WaitingRequest } from '../../src/viewer/model/approval.ts'
import { withoutUnseen } from '../../src/viewer/model/exact-json.ts'
import { formatDuration } from '../../src/viewer/model/format.ts'
import { useLoaded, useSource } from './hooks.ts'
import { Text } from './parts.tsx'
import { pathOf } from './route.ts'

export function ApprovalQuestion({
  request,
  nowMs,
  isOpen,
}: {
  request: WaitingRequest
  nowMs: number
  isOpen: boolean
}) {
  const source = useSource()
  const { value } = useLoaded(() => source.approvalContext(request.id), [request.id])
  const path = value?.path ?? (request.agentName ? [request.agentName] : [])
  return (
    <>
      <h3>
        {request.identifier && request.identifier !== 'local' && (
          <Text>{`${withoutUnseen(request.identifier)} / `}</Text>
        )}
        <Text>{withoutUnseen(request.apiName)}</Text>
      </h3>
      <p class="hint">
        {path.length > 0 ? <Text>{`${path.join(' › ')} asked `}</Text> : 'Asked '}
        {formatDuration(Math.max(0, nowMs - request.requestedAt))} ago
        {isOpen && request.expiresAt !== undefined
          ? `, refused in ${formatDuration(Math.max(0, request.expiresAt - nowMs))} unless answered`
          : ''}
        {' · '}
        <a href={pathOf({ page: 'run', traceId: request.traceId, view: 'timeline', spanId: '' })}>Run</a>
      </p>
      {request.instructions && (
        <p class="prose">
          <Text>{request.instructions}</Text>
        </p>
      )}
      {value && (
        <dl class="led-here">
          <dt>The user said last</dt>
          <dd tabIndex={0}>
            {value.userMessage ? (
              <Text>{value.userMessage}</Text>
            ) : (
              <span class="hint">not in the trace</span>
            )}
          </dd>
          {value.instruction && (
            <>
              <dt>
                <Text>{`${path.at(-1)} was told`}</Text>
              </dt>
              <dd tabIndex={0}>
                <Text>{value.instruction}</Text>
              </dd>
            </>
          )}
        </dl>
      )}
    </>
  )
}
