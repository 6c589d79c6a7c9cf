/**
 * The cache of what was read: blocks as bytes, and as objects what is read over and over: hot blocks with what was made of them, edges of posting
 * lists, their pages, and the clusters that hang on those.
 *
 * A block that came from the store lies in the slabs as it came. Once it was asked for so often that this will pay, and while there is room, it is
 * kept with its texts finished for whoever sends them. Asked for more often than most, a block becomes an object that lies there still, and typed
 * records hang on it; and where its neighbours are that too, they are laid side by side (`runs.ts`).
 * Objects have two generations: when the young one is full, it becomes the old one, and what of the old one is still used moves over. Blocks are
 * found by their numbers (`whereabouts.ts`), what belongs to posting lists by name.
 * **Invariant:** it never holds much more than `maxBytes`, and needs no invalidation while history only grows: a commit puts the newer value.
 */
import type { Region } from '../bytes.ts'
import type { Resource } from '../query.ts'
import { blockId, canBeFound, NOWHERE, numberOf } from './addresses.ts'
import { Block } from './block.ts'
import { finishedBlock, type Kind, type Layout, layOut, writeFinished } from './finished.ts'
import { FINISHED_ANEW_AT, type Finisher, type Finishing, plain } from './finisher.ts'
import { Gathering } from './gathering.ts'
import { Hashes } from './hashes.ts'
import { Runs, runOf, runTag } from './runs.ts'
import { MAX_PAYLOAD, SLAB_BYTES, Slabs } from './slabs.ts'
import { Whereabouts } from './whereabouts.ts'

export interface Weighed {
  readonly weight: number
}

const MB = 2 ** 20

/** An eighth of the memory of the machine, or of what the process is confined to; from 32 MiB to 2 GiB. Where neither is known, 256 MiB. */
export function defaultCacheBytes(): number {
  const { process } = globalThis
  const total = process?.getBuiltinModule?.('node:os')?.totalmem() ?? 2048 * MB
  // Zero, or more than there is, where the process is not confined.
  const confined = process?.constrainedMemory?.() || total
  return Math.min(2048 * MB, Math.max(32 * MB, Math.floor(Math.min(total, confined) / 8)))
}

/** So much of a cache is for bytes, where it has room for some slabs. */
const SHARE = 7 / 8
const MIN_SLABS = 7
/** The part of a cache that is for hashes. */
const HASHES = 64
/** How often each of its records was asked for of late, taken together, when a block is finished, and when it becomes an object. What is finished in
 * memory of its own has to be worth as much as what is finished anew. */
const FINISHED_AT = 1 / 2
const HOT_AT = { least: 16, most: 64 }
/** A block whose texts are finished is hardly ever so many times as long as it was. */
const GROWTH = 5
/** What a block weighs that lies in a slab. */
const VIEW_BYTES = 500
/** The part of the room for objects that is for runs, so that they push out neither each other nor much else. */
const RUNS_SHARE = 1 / 4
/** Where objects are pushed out by others within so many look-ups, it takes more to become one. */
const BRIEF = 2 ** 18
/** After so many look-ups without that, it is tried again whether there is room. */
const CALM = 2 ** 20
const NEVER = Number.NEGATIVE_INFINITY

const kindOf = (block: Block): Kind => (block.isGathered ? 'run' : 'block')

export class Cache implements Finishing {
  readonly maxBytes: number
  hits = 0
  misses = 0
  /** Counts commits and rollbacks. What was read before one may be older than what the store holds after it, and is not to be put any more. */
  edition = 0
  /** Where transactions lie by hash, as far as blocks have shown. */
  readonly hashes: Hashes
  /** Who had texts finished last. */
  private last: Finisher = plain
  /** Whether clusters are worth their room. */
  readonly gathering = new Gathering()
  private readonly slabs: Slabs
  private readonly where = new Whereabouts()
  /** For objects. */
  private readonly room: number
  private young = new Map<string, Weighed>()
  private old = new Map<string, Weighed>()
  private youngBytes = 0
  private readonly runs: Runs
  private hotAt = HOT_AT.least
  /** At which look-up the room for objects was full; the first time pushes nothing out. */
  private turnedAt = NEVER

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    this.slabs = new Slabs(maxBytes * SHARE >= MIN_SLABS * SLAB_BYTES ? maxBytes * SHARE : 0, this.where, (id, region) =>
      this.left(id, region),
    )
    this.hashes = new Hashes(maxBytes / HASHES)
    this.room = maxBytes - this.slabs.maxBytes - this.hashes.maxBytes
    this.runs = new Runs(this.room * RUNS_SHARE, this.where)
  }

  get<T extends Weighed>(id: string): T | undefined {
    return this.counted(this.peek<T>(id))
  }

  private counted<T>(found: T | undefined): T | undefined {
    if (found === undefined) this.misses++
    else this.hits++
    return found
  }

  /** The same, not counted: for what is looked up along with something that is, or is hardly ever there. */
  peek<T extends Weighed>(id: string): T | undefined {
    const held = this.young.get(id)
    if (held !== undefined) return held as T
    const older = this.old.get(id)
    if (older === undefined) return undefined
    this.old.delete(id)
    this.put(id, older)
    return older as T
  }

  /**
   * A block of a log, where at least so many of its records are at hand: one read before others were appended is its older self.
   * @param asked how many of its records are wanted
   */
  block<R>(resource: Resource<R>, number: number, needed: number, asked: number): Block<R> | undefined {
    const entry = this.where.entry(resource.tag, number)
    if (entry === NOWHERE) return this.counted<Block<R>>(undefined)
    let address = entry
    if (entry < NOWHERE) {
      const held = this.where.object(entry)
      if (!this.where.isYoung(entry)) this.renew(entry, held)
      if (held.count >= needed) {
        held.asked += asked
        return this.counted(held)
      }
      address = this.where.addressBeside(entry)
      if (address === NOWHERE) return this.counted<Block<R>>(undefined)
    }
    const block = this.fromSlabs(resource, number, blockId(resource.tag, number), address, asked)
    return this.counted(block.count >= needed ? block : undefined)
  }

  private renew(entry: number, object: Block): void {
    this.where.makeYoung(entry)
    this.grew(object.weight)
  }

  /** A run of blocks of a log, with all of its records, in the order that is asked for; undefined where they were not gathered. */
  run<R>({ tag }: Resource<R>, number: number, reverse: boolean): Block<R> | undefined {
    const entry = this.where.entry(runTag(tag, reverse), number)
    if (entry === NOWHERE) return undefined
    const run = this.where.object(entry)
    if (!this.where.isYoung(entry)) this.renew(entry, run)
    return this.counted(run)
  }

  /** Gathers a run where that is worth it, and there is room. It takes the place of its blocks. */
  gatherRun(resource: Resource<any>, number: number, reverse: boolean): void {
    const lookUps = this.hits + this.misses
    if (!this.isCalm || this.runs.isFull(lookUps)) return
    const blocks = this.runs.due(resource, number, this.finisher, 2 * this.gatheredAt)
    if (blocks.length === 0) return
    if (!this.runs.hasRoom(blocks)) {
      for (const id of this.runs.unused(lookUps)) this.removeObject(id)
      return
    }
    const run = runOf(blocks, reverse, this.finisher)
    const id = blockId(runTag(resource.tag, reverse), number)
    this.gathering.gather(run.count)
    this.putKept(id, run)
    this.runs.add(id)
    for (const member of this.runs.members(resource, number)) this.removeObject(member)
  }

  /** False while objects are pushed out by others soon. */
  private get isCalm(): boolean {
    return this.hotAt === HOT_AT.least || this.hits + this.misses - this.turnedAt >= CALM
  }

  /** Reads ahead what records of a log are found by. */
  readAhead({ tag, shift }: Resource<any>, ordinals: readonly number[]): void {
    const found = this.where.entries(tag, shift, ordinals)
    this.slabs.readAhead(found, ordinals, (1 << shift) - 1)
    this.where.readAhead(found, ordinals, (1 << shift) - 1)
  }

  private fromSlabs<R>(resource: Resource<R>, number: number, id: number, address: number, wanted: number): Block<R> {
    const block = this.at(resource, number, id, address)
    block.asked = this.slabs.ask(address, wanted)
    return block.asked < this.hotAt * block.count ? block : this.promote(id, block)
  }

  /** Makes an object of a block of the slabs. */
  private promote<R>(id: number, block: Block<R>): Block<R> {
    block.isHot = true
    block.weight = VIEW_BYTES
    this.putKept(id, block)
    return block
  }

  /** Objects that lie in a slab go with it: it would live as long as they do. */
  private left(id: number, region: Region): void {
    if (this.where.objectOf(id)?.region === region) this.removeObject(id)
  }

  private at<R>(resource: Resource<R>, number: number, id: number, address: number): Block<R> {
    const { slabs } = this
    const block = new Block(resource, slabs.region(address), slabs.start(address), slabs.end(address), number, slabs.sum(address))
    return block.keptBy(this, id)
  }

  /** The block with its texts finished, where it was asked for so often that this will pay, and there is room. */
  finish(id: number, block: Block, finisher: Finisher): Block | undefined {
    this.last = finisher
    if (block.asked < (block.finisher === 0 ? FINISHED_AT : FINISHED_ANEW_AT) * block.count) return undefined
    const { slabs } = this
    const address = slabs.find(id)
    // What was read before a commit may be older than what is kept by now.
    const fits = address !== NOWHERE && slabs.sum(address) === block.sum && slabs.hasRoom(GROWTH * block.length)
    if (!fits) return this.holdsObject(id, block) ? this.finishObject(id, block, finisher) : undefined
    const layout = layOut(block.records, finisher, kindOf(block))
    if (layout.bytes > MAX_PAYLOAD) return this.keepFinished(id, block, layout)
    // Who has it finished anew starts again, so that two who share a block do not take turns at that.
    const asked = block.finisher === 0 ? block.asked : 0
    slabs.put(id, layout.bytes, block.sum, asked, (out, start) => writeFinished(out, start, layout))
    const finished = this.at(block.resource, numberOf(id), id, slabs.find(id))
    return block.isHot ? this.promote(id, finished) : finished
  }

  /** True where a block is kept as an object, and was not replaced by another value, or forgotten, since it was read. */
  private holdsObject(id: number, { sum }: Block): boolean {
    return this.where.objectOf(id)?.sum === sum
  }

  private finishObject(id: number, block: Block, finisher: Finisher): Block | undefined {
    if (block.asked < FINISHED_ANEW_AT * block.count) return undefined
    return this.keepFinished(id, block, layOut(block.records, finisher, kindOf(block)))
  }

  /** As an object. */
  private keepFinished(id: number, block: Block, layout: Layout): Block {
    const finished = finishedBlock(layout, block.place, block.sum)
    finished.asked = 0
    this.putKept(id, finished)
    return finished
  }

  /** True where a block is at hand, though perhaps an older self of it. */
  has(id: number): boolean {
    return this.where.entryOf(id) !== NOWHERE
  }

  /** Keeps a block that came from the store. */
  keep(resource: Resource<any>, number: number, block: Block): void {
    const { length, sum } = block
    const { slabs } = this
    if (length > MAX_PAYLOAD || slabs.maxBytes === 0) {
      this.putBlock(resource, number, block)
      return
    }
    this.hashes.learn(resource, number, block)
    slabs.put(blockId(resource.tag, number), length, sum, 0, (out, at) => block.copyTo(out, at))
  }

  /** Keeps a block as an object, on which more may hang. */
  putBlock(resource: Resource<any>, number: number, block: Block): void {
    this.hashes.learn(resource, number, block)
    this.putKept(blockId(resource.tag, number), block)
  }

  private putKept(id: number, block: Block): void {
    if (!canBeFound(id)) return
    this.removeObject(id)
    block.grew = (bytes) => this.grew(bytes)
    this.where.add(id, block.keptBy(this, id))
    this.grew(block.weight)
  }

  private removeObject(id: number): void {
    const entry = this.where.entryOf(id)
    if (entry >= NOWHERE) return
    if (this.where.isYoung(entry)) this.youngBytes -= this.where.object(entry).weight
    this.where.remove(entry)
  }

  put(id: string, value: Weighed): void {
    const before = this.young.get(id)
    if (before !== undefined) this.youngBytes -= before.weight
    else this.old.delete(id)
    this.young.set(id, value)
    this.youngBytes += value.weight
    if (this.youngBytes * 2 > this.room) this.turn()
  }

  /** Counts bytes that were attached to a value after it was put. */
  grew(bytes: number): void {
    this.youngBytes += bytes
    if (this.youngBytes * 2 > this.room) this.turn()
  }

  clear(): void {
    this.edition++
    this.slabs.clear()
    this.hashes.clear()
    this.young.clear()
    this.old.clear()
    this.youngBytes = 0
    this.runs.clear()
    this.turnedAt = NEVER
  }

  /** Who is to finish what is gathered. */
  get finisher(): Finisher {
    return this.last.id === 0 ? plain : this.last
  }

  /** How often each record of a cluster has to be asked for before it is worth gathering. */
  get gatheredAt(): number {
    return this.gathering.atLeast(this.hits + this.misses)
  }

  private turn(): void {
    const lookUps = this.hits + this.misses
    // Clusters that push each other out say nothing of blocks.
    const brief = lookUps - this.turnedAt < BRIEF && 2 * this.gathering.bytes < this.youngBytes
    this.gathering.judge(lookUps, this.turnedAt === NEVER)
    this.hotAt = brief ? Math.min(HOT_AT.most, this.hotAt * 2) : Math.max(HOT_AT.least, this.hotAt / 2)
    this.turnedAt = lookUps
    this.old = this.young
    this.young = new Map()
    this.where.turn()
    this.youngBytes = 0
  }
}
