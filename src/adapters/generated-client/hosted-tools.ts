import type { ToolOutOfReach } from '../../dispatcher/index.ts'
import type { WireFormat } from '../../wire/format.ts'
import type { Loose } from '../../wire/reading.ts'

/** Of what a request offers, the tools that its provider runs. */
export function hostedTools({ hosted }: WireFormat, request: Loose): ToolOutOfReach[] {
  return (hosted?.(request) ?? []).map((tool) => ({ ...tool, ranBy: 'provider' }))
}
