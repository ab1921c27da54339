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

  /** Throws `HttpError`: 413 too large, 415 unknown encoding, 400 broken, 503 too much at once. */
  async read(request: IncomingMessage): Promise<Buffer> {
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
      if (encoding === 'identity') return packed
      const body = await this.#unpack(packed, encoding as keyof typeof DECODERS)
      this.release(packed)
      return body
    } finally {
      this.#heldBytes -= packed.length
    }
  }

  /**
   * Takes a body back, to be used for a later one. Only for whoever keeps nothing of it: what is thrown away by the
   * megabyte makes the collector look through the whole heap again and again.
   */
  release(body: Buffer): void {
    const whole = Buffer.from(body.buffer)
    if (this.#spare.length < SPARE_BODIES && whole.length === SPARE_BYTES) this.#spare.push(whole)
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
      else if (this.#heldBytes > this.#maxTotalBytes)
        fail(new HttpError(503, 'Too many large requests at once; try again.'))
      else chunks.push(chunk)
    }
    request.on('data', take)
    request.once('end', () => resolve(this.#joined(chunks, length)))
    request.once('close', () => {
      if (!request.complete) fail(new HttpError(400, 'The body ended early.'))
    })
    return promise
  }

  async #unpack(packed: Buffer, encoding: keyof typeof DECODERS): Promise<Buffer> {
    try {
      return (await DECODERS[encoding](packed, { maxOutputLength: this.#maxBodyBytes })) as Buffer
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw this.#tooLarge()
      throw new HttpError(400, `The body is not ${encoding}: ${(error as Error).message}`)
    }
  }

  #tooLarge(): HttpError {
    return new HttpError(
      413,
      `The body is larger than ${this.#maxBodyBytes} bytes, unpacked. Send smaller batches.`,
    )
  }
}
