/**
 * The assignment of rows to columns with the greatest sum of weights, each row and each column used at most once
 * (Hungarian algorithm with potentials, O(rows² x columns)). Pairs of weight 0 are left out.
 *
 * @param weights weights[row][column] >= 0; all rows of one length.
 * @returns the column of each row; -1 for none.
 */
export function bestAssignment(weights: readonly (readonly number[])[]): number[] {
  const rows = weights.length
  const columns = weights[0]?.length ?? 0
  if (rows === 0 || columns === 0) return Array(rows).fill(-1)
  if (rows > columns) return invert(bestAssignment(transpose(weights)), rows)
  // Rows and columns count from 1; column 0 stands for "none yet".
  const rowPotential = new Float64Array(rows + 1)
  const columnPotential = new Float64Array(columns + 1)
  const rowOf = new Int32Array(columns + 1)
  const previous = new Int32Array(columns + 1)
  for (let row = 1; row <= rows; row++) {
    rowOf[0] = row
    let column = 0
    const slack = new Float64Array(columns + 1).fill(Number.POSITIVE_INFINITY)
    const seen = new Uint8Array(columns + 1)
    do {
      seen[column] = 1
      const current = rowOf[column] as number
      const weightsOfRow = weights[current - 1] as readonly number[]
      let delta = Number.POSITIVE_INFINITY
      let next = 0
      for (let j = 1; j <= columns; j++) {
        if (seen[j]) continue
        const cost = -(weightsOfRow[j - 1] as number) - at(rowPotential, current) - at(columnPotential, j)
        if (cost < at(slack, j)) {
          slack[j] = cost
          previous[j] = column
        }
        if (at(slack, j) < delta) {
          delta = at(slack, j)
          next = j
        }
      }
      for (let j = 0; j <= columns; j++) {
        if (seen[j]) {
          const owner = rowOf[j] as number
          rowPotential[owner] = at(rowPotential, owner) + delta
          columnPotential[j] = at(columnPotential, j) - delta
        } else slack[j] = at(slack, j) - delta
      }
      column = next
    } while (rowOf[column] !== 0)
    while (column !== 0) {
      const before = previous[column] as number
      rowOf[column] = rowOf[before] as number
      column = before
    }
  }
  const assigned: number[] = Array(rows).fill(-1)
  for (let j = 1; j <= columns; j++) {
    const row = (rowOf[j] as number) - 1
    if (row >= 0 && (weights[row]?.[j - 1] ?? 0) > 0) assigned[row] = j - 1
  }
  return assigned
}

const at = (list: Float64Array, index: number) => list[index] as number

function transpose(weights: readonly (readonly number[])[]): number[][] {
  return (weights[0] as readonly number[]).map((_, column) => weights.map((row) => row[column] as number))
}

function invert(rowOfColumn: readonly number[], rows: number): number[] {
  const columns: number[] = Array(rows).fill(-1)
  for (const [column, row] of rowOfColumn.entries()) if (row >= 0) columns[row] = column
  return columns
}

/**
 * The same for two sequences that keep their order: the alignment with the greatest sum of weights.
 *
 * @returns the column of each row, growing; -1 for none.
 */
export function bestAlignment(weights: readonly (readonly number[])[], columns: number): number[] {
  const rows = weights.length
  const width = columns + 1
  const best = new Float64Array((rows + 1) * width)
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      const weight = weights[i]?.[j] as number
      const paired = weight > 0 ? weight + at(best, (i + 1) * width + j + 1) : 0
      best[i * width + j] = Math.max(paired, at(best, (i + 1) * width + j), at(best, i * width + j + 1))
    }
  }
  const assigned: number[] = Array(rows).fill(-1)
  let [i, j] = [0, 0]
  while (i < rows && j < columns) {
    const weight = weights[i]?.[j] as number
    const here = at(best, i * width + j)
    if (weight > 0 && here === weight + at(best, (i + 1) * width + j + 1)) assigned[i++] = j++
    else if (here === at(best, i * width + j + 1)) j++
    else i++
  }
  return assigned
}
