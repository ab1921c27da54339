import { toContent } from '../../internal/json.ts'
import { isRecord } from '../../internal/objects.ts'
import { asObject, type Loose } from '../../wire/reading.ts'
import type { HookOutput } from './sdk.ts'

/** A text as what a tool of Claude Code gives, in whose shape its model is told of it. */
type Saying = (text: string, own: Loose) => Loose | undefined

const agent: Saying = (text, own) =>
  own.status === 'completed' ? { ...own, content: [{ type: 'text', text }] } : undefined

const SAYING: Readonly<Record<string, Saying>> = {
  Agent: agent,
  Task: agent,
  Bash: (stdout) => ({ stdout, stderr: '', interrupted: false }),
  Glob: (text) => ({ durationMs: 0, numFiles: 1, filenames: [text], truncated: false }),
  Grep: (content) => ({ mode: 'content', numFiles: 0, filenames: [], content, numLines: 1 }),
  Read: (content, { file }) => {
    const lines = { content, numLines: 1, startLine: 1, totalLines: 1 }
    return { type: 'text', file: { filePath: String(asObject(file)?.filePath ?? ''), ...lines } }
  },
  WebFetch: (result, own) => ({ ...own, result }),
  WebSearch: (text, own) => ({ ...own, results: [text] }),
}

/**
 * What gates made of a result, in the shape of the tool's own: Claude Code drops any other, and tells its model the original.
 * Undefined where no shape is known in which it can be told.
 */
export function inShapeOf(toolName: string, own: unknown, changed: unknown): unknown {
  // Of servers it takes whatever there is.
  if (toolName.startsWith('mcp__') || !isRecord(own)) return changed
  if (isRecord(changed) && Object.keys(own).every((key) => key in changed)) return changed
  return SAYING[toolName]?.(toContent(changed), own)
}

/** Of each call, whether gates changed what came of it: known once they have decided. */
export class Results {
  readonly #changed = new Map<string, PromiseWithResolvers<boolean>>()

  isChanged(id: string): Promise<boolean> {
    return this.#of(id).promise
  }

  /** Gives what gates say of a result. */
  async decided(id: string, decision: Promise<HookOutput>): Promise<HookOutput> {
    let isChanged = false
    try {
      const output = await decision
      isChanged = Object.keys(output).length > 0
      return output
    } finally {
      this.#of(id).resolve(isChanged)
      // Models repeat ids.
      const changed = Promise.withResolvers<boolean>()
      changed.resolve(isChanged)
      this.#changed.set(id, changed)
    }
  }

  #of(id: string): PromiseWithResolvers<boolean> {
    const changed = this.#changed.get(id) ?? Promise.withResolvers<boolean>()
    this.#changed.set(id, changed)
    return changed
  }
}
