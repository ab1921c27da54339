import { a, expected } from '../../internal/expect.ts'
import { Store } from '../store/store.ts'
import { jaegerAddress } from './address.ts'
import { JaegerClient } from './client.ts'
import { JaegerFeed, MOST_RUNS, USUAL_RUNS } from './feed.ts'

/** What was fetched is kept in memory alone: at most so much. */
const MAX_BYTES = 1024 ** 3

/** @throws HookspanError for an address or a number that cannot be. Jaeger is not asked yet. */
function clientOf(from: string): JaegerClient {
  return new JaegerClient(jaegerAddress(from))
}

/** @throws HookspanError like `clientOf`. */
export function openFeed(
  from: string,
  { most = USUAL_RUNS, maxBytes = MAX_BYTES }: { most?: number; maxBytes?: number } = {},
): { feed: JaegerFeed; store: Store } {
  if (!a.integer(1).fits(most) || most > MOST_RUNS)
    throw expected(`\`most\` to be an integer from 1 to ${MOST_RUNS}`, most)
  const client = clientOf(from)
  const store = new Store({ file: ':memory:', maxBytes })
  return { feed: new JaegerFeed(client, store, { most }), store }
}
