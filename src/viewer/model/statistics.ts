/** What numbers of many runs come to. */

/** The smallest of `sorted`, which is not empty, that is at least as great as `share` of them: the nearest rank. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!
}

/** The same of several lists, each of them sorted: `undefined` where all are empty. */
export function percentileOf(parts: readonly Float32Array[], share: number): number | undefined {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  if (length === 0) return undefined
  if (parts.length === 1) return percentile(parts[0]!, share)
  const rank = Math.max(1, Math.ceil(length * share))
  // By halves of all numbers that there are, in their order: the least that so many are no greater than.
  let low = -(2 ** 31)
  let high = 2 ** 31 - 1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const value = inOrder(middle)
    let count = 0
    for (const part of parts) count += upTo(part, value)
    if (count >= rank) high = middle
    else low = middle + 1
  }
  // Not the zero that is negative.
  return inOrder(low) + 0
}

const BITS = new Int32Array(1)
const FLOAT = new Float32Array(BITS.buffer)

/** The 32-bit floats in their order, by whole numbers; what is none of them is before or after all. */
function inOrder(at: number): number {
  BITS[0] = at >= 0 ? at : -(2 ** 31) - at - 1
  const value = FLOAT[0]!
  return Number.isNaN(value) ? (at >= 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY) : value
}

/** How many of `sorted` are no greater. */
function upTo(sorted: Float32Array, value: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! <= value) low = middle + 1
    else high = middle
  }
  return low
}

/** Of the standard normal distribution: 95 of 100 are no further from its middle. */
const Z = 1.959963984540054
/** Of Student's t, likewise, for 1 to 4 degrees of freedom, where the expansion below is too far off. */
const T_OF_FEW = [12.7062, 4.3027, 3.1824, 2.7764]

/** An estimate, and the bounds of its 95 % confidence interval. */
export interface Estimate {
  value: number
  low: number
  high: number
}

/**
 * The share `count` of `total`, which is at least 1, with Wilson's score interval: E. B. Wilson (1927), Probable inference, the
 * law of succession, and statistical inference, Journal of the American Statistical Association 22, 209-212.
 */
export function proportion(count: number, total: number): Estimate {
  const value = count / total
  const middle = value + Z ** 2 / (2 * total)
  const reach = Z * Math.sqrt((value * (1 - value)) / total + Z ** 2 / (4 * total ** 2))
  const scale = 1 + Z ** 2 / total
  return {
    value,
    low: count === 0 ? 0 : (middle - reach) / scale,
    high: count === total ? 1 : (middle + reach) / scale,
  }
}

/**
 * The percentile of `sorted` for `share`, with the interval between two order statistics that holds for any distribution: W. J.
 * Conover (1999), Practical Nonparametric Statistics, 3rd edition, section 3.2, by the normal approximation of the ranks, each
 * moved outwards to a whole one. `undefined` where there are too few of them for such ranks: 8 for the median, 110 for p95.
 */
export function percentileEstimate(sorted: ArrayLike<number>, share: number): Estimate | undefined {
  const middle = sorted.length * share
  const reach = Z * Math.sqrt(sorted.length * share * (1 - share))
  const [low, high] = [Math.floor(middle - reach), Math.ceil(middle + reach) + 1]
  if (low < 1 || high > sorted.length) return undefined
  return { value: percentile(sorted, share), low: sorted[low - 1]!, high: sorted[high - 1]! }
}

/**
 * `b` less `a`, two independent estimates, by the method of variance estimates recovery: G. Y. Zou and A. Donner (2008),
 * Construction of confidence limits about effect measures, Statistics in Medicine 27, 1693-1702. Of two of `proportion` it is
 * method 10 of R. G. Newcombe (1998), Interval estimation for the difference between independent proportions, Statistics in
 * Medicine 17, 873-890.
 */
export function differenceOf(a: Estimate, b: Estimate): Estimate {
  const value = b.value - a.value
  return {
    value,
    low: value - Math.hypot(b.value - b.low, a.high - a.value),
    high: value + Math.hypot(b.high - b.value, a.value - a.low),
  }
}

/** How many numbers there are, their mean and their variance. */
export interface Moments {
  count: number
  mean: number
  variance: number
}

/** B. P. Welford's sums (1962), Technometrics 4, 419-420: in one pass, without losing digits. */
export class MomentSums {
  #count = 0
  #mean = 0
  #squares = 0

  add(value: number): void {
    this.#count++
    const off = value - this.#mean
    this.#mean += off / this.#count
    this.#squares += off * (value - this.#mean)
  }

  moments(): Moments {
    const variance = this.#count > 1 ? this.#squares / (this.#count - 1) : 0
    return { count: this.#count, mean: this.#mean, variance }
  }
}

/**
 * The mean of `b` less that of `a`, whose variances may differ: B. L. Welch (1947), The generalization of "Student's" problem,
 * Biometrika 34, 28-35. `undefined` where one of them has fewer than two numbers.
 */
export function meanDifference(a: Moments, b: Moments): Estimate | undefined {
  if (a.count < 2 || b.count < 2) return undefined
  const value = b.mean - a.mean
  const [ofA, ofB] = [a.variance / a.count, b.variance / b.count]
  if (ofA + ofB === 0) return { value, low: value, high: value }
  const freedom = (ofA + ofB) ** 2 / (ofA ** 2 / (a.count - 1) + ofB ** 2 / (b.count - 1))
  const reach = studentT(freedom) * Math.sqrt(ofA + ofB)
  return { value, low: value - reach, high: value + reach }
}

/** M. Abramowitz and I. A. Stegun (1964), Handbook of Mathematical Functions, 26.7.5. */
function studentT(freedom: number): number {
  const whole = Math.floor(freedom)
  if (whole <= T_OF_FEW.length) return T_OF_FEW[Math.max(1, whole) - 1]!
  const terms = [
    (Z ** 3 + Z) / 4,
    (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / 96,
    (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / 384,
    (79 * Z ** 9 + 776 * Z ** 7 + 1482 * Z ** 5 - 1920 * Z ** 3 - 945 * Z) / 92_160,
  ]
  return terms.reduce((sum, term, index) => sum + term / freedom ** (index + 1), Z)
}
