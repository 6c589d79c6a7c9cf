/**
 * The cache of what was read: blocks as bytes, and as objects whatever is read over and over: hot blocks with what was made of them, edges of posting
 * lists, their pages, and the clusters attached to those.
 *
 * A block from the store lies in the slabs as it came. Once it was asked for so often that this pays, it is kept with its texts finished for whoever
 * sends them; if the cache is full, it has to be asked for more often. A block asked for more often than most becomes an object whose bytes still lie
 * there, and typed records are attached to it; if its neighbours are objects too, they are laid side by side (`runs.ts`).
 * Of the objects, those that are asked for stay (`clock-cache.ts`). Blocks are found by number (`whereabouts.ts`), what belongs to posting lists by name.
 * **Invariant:** it never holds much more than `maxBytes`, and needs no invalidation while history only grows, when a commit puts the newer value, nor
 * when its oldest ledgers are given up, since what is read lies above those.
 */
import type { Region } from '../bytes.ts'
import { Block } from '../layout/block.ts'
import { finishedBlock, type Kind, type Layout, layOut, writeFinished } from '../layout/finished.ts'
import { FINISHED_ANEW_AT, type Finisher, type Finishing, plain } from '../layout/finisher.ts'
import type { Weighed } from '../layout/holder.ts'
import { recordsPerBlock } from '../layout/ordinals.ts'
import type { Resource } from '../query.ts'
import { blockId, canBeFound, NOWHERE, numberOf } from './addresses.ts'
import { ClockCache, type Name } from './clock-cache.ts'
import { Gathering } from './gathering.ts'
import { Hashes } from './hash-table.ts'
import { blocksOf, inSlabs, runOf, runTag } from './runs.ts'
import { MAX_PAYLOAD, SLAB_BYTES, Slabs } from './slabs.ts'
import { Whereabouts } from './whereabouts.ts'

const MB = 2 ** 20

/** An eighth of the memory of the machine, or of what the process is limited to; from 32 MiB to 2 GiB. If neither is known, 256 MiB. */
export function defaultCacheBytes(): number {
  const { process } = globalThis
  const total = process?.getBuiltinModule?.('node:os')?.totalmem() ?? 2048 * MB
  // Zero, or more than there is, if the process is not limited.
  const confined = process?.constrainedMemory?.() || total
  return Math.min(2048 * MB, Math.max(32 * MB, Math.floor(Math.min(total, confined) / 8)))
}

/** The share of a cache for bytes, if it has room for some slabs. */
const SHARE = 7 / 8
const MIN_SLABS = 7
/** One in this many bytes of a cache is for hashes. */
const HASHES = 64
/**
 * How often each record of a block was asked for recently, on average, when the block is finished, and when it becomes an object. Finishing it in
 * memory of its own takes as many requests as finishing it anew; and what is not asked for twice as often as most (`slabs.ts` counts so that those
 * come to 16 at most) is served just as fast from the slabs, and spares the garbage collector an object.
 */
const FINISHED_AT = 1 / 2
const HOT_AT = 32
/** A block with finished texts is hardly ever this many times as long as before. */
const GROWTH = 5
/** The weight of a block that lies in a slab. */
const VIEW_BYTES = 500

const kindOf = (block: Block): Kind => (block.isGathered ? 'run' : 'block')

export class Cache implements Finishing {
  readonly maxBytes: number
  /** What was looked up so far, found or not. */
  private lookUps = 0
  /**
   * Counts commits, prunes, and times that everything was forgotten. What was read in an earlier generation may be older than what the store holds now,
   * and must not be put into the cache any more.
   */
  generation = 0
  /** Where transactions lie by hash, as far as blocks have shown. */
  readonly hashes: Hashes
  /** Who had texts finished last. */
  private last: Finisher = plain
  /** Whether clusters are worth their room. */
  readonly gathering = new Gathering()
  private readonly slabs: Slabs
  /** What is kept as objects; where blocks are; and in which slot each of the other values is. */
  private readonly objects: ClockCache
  private readonly where: Whereabouts
  private readonly named = new Map<string, number>()
  /** How many bytes of objects had been evicted when it was last judged whether clusters are worth their room. */
  private judgedAt = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    this.objects = new ClockCache((name, slot) => this.left(name, slot))
    this.where = new Whereabouts(this.objects)
    this.slabs = new Slabs(maxBytes * SHARE >= MIN_SLABS * SLAB_BYTES ? maxBytes * SHARE : 0, this.where, (id, region) =>
      this.leftSlab(id, region),
    )
    this.hashes = new Hashes(maxBytes / HASHES)
    this.objects.maxBytes = maxBytes - this.slabs.maxBytes - this.hashes.maxBytes
  }

  get<T extends Weighed>(id: string): T | undefined {
    this.lookUps++
    return this.peek<T>(id)
  }

  /** The same without counting: for what is looked up along with something that is counted, or is hardly ever there. */
  peek<T extends Weighed>(id: string): T | undefined {
    const slot = this.named.get(id)
    if (slot === undefined) return undefined
    this.objects.ask(slot)
    return this.objects.values[slot] as T
  }

  /**
   * A block of a log, if at least `needed` of its records are there: one read before others were appended is its older self.
   * @param asked how many of its records are wanted
   */
  block<R>(resource: Resource<R>, number: number, needed: number, asked: number): Block<R> | undefined {
    this.lookUps++
    const entry = this.where.entry(resource.tag, number)
    if (entry === NOWHERE) return undefined
    let address = entry
    if (entry < NOWHERE) {
      const held = this.where.object(entry)
      this.where.ask(entry)
      if (held.count >= needed) {
        held.asked += asked
        return held
      }
      address = this.where.addressBeside(entry)
      if (address === NOWHERE) return undefined
    }
    const block = this.fromSlabs(resource, number, blockId(resource.tag, number), address, asked)
    return block.count >= needed ? block : undefined
  }

  /** A run of blocks of a log, with all of its records, in the requested order; undefined if they were not gathered. */
  run<R>({ tag }: Resource<R>, number: number, reverse: boolean): Block<R> | undefined {
    const entry = this.where.entry(runTag(tag, reverse), number)
    if (entry === NOWHERE) return undefined
    this.lookUps++
    this.where.ask(entry)
    return this.where.object(entry)
  }

  /** Gathers a run if that is worthwhile. It takes the place of its blocks, which have to earn theirs anew. */
  gatherRun(resource: Resource, number: number, reverse: boolean): void {
    const blocks = blocksOf(this.where, resource, number, this.finisher, 2 * this.gatheredAt)
    if (blocks.length === 0) return
    const run = runOf(blocks, reverse, this.finisher)
    const id = blockId(runTag(resource.tag, reverse), number)
    this.gathering.gather(run.count)
    this.putKept(id, run)
    for (const member of inSlabs(this.where, resource, number)) {
      this.removeObject(member)
      this.forgive(member)
    }
  }

  /** Makes a block earn its place anew. */
  private forgive(id: number): void {
    const address = this.slabs.find(id)
    if (address !== NOWHERE) this.slabs.forgive(address)
  }

  /** Prefetches what is needed to find records of a log. */
  readAhead(resource: Resource, ordinals: readonly number[]): void {
    const found = this.where.entries(resource.tag, resource.shift, ordinals)
    const within = recordsPerBlock(resource) - 1
    this.slabs.readAhead(found, ordinals, within)
    this.where.readAhead(found, ordinals, within)
  }

  private fromSlabs<R>(resource: Resource<R>, number: number, id: number, address: number, wanted: number): Block<R> {
    const block = this.at(resource, number, id, address)
    block.asked = this.slabs.ask(address, wanted)
    return block.asked < HOT_AT * block.count ? block : this.promote(id, block)
  }

  /** Turns a block of the slabs into an object. */
  private promote<R>(id: number, block: Block<R>): Block<R> {
    block.isHot = true
    block.weight = VIEW_BYTES
    this.putKept(id, block)
    return block
  }

  /** Objects that lie in a slab are dropped with it, since they would keep it alive. */
  private leftSlab(id: number, region: Region): void {
    if (this.where.objectOf(id)?.region === region) this.removeObject(id)
  }

  private at<R>(resource: Resource<R>, number: number, id: number, address: number): Block<R> {
    const { slabs } = this
    const block = new Block(resource, slabs.region(address), slabs.start(address), slabs.end(address), number, slabs.sum(address))
    return block.keptBy(this, id)
  }

  /** The block with its texts finished, if it was asked for so often that this pays, even if something has to go for it. */
  finish(id: number, block: Block, finisher: Finisher): Block | undefined {
    this.last = finisher
    const { slabs } = this
    const isCheap = block.finisher === 0 && slabs.hasRoom(GROWTH * block.length)
    if (block.asked < (isCheap ? FINISHED_AT : FINISHED_ANEW_AT) * block.count) return undefined
    const address = slabs.find(id)
    // What was read before a commit may be older than what is kept by now.
    const fits = address !== NOWHERE && slabs.sum(address) === block.sum
    if (!fits) return this.holdsObject(id, block) ? this.finishObject(id, block, finisher) : undefined
    const layout = layOut(block.records, finisher, kindOf(block))
    if (layout.bytes > MAX_PAYLOAD) return this.keepFinished(id, block, layout)
    // A block finished anew is counted from zero, so that two finishers who share it do not alternate.
    const asked = block.finisher === 0 ? block.asked : 0
    slabs.put(id, layout.bytes, block.sum, asked, (out, start) => writeFinished(out, start, layout))
    const finished = this.at(block.resource, numberOf(id), id, slabs.find(id))
    return block.isHot ? this.promote(id, finished) : finished
  }

  /** True if a block is kept as an object, and was neither replaced by another value nor forgotten since it was read. */
  private holdsObject(id: number, { sum }: Block): boolean {
    return this.where.objectOf(id)?.sum === sum
  }

  private finishObject(id: number, block: Block, finisher: Finisher): Block | undefined {
    if (block.asked < FINISHED_ANEW_AT * block.count) return undefined
    return this.keepFinished(id, block, layOut(block.records, finisher, kindOf(block)))
  }

  /** Keeps a finished block as an object. */
  private keepFinished(id: number, block: Block, layout: Layout): Block {
    const finished = finishedBlock(layout, block.place, block.sum)
    finished.asked = 0
    this.putKept(id, finished)
    // A block too heavy to be kept would otherwise be finished again for each page that wants one of its records.
    if (this.where.objectOf(id) !== finished) this.forgive(id)
    return finished
  }

  /** True if a block is there, though perhaps an older self of it. */
  has(id: number): boolean {
    return this.where.entryOf(id) !== NOWHERE
  }

  /** Keeps a block that came from the store. */
  keep(resource: Resource, number: number, block: Block): void {
    const { length, sum } = block
    const { slabs } = this
    if (length > MAX_PAYLOAD || slabs.maxBytes === 0) {
      this.putBlock(resource, number, block)
      return
    }
    this.hashes.learn(resource, number, block)
    slabs.put(blockId(resource.tag, number), length, sum, 0, (out, at) => block.copyTo(out, at))
  }

  /** Keeps a block as an object, to which more may be attached. */
  putBlock(resource: Resource, number: number, block: Block): void {
    this.hashes.learn(resource, number, block)
    this.putKept(blockId(resource.tag, number), block)
  }

  private putKept(id: number, block: Block): void {
    if (!canBeFound(id)) return
    this.removeObject(id)
    this.where.add(id, block.keptBy(this, id))
  }

  private removeObject(id: number): void {
    const entry = this.where.entryOf(id)
    if (entry < NOWHERE) this.where.remove(entry)
  }

  put(id: string, value: Weighed): void {
    const before = this.named.get(id)
    const slot = before === undefined ? this.objects.add(id, value) : this.objects.replace(before, id, value)
    if (slot === undefined) this.named.delete(id)
    else if (slot !== before) this.named.set(id, slot)
  }

  private left(name: Name, slot: number): void {
    const { objects } = this
    if (typeof name === 'string') this.named.delete(name)
    else {
      const address = this.where.left(name, slot)
      // It has to earn its place anew.
      if (address !== NOWHERE) this.slabs.forgive(address)
    }
    if (objects.evictedBytes - this.judgedAt < objects.maxBytes / 2) return
    this.judgedAt = objects.evictedBytes
    this.gathering.judge(this.lookUps)
  }

  clear(): void {
    this.generation++
    this.slabs.clear()
    this.hashes.clear()
    this.objects.clear()
    this.named.clear()
  }

  /** Who finishes what is gathered. */
  get finisher(): Finisher {
    return this.last.id === 0 ? plain : this.last
  }

  /** How often each record of a cluster has to be asked for before it is worth gathering. */
  get gatheredAt(): number {
    return this.gathering.atLeast(this.lookUps)
  }
}
