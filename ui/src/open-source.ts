import type { OtlpTraces } from '../../src/internal/otlp/types.ts'
import { OfflineSource } from './offline-source.ts'
import { OnlineSource } from './online-source.ts'
import type { Source } from './source.ts'

/** The token comes in the link's fragment, which no server sees, and is taken out of the address bar at once. */
function takeToken(): string {
  const given = /[#&]token=([\w-]+)/.exec(location.hash)?.[1]
  if (given) {
    sessionStorage.setItem('hookspan-token', given)
    history.replaceState(null, '', location.pathname + location.search)
  }
  return sessionStorage.getItem('hookspan-token') ?? ''
}

export function openSource(): Source & { traceId?: string } {
  const inside = document.getElementById('offline-run')
  if (inside) return new OfflineSource(JSON.parse(inside.textContent ?? '{}') as OtlpTraces)
  const source = new OnlineSource(takeToken())
  const traceId = /^\/run\/([0-9a-f]{4,32})$/.exec(location.pathname)?.[1]
  if (traceId) source.expect(traceId)
  return source
}
