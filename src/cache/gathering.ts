/**
 * How often records have to be asked for before they are gathered. Gathering takes about as long as is saved by serving each record eight times; so
 * if clusters are evicted before that, the number of requests required doubles each time. After a while without that, it is halved again.
 */
const GATHERED_AT = { least: 8, most: 256 }
/** Look-ups after which half as many requests are enough. */
const CALM = 2 ** 20

export class Gathering {
  private at = GATHERED_AT.least
  /** The look-up at which `at` was last set. */
  private since = 0
  /** Recent records: older ones count less. */
  private gathered = 0
  private served = 0

  /** @param lookUps the number of look-ups so far */
  atLeast(lookUps: number): number {
    return Math.max(GATHERED_AT.least, this.at / 2 ** Math.floor((lookUps - this.since) / CALM))
  }

  gather(records: number): void {
    this.gathered += records
  }

  serve(records: number): void {
    this.served += records
  }

  /** To be called when much was evicted. */
  judge(lookUps: number): void {
    const at = this.atLeast(lookUps)
    const pays = this.served >= GATHERED_AT.least * this.gathered
    this.at = pays ? Math.max(GATHERED_AT.least, at / 2) : Math.min(GATHERED_AT.most, 2 * at)
    this.since = lookUps
    this.gathered /= 2
    this.served /= 2
  }
}
