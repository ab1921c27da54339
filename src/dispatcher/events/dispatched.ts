/** What `dispatch()` gives: it has happened, and nothing of it can fail. For runtimes that chain `.catch()` to it. */
export type Dispatched = PromiseLike<void> & Pick<Promise<void>, 'catch' | 'finally'>

/** The same for every dispatch, so that it costs nothing. No promise: one that all share could be tampered with. */
export const DISPATCHED: Dispatched = Object.freeze({
  then: (<A, B>(...on: Parameters<Promise<void>['then']>) =>
    Promise.resolve().then(...on) as Promise<A | B>) as Dispatched['then'],
  catch: ((onRejected) => Promise.resolve().catch(onRejected)) as Dispatched['catch'],
  finally: (onFinally) => Promise.resolve().finally(onFinally),
} satisfies Dispatched)
