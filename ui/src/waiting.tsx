import { formatDuration } from '../../src/viewer/model/format.ts'
import type { SpanRow } from '../../src/viewer/model/span.ts'
import { AnswerButton, useApprovals } from './approvals.tsx'
import { Button, Text } from './parts.tsx'

/** What waits for a person: as the spans tell, and as the approval store tells where it is connected. */
export function Waiting({
  traceId,
  rows,
  nowUs,
  onOpen,
}: {
  traceId: string
  rows: SpanRow[]
  nowUs: number
  onOpen: (spanId: string) => void
}) {
  const { requests } = useApprovals()
  const asked = requests.filter((request) => request.traceId === traceId)
  const spans = rows
    .filter((row) => row.category === 'human' && row.state === 'running')
    .map((row) => ({ row, call: rows.find((other) => other.spanId === row.parentSpanId) }))
  const unseen = asked.filter(({ toolCallId }) => !spans.some(({ call }) => call?.callId === toolCallId))
  if (spans.length + unseen.length === 0) return null
  return (
    <ul class="waiting">
      {spans.map(({ row, call }) => {
        const request = asked.find(({ toolCallId }) => call?.callId === toolCallId)
        return (
          <li key={row.spanId}>
            <strong>Waits for a person</strong>
            <span>
              {call?.category === 'tool' ? <Text>{`${call.label}(${call.preview})`}</Text> : 'to decide'}
            </span>
            <span class="since">{formatDuration((nowUs - row.startUs) / 1000)}</span>
            <Button onClick={() => onOpen(row.spanId)}>Show</Button>
            {request && <AnswerButton requests={[request]} />}
          </li>
        )
      })}
      {unseen.map((request) => (
        <li key={request.id}>
          <strong>Waits for a person</strong>
          <span>
            <Text>{`${request.apiName}(${JSON.stringify(request.args)})`}</Text>
          </span>
          <span class="since">{formatDuration(nowUs / 1000 - request.requestedAt)}</span>
          <AnswerButton requests={[request]} />
        </li>
      ))}
    </ul>
  )
}
