/** In hex. `node:crypto` is loaded when it is first needed: that takes as long as loading all of the core. */
export function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex')
}
