// Monitors a ready provider: does it answer pings, is a call silent for too long, is the provider idle? It has three
// timers. None is set or cleared per call, and none keeps the process alive.

import type { ProviderInstance } from './provider-instance.js';

/** Options of {@link HealthMonitor}. Times are in milliseconds; 0 means never. */
export interface HealthMonitorOptions {
  healthIntervalMs: number;
  idleTtlMs: number;
  /** True while a call is queued or running. */
  isBusy: () => boolean;
  /** Called at each interval, and immediately when a call is silent. */
  onCheck: (instance: ProviderInstance) => void;
  onIdle: (instance: ProviderInstance) => void;
}

/** The longest delay of a Node timer; longer delays are split. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

export class HealthMonitor {
  readonly #options: HealthMonitorOptions;
  readonly #instance: ProviderInstance;
  #health: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #silence: NodeJS.Timeout | undefined;
  #silenceDueAt = Infinity;
  /** When the last call arrived or settled. */
  #activeAt = performance.now();

  constructor(instance: ProviderInstance, options: HealthMonitorOptions) {
    this.#instance = instance;
    this.#options = options;
    const { healthIntervalMs, idleTtlMs } = options;
    if (healthIntervalMs > 0 && healthIntervalMs !== Infinity) {
      this.#health = setInterval(() => options.onCheck(instance), Math.min(healthIntervalMs, LONGEST_DELAY_MS));
      this.#health.unref();
    }
    if (idleTtlMs > 0 && idleTtlMs !== Infinity) this.#waitForIdle(idleTtlMs);
  }

  /** Records that a call was sent, which must not be silent for `silenceMs`. */
  callSent(now: number, silenceMs: number): void {
    if (now + silenceMs < this.#silenceDueAt) this.#waitForSilence(now, now + silenceMs);
  }

  /** Records that a call arrived or settled. */
  noteActivity(now: number): void {
    this.#activeAt = now;
  }

  end(): void {
    clearInterval(this.#health);
    clearTimeout(this.#idle);
    clearTimeout(this.#silence);
  }

  #waitForIdle(ms: number): void {
    this.#idle = setTimeout(
      () => {
        const { idleTtlMs, isBusy, onIdle } = this.#options;
        const leftMs = isBusy() ? idleTtlMs : this.#activeAt + idleTtlMs - performance.now();
        if (leftMs > 0) this.#waitForIdle(leftMs);
        else onIdle(this.#instance);
      },
      Math.min(Math.ceil(ms), LONGEST_DELAY_MS),
    );
    this.#idle.unref();
  }

  #waitForSilence(now: number, dueAt: number): void {
    clearTimeout(this.#silence);
    this.#silenceDueAt = dueAt;
    if (dueAt === Infinity) return;
    this.#silence = setTimeout(
      () => {
        const at = performance.now();
        const { count, nextAt } = this.#instance.silent(at);
        this.#waitForSilence(at, nextAt);
        if (count > 0) this.#options.onCheck(this.#instance);
      },
      Math.min(Math.max(1, Math.ceil(dueAt - now)), LONGEST_DELAY_MS),
    );
    this.#silence.unref();
  }
}
