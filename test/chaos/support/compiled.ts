import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Hundreds of processes start, most of which is compiling. They write it down themselves, as those that are killed do not come to it. */
export const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), 'hookspan-chaos-code') }
