// Looks up the password of index.html, which says how to run both, as it is typed.

import { Filter } from './bitsieve.mjs';

const INTERVAL_MS = 60_000;  // between two requests whether there is a new list

const input = document.querySelector('#password');
const verdict = document.querySelector('#verdict');

function judge(known) {
  if (input.value === '') return 'Type a password. It is not sent anywhere.';
  if (!known.mayContain(input.value)) return 'This password is not on the list.';
  return 'This password is known to others: choose another one.';
}

try {
  const url = document.querySelector('meta[name=filter]').content;
  const interval = Number(new URLSearchParams(location.search).get('interval')) || INTERVAL_MS;
  const known = await Filter.follow(url, { interval });
  input.addEventListener('input', () => { verdict.value = judge(known); });
  input.disabled = false;
  verdict.value = judge(known);
} catch (error) {
  verdict.value = `The list of known passwords could not be loaded: ${error.message}`;
}
