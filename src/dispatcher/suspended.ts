/**
 * Thrown by a tool in which a run waits for a human in another process, as a sub-agent's does: the call ends as
 * `waiting`, and the same call in the resumed run goes on where it was.
 */
export class RunSuspended extends Error {
  override readonly name: string = 'RunSuspended'
}
