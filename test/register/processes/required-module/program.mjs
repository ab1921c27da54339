// CommonJS that is imported, and requires a module that imports: Express has such.
import './outer.cjs'
import '../chat.mjs'
import '../ai-sdk.mjs'
