/** What fills the context without need. */
import { counted, formatCount } from '../../src/viewer/model/format.ts'
import { useFollowed, useSource } from './hooks.ts'
import { Badge, Empty, Text } from './parts.tsx'

const RULES: Record<string, string> = {
  'oversized-tool-result': 'Oversized tool result',
  'oversized-error': 'Oversized error',
  'repeated-block': 'Repeated block',
  repetition: 'Line repeats',
  'orphan-tool-result': 'Result without its call',
  'orphan-tool-call': 'Call without a result',
  'bloated-tool-definitions': 'Bloated tool definitions',
  'unused-tools': 'Unused tools',
  'bloated-system-prompt': 'Bloated system prompt',
}

export function LintView({
  traceId,
  version,
  onSelect,
}: {
  traceId: string
  version: number
  onSelect: (spanId: string) => void
}) {
  const source = useSource()
  const { value, error } = useFollowed(() => source.lint(traceId), [traceId], version, 0)
  if (error) return <p class="notice error">{error}</p>
  if (!value) return null
  if (value.calls === 0)
    return (
      <Empty title="Nothing to check">
        <p>
          No model call of this run carries its messages. With hookspan, <code>captureContent: true</code>{' '}
          records them.
        </p>
      </Empty>
    )
  return (
    <div class="lint" tabIndex={0} role="region" aria-label="Context lint">
      <div class="score">
        <strong class={value.score >= 80 ? 'good' : value.score >= 50 ? 'fair' : 'bad'}>{value.score}</strong>
        <p>
          of 100.{' '}
          {value.findings.length === 0
            ? `Nothing was found in ${counted(value.calls, 'model call')}.`
            : `${counted(value.findings.length, 'finding')} in ${counted(value.calls, 'model call')}.`}{' '}
          {value.unreadCalls > 0 &&
            `${counted(value.unreadCalls, 'other')} ${value.unreadCalls === 1 ? 'carries' : 'carry'} no messages. `}
          <span class="hint">Tokens are estimated at four characters each, a thousand for a picture.</span>
        </p>
      </div>
      {value.findings.length === 0 && (
        <ul class="checked">
          {Object.values(RULES).map((rule) => (
            <li key={rule}>{rule}</li>
          ))}
        </ul>
      )}
      {value.findings.length > 0 && (
        <div class="table-frame">
          <table class="findings">
            <thead>
              <tr>
                <th scope="col">Weight</th>
                <th scope="col">Finding</th>
                <th scope="col" class="c-num">
                  Tokens × calls
                </th>
                <th scope="col">
                  <span class="sr">Span</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {value.findings.map((finding, index) => (
                <tr key={index}>
                  <td>
                    <Badge kind={`sev-${finding.severity}`}>{finding.severity}</Badge>
                  </td>
                  <td>
                    <strong>{RULES[finding.rule] ?? finding.rule}</strong>
                    <p>
                      <Text>{finding.message}</Text>
                    </p>
                  </td>
                  <td class="c-num">
                    {finding.tokens ? `${formatCount(finding.tokens)} × ${finding.calls}` : '–'}
                  </td>
                  <td>
                    <button type="button" class="button" onClick={() => onSelect(finding.spanId)}>
                      Span
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  )
}
