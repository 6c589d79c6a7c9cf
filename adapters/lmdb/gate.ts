/**
 * Keeps processes out of each other's way where LMDB does not. LMDB, as the package `lmdb` has it, lets a process that opens its file take back what
 * another one commits meanwhile (LMDB's issue 9496), and one that closes it as the last break the locks of one that opens it. So nobody opens or closes
 * while another does, or while another commits. Two files beside LMDB's say who does what; neither has to outlast a loss of power.
 *
 * ```
 * OPENING   process:8 │ start:8                   is there while that process opens or closes
 * WRITING   transaction:8 │ process:8 │ start:8   the transaction that was begun last, by whom; zeros if it came to nothing; little-endian
 * ```
 *
 * **Invariant:** whoever commits has said so in WRITING before it has seen that OPENING is not there, and whoever opens has made OPENING before it
 * looks into WRITING. LMDB lets one process at a time write, and so one at a time write WRITING.
 */
import { fs } from '../directory/index.ts'
import { DATA, newestTransaction } from './meta.ts'

/** How long a process that is alive may take for what should take some milliseconds. After that it is not waited for any more, as one that is stuck. */
const PATIENCE_MS = 10_000

/** This process, by its number and when it started: in a container, the next one may have the number of the last. Threads of a process agree. */
const SELF = Buffer.alloc(16)
SELF.writeBigUInt64LE(BigInt(process.pid))
SELF.writeDoubleLE(performance.timeOrigin, 8)
const NOTHING = Buffer.alloc(8 + SELF.length)

/** Nobody loses a commit to a program that does not know of the gate, but until the file is opened once more, nobody can write. */
const AMISS =
  'LMDB would take back what was committed, since another program has opened its file meanwhile: close the store, and open it again'

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1))

export class Gate {
  private readonly opening: string
  private readonly dataPath: string
  private data: number | undefined
  /** By this one. */
  private isShut = false
  private readonly writing: number
  private readonly mark = Buffer.concat([NOTHING.subarray(0, 8), SELF])
  private readonly found = Buffer.alloc(NOTHING.length)

  /** @param directory that of the store, which is there; throws what the file system says */
  constructor(directory: string) {
    const { openSync, constants } = fs()
    this.dataPath = `${directory}/${DATA}`
    this.opening = `${directory}/OPENING`
    this.writing = openSync(`${directory}/WRITING`, constants.O_RDWR | constants.O_CREAT, 0o664)
  }

  /** The newest transaction that was committed; 0 if LMDB has yet to make its file. */
  newest(): bigint {
    if (this.data === undefined && !fs().existsSync(this.dataPath)) return 0n
    this.data ??= fs().openSync(this.dataPath, 'r')
    return newestTransaction(this.data)
  }

  /** Runs while no other process opens or closes. A disk that is full, on which it cannot be said, keeps nobody from it. */
  async shut<T>(work: () => Promise<T>): Promise<T> {
    const { writeFile, rm } = fs().promises
    const isTaken = (): Promise<boolean> =>
      writeFile(this.opening, SELF, { flag: 'wx' }).then(
        () => false,
        (error) => error.code === 'EEXIST',
      )
    while (await isTaken()) await this.opened()
    this.isShut = true
    try {
      return await work()
    } finally {
      this.isShut = false
      await rm(this.opening, { force: true })
    }
  }

  /** Waits until nobody commits; while it is shut, nobody begins to. */
  async settled(): Promise<void> {
    const until = performance.now() + PATIENCE_MS
    while (this.isCommitting() && performance.now() < until) await pause()
  }

  /**
   * Runs what writes, again and again until it was let in. It shuts the gate itself if it was not, since many that open one after another would keep it
   * out.
   * @param write undefined if it was not, by `enter`
   */
  async pass<T>(write: () => Promise<T | undefined>): Promise<T> {
    const until = performance.now() + PATIENCE_MS
    try {
      for (;;) {
        const done = (await write()) ?? (await this.shut(write))
        if (done !== undefined) return done
        if (performance.now() > until) throw new Error(AMISS)
        await pause()
      }
    } finally {
      // One that failed, or in which nothing changed, never comes.
      if (this.mark.readBigUInt64LE() > this.newest()) this.passed()
    }
  }

  /**
   * Says that a transaction is going to be committed, which has begun and so keeps others from writing. False if it must not be: another process opens the
   * store, or it does not follow the newest one.
   */
  enter(transaction: number): boolean {
    this.mark.writeBigUInt64LE(BigInt(transaction))
    this.say(this.mark)
    if ((this.isShut || !fs().existsSync(this.opening)) && BigInt(transaction) === this.newest() + 1n) return true
    this.leave()
    return false
  }

  /** Says that the transaction comes to nothing, while others still cannot write. */
  leave(): void {
    this.say(NOTHING)
  }

  /** Ends with the store, which is closed while no other process opens. */
  async close(closeStore: () => Promise<void>): Promise<void> {
    try {
      await this.shut(closeStore)
      this.passed()
    } finally {
      this.end()
    }
  }

  end(): void {
    fs().closeSync(this.writing)
    if (this.data !== undefined) fs().closeSync(this.data)
  }

  /** Waits until nobody opens or closes, and takes away what one has left who was ended meanwhile. */
  private async opened(): Promise<void> {
    const { stat, readFile } = fs().promises
    const until = performance.now() + PATIENCE_MS
    try {
      for (;;) {
        const who = await readFile(this.opening)
        const isLeft = who.length === SELF.length && !isAlive(who)
        const isStuck = performance.now() > until || Date.now() - (await stat(this.opening)).mtimeMs > PATIENCE_MS
        if (isLeft || isStuck) return this.remove(who)
        await pause()
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  /** All at once: another process may have taken it away already, and made its own. */
  private remove(who: Buffer): void {
    if (fs().readFileSync(this.opening).equals(who)) fs().rmSync(this.opening)
  }

  /**
   * Says that nothing of this one is to come. Another process may have said something since. On a disk that takes nothing it cannot be said: then others
   * wait for it in vain for a while, and what failed is told, rather than this.
   */
  private passed(): void {
    try {
      this.look()
      if (this.found.equals(this.mark)) this.leave()
    } catch {}
  }

  private isCommitting(): boolean {
    this.look()
    return this.found.readBigUInt64LE() > this.newest() && isAlive(this.found.subarray(8))
  }

  private say(what: Uint8Array): void {
    fs().writeSync(this.writing, what, 0, what.length, 0)
  }

  private look(): void {
    this.found.fill(0)
    fs().readSync(this.writing, this.found, 0, this.found.length, 0)
  }
}

function isAlive(who: Buffer): boolean {
  const pid = Number(who.readBigUInt64LE())
  if (pid === process.pid) return who.equals(SELF)
  // What a loss of power has left: to the system, all processes of a group.
  if (pid === 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It is there, and another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
