/** The first thing to know of a run that did not end well. */
import { useMemo } from 'preact/hooks'
import type { RunSummary } from '../../src/viewer/model/span.ts'
import type { TreeNode } from '../../src/viewer/model/tree.ts'
import { whyOf } from '../../src/viewer/model/why.ts'
import { useLoaded, useSource } from './hooks.ts'
import { Button, Text } from './parts.tsx'

export function WhyLine({
  tree,
  summary,
  onOpen,
}: {
  tree: TreeNode | undefined
  summary: RunSummary
  onOpen: (spanId: string) => void
}) {
  const source = useSource()
  const { traceId, status, reason } = summary
  const why = useMemo(() => tree && whyOf(tree, { status, reason }), [tree, status, reason])
  const spanId = why?.what === 'failed' ? why.spanId : ''
  // The row has the beginning of the message, the span all of it.
  const { value } = useLoaded(
    async () => (spanId ? (await source.span(traceId, spanId, true)).span.status : undefined),
    [traceId, spanId],
  )
  if (!why) return null
  const message = (value?.code === 2 && value.message) || why.message
  return (
    <div class="why-line" role="note" aria-label="Why">
      {/* Long messages are scrolled, also with keys. */}
      <p tabIndex={0}>
        <strong>{why.what[0]!.toUpperCase() + why.what.slice(1)}</strong>
        {why.where.length > 0 && (
          <>
            {' in '}
            <Text>{why.where.join(' › ')}</Text>
          </>
        )}
        {': '}
        <Text>{message}</Text>
      </p>
      <Button onClick={() => onOpen(why.spanId)}>Show</Button>
    </div>
  )
}
