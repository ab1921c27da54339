import type { ApprovalAnswer, ExecutionClaim, RunClaim, SettledExecution } from '../gates/index.ts'
import { a, assertFields } from '../internal/expect.ts'
import { safeStringify } from '../internal/json.ts'
import { defined } from '../internal/objects.ts'
import { notAnswered } from './memory-store.ts'
import { REDIS_PLACE, type RedisPlace, RedisPool, SOON_MS } from './redis-client.ts'
import { RedisLeases } from './redis-leases.ts'
import {
  type ApprovalRecord,
  type ApprovalStatus,
  type ApprovalStore,
  asOf,
  byAge,
  type ClosedRecord,
  isOver,
  type KeptRecord,
  listedRecord,
  RETENTION,
  type Retention,
  readRecord,
} from './store.ts'

export interface RedisStoreOptions extends RedisPlace, Retention {
  /** Before each key and channel; in a Redis Cluster one with a hash tag, such as `{hookspan}:`. @default 'hookspan:' */
  prefix?: string
}

/** Each step is one script, and so is what only reads: a client of a cluster may ask a replica for that, which is behind. */
const GET = `return redis.call('HGETALL', KEYS[1])`

const CLOSED = `
  local closed = {}
  for i, key in ipairs(KEYS) do
    if redis.call('HGET', key, 'status') ~= 'pending' then table.insert(closed, ARGV[i]) end
  end
  return closed`

const PAGE_OF = `return redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2])`

const ADD = `
  if redis.call('HSETNX', KEYS[1], 'request', ARGV[1]) == 1 then
    redis.call('HSET', KEYS[1], 'status', 'pending', 'expiresAt', ARGV[2])
    redis.call('ZADD', KEYS[2], ARGV[3], ARGV[4])
    if ARGV[5] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
  end
  return redis.call('HGETALL', KEYS[1])`

const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/** Of the node that has the key. */
const CLOCK = `${NOW}
  return tostring(now)`

/**
 * ARGV[6]: until when, by Redis's clock: one that stood still takes nothing whose giver has been told that it did not.
 * A publish that an ACL refuses undoes nothing of what was written before it: who waits looks by itself, too.
 */
const CLOSE = `${NOW}
  if ARGV[6] ~= '' and now > tonumber(ARGV[6]) then return redis.error_reply('ERR the answer came too late') end
  local status = redis.call('HGET', KEYS[1], 'status')
  if not status then return {} end
  local expires = redis.call('HGET', KEYS[1], 'expiresAt')
  local late = ARGV[3] ~= '' and expires ~= '' and tonumber(ARGV[2]) > tonumber(expires)
  local closed = '0'
  if status == 'pending' and not late then
    redis.call('HSET', KEYS[1], 'status', ARGV[1], 'closedAt', ARGV[2])
    if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'answer', ARGV[3]) end
    if ARGV[5] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[5]) else redis.call('PERSIST', KEYS[1]) end
    redis.pcall('PUBLISH', KEYS[2], ARGV[4])
    status = ARGV[1]
    closed = '1'
  end
  local asked = redis.call('ZSCORE', KEYS[3], ARGV[4])
  if asked and status ~= 'pending' then
    redis.call('ZREM', KEYS[3], ARGV[4])
    redis.call('ZADD', KEYS[4], asked, ARGV[4])
  end
  local all = redis.call('HGETALL', KEYS[1])
  table.insert(all, 'closed')
  table.insert(all, closed)
  return all`

/** Of one that was closed by a version which had no list of those, or that is forgotten. */
const MOVE = `
  local asked = redis.call('ZSCORE', KEYS[2], ARGV[1])
  local status = redis.call('HGET', KEYS[1], 'status')
  if not asked or status == 'pending' then return {} end
  redis.call('ZREM', KEYS[2], ARGV[1])
  if status then redis.call('ZADD', KEYS[3], asked, ARGV[1]) end
  return {}`

/** ARGV[2]: until when, as above: the yes would be used up, and nothing run. ARGV[3]: who asks again whose reply was lost has it. */
const CLAIM = `${NOW}
  if now > tonumber(ARGV[2]) then return redis.error_reply('ERR the claim came too late') end
  if redis.call('HGET', KEYS[1], 'status') ~= 'answered' then return {'state', 'none'} end
  local result = redis.call('HGET', KEYS[1], 'result')
  if result then return {'state', 'done', 'result', result} end
  if redis.call('HSETNX', KEYS[1], 'execution', 'claimed') == 1 then
    redis.call('HSET', KEYS[1], 'claimant', ARGV[3])
    if ARGV[1] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
    return {'state', 'run'}
  end
  if redis.call('HGET', KEYS[1], 'claimant') == ARGV[3] then return {'state', 'run'} end
  return {'state', 'unknown'}`

const SETTLE = `
  if redis.call('HGET', KEYS[1], 'execution') ~= 'claimed' then return {'ok', '0'} end
  redis.call('HSET', KEYS[1], 'execution', 'settled', 'result', ARGV[1])
  if ARGV[2] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  return {'ok', '1'}`

const CLAIM_RUN = `${NOW}
  local result = redis.call('HGET', KEYS[1], 'result')
  if result then return {'state', 'done', 'result', result} end
  if tonumber(redis.call('HGET', KEYS[1], 'until') or 0) > now then return {'state', 'held'} end
  redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'until', now + ARGV[2])
  return {'state', 'run'}`

const RENEW_RUN = `${NOW}
  if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return {'ok', '0'} end
  redis.call('HSET', KEYS[1], 'until', now + ARGV[2])
  return {'ok', '1'}`

const SETTLE_RUN = `
  if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return {} end
  redis.call('DEL', KEYS[1])
  if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 'result', ARGV[2]) end
  return {}`

/** Milliseconds for which a run is held without a word of who holds it: it died, or cannot reach Redis. */
const LEASE_MS = 30_000

/** Requests that are read at once. */
const PAGE = 200

/** Places of what is over are looked at no more often. */
const SWEEP_MS = 60_000

/** Redis takes no time that is much longer: nothing for those that are as good as for ever. */
function timeText(ms: number): string {
  return ms < 1e13 ? Math.ceil(ms).toFixed(0) : ''
}

/**
 * Keeps requests in Redis, for processes on several machines. Needs the optional peer `redis`. Configure Redis to write
 * to disk (AOF): what it forgets, nobody remembers.
 *
 * @throws HookspanError `MISSING_DEPENDENCY` when `redis` is not installed and no client is given.
 */
export function redisStore(options: RedisStoreOptions): ApprovalStore {
  assertFields<RedisStoreOptions>(options, { ...REDIS_PLACE, ...RETENTION, prefix: a.string }, 'redisStore')
  const { prefix = 'hookspan:', keepMs = Number.POSITIVE_INFINITY } = options
  const kept = timeText(keepMs)
  const pool = new RedisPool(options)
  /** What waits: it is looked through often, and few however much was ever asked. */
  const open = `${prefix}approvals`
  const over = `${prefix}approvals:over`
  const channel = `${prefix}approvals:closed`
  const keyOf = (id: string) => `${prefix}approval:${id}`
  const runKeyOf = (key: string) => `${prefix}run:${key}`
  const self = crypto.randomUUID()
  const leases = new RedisLeases(LEASE_MS)
  const run = async (script: string, keys: string[], args: string[], withinMs?: number): Promise<Fields> =>
    fieldsOf(await pool.eval(script, keys, args, withinMs))
  /** By Redis's clock: what it does later is nothing that anybody waits for. */
  const soon = async (id: string) => String(Number(await pool.eval(CLOCK, [keyOf(id)], [])) + SOON_MS)
  const idsIn = async (list: string, from: number) =>
    (await pool.eval(PAGE_OF, [list], [String(from), String(from + PAGE - 1)])) as string[]
  let sweptAt = Number.NEGATIVE_INFINITY
  let sweptTo = 0
  /** Redis forgets what is over by itself, but for its place in the list. Nobody waits for it. */
  const forget = () => {
    if (kept === '' || performance.now() - sweptAt < Math.min(keepMs, SWEEP_MS)) return
    sweptAt = performance.now()
    const oldest = async () => {
      const ids = await idsIn(over, sweptTo)
      await Promise.all(ids.map((one) => run(MOVE, [keyOf(one), over, over], [one])))
      sweptTo = ids.length < PAGE ? 0 : sweptTo + PAGE
    }
    oldest().catch(() => {})
  }
  const close = async (
    id: string,
    status: ApprovalStatus,
    now: number,
    answer?: ApprovalAnswer,
  ): Promise<ClosedRecord | undefined> => {
    const given = answer === undefined ? '' : safeStringify(answer)
    const keys = [keyOf(id), channel, open, over]
    const until = answer === undefined ? '' : await soon(id)
    const args = [status, String(now), given, id, isOver(status, answer) ? kept : '', until]
    const fields = await run(CLOSE, keys, args)
    forget()
    const record = listedOf(id, fields)
    return record && { record, closed: fields.closed === '1' }
  }
  /** Of one list, oldest first, a page after the other. */
  const recordsIn = async function* (list: string) {
    for (let from = 0; ; from += PAGE) {
      const ids = await idsIn(list, from)
      const records = await Promise.all(ids.map(async (id) => listedOf(id, await run(GET, [keyOf(id)], []))))
      const here = records.filter((record) => record && (list === over || record.status === 'pending'))
      if (list === open && here.length < ids.length) {
        const moved = ids.filter((_, i) => !here.includes(records[i]))
        await Promise.all(moved.map((id) => run(MOVE, [keyOf(id), open, over], [id])))
        from -= moved.length
      }
      yield* here as ApprovalRecord[]
      if (ids.length < PAGE) return
    }
  }
  return {
    async add(request) {
      const { id, requestedAt, expiresAt } = request
      // Whoever asked may have died before it could close what expired.
      const most = Math.max(0, (expiresAt ?? Number.POSITIVE_INFINITY) - Date.now()) + keepMs
      const args = [safeStringify(request), String(expiresAt ?? ''), String(requestedAt), id, timeText(most)]
      return recordOf(id, await run(ADD, [keyOf(id), open], args)) as ApprovalRecord
    },
    async get(id) {
      return recordOf(id, await run(GET, [keyOf(id)], []))
    },
    async closed(ids) {
      const closed: string[] = []
      for (let from = 0; from < ids.length; from += PAGE) {
        const some = ids.slice(from, from + PAGE)
        closed.push(...((await pool.eval(CLOSED, some.map(keyOf), some)) as string[]))
      }
      return closed
    },
    async list({ status, rootOperationId, limit = 100 } = {}, now = undefined) {
      const most = Math.trunc(limit)
      const found: ApprovalRecord[] = []
      for (const list of status === 'pending' ? [open] : [open, over]) {
        let here = 0
        for await (const kept of recordsIn(list)) {
          const record = asOf(kept, now)
          if (status !== undefined && record.status !== status) continue
          if (rootOperationId !== undefined && record.request.rootOperationId !== rootOperationId) continue
          found.push(record)
          if (++here >= most) break
        }
      }
      return found.sort(byAge).slice(0, most)
    },
    answer: (id, answer, now) => close(id, 'answered', now, answer),
    close: (id, status, now) => close(id, status, now),
    async claim(id): Promise<ExecutionClaim> {
      const args = [kept, await soon(id), crypto.randomUUID()]
      const endsAt = performance.now() + SOON_MS
      const ask = () => run(CLAIM, [keyOf(id)], args, endsAt - performance.now())
      const { state, result } = await ask().catch((error: unknown) => {
        if (performance.now() >= endsAt) throw error
        return ask()
      })
      if (state === 'done') return { state, result: JSON.parse(result ?? '') as SettledExecution }
      if (state === 'run' || state === 'unknown') return { state }
      throw notAnswered(id)
    },
    async settle(id, result) {
      const { ok } = await run(SETTLE, [keyOf(id)], [safeStringify(result), kept])
      if (ok !== '1') throw notAnswered(id)
    },
    async claimRun(key): Promise<RunClaim> {
      const since = performance.now()
      const { state, result } = await run(CLAIM_RUN, [runKeyOf(key)], [self, String(LEASE_MS)])
      if (state === 'done') return { state, result: JSON.parse(result ?? '') }
      if (state !== 'run') return { state: 'held' }
      const renew = async () => (await run(RENEW_RUN, [runKeyOf(key)], [self, String(LEASE_MS)])).ok === '1'
      return { state, lost: leases.hold(key, renew, { since }) }
    },
    async settleRun(key, result) {
      leases.letGo(key)
      await run(SETTLE_RUN, [runKeyOf(key)], [self, result === undefined ? '' : safeStringify(result)])
    },
    watch: (onClosed) => pool.subscribe(channel, onClosed),
    dispose() {
      leases.dispose()
      return pool.dispose()
    },
  }
}

type Fields = Readonly<Record<string, string | undefined>>

function fieldsOf(reply: unknown): Fields {
  const list = reply as string[]
  const fields: Record<string, string> = {}
  for (let i = 0; i + 1 < list.length; i += 2) fields[list[i] as string] = list[i + 1] as string
  return fields
}

function keptOf(
  id: string,
  { request, status, answer, closedAt, execution }: Fields,
): KeptRecord | undefined {
  if (request === undefined) return undefined
  return defined({
    id,
    request,
    status: status as ApprovalStatus,
    answer,
    closedAt: closedAt === undefined ? undefined : Number(closedAt),
    execution: execution as 'claimed' | 'settled' | undefined,
  })
}

function recordOf(id: string, fields: Fields): ApprovalRecord | undefined {
  const kept = keptOf(id, fields)
  return kept && readRecord(kept)
}

function listedOf(id: string, fields: Fields): ApprovalRecord | undefined {
  const kept = keptOf(id, fields)
  return kept && listedRecord(kept, fields.expiresAt ? { expiresAt: Number(fields.expiresAt) } : {})
}
