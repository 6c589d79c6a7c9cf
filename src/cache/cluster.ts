/**
 * Clusters: neighbours of a posting list, copied side by side out of the blocks in which they lie. The records of a list are scattered over their
 * log, and each costs some cache misses; of what is asked for over and over, 32 together cost little more than one.
 * They are attached to what is cached of their list: a sealed page, or the edge for the entries behind all pages.
 * **Invariant:** a cluster says which records it holds, and whoever serves them compares: it may be its older self, of a list that has grown since.
 */

import type { Block, Place } from '../layout/block.ts'
import { finishedBlock, layOut } from '../layout/finished.ts'
import { FINISHED_ANEW_AT, type Finisher, type Finishing } from '../layout/finisher.ts'
import type { Keeper, Weighed } from '../layout/holder.ts'
import type { Facing } from '../query.ts'
import type { Cache } from './cache.ts'

/** Entries of a cluster, the first of which has a multiple of this as its rank. A divisor of the number of entries on a sealed page. */
export const CLUSTER = 32
const CLUSTER_BYTES = 200

const ways = { lesser: 1, greater: 2, any: 0 }
const keyOf = (number: number, facing: Facing): number => 3 * number + ways[facing ?? 'any']

/** An edge or a page of a posting list in the cache. */
export class Held<T> implements Weighed, Keeper {
  readonly value: T
  weight: number
  keeper: Keeper | undefined = undefined
  slot = 0
  /** The last ledger of the head under which it was read: another process may have changed it since. */
  readonly asOf: number
  private readonly cache: Cache
  private clusters: Map<number, Cluster> | undefined
  /** How many of the requested records were in no cluster. */
  private missed = 0

  constructor(cache: Cache, value: T, weight: number, asOf: number) {
    this.cache = cache
    this.value = value
    this.weight = weight
    this.asOf = asOf
  }

  cluster(number: number, facing: Facing): Cluster | undefined {
    return this.clusters?.get(keyOf(number, facing))
  }

  /** Counts requested records that are in no cluster; returns whether they are worth gathering by now. */
  miss(records: number): boolean {
    this.missed += records
    if (this.missed < this.cache.gatheredAt * CLUSTER) return false
    this.missed = 0
    return true
  }

  /** Marks these records as not worth gathering. */
  refuse(): void {
    this.missed = Number.NEGATIVE_INFINITY
  }

  /** @param records facing the way they are to be shown */
  gather(number: number, facing: Facing, ordinals: readonly number[], records: readonly Place[]): void {
    this.clusters ??= new Map()
    const key = keyOf(number, facing)
    this.grow(-(this.clusters.get(key)?.weight ?? 0))
    this.cache.gathering.gather(ordinals.length)
    this.clusters.set(key, new Cluster(ordinals, records, this.cache.finisher, this))
  }

  /** What its clusters weigh is charged to it. */
  grow(bytes: number): void {
    this.weight += bytes
    this.keeper?.grow(bytes, this.slot)
  }
}

export class Cluster implements Finishing, Keeper {
  weight = 0
  /** The records that it holds, in the order of the list; later ones may be missing. */
  readonly ordinals: readonly number[]
  /** The records themselves, with one face: the requested one. */
  block: Block
  private readonly held: Keeper

  constructor(ordinals: readonly number[], records: readonly Place[], finisher: Finisher, held: Keeper) {
    this.ordinals = ordinals
    this.held = held
    this.block = this.finished(records, finisher)
  }

  private finished(records: readonly Place[], finisher: Finisher): Block {
    const block = finishedBlock(layOut(records, finisher, 'cluster'), 0)
    this.grow(CLUSTER_BYTES + block.weight - this.weight)
    block.keeper = this
    return block.keptBy(this, 0)
  }

  grow(bytes: number): void {
    this.weight += bytes
    this.held.grow(bytes, 0)
  }

  /** Finishes it for another finisher than the one for which it was gathered. */
  finish(_: number, block: Block, finisher: Finisher): Block | undefined {
    if (block !== this.block || block.asked < FINISHED_ANEW_AT * block.count) return undefined
    this.block = this.finished(block.records, finisher)
    return this.block
  }
}
