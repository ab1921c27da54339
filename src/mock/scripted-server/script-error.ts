export type ScriptErrorCode = 'invalid_script' | 'script_not_followed'

/** The script itself is wrong, or what happened is not what it says. */
export class ScriptError extends Error {
  override readonly name: string = 'ScriptError'
  readonly code: ScriptErrorCode

  constructor(code: ScriptErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
