import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'

/** A refusal with its HTTP status. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Larger than what an exporter sends at a time. */
const SPARE_BYTES = 1024 * 1024
const SPARE_BODIES = 4

const DECODERS = { gzip: promisify(gunzip), deflate: promisify(inflate), br: promisify(brotliDecompress) }

/** What is packed is expected to unpack to no more than so many times its size, or to so little; else it is done again. */
const USUAL_RATIO = 16
const USUAL_BYTES = 256 * 1024

/** Reads bodies within a limit for each and one for all at once; what is packed is measured unpacked, too. */
export class BodyReader {
  readonly #maxBodyBytes: number
  readonly #maxTotalBytes: number
  #heldBytes = 0
  readonly #spare: Buffer[] = []

  constructor(limits: { maxBodyBytes: number; maxTotalBytes: number }) {
    this.#maxBodyBytes = limits.maxBodyBytes
    this.#maxTotalBytes = limits.maxTotalBytes
  }

  /**
   * Hands the body to `work`, which keeps nothing of it. It counts as held until that is done.
   *
   * @throws HttpError 413 too large, 415 unknown encoding, 400 broken, 503 too much at once.
   */
  async use<T>(request: IncomingMessage, work: (body: Buffer) => Promise<T>): Promise<T> {
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity' && !Object.hasOwn(DECODERS, encoding)) {
      throw new HttpError(
        415,
        `Content-Encoding "${encoding.slice(0, 40)}" is not known; send gzip, deflate, br or none.`,
      )
    }
    if (Number(request.headers['content-length'] ?? 0) > this.#maxBodyBytes) throw this.#tooLarge()
    const packed = await this.#collect(request)
    try {
      return encoding === 'identity'
        ? await work(packed)
        : await this.#unpacked(packed, encoding as keyof typeof DECODERS, work)
    } finally {
      this.#heldBytes -= packed.length
      this.#release(packed)
    }
  }

  /** What is thrown away by the megabyte makes the collector look through the whole heap again and again. */
  #release(body: Buffer): void {
    const whole = Buffer.from(body.buffer)
    if (this.#spare.length < SPARE_BODIES && whole.length === SPARE_BYTES) this.#spare.push(whole)
  }

  async #unpacked<T>(
    packed: Buffer,
    encoding: keyof typeof DECODERS,
    work: (body: Buffer) => Promise<T>,
  ): Promise<T> {
    const usual = Math.max(USUAL_BYTES, packed.length * USUAL_RATIO)
    for (let most = Math.min(usual, this.#maxBodyBytes); ; most = this.#maxBodyBytes) {
      if (this.#heldBytes + most > this.#maxTotalBytes) throw tooMuchAtOnce()
      this.#heldBytes += most
      try {
        const body = await unpack(packed, encoding, most)
        if (body) return await work(body)
      } finally {
        this.#heldBytes -= most
      }
      if (most === this.#maxBodyBytes) throw this.#tooLarge()
    }
  }

  #joined(chunks: Buffer[], length: number): Buffer {
    if (chunks.length === 1) return chunks[0]!
    if (length > SPARE_BYTES) return Buffer.concat(chunks, length)
    const whole = this.#spare.pop() ?? Buffer.allocUnsafeSlow(SPARE_BYTES)
    let at = 0
    for (const chunk of chunks) at += chunk.copy(whole, at)
    return whole.subarray(0, length)
  }

  /** By events: leaving an async iteration early would cut the connection before the refusal is read. */
  #collect(request: IncomingMessage): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    const chunks: Buffer[] = []
    let length = 0
    const fail = (error: Error) => {
      request.off('data', take)
      this.#heldBytes -= length
      length = 0
      reject(error)
    }
    const take = (chunk: Buffer) => {
      length += chunk.length
      this.#heldBytes += chunk.length
      if (length > this.#maxBodyBytes) fail(this.#tooLarge())
      else if (this.#heldBytes > this.#maxTotalBytes) fail(tooMuchAtOnce())
      else chunks.push(chunk)
    }
    request.on('data', take)
    request.once('end', () => resolve(this.#joined(chunks, length)))
    request.once('close', () => {
      if (!request.complete) fail(new HttpError(400, 'The body ended early.'))
    })
    return promise
  }

  #tooLarge(): HttpError {
    return new HttpError(
      413,
      `The body is larger than ${this.#maxBodyBytes} bytes, unpacked. Send smaller batches.`,
    )
  }
}

/** `undefined` for what would be larger. */
async function unpack(
  packed: Buffer,
  encoding: keyof typeof DECODERS,
  maxOutputLength: number,
): Promise<Buffer | undefined> {
  try {
    return (await DECODERS[encoding](packed, { maxOutputLength })) as Buffer
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw new HttpError(400, `The body is not ${encoding}: ${(error as Error).message}`)
  }
}

function tooMuchAtOnce(): HttpError {
  return new HttpError(503, 'Too many large requests at once; try again.')
}
