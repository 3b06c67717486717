// Numbers as people read them.

const whole = new Intl.NumberFormat("en", {maximumFractionDigits: 0});
const short = new Intl.NumberFormat("en", {notation: "compact", maximumFractionDigits: 1});

export const count = (value) => (Math.abs(value) < 10000 ? whole.format(value) : short.format(value));
export const exact = (value) => whole.format(value);

const digits = new Intl.NumberFormat("en", {maximumSignificantDigits: 3, useGrouping: false});

// To three digits.
export function decimal(value) {
  const isPlain = value === 0 || (Math.abs(value) >= 1e-5 && Math.abs(value) < 1e6);
  return isPlain ? digits.format(value) : value.toExponential(2);
}

export function perSecond(value) {
  if (value === null) return "–";
  return `${Math.abs(value) < 10 ? decimal(Number(value.toFixed(2))) : count(value)}/s`;
}

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  for (; Math.abs(value) >= 1024 && unit + 1 < units.length; ++unit) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
}

export function seconds(value) {
  if (value === 0) return "0";
  if (value < 1e-3) return `${decimal(value * 1e6)} µs`;
  if (value < 1) return `${decimal(value * 1e3)} ms`;
  return `${decimal(value)} s`;
}

export function duration(value) {
  const days = Math.floor(value / 86400), hours = Math.floor(value / 3600) % 24, minutes = Math.floor(value / 60) % 60;
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min` : `${Math.floor(value)} s`;
}

// Of any length: below a minute to a tenth of a second, and never longer than two units.
export function span(value) {
  return value < 60 ? `${decimal(Number(value.toFixed(1)))} s` : duration(value);
}

export const percent = (value) => `${(100 * value).toFixed(value < 0.1 ? 2 : 1)}%`;

// Error rates: from 25% down to one in a billion can be requested; what is far below is as good as none.
export function rate(value) {
  if (value === null) return "not known";
  if (value < 1e-10) return value === 0 ? "0" : "≈ 0";
  return value >= 1e-6 ? `${decimal(value * 100)}%` : String(Number(value.toPrecision(2)));
}

export const time = (unixMs) => new Date(unixMs).toLocaleTimeString("en-GB");

// On a scale.
export const wholePercent = (value) => `${Math.round(100 * value)}%`;

// As 2026-11-23 18:40:12, in the reader's time zone.
export const dateAndTime = (unixMs) => `${new Date(unixMs).toLocaleDateString("sv-SE")} ${time(unixMs)}`;
