import type { StandInCall } from '../dispatcher/index.ts'

/**
 * Whether the tool is an agent of this process. Its run is no touch of the world: what it calls in turn is mocked,
 * replayed or refused like any other call; so do those of the agent that a run is handed over to. An agent elsewhere has a
 * home of its own, and is a tool like any other.
 */
export function isSubAgent({ source, identifier }: Pick<StandInCall, 'source' | 'identifier'>): boolean {
  return source === 'agent' && (identifier === 'local' || identifier === 'agent')
}
