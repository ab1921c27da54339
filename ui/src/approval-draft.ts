/** An answer that was begun. It outlives the dialog: Escape, or a press beside it, throws away nothing that was written. */
import { useState } from 'preact/hooks'

interface Draft {
  /** The arguments as somebody edits them; they are only edited once they were read to their end. */
  edited?: string
  reason: string
}

const begun = new Map<string, Draft>()
const NOTHING: Draft = { reason: '' }

export function useDraft(id: string): [Draft, (part: Partial<Draft>) => void, () => void] {
  const [draft, setDraft] = useState(() => begun.get(id) ?? NOTHING)
  const change = (part: Partial<Draft>) => {
    const next = { ...draft, ...part }
    begun.set(id, next)
    setDraft(next)
  }
  return [draft, change, () => begun.delete(id)]
}
