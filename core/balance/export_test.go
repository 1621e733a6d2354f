package balance

import "time"

// CameUp sets the time the backend became usable.
func (l *Load) CameUp(ago time.Duration) {
	l.since.Store(clock() - int64(ago))
	l.seen.Store(seenUsable)
}

// Since returns when the backend became usable.
func (l *Load) Since() time.Duration { return time.Duration(l.since.Load()) }
