import { REDIS_PLACE, type RedisPlace, RedisPool } from '../../approval/redis-client.ts'
import { RedisLeases } from '../../approval/redis-leases.ts'
import { a, assertFields, shape } from '../../internal/expect.ts'
import { type CheckpointClaim, type CheckpointStore, type KeptRun, notHeld } from './store.ts'

export interface RedisCheckpointsOptions extends RedisPlace {
  /** Before each key; in a Redis Cluster one with a hash tag, such as `{hookspan}:`. @default 'hookspan:' */
  prefix?: string
  /**
   * Milliseconds for which a run is held without a word of who holds it, who says so three times as often: it died, or
   * cannot reach Redis. From 1,000 to 86,400,000.
   *
   * @default 30_000
   */
  leaseMs?: number
  /**
   * Milliseconds that Redis may take to answer, also while it cannot be reached: then the run fails before it does anything
   * more.
   *
   * @default 10_000
   */
  timeoutMs?: number
}

const DEFAULT_LEASE_MS = 30_000
/** One that is renewed by no timer, or never runs out, keeps what a dead process had from everybody. */
const LEASE = shape(
  'a number of milliseconds from 1000 to 86400000',
  (value) => typeof value === 'number' && value >= 1_000 && value <= 86_400_000,
)
const DEFAULT_TIMEOUT_MS = 10_000

/** In the place of what Redis has removed to make room: begun anew, the run would make its calls again. */
const EVICTED = JSON.stringify('evicted by Redis, whose maxmemory-policy has to be noeviction')

/** Redis's own clock, so that those of the machines do not matter. Each step is one script, which Redis runs alone. */
const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/** KEYS: the run, its records, the index. ARGV: the token, the lease, the id, and in `CLAIM` what stands for records that are gone. */
const CLAIM = `${NOW}
  if tonumber(redis.call('HGET', KEYS[1], 'until') or 0) > now then return {'held'} end
  redis.call('HSET', KEYS[1], 'token', ARGV[1], 'until', now + ARGV[2])
  local isKept = redis.call('LLEN', KEYS[2]) > 0
  if not isKept and redis.call('HEXISTS', KEYS[1], 'savedAt') == 1 then return {'claimed', ARGV[4]} end
  if not isKept then redis.call('EXPIRE', KEYS[1], 86400) end
  local reply = {'claimed'}
  for _, record in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do table.insert(reply, record) end
  return reply`

/** One whose lease has run out has it still, unless somebody else took it since. */
const APPEND = `${NOW}
  if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
  redis.call('RPUSH', KEYS[2], ARGV[4])
  redis.call('HSET', KEYS[1], 'until', now + ARGV[2], 'savedAt', now, 'about', ARGV[5])
  redis.call('PERSIST', KEYS[1])
  redis.call('ZADD', KEYS[3], now, ARGV[3])
  return 1`

const RENEW = `${NOW}
  if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
  redis.call('HSET', KEYS[1], 'until', now + ARGV[2])
  return 1`

const RELEASE = `
  if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
  if ARGV[4] == '1' or redis.call('HEXISTS', KEYS[1], 'savedAt') == 0 then
    redis.call('DEL', KEYS[1], KEYS[2])
    redis.call('ZREM', KEYS[3], ARGV[3])
  else
    redis.call('HDEL', KEYS[1], 'token', 'until')
  end
  return 1`

const LIST = `${NOW}
  local reply = {}
  for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    local run = redis.call('HMGET', ARGV[1] .. id, 'savedAt', 'until', 'about')
    if run[1] then
      table.insert(reply, {id, run[1], tonumber(run[2] or 0) > now and '1' or '0', run[3]})
    end
  end
  return reply`

/**
 * Keeps runs in Redis, for processes on several machines. Needs the optional peer `redis`. Configure Redis to write to disk
 * (AOF, `appendfsync always` for what must survive its machine): what it forgets, nobody remembers.
 *
 * @throws HookspanError `MISSING_DEPENDENCY` when `redis` is not installed and no client is given: at the first use.
 */
export function redisCheckpoints(options: RedisCheckpointsOptions): CheckpointStore {
  const fields = { ...REDIS_PLACE, prefix: a.string, leaseMs: LEASE, timeoutMs: a.milliseconds }
  assertFields<RedisCheckpointsOptions>(options, fields, 'redisCheckpoints')
  const { prefix = 'hookspan:', leaseMs = DEFAULT_LEASE_MS, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  const pool = new RedisPool(options)
  const runs = `${prefix}checkpoint:`
  const index = `${prefix}checkpoints`
  const leases = new RedisLeases(leaseMs)
  const answered = (script: string, keys: string[], args: string[]) =>
    pool.answered(pool.eval(script, keys, args, timeoutMs), timeoutMs)
  const run = (script: string, operationId: string, token: string, ...more: string[]) => {
    const keys = [`${runs}${operationId}`, `${prefix}checkpoint-records:${operationId}`, index]
    const args = [token, String(leaseMs), operationId, ...more]
    return answered(script, keys, args)
  }
  return {
    async claim(operationId): Promise<CheckpointClaim> {
      const since = performance.now()
      const token = crypto.randomUUID()
      const [state, ...records] = (await run(CLAIM, operationId, token, EVICTED)) as string[]
      if (state !== 'claimed') return { state: 'held' }
      const renew = async () => (await run(RENEW, operationId, token)) === 1
      return { state, token, records, lost: leases.hold(token, renew, { since, fenced: true }) }
    },
    async append(operationId, token, { record, about }) {
      if ((await run(APPEND, operationId, token, record, about)) !== 1) throw notHeld(operationId)
    },
    async release(operationId, token, { finished }) {
      leases.letGo(token)
      await run(RELEASE, operationId, token, finished ? '1' : '0')
    },
    async list() {
      const found = (await answered(LIST, [index], [runs])) as string[][]
      return found.map(([operationId = '', savedAt, held, about = '']): KeptRun => {
        return { operationId, savedAt: Number(savedAt), held: held === '1', about }
      })
    },
    async dispose() {
      leases.dispose()
      await pool.dispose()
    },
  }
}
