import type { Patches } from './patches.ts'

/** What is in agents and tools, and how many observe with it. */
const shared = new WeakMap<object, { readonly users: number; readonly undo: () => void }>()

/** What is there for all who observe, until the last of them is done. */
export function share(patches: Patches, object: object, put: () => () => void): void {
  if (patches.has(object)) return
  const { users, undo } = shared.get(object) ?? { users: 0, undo: put() }
  shared.set(object, { users: users + 1, undo })
  patches.note(object, () => {
    const { users } = shared.get(object) ?? { users: 1 }
    if (users > 1) shared.set(object, { users: users - 1, undo })
    else {
      shared.delete(object)
      undo()
    }
  })
}
