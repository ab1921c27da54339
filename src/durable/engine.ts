/**
 * What a durable run needs of an engine, which keeps a journal of each run and calls the run's function again, in this process or
 * another, when the process that had it is gone: the function then comes by the same calls in the same order.
 */
export interface DurableEngine {
  /**
   * Calls `closure` and keeps what it gives, which is JSON; where the journal has it already, gives that, and `closure` is not
   * called. One whose process dies before it was kept is called again.
   */
  journal<T>(name: string, closure: () => Promise<T>): Promise<T>
  /**
   * Until somebody says that one of these requests was answered, or for so long at most. Holds no process meanwhile, where the
   * engine can do without. May end early for no reason: who waits looks, and waits again.
   */
  wait(requestIds: readonly string[], timeoutMs: number): Promise<void>
  /** Whether `journal` or `wait` threw it because somebody cancelled the run. After that both work again, once more. */
  isCancelled(error: unknown): boolean
  /** What is thrown for input that no attempt could run, so that none is made again. Without, what it was refused with. */
  refusal?(message: string, cause: unknown): Error
  /** Aborted when the engine gives the attempt up. */
  readonly lost?: AbortSignal
}
