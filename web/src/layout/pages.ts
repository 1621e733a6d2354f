/** The pages of the menu, in its order: the address and the key of the title. */
export const pages = [
  { to: '/', word: 'nav.dashboard' },
  { to: '/farms', word: 'nav.farms' },
  { to: '/findings', word: 'nav.findings' },
  { to: '/headroom', word: 'headroom.title' },
  { to: '/checks', word: 'nav.checks' },
  { to: '/certificates', word: 'nav.certificates' },
  { to: '/timeline', word: 'nav.timeline' },
  { to: '/history', word: 'nav.history' },
  { to: '/people', word: 'nav.people' },
  { to: '/notifications', word: 'nav.notifications' },
  { to: '/audit', word: 'nav.audit' },
  { to: '/system', word: 'nav.system' },
  { to: '/apidocs', word: 'nav.apidocs' },
] as const;
