'use strict';
// Zoom and pan of figures. Everything else works without a script.
for (const plot of document.querySelectorAll('svg.plot')) {
  const whole = plot.getAttribute('viewBox');
  const [, , width, height] = whole.split(' ').map(Number);
  let [left, span] = [0, width];
  const show = () => {
    span = Math.min(width, Math.max(width / 32, span));
    left = Math.min(width - span, Math.max(0, left));
    const tall = height * span / width;
    plot.setAttribute('viewBox', `${left} ${(height - tall) / 2} ${span} ${tall}`);
  };
  const zoom = (by, at = 0.5) => {
    const next = Math.min(width, Math.max(width / 32, span * by));
    left += (span - next) * at;
    span = next;
    show();
  };
  const acts = [
    ['+', 'Zoom in', () => zoom(0.5)],
    ['−', 'Zoom out', () => zoom(2)],
    ['←', 'Move left', () => { left -= span / 4; show(); }],
    ['→', 'Move right', () => { left += span / 4; show(); }],
    ['↺', 'Whole figure', () => { [left, span] = [0, width]; plot.setAttribute('viewBox', whole); }],
  ];
  const controls = document.createElement('div');
  controls.className = 'controls';
  for (const [sign, name, act] of acts) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = sign;
    button.setAttribute('aria-label', `${name}: ${plot.getAttribute('aria-label')}`);
    button.addEventListener('click', act);
    controls.append(button);
  }
  const frame = plot.closest('.scroll');
  frame.before(controls);
  plot.addEventListener('dblclick', (event) => {
    const box = plot.getBoundingClientRect();
    zoom(0.5, (event.clientX - box.left) / box.width);
  });
}
