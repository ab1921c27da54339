import { shownAsUrl } from '../internal/shown-url.ts'

/** What a viewer says of itself, by which it is told from whoever else may listen there. */
export interface Announced {
  /** `hookspan-viewer`, or `hookspan-page` of one that shows runs of elsewhere. */
  readonly name?: unknown
  readonly uiUrl?: unknown
}

/** Asks who listens at a URL; undefined where nobody answers, or not in JSON. */
export async function whoAnswers(url: string, timeoutMs: number): Promise<Announced | undefined> {
  try {
    const response = await fetch(`${url}/v1/hookspan`, { signal: AbortSignal.timeout(timeoutMs) })
    return ((await response.json()) as Announced | null) ?? undefined
  } catch {
    return undefined
  }
}

/** Where somebody said that a viewer is, and none is. */
export function noViewerAt(url: string): Error {
  return new Error(
    `No hookspan viewer answers at ${shownAsUrl(url)}. Start one with \`hookspan view\`, or leave --url out.`,
  )
}
