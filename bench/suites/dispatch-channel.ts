import type { EventForm } from './dispatch-events.ts'

/** One way to hand an event to its listeners. */
export interface Channel {
  fire(event: object): unknown
  /** Until asynchronous listeners are done with what was fired. */
  settled(): Promise<unknown>
  /** Calls every listener later, synchronous ones too. */
  readonly deferred?: true
}

/** Makes a channel with these listeners. */
export type MakeChannel = (listeners: Listener[], form: EventForm) => Channel | Promise<Channel>
export type Listener = (event: object) => void | Promise<void>
