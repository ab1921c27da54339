import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { recordingsFolder } from './recordings-folder.ts'

type Loose = Record<string, unknown>

/** One recorded request to a model, and what came back. */
export interface Exchange {
  readonly name: string
  readonly url: URL
  readonly status: number
  readonly request: Loose
  /** Absent where the reply was streamed. */
  readonly reply?: Loose
  /** What a client's stream gives of it. */
  readonly chunks?: readonly Loose[]
}

interface Interaction {
  readonly request: { readonly uri: string; readonly parsed_body?: Loose }
  readonly response: {
    readonly status: { readonly code: number }
    readonly parsed_body?: Loose
    readonly body?: { readonly string?: string }
  }
}

/** Every exchange of the recordings; none where they are absent. */
export function exchanges(): Exchange[] {
  const folder = recordingsFolder()
  if (folder === undefined) return []
  return ['llm-cassettes', 'compaction-cassettes'].flatMap((set) =>
    readdirSync(join(folder, set))
      .filter((file) => file.endsWith('.json'))
      .flatMap((file) => {
        const { interactions } = JSON.parse(readFileSync(join(folder, set, file), 'utf8')) as {
          interactions: Interaction[]
        }
        return interactions.map(({ request, response }, index): Exchange => {
          const { status, parsed_body, body } = response
          const lines = (body?.string ?? '').split(/\r?\n/).filter((line) => line.startsWith('data: {'))
          return {
            name: `${file} #${index}`,
            url: new URL(request.uri),
            status: status.code,
            request: request.parsed_body ?? {},
            ...(parsed_body
              ? { reply: parsed_body }
              : { chunks: lines.map((line) => JSON.parse(line.slice(6)) as Loose) }),
          }
        })
      }),
  )
}
